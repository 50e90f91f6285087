"""A replay of estimates: 1,000 draws from 20 runs × 200 queries × 1000 documents, pooled to depth 10.

The target is 60 s on 2 cores for all methods and both targets together. The judge gives people's grades, most of them
changed by one at random.

Run from the checkout: python -m tests.benchmarks.bench_replay_estimate
"""

from __future__ import annotations

import resource
import time

import numpy as np

from quati_pool.commands.replay.estimate import census
from quati_pool.estimation.replay.results import ReplayPlan
from quati_pool.estimation.replay.running import replay
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.processes.local import LocalEngine
from quati_pool.records import Qrels, Run
from tests.benchmarks.synthetic_runs import frames

DEPTH = 10
DRAWS = 1000
QUERIES = 15


def graded(runs: list[Run]) -> Qrels:
    """Grades for the whole pool: 60, 20, 12 and 8 %."""
    pairs = np.unique(
        np.concatenate([run.query[run.rank <= DEPTH] * len(run.docs) + run.doc[run.rank <= DEPTH] for run in runs])
    )
    query, doc = np.divmod(pairs, len(runs[0].docs))
    grade = np.random.default_rng(0).choice(4, len(pairs), p=[0.6, 0.2, 0.12, 0.08])
    return Qrels(runs[0].queries, runs[0].docs, query, doc, grade)


def main() -> None:
    runs = Run.from_frames({f"s{i:02}": frame for i, frame in enumerate(frames())})
    qrels = graded(runs)
    started = time.perf_counter()
    noise = np.random.default_rng(1).integers(-1, 2, len(qrels))
    judge = np.clip(qrels.relevance + noise, 0, 3)
    everything = census(JudgedRuns(runs, qrels), judge, [0, 1, 2, 3], "nDCG@10")
    print(f"{len(qrels):,} pairs; evaluated in {time.perf_counter() - started:.1f} s")
    for targets in (("these-queries",), ("queries-like-these",), ("these-queries", "queries-like-these")):
        plan = ReplayPlan(queries=QUERIES, pairs=QUERIES * len(qrels) / 200, draws=DRAWS, targets=targets)
        started, before = time.perf_counter(), processor_time()
        with LocalEngine(2) as engine:
            found = replay(everything, plan, engine)
        seconds, processor = time.perf_counter() - started, processor_time() - before
        print(f"| {', '.join(targets)} | {len(found.methods)} | {seconds:.1f} s | {processor:.1f} s |")


def processor_time() -> float:
    """Seconds that this process and those it has waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
