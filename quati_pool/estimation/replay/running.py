"""Runs a replay: draws samples and estimates from them, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from quati_pool.estimation.estimated import compared
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.replay.census import Census, Collections
from quati_pool.estimation.replay.methods import (
    DrawEstimates,
    PairDesign,
    RefusedDraw,
    judge_only,
    pair_designs,
    people_only,
    whole_queries,
)
from quati_pool.estimation.replay.results import Method, Replay, ReplayPlan
from quati_pool.estimation.replay.tallies import Tally, Truth
from quati_pool.estimation.results import Target
from quati_pool.processes.base import Engine

_BLOCK = 20
"""Draws that a process does at a time; sums of blocks are added in their order, whoever computed them."""

_Tallies = dict[tuple[Target, Method], Tally]


def replay(
    census: Census, plan: ReplayPlan, engine: Engine, progress: Callable[[int], None] = lambda done: None
) -> Replay:
    """Draws and estimates in the processes of ``engine``; the result depends on the seed, not on their number.
    ``progress`` is called with the number of draws that are done.

    Raises QuatiPoolError if there are fewer pairs than shall be drawn.
    """
    if census.measure is not None:
        probabilities(census.frame, census.measure, plan.pairs)
    starts = range(0, plan.draws, _BLOCK)
    tasks = [_Task(census, plan, start, min(start + _BLOCK, plan.draws)) for start in starts]
    blocks: list[_Tallies] = [{} for _ in tasks]
    done = 0
    progress(done)
    for place, tallies in engine.run(_replay_block, tasks, lambda task: f"draws from {task.start}"):
        blocks[place] = tallies
        done += tasks[place].stop - tasks[place].start
        progress(done)
    total: _Tallies = {}
    for block in blocks:
        for key, tally in block.items():
            if key in total:
                total[key].add(tally)
            else:
                total[key] = tally
    a, b = compared(census.people.shape[1], plan.baseline)
    methods = tuple(tally.result(*key) for key, tally in total.items())
    return Replay(plan, a, b, census.truth, methods)


@dataclass(frozen=True, eq=False)
class _Task:
    census: Census
    plan: ReplayPlan
    start: int
    stop: int


def _replay_block(task: _Task) -> _Tallies:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _Block(task).tallies()


class _Block:
    """Some draws of a replay."""

    def __init__(self, task: _Task) -> None:
        self._census, self._plan = task.census, task.plan
        self._draws = range(task.start, task.stop)
        self._truth = Truth(task.census.truth, task.plan)
        self._tallies: _Tallies = {}

    def tallies(self) -> _Tallies:
        census, plan = self._census, self._plan
        if "these-queries" in plan.targets:
            designs = pair_designs(census, plan)
            for draw in self._draws:
                self._draw("these-queries", draw, census, designs, np.random.default_rng([plan.seed, draw]))
            if 0 in self._draws:
                self._count("these-queries", "judge-only", 0, judge_only(census))
        if "queries-like-these" in plan.targets:
            queries, collections = len(census.people), Collections(census)
            for draw in self._draws:
                generator = np.random.default_rng([plan.seed, draw])
                drawn = collections.of(generator.integers(0, queries, queries))
                self._draw("queries-like-these", draw, drawn, pair_designs(drawn, plan), generator)
                self._count("queries-like-these", "judge-only", draw, judge_only(drawn))
        return self._tallies

    def _draw(
        self,
        target: Target,
        draw: int,
        census: Census,
        designs: Mapping[Method, PairDesign],
        generator: np.random.Generator,
    ) -> None:
        """Draws once by each design, from the queries of ``census``."""
        queries, like_these, baseline = len(census.people), target == "queries-like-these", self._plan.baseline
        sample = QuerySample(generator.permutation(queries)[: self._plan.queries], np.zeros(queries, dtype=np.int64))
        self._count(target, "people-only", draw, people_only(census, sample, like_these=like_these))
        self._count(target, "queries", draw, whole_queries(census, sample, baseline, like_these=like_these))
        uniform = generator.random(len(census.frame))
        for method, design in designs.items():
            self._count(target, method, draw, design.estimates(uniform, like_these=like_these))

    def _count(self, target: Target, method: Method, draw: int, found: DrawEstimates | RefusedDraw) -> None:
        if (target, method) not in self._tallies:
            self._tallies[target, method] = self._truth.tally()
        self._truth.count(self._tallies[target, method], draw, found)
