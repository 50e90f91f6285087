"""Replays of pools on TREC DL 2021 (63 runs, pools of depth 10 and 20) and on Vaswani (12 lexical systems): what each
method finds with 20 % of the pool, and how long a replay of one method takes, with and without leaving families out.

Run from the checkout: python -m tests.benchmarks.bench_replay_pools
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from quati_pool.commands.build import build
from quati_pool.commands.replay.pools import hybrid_scores
from quati_pool.files.qrels import read_qrels
from quati_pool.pooling.replay.collection import JudgedCollection, judged_collection
from quati_pool.pooling.replay.results import Outcome
from quati_pool.pooling.replay.running import PoolReplayPlan, replay
from quati_pool.processes.local import LocalEngine
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.runs import workspace_runs
from tests.pooling.judged_collections import dl_2021, plan_of, vaswani
from tests.serial_engine import SerialEngine

LEARNING = ("move-to-front", "max-mean", "mm-ns", "active-sampling")
SHARES = (0.05, 0.1, 0.2, 0.4)


def show(collection: JudgedCollection, plan: PoolReplayPlan, title: str) -> None:
    hybrid = None
    if "judge-order" in {method.name for method in plan.methods}:
        hybrid = hybrid_scores(collection, collection.within(plan.depth), [0, 1, 2, 3], "nDCG@10")
    started = time.perf_counter()
    with LocalEngine(2) as engine:
        found = replay(collection, plan, hybrid, engine)
    seconds = time.perf_counter() - started
    print(f"\n{title}: {found.candidates:,} candidates, {found.relevant:,} relevant, {found.families} families,")
    print(f"{found.lacking_people:,} not graded by people; {seconds:.0f} s; judge alone: {found.judge_alone}")
    for one in found.outcomes:
        print("| " + " | ".join(cells(one)) + " |")


def cells(one: Outcome) -> Iterator[str]:
    yield f"{one.method}{', moving' if one.budget == 'moving' else ''}"
    yield f"{one.share:.0%}"
    yield f"{one.labels:,.0f}"
    yield f"{one.found:,.0f}"
    yield f"{one.recall:.3f}"
    value, low, high = one.times_depth
    yield f"{value:.2f} ({low:.2f}–{high:.2f})"
    for ranking in one.rankings.values():
        yield f"{ranking.tau:.3f}"
    if one.left_out is not None:
        yield f"{one.left_out.tau:.3f}"
    for ranking in one.rankings.values():
        yield f"{ranking.error:.3f}"


def speed(collection: JudgedCollection) -> None:
    """Processor time of a replay of each method, with all of its budgets, in one process."""
    families = {run.run_tag: run.run_tag for run in collection.runs}
    print("\n| method | one share | four shares | and 63 families |")
    for name in ("depth", *LEARNING, "judge-order"):
        seconds = []
        for shares, of_families in (((0.2,), None), (SHARES, None), (SHARES, families)):
            plan = plan_of(name, shares=shares, families=of_families)
            started = time.process_time()
            replay(collection, plan, None, SerialEngine())
            seconds.append(time.process_time() - started)
        print(f"| {name} | " + " | ".join(f"{one:.1f} s" for one in seconds) + " |")


def main() -> None:
    collection = dl_2021()
    families = {run.run_tag: run.run_tag for run in collection.runs}
    methods = ("depth", *LEARNING, "judge-order")
    speed(collection)
    for depth in (10, 20):
        plan = plan_of(*methods, depth=depth, shares=SHARES, families=families)
        show(collection, plan, f"TREC DL 2021, depth {depth}")
    plan = plan_of(*methods, shares=(0.2,), random=0.25)
    show(collection, plan, "TREC DL 2021, depth 10, a quarter of the budget at random")
    with tempfile.TemporaryDirectory() as folder:
        path = vaswani(Path(folder))
        build(path, Listener())
        runs, config = workspace_runs(load_config(path)).runs, load_config(path)
        collection = judged_collection(runs, read_qrels(path.with_name("gold.qrels")), None, 10)
        own = {run_tag: config.family(run_tag) for run_tag in config.systems}
        plan = plan_of("depth", *LEARNING, relevant=1, judge_relevant=1, shares=SHARES, families=own)
        show(collection, plan, "Vaswani, depth 10")


if __name__ == "__main__":
    main()
