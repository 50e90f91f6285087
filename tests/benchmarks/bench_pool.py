"""Pool, ledger and diversity tables of 20 runs × 200 queries × 1000 documents at depth 100.

The peer computes the first table alone (pairs returned and pairs by one system) with pandas: head of
each run, concat, groupby.

Run from the checkout: python -m tests.benchmarks.bench_pool
"""

from __future__ import annotations

import statistics
import time

import pandas as pd

from quati_pool.pooling.diversity import diversity
from quati_pool.pooling.pool import depth_pool, growth
from quati_pool.records import Run
from tests.benchmarks.synthetic_runs import frames

REPEAT = 5
DEPTH = 100


def ours(runs: list[Run]) -> tuple[int, int]:
    pool = depth_pool(runs, {run.run_tag: DEPTH for run in runs})
    tables = diversity(pool)
    growth(runs)
    return len(pool), tables.union.unique


def pandas_alone(runs: list[pd.DataFrame]) -> tuple[int, int]:
    heads = [run[run["rank"] <= DEPTH].assign(run_tag=f"s{i}") for i, run in enumerate(runs)]
    systems = pd.concat(heads).groupby(["query_id", "doc_id"])["run_tag"].nunique()
    return len(systems), int((systems == 1).sum())


def main() -> None:
    inputs = frames()
    runs = Run.from_frames({f"s{i}": frame for i, frame in enumerate(inputs)})
    mine, theirs = [], []
    for _ in range(REPEAT):
        started = time.perf_counter()
        ours_ = ours(runs)
        between = time.perf_counter()
        assert ours_ == pandas_alone(inputs)
        mine.append(between - started)
        theirs.append(time.perf_counter() - between)
    a, b = statistics.median(mine), statistics.median(theirs)
    print(f"| pool, ledger, all diversity tables | {a:.2f} s | {b:.2f} s (first table only) |")


if __name__ == "__main__":
    main()
