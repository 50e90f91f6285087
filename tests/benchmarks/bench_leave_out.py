"""Leave-one-system-out and -family-out of 20 runs × 200 queries × 1000 documents, pool depth 100, default measures.

The peer is the plain loop: for each system the reduced qrels, and all runs scored again under them by
``score`` (ir_measures). Both must give the same means.

Run from the checkout: python -m tests.benchmarks.bench_leave_out
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.measures import DEFAULTS
from quati_pool.evaluation.reusability import leave_one_family_out, leave_one_system_out
from quati_pool.evaluation.scores import score
from quati_pool.records import Qrels, Run
from tests.benchmarks.synthetic_runs import frames

REPEAT = 5
DEPTH = 100


def judge(runs: list[Run]) -> Qrels:
    """Grades for the whole pool: 70, 15, 10 and 5 %."""
    pairs = np.unique(np.concatenate([run.pair[run.rank <= DEPTH] for run in runs]))
    query, doc = np.divmod(pairs, len(runs[0].docs))
    grade = np.random.default_rng(0).choice(4, len(pairs), p=[0.7, 0.15, 0.1, 0.05])
    return Qrels(runs[0].queries, runs[0].docs, query, doc, grade)


def plain_loop(runs: list[Run], qrels: Qrels) -> np.ndarray:
    """Each system's means when it is left out, shape (runs, measures)."""
    pair = qrels.query * len(qrels.docs) + qrels.doc
    fed = np.stack([np.isin(pair, run.pair[run.rank <= DEPTH]) for run in runs])
    means = []
    for row in range(len(runs)):
        kept = ~(fed[row] & (fed.sum(axis=0) == 1))
        reduced = Qrels(qrels.queries, qrels.docs, qrels.query[kept], qrels.doc[kept], qrels.relevance[kept])
        means.append(score(JudgedRuns(runs, reduced), DEFAULTS).values.mean(axis=2)[row])
    return np.array(means)


def main() -> None:
    runs = Run.from_frames({f"s{i:02}": frame for i, frame in enumerate(frames())})
    qrels = judge(runs)
    depths = {run.run_tag: DEPTH for run in runs}
    families = {run.run_tag: f"f{place // 3}" for place, run in enumerate(runs)}
    mine, kin = [], []
    for _ in range(REPEAT):
        started = time.perf_counter()
        found = leave_one_system_out(JudgedRuns(runs, qrels), depths)
        between = time.perf_counter()
        leave_one_family_out(JudgedRuns(runs, qrels), depths, families)
        mine.append(between - started)
        kin.append(time.perf_counter() - between)
    started = time.perf_counter()
    expected = plain_loop(runs, qrels)
    peer = time.perf_counter() - started
    after = np.array([[change.after for change in one.measures.values()] for one in found.systems])
    assert np.abs(after - expected).max() < 1e-12
    own, family = statistics.median(mine), statistics.median(kin)
    print(f"| leave one system out, {len(qrels):,} judgements | {own:.2f} s | {peer:.1f} s | {own / peer:.3f} |")
    print(f"| leave one family out (7 families) | {family:.2f} s | – | – |")


if __name__ == "__main__":
    main()
