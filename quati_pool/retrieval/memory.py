"""How much memory there is, and a refusal before an index would not fit into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError

_SAMPLE = 2000
_CGROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int:
    """Bytes this process may still take: what the machine has free, or its container allows."""
    import psutil

    free: int = psutil.virtual_memory().available
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return min(free, limit - used)


def terms_a_passage(corpus: CorpusStore, terms: Callable[[str], list[str]]) -> tuple[float, float]:
    """Mean number of terms and of distinct terms of a passage, from passages spread over the corpus."""
    ordinals = np.unique(np.linspace(0, len(corpus) - 1, min(_SAMPLE, len(corpus))).astype(np.int64))
    found = [terms(text) for text in corpus.texts(ordinals)]
    return (
        float(np.mean([len(passage) for passage in found])),
        float(np.mean([len(set(passage)) for passage in found])),
    )


def require_memory(retriever: str, passages: int, needed: float) -> None:
    """Raises QuatiPoolError where an index of ``needed`` bytes at its peak would not fit."""
    free = free_bytes()
    if needed > free:
        raise QuatiPoolError(
            f"{retriever} would need about {needed / 2**30:.1f} GiB of memory to index {passages:,} passages, "
            f"and {free / 2**30:.1f} GiB are free; use the retriever bm25, whose index lies on disk"
        )
