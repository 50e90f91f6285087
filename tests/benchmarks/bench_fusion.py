"""RRF of 20 runs × 200 queries × 1000 documents with string ids, beside plain numpy on integer ids.

The peer codes the ids of all runs with pandas.factorize, adds up 1 / (60 + rank) with numpy and sorts
each query's documents: no vocabulary, no tie rule, no checks.

Run from the checkout: python -m tests.benchmarks.bench_fusion
"""

from __future__ import annotations

import resource
import statistics
import time

import numpy as np
import pandas as pd

from quati_pool.records import Run
from quati_pool.retrieval.fusion import Rrf, RrfParameters
from tests.benchmarks.synthetic_runs import frames

REPEAT = 5


def ours(runs: list[pd.DataFrame]) -> Run:
    coded = Run.from_frames({f"s{i}": frame for i, frame in enumerate(runs)})
    return Rrf(RrfParameters()).fuse("rrf", coded, 1000)


def numpy_alone(runs: list[pd.DataFrame]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    whole = pd.concat(runs, ignore_index=True)
    query, _ = pd.factorize(whole["query_id"])
    doc, docs = pd.factorize(whole["doc_id"])
    row, pairs = pd.factorize(query * len(docs) + doc)
    score = np.bincount(row, weights=1 / (60 + whole["rank"].to_numpy()))
    query, doc = np.divmod(pairs, len(docs))
    order = np.lexsort((-score, query))
    query, doc, score = query[order], doc[order], score[order]
    start = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    rank = np.arange(len(query)) - np.repeat(start, np.diff(np.r_[start, len(query)]))
    return query[rank < 1000], doc[rank < 1000], score[rank < 1000]


def seconds(function, runs: list[pd.DataFrame]) -> float:
    started = time.perf_counter()
    function(runs)
    return time.perf_counter() - started


def main() -> None:
    runs = frames()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mine, theirs = [], []
    for _ in range(REPEAT):
        mine.append(seconds(ours, runs))
        theirs.append(seconds(numpy_alone, runs))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours_, peer = statistics.median(mine), statistics.median(theirs)
    print(f"| rrf, ids coded | {ours_:.2f} s | {peer:.2f} s | {ours_ / peer:.2f} × |")
    print(f"input frames {before / 2**10:.0f} MB resident, peak of both {peak / 2**10:.0f} MB")


if __name__ == "__main__":
    main()
