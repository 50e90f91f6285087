"""Replays of pooling methods on a judged collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.adaptive import UNGRADED, AdaptivePool, Limits, rounded
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.pooling.methods.base import InOrder, PoolMethod, Values
from quati_pool.pooling.methods.judge_order import probability_by_grade
from quati_pool.pooling.replay.collection import NO_GRADE, Hybrid, JudgedCollection, compared
from quati_pool.pooling.replay.results import Budget, Outcome, PoolReplay, Ranking, Steering, Times
from quati_pool.processes.base import Engine
from quati_pool.records import Int, Run
from quati_pool.stats.bootstrap import interval, multiplicities

Flags = npt.NDArray[np.bool_]

_DRAWS = 2000
"""Resamples of the queries."""


class Method(NamedTuple):
    """A pooling method with its parameters."""

    name: str
    cls: type[PoolMethod]
    parameters: Any


@dataclass(frozen=True, kw_only=True)
class PoolReplayPlan:
    """What is replayed: each of the ``methods`` with ``shares`` of the candidates as budget, which are the first
    ``depth`` documents of every run. The first method is depth pooling, which the others are compared to. ``relevant``
    is people's lowest relevant grade, ``judge_relevant`` the judge's. The share ``random`` of each budget is drawn at
    random, if the method itself does not draw. ``seeds``: how often what draws at random is repeated. ``families``: the
    family of each run_tag; None if no family is left out."""

    methods: Sequence[Method]
    depth: int
    shares: Sequence[float]
    steered_by: Sequence[Steering]
    relevant: int
    judge_relevant: int
    families: Mapping[str, str] | None
    random: float = 0.0
    seed: int = 0
    seeds: int = 10

    @cached_property
    def jobs(self) -> tuple[_Job, ...]:
        """Every method with a budget that is fixed per query and, where the method says which query comes next, with
        one that moves between queries."""
        return tuple(
            _Job(method, budget, steering)
            for method in self.methods
            for budget in _budgets(method)
            for steering in (self.steered_by if _learns(method, budget) else (None,))
        )


class _Job(NamedTuple):
    method: Method
    budget: Budget
    steering: Steering | None


def _budgets(method: Method) -> tuple[Budget, ...]:
    return ("per-query", "moving") if method.cls.moves and method.cls.learns else ("per-query",)


def _learns(method: Method, budget: Budget) -> bool:
    """Whether grades change what is chosen: an order that is known beforehand changes only between queries."""
    return method.cls.learns and not (budget == "per-query" and issubclass(method.cls, InOrder))


def replay(
    collection: JudgedCollection,
    plan: PoolReplayPlan,
    hybrid: Hybrid | None,
    engine: Engine,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PoolReplay:
    """Replays the plan in the processes of ``engine``: once with all runs, and once without each family. ``progress``
    is called with the number of these that are done, and of all."""
    families = _families(collection, plan)
    # Only the pool of all runs is scored by condensed rankings, which may go deeper.
    heads = collection.head(max(plan.depth, collection.cutoff))
    tasks = [
        _Task(collection, plan, hybrid),
        *(_Task(heads, plan, None, family) for family in families if len(families) > 1),
    ]
    found: list[Any] = [None] * len(tasks)
    progress(0, len(tasks))
    for done, (place, result) in enumerate(engine.run(_replayed, tasks, str), 1):
        found[place] = result
        progress(done, len(tasks))
    outcomes, *of_families = found
    truth = collection.truth
    if of_families:
        scores = _left_out(collection, plan, families, of_families)
        outcomes = [replace(one, left_out=compared(row, truth)) for one, row in zip(outcomes, scores, strict=True)]
    whole = JudgedCandidates(collection, plan, collection.runs)
    nothing = np.zeros(len(collection.query), dtype=bool)
    return PoolReplay(
        tuple(_with_times(outcomes, plan)),
        None if hybrid is None else collection.rankings(nothing, hybrid)["hybrid"],
        collection.ranked.shape[1],
        len(families),
        len(whole.frame),
        int(whole.relevant.sum()),
        int((~collection.graded[collection.within(plan.depth)]).sum()),
        int((whole.judge == NO_GRADE).sum()),
        {run.run_tag: mean for run, mean in zip(collection.runs, truth.tolist(), strict=True)},
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """All jobs of the plan on the runs of all families, or of all but ``without``."""

    collection: JudgedCollection
    plan: PoolReplayPlan
    hybrid: Hybrid | None
    without: str | None = None

    def __str__(self) -> str:
        return "pools of all runs" if self.without is None else f"pools without {self.without}"


def _replayed(task: _Task) -> list[Outcome] | Values:
    """The outcomes of every job and share, or where a family is left out, the means of its systems, shape (outcomes,
    systems of the family)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _outcomes(task) if task.without is None else _scores_without(task, task.without)


def _outcomes(task: _Task) -> list[Outcome]:
    frame = JudgedCandidates(task.collection, task.plan, task.collection.runs)
    return [outcome for job in task.plan.jobs for outcome in frame.outcomes(job, task.hybrid)]


def _scores_without(task: _Task, family: str) -> Values:
    collection, plan = task.collection, task.plan
    systems = _members(collection, plan, family)
    others = [run for system, run in enumerate(collection.runs) if system not in systems]
    frame = JudgedCandidates(collection, plan, others)
    return np.array(
        [
            collection.by_pool(frame.pairs(chosen), systems)
            for job in plan.jobs
            for chosen in frame.selections(job, plan.seed)
        ]
    )


def _families(collection: JudgedCollection, plan: PoolReplayPlan) -> list[str]:
    return [] if plan.families is None else sorted({plan.families[run.run_tag] for run in collection.runs})


def _members(collection: JudgedCollection, plan: PoolReplayPlan, family: str) -> list[int]:
    """The positions of the runs of a family."""
    assert plan.families is not None
    return [system for system, run in enumerate(collection.runs) if plan.families[run.run_tag] == family]


def _left_out(
    collection: JudgedCollection, plan: PoolReplayPlan, families: Sequence[str], found: Sequence[Values]
) -> Values:
    """The mean of each system by the pools without its family, shape (outcomes, systems)."""
    scores = np.empty((len(found[0]), len(collection.runs)))
    for family, of_family in zip(families, found, strict=True):
        scores[:, _members(collection, plan, family)] = of_family
    return scores


class JudgedCandidates:
    """The candidates that some of a collection's runs give, with their grades."""

    def __init__(self, collection: JudgedCollection, plan: PoolReplayPlan, runs: Sequence[Run]) -> None:
        self._collection, self._plan = collection, plan
        self.frame: Candidates = candidates(runs, {run.run_tag: plan.depth for run in runs})
        self._numbers = collection.numbers(self.frame)
        self.people, self.judge = collection.people[self._numbers], collection.judge[self._numbers]
        self.relevant: Flags = self.people >= plan.relevant
        self._expected = self._expectations()

    def outcomes(self, job: _Job, hybrid: Hybrid | None) -> list[Outcome]:
        """One for each share, averaged over the seeds."""
        plan = self._plan
        seeds = range(plan.seed, plan.seed + (plan.seeds if job.method.cls.random or plan.random else 1))
        found = [[self._outcome(job, *one, hybrid) for one in self._by_share(job, seed)] for seed in seeds]
        return [_mean(of_share) for of_share in zip(*found, strict=True)]

    def _by_share(self, job: _Job, seed: int) -> Iterator[tuple[float, Flags]]:
        return zip(self._plan.shares, self.selections(job, seed), strict=True)

    def _outcome(self, job: _Job, share: float, chosen: Flags, hybrid: Hybrid | None) -> Outcome:
        found = self.frame.query[chosen & self.relevant]
        return Outcome(
            method=job.method.name,
            budget=job.budget,
            steered_by=job.steering,
            share=share,
            labels=int(chosen.sum()),
            relevant=np.bincount(found, minlength=len(self.frame.queries)).astype(np.float64),
            recall=len(found) / max(int(self.relevant.sum()), 1),
            rankings=self._collection.rankings(self.pairs(chosen), hybrid),
        )

    def selections(self, job: _Job, seed: int) -> Iterator[Flags]:
        """The candidates that the method chooses with each share as budget, shape (candidates,)."""
        random = 0.0 if job.method.cls.random else self._plan.random
        if job.budget == "moving":
            limits = [Limits(budget=_total(self.frame, share), random=random) for share in self._plan.shares]
        elif random:
            limits = [Limits(per_query=_per_query(self.frame, share), random=random) for share in self._plan.shares]
        else:
            # The sequences of smaller shares are the beginnings of that of the largest.
            most = _per_query(self.frame, max(self._plan.shares))
            place = self._chosen(job, Limits(per_query=most), seed).place
            yield from (place < _per_query(self.frame, share)[self.frame.query] for share in self._plan.shares)
            return
        yield from (self._chosen(job, one, seed).round > 0 for one in limits)

    def pairs(self, chosen: Flags) -> Flags:
        """Which pairs of the collection were chosen, shape (pairs,)."""
        found = np.zeros(len(self._collection.query), dtype=bool)
        found[self._numbers[chosen]] = True
        return found

    def _chosen(self, job: _Job, limits: Limits, seed: int) -> AdaptivePool:
        _, cls, parameters = job.method
        by_judge = job.steering == "judge"
        grades = np.where(self.judge == NO_GRADE, UNGRADED, self.judge) if by_judge else self.people
        pool = AdaptivePool(
            self.frame,
            lambda query: cls(query, parameters),
            limits,
            relevant=self._plan.judge_relevant if by_judge else self._plan.relevant,
            moves=cls.moves,
            seed=seed,
            grades=grades,
            expected=self._expected,
        )
        pool.advance()
        return pool

    def _expectations(self) -> Values | None:
        known = self.judge != NO_GRADE
        if not known.any():
            return None
        found = np.full(len(self.judge), np.nan)
        found[known] = probability_by_grade(self.judge[known], np.unique(self.judge[known]))
        return found


def _total(frame: Candidates, share: float) -> int:
    return round(share * len(frame))


def _per_query(frame: Candidates, share: float) -> Int:
    """The same share of each query's candidates, shape (queries,), as many in all as ``_total``."""
    return rounded(share * frame.sizes.astype(np.float64), _total(frame, share))


def _with_times(outcomes: Sequence[Outcome], plan: PoolReplayPlan) -> Iterator[Outcome]:
    """The outcomes compared to depth pooling's, which come first; 95 % percentile intervals over resampled queries."""
    depth = {one.share: one.relevant for one in outcomes[: len(plan.shares)]}
    queries = len(outcomes[0].relevant)
    drawn = np.concatenate(list(multiplicities(queries, _DRAWS, plan.seed)))
    for one in outcomes:
        yield replace(one, times_depth=_times(one.relevant, depth[one.share], drawn))


def _times(relevant: Values, of_depth: Values, drawn: Values) -> Times:
    if not of_depth.sum():
        return Times()
    numerators, denominators = drawn @ relevant, drawn @ of_depth
    ratios = np.divide(numerators, denominators, out=np.full(len(drawn), np.nan), where=denominators > 0)
    low, high, _ = interval(ratios)
    return Times(float(relevant.sum() / of_depth.sum()), low, high)


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    """The mean over seeds; a correlation that is undefined for one of them is undefined."""
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    return replace(
        first,
        labels=_average([one.labels for one in outcomes]),
        relevant=np.mean([one.relevant for one in outcomes], axis=0),
        recall=_average([one.recall for one in outcomes]),
        rankings={scoring: _mean_ranking([one.rankings[scoring] for one in outcomes]) for scoring in first.rankings},
        seeds=len(outcomes),
    )


def _mean_ranking(rankings: Sequence[Ranking]) -> Ranking:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return _average(known) if len(known) == len(values) else None

    return Ranking(
        mean([one.tau for one in rankings]),
        mean([one.tau_ap for one in rankings]),
        mean([one.top_tau for one in rankings]),
        _average([one.bias for one in rankings]),
        _average([one.error for one in rankings]),
    )


def _average(values: Sequence[float]) -> float:
    return float(np.mean(values))
