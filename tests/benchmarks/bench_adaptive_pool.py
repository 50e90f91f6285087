"""The next pair of an adaptive pool over 100 systems × 1,000 queries × 1,000 documents: goal 50 ms.

What is timed is one answer: taking a pair's grade and beginning all rounds that can begin then. Where the budget moves
between queries, most answers begin none, and the last one of a round begins one of 200 pairs. Times are by the clock
and, in brackets, of the processor, in ms. One document in thirteen is relevant, those of most merit, which the systems
see through noise.

Run from the checkout: python -m tests.benchmarks.bench_adaptive_pool [QUERIES]
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.adaptive import AdaptivePool, Limits
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.records import Ids, Int, Run
from quati_pool.registry import POOL_METHODS

T = TypeVar("T")

SYSTEMS, QUERIES, DEPTH, CORPUS = 100, 1000, 1000, 1_000_000
PER_QUERY = 100
ANSWERS = 4000
CASES = (
    ("mm-ns", True),
    ("mm-ns", False),
    ("move-to-front", True),
    ("move-to-front", False),
    ("active-sampling", False),
)


def systems(queries: int) -> tuple[list[Run], npt.NDArray[np.int64]]:
    """The runs, which share what they can to save memory, and the relevant pairs, ascending: query · CORPUS + doc."""
    random = np.random.default_rng(0)
    docs = np.empty((SYSTEMS, queries, DEPTH), dtype=np.int64)
    relevant = []
    for query in range(queries):
        known = random.choice(CORPUS, 3 * DEPTH, replace=False, shuffle=False)
        merit = random.standard_normal(3 * DEPTH, dtype=np.float32)
        noise = random.standard_normal((SYSTEMS, 3 * DEPTH), dtype=np.float32)
        docs[:, query] = known[np.argsort(-merit - noise, axis=1)[:, :DEPTH]]
        relevant.append(query * CORPUS + known[merit > 1.43])
    query_ids, doc_ids = Ids([f"q{query}" for query in range(queries)]), Ids([f"d{doc:07}" for doc in range(CORPUS)])
    query, rank = np.repeat(np.arange(queries), DEPTH), np.tile(np.arange(1, DEPTH + 1), queries)
    score = (-rank).astype(np.float32)
    tags = [f"s{system:02}" for system in range(SYSTEMS)]
    runs = [
        Run(tag, query_ids, doc_ids, query, ranked.ravel(), rank, score) for tag, ranked in zip(tags, docs, strict=True)
    ]
    return runs, np.sort(np.concatenate(relevant))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started


def measure(frame: Candidates, grades: Int, name: str, moving: bool) -> None:
    cls = POOL_METHODS.get(name)
    queries = len(frame.sizes)
    limits = Limits(budget=PER_QUERY * queries) if moving else Limits(per_query=PER_QUERY)
    parameters = cls.Parameters()
    pool, preparing = timed(
        lambda: AdaptivePool(frame, lambda query: cls(query, parameters), limits, relevant=1, moves=moving)
    )
    asked, first = timed(pool.advance)
    # As graders take them: the oldest open pair is answered first.
    waiting = asked.tolist()
    seconds = []
    for number in range(ANSWERS):
        pair = waiting[number]

        def answered(pair: int = pair) -> Int:
            pool.answer(pair, int(grades[pair]))
            return pool.advance()

        before = time.process_time()
        asked, spent = timed(answered)
        seconds.append((spent, time.process_time() - before))
        waiting += asked.tolist()
    median, p99, most = 1000 * np.quantile(seconds, [0.5, 0.99, 1.0], axis=0)
    found = np.mean(grades[waiting[:ANSWERS]])
    print(
        f"| {name}, {'budget moves' if moving else f'{PER_QUERY} per query'} | {preparing:.1f} s | {first:.2f} s "
        f"| {median[0]:.2f} ({median[1]:.2f}) | {p99[0]:.2f} ({p99[1]:.2f}) | {most[0]:.1f} ({most[1]:.1f}) "
        f"| {found:.2f} | {peak():.1f} GiB |",
        flush=True,
    )


def peak() -> float:
    """The most memory that the process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def prepared(queries: int) -> tuple[Candidates, Int]:
    """The candidates and their grades; the runs are not needed any more."""
    (runs, relevant), seconds = timed(lambda: systems(queries))
    print(f"{SYSTEMS} runs × {queries} queries × {DEPTH} in {seconds:.0f} s, peak {peak():.1f} GiB", flush=True)
    frame, seconds = timed(lambda: candidates(runs, {run.run_tag: DEPTH for run in runs}))
    print(f"{len(frame):,} candidates in {seconds:.1f} s, peak {peak():.1f} GiB", flush=True)
    return frame, np.isin(frame.query * CORPUS + frame.doc, relevant).astype(np.int64)


def main(queries: int) -> None:
    frame, grades = prepared(queries)
    for name, moving in CASES:
        measure(frame, grades, name, moving)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else QUERIES)
