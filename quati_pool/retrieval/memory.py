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
        # The page cache counts as used there, and is given back on demand.
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        used -= next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    except (OSError, ValueError):
        return free
    return min(free, limit - used)


def estimated_terms(corpus: CorpusStore, terms: Callable[[str], list[str]]) -> tuple[float, float]:
    """About how many terms a corpus holds, and how many distinct ones passage by passage (postings):
    those of passages spread over it, scaled by bytes, which long passages have more of."""
    ordinals = np.unique(np.linspace(0, len(corpus) - 1, min(_SAMPLE, len(corpus))).astype(np.int64))
    texts = corpus.texts(ordinals)
    found = [terms(text) for text in texts]
    scale = corpus.text_bytes() / max(sum(len(text.encode()) for text in texts), 1)
    return scale * sum(map(len, found)), scale * sum(len(set(passage)) for passage in found)


def require_memory(retriever: str, passages: int, needed: float) -> None:
    """Raises QuatiPoolError where an index of ``needed`` bytes at its peak would not fit."""
    free = free_bytes()
    if needed > free:
        raise QuatiPoolError(
            f"{retriever} would need about {needed / 2**30:.1f} GiB of memory to index {passages:,} passages, "
            f"and {free / 2**30:.1f} GiB are free; use the retriever bm25, whose index lies on disk"
        )
