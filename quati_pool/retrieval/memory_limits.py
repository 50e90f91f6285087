"""How much memory there is, and a refusal before an index would not fit into it; and how many terms to expect."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quati_pool.bundled import bundled
from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.planning import Workload
from quati_pool.text.analysis import analyzer

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


class Terms(NamedTuple):
    """About how many terms a corpus holds, how many distinct ones passage by passage, how many distinct ones
    in all, and how many seconds it takes to find them."""

    tokens: float
    postings: float
    vocabulary: float
    seconds: float


def expected_terms(work: Workload, terms: Callable[[str], list[str]]) -> Terms:
    """Scaled by characters from the sample, or from the bundled collection where there is none.

    The vocabulary grows from that of the sample by Heaps' law with b = 0.49 (Manning, Raghavan and Schütze 2008,
    section 5.1.1).
    """
    texts: Sequence[str] = work.sample or _stand_in()
    found = [terms(text) for text in texts]
    scale = work.passages * work.characters / max(sum(map(len, texts)), 1)
    tokens = scale * sum(map(len, found))
    postings = scale * sum(len(set(passage)) for passage in found)
    known = len({term for passage in found for term in passage})
    return Terms(tokens, postings, known * max(scale, 1.0) ** 0.49, scale * _seconds(tuple(texts)))


@lru_cache(maxsize=16)
def _seconds(texts: tuple[str, ...]) -> float:
    """Seconds to find the terms of some texts: those of English, as languages hardly differ in it; the best of three
    times, measured once a process, so that plans of two sizes compare."""
    best = float("inf")
    for _ in range(3):
        terms = analyzer("en", True, True)
        # The first text pays for loading the stemmer.
        terms(texts[0])
        started = time.perf_counter()
        for text in texts:
            terms(text)
        best = min(best, time.perf_counter() - started)
    return best


@cache
def _stand_in() -> list[str]:
    with (bundled("data/sample") / "corpus.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def require_memory(retriever: str, passages: int, needed: float) -> None:
    """Raises QuatiPoolError where an index of ``needed`` bytes at its peak would not fit."""
    free = free_bytes()
    if needed > free:
        raise QuatiPoolError(
            f"{retriever} would need about {needed / 2**30:.1f} GiB of memory to index {passages:,} passages, "
            f"and {free / 2**30:.1f} GiB are free; use the retriever bm25, whose index lies on disk"
        )
