"""Checks whether an index will fit into memory before it is built, and estimates the number of terms of a corpus."""

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
    """Bytes of memory that this process may still allocate: what is free on the machine, or what the container still
    allows if that is less."""
    import psutil

    free: int = psutil.virtual_memory().available
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        # memory.current includes the page cache, which the kernel gives back on demand.
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        used -= next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    except (OSError, ValueError):
        return free
    return min(free, limit - used)


def estimated_terms(corpus: CorpusStore, terms: Callable[[str], list[str]]) -> tuple[float, float]:
    """About how many terms a corpus has, and how many postings (distinct terms per passage, summed over passages).

    Both are counted in a sample of passages spread over the corpus and scaled by bytes rather than by passages, since
    long passages have more terms."""
    ordinals = np.unique(np.linspace(0, len(corpus) - 1, min(_SAMPLE, len(corpus))).astype(np.int64))
    texts = corpus.texts(ordinals)
    found = [terms(text) for text in texts]
    scale = corpus.text_bytes() / max(sum(len(text.encode()) for text in texts), 1)
    return scale * sum(map(len, found)), scale * sum(len(set(passage)) for passage in found)


class Terms(NamedTuple):
    """About how many terms a corpus has (``tokens``), how many distinct terms per passage, summed over passages
    (``postings``), how many distinct terms overall (``vocabulary``), and how many seconds it takes to find them."""

    tokens: float
    postings: float
    vocabulary: float
    seconds: float


def expected_terms(work: Workload, terms: Callable[[str], list[str]]) -> Terms:
    """The numbers of terms to expect, scaled by characters from the workload's sample or, if it has none, from the
    bundled sample collection.

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
    """Seconds to find the terms of some texts, the best of three measurements. It uses the English analyzer, as
    languages hardly differ in speed, and is measured once per process, so that plans of different sizes are
    comparable."""
    best = float("inf")
    for _ in range(3):
        terms = analyzer("en", True, True)
        # The first call loads the stemmer, which must not be timed.
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
    """Raises QuatiPoolError if building an index, which takes ``needed`` bytes at its peak, would not fit in memory."""
    free = free_bytes()
    if needed > free:
        raise QuatiPoolError(
            f"{retriever} would need about {needed / 2**30:.1f} GiB of memory to index {passages:,} passages, "
            f"and {free / 2**30:.1f} GiB are free; use the retriever bm25, whose index is on disk"
        )
