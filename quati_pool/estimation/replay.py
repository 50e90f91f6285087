"""Estimation tried out where people graded everything, so that the truth is known.

Many samples are drawn by each design, and each is estimated from as if nothing else were graded. How often do the
intervals contain the truth, how wide are they, and which systems can be told apart?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from quati_pool.estimation import decisions
from quati_pool.estimation.estimated import Estimated, compared
from quati_pool.estimation.pair_estimates import PairEstimator, PairSample, folds
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight
from quati_pool.estimation.results import Target
from quati_pool.processes.base import Engine
from quati_pool.records import Int

Values = npt.NDArray[np.float64]

Method = Literal["queries", "people-only", "pairs", "uniform-pairs", "judge-only"]
"""Whole queries drawn at random, with the judge's grades and without; pairs drawn with probabilities for the measure,
and with equal ones; the judge's grades alone, with t intervals over all queries."""

_BLOCK = 20
"""Draws that a process does at a time; sums of blocks are added in their order, whoever computed them."""
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Census:
    """Grades of all pairs by people and a judge, and at least two systems.

    ``people`` and ``judge``, shape (queries, systems), are a measure's values. ``relevance``, shape (pairs,), are
    people's grades of the pairs of ``frame``, on ``scale``. ``measure`` is None if samples of pairs cannot estimate it.
    """

    people: Values
    judge: Values
    frame: PairFrame
    relevance: Int
    scale: list[int]
    measure: PairMeasure | None

    @cached_property
    def truth(self) -> Values:
        """The mean of each system, shape (systems,)."""
        mean: Values = self.people.mean(axis=0)
        return mean


@dataclass(frozen=True, kw_only=True)
class ReplayPlan:
    """What is drawn, and what is estimated from it.

    ``queries``: how many are drawn whole. ``pairs``: how many are expected to be drawn as pairs. ``baseline``: the
    position of the system to which the others are compared; None compares all pairs of systems. Verdicts are always
    about all pairs of systems. Draw r uses the seed [seed, r].
    """

    queries: int
    pairs: float
    draws: int = 1000
    seed: int = 0
    targets: tuple[Target, ...] = ("these-queries", "queries-like-these")
    baseline: int | None = None
    alpha: float = 0.05
    delta: float = 0.02


@dataclass(frozen=True, eq=False)
class Intervals:
    """How the estimates of several columns (systems or differences) did over all draws, each of shape (columns,).

    ``coverage``: the share of intervals that contain the truth; ``half_width``: half their width, on average; ``bias``:
    the mean error of the estimates; ``error``: the root of their mean squared error.
    """

    coverage: Values
    half_width: Values
    bias: Values
    error: Values


@dataclass(frozen=True)
class Decisions:
    """Verdicts on all pairs of systems, Holm-adjusted, averaged over draws.

    ``ordered`` and ``tied``: the shares of pairs of which one system is found better, or that are found to tie within
    ±delta. ``wrong_order_draws``: the share of draws with at least one system found better that is not;
    ``wrong_orders``: their share of all orders found, None if none is. ``wrong_tie_draws``: the share of draws with at
    least one tie of systems that differ by more than delta.
    """

    ordered: float
    tied: float
    wrong_order_draws: float
    wrong_orders: float | None
    wrong_tie_draws: float

    @property
    def decided(self) -> float:
        return self.ordered + self.tied


@dataclass(frozen=True, eq=False)
class MethodReplay:
    """How one method did for one target. ``labels``: people's grades that a draw uses, on average."""

    method: Method
    target: Target
    draws: int
    labels: float
    systems: Intervals
    differences: Intervals
    decisions: Decisions


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of a replay. ``a`` and ``b``, shape (differences,), are the positions of the systems compared, in all
    pairs or each with the baseline; ``truth``, shape (systems,), people's means over all queries."""

    plan: ReplayPlan
    a: Int
    b: Int
    truth: Values
    methods: tuple[MethodReplay, ...]

    def relative_width(self, one: MethodReplay) -> tuple[float | None, float | None]:
        """The mean half-width for systems and for differences, as shares of those of whole queries graded by people
        without a judge; None where these have no width."""
        (alone,) = (other for other in self.methods if (other.method, other.target) == ("people-only", one.target))
        return (
            _share(one.systems.half_width, alone.systems.half_width),
            _share(one.differences.half_width, alone.differences.half_width),
        )


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


_Tallies = dict[tuple[Target, Method], "_Tally"]


def _replay_block(task: _Task) -> _Tallies:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _Block(task).tallies()


class _Block:
    """Some draws of a replay."""

    def __init__(self, task: _Task) -> None:
        self._census, self._plan = task.census, task.plan
        self._draws = range(task.start, task.stop)
        systems = len(task.census.truth)
        self._compared = compared(systems, task.plan.baseline)
        self._pairs = compared(systems, None)
        self._tallies: _Tallies = {}

    def tallies(self) -> _Tallies:
        census, plan = self._census, self._plan
        if "these-queries" in plan.targets:
            designs = _pair_designs(census, plan)
            for draw in self._draws:
                self._draw("these-queries", census, designs, np.random.default_rng([plan.seed, draw]))
            if 0 in self._draws:
                self._add("these-queries", "judge-only", _judge_only(census))
        if "queries-like-these" in plan.targets:
            queries, collections = len(census.people), _Collections(census)
            for draw in self._draws:
                generator = np.random.default_rng([plan.seed, draw])
                drawn = collections.of(generator.integers(0, queries, queries))
                self._draw("queries-like-these", drawn, _pair_designs(drawn, plan), generator)
                self._add("queries-like-these", "judge-only", _judge_only(drawn))
        return self._tallies

    def _draw(
        self, target: Target, census: Census, designs: Mapping[Method, _PairDesign], generator: np.random.Generator
    ) -> None:
        """Draws once by each design, from the queries of ``census``."""
        queries, like_these = len(census.people), _like_these(target)
        sample = QuerySample(generator.permutation(queries)[: self._plan.queries], np.zeros(queries, dtype=np.int64))
        self._add(target, "people-only", _people_only(census, sample, like_these=like_these))
        self._add(target, "queries", _from_queries(census, sample, self._plan.baseline, like_these=like_these))
        uniform = generator.random(len(census.frame))
        for method, design in designs.items():
            self._add(target, method, design.estimate(uniform, like_these=like_these))

    def _add(self, target: Target, method: Method, found: _Found) -> None:
        """Counts the estimates of one draw."""
        plan, truth = self._plan, self._census.truth
        a, b = self._compared
        first, second = self._pairs
        differences = _differences(found.for_compared, a, b)
        pairs = differences if plan.baseline is None else _differences(found.for_pairs, first, second)
        support = (np.abs(found.by_query[:, first] - found.by_query[:, second]) > _ROUNDING).sum(axis=0)
        tally = self._tallies.setdefault((target, method), _Tally.empty(len(truth), len(a)))
        tally.systems += _sums(found.systems, truth, plan.alpha)
        tally.differences += _sums(differences, truth[a] - truth[b], plan.alpha)
        tally.verdicts += _verdicts(pairs, support, truth[first] - truth[second], plan)
        tally.labels += found.labels
        tally.draws += 1


@dataclass(frozen=True, eq=False)
class _Found:
    """What a method estimates from one draw: ``systems``, and the estimates that differences are taken from, of all
    pairs of systems and of those that are compared. ``by_query``, shape (queries, systems), are values of single
    queries, in which systems must differ often enough for a verdict."""

    labels: int
    by_query: Values
    systems: Estimated
    for_pairs: Estimated
    for_compared: Estimated


def _people_only(census: Census, sample: QuerySample, *, like_these: bool) -> _Found:
    people = census.people[sample.drawn]
    found = sample.alone(people, like_these=like_these)
    return _Found(_labels(census, sample), people, found, found, found)


def _from_queries(census: Census, sample: QuerySample, baseline: int | None, *, like_these: bool) -> _Found:
    people, judge = census.people[sample.drawn], census.judge
    systems, for_pairs, for_compared = (
        sample.means(people, judge, weight, like_these=like_these)
        for weight in (
            shared_weight(*sample.judge_weights(people, judge)),
            _difference_weight(sample, people, judge, None),
            _difference_weight(sample, people, judge, baseline),
        )
    )
    return _Found(_labels(census, sample), people, systems, for_pairs, for_compared)


def _judge_only(census: Census) -> _Found:
    """The judge's means with t intervals, as for a sample of queries: how they would be read if they were people's."""
    judge, queries = census.judge, len(census.judge)
    mean = judge.mean(axis=0)
    rows = (judge - mean) / np.sqrt(queries * (queries - 1))
    found = Estimated(mean, rows, rows, float(queries - 1), np.full(len(mean), np.nan))
    return _Found(0, judge, found, found, found)


def _labels(census: Census, sample: QuerySample) -> int:
    return int(census.frame.sizes[sample.drawn].sum())


@dataclass(eq=False)
class _Tally:
    """Sums over draws. ``systems`` and ``differences`` have shape (4, columns): intervals that contain the truth,
    half-widths, errors and squared errors; ``verdicts`` shape (5,): as ``_verdicts``."""

    systems: Values
    differences: Values
    verdicts: Values
    labels: int = 0
    draws: int = 0

    @classmethod
    def empty(cls, systems: int, differences: int) -> _Tally:
        return cls(np.zeros((4, systems)), np.zeros((4, differences)), np.zeros(5))

    def add(self, other: _Tally) -> None:
        self.systems += other.systems
        self.differences += other.differences
        self.verdicts += other.verdicts
        self.labels += other.labels
        self.draws += other.draws

    def result(self, target: Target, method: Method) -> MethodReplay:
        systems = self.systems.shape[1]
        return MethodReplay(
            method,
            target,
            self.draws,
            self.labels / self.draws,
            _intervals(self.systems / self.draws),
            _intervals(self.differences / self.draws),
            _decisions(self.verdicts / self.draws, systems * (systems - 1) // 2),
        )


def _intervals(means: Values) -> Intervals:
    coverage, half_width, bias, squared_error = means
    return Intervals(coverage, half_width, bias, np.sqrt(squared_error))


def _decisions(means: Values, pairs: int) -> Decisions:
    ordered, tied, wrong_order_draws, wrong, wrong_tie_draws = means.tolist()
    return Decisions(
        ordered / pairs, tied / pairs, wrong_order_draws, wrong / ordered if ordered else None, wrong_tie_draws
    )


def _sums(found: Estimated, truth: Values, alpha: float) -> Values:
    error, half_width = found.estimate - truth, found.half_width(alpha)
    return np.stack([np.abs(error) <= half_width + _ROUNDING, half_width, error, error**2])


def _verdicts(differences: Estimated, support: Int, truth: Values, plan: ReplayPlan) -> Values:
    """Of one draw: pairs found to differ, ties found, whether an order is wrong, wrong orders, whether a tie is wrong;
    ``truth``, shape (pairs,), are the true differences."""
    verdicts = decisions.verdicts(differences, support, plan.alpha, plan.delta)
    tied = verdicts == "tie"
    ordered = ~tied & (verdicts != "inconclusive")
    direction = np.where(np.abs(truth) > _ROUNDING, np.sign(truth), 0.0)
    wrong = (ordered & (np.sign(differences.estimate) != direction)).sum()
    wrong_ties = (tied & (np.abs(truth) > plan.delta + _ROUNDING)).any()
    return np.array([ordered.sum(), tied.sum(), wrong > 0, wrong, wrong_ties], dtype=np.float64)


def _difference_weight(sample: QuerySample, people: Values, judge: Values, baseline: int | None) -> Values:
    """λ that all differences of two systems share, or those to the baseline: of each drawn query, shape (n, 1)."""
    if baseline is not None:
        return shared_weight(*sample.judge_weights(people - people[:, [baseline]], judge - judge[:, [baseline]]))
    # The covariances of all differences of S systems sum up to S times those of the systems, less that of their sum.
    systems = people.shape[1]
    factors = np.append(np.full(systems, float(systems)), -1.0)[:, None]
    over, under = sample.judge_weights(_with_sum(people), _with_sum(judge))
    return clipped(over @ factors, under @ factors)


def _with_sum(values: Values) -> Values:
    return np.column_stack([values, values.sum(axis=1)])


def _differences(found: Estimated, a: Int, b: Int) -> Estimated:
    """Columns ``a`` minus columns ``b``, with their variances but not their covariances: as ``Estimated.differences``
    at the cost of columns², not of labels · comparisons."""
    covariance = found.rows.T @ found.rows
    own = np.diag(covariance)
    either = own[a] + own[b]
    variance = either - 2 * covariance[a, b]
    error = np.sqrt(np.where(variance > _ROUNDING * either, variance, 0.0))[None]
    return Estimated(found.estimate[a] - found.estimate[b], error, error, found.degrees, np.full(len(a), np.nan))


def _like_these(target: Target) -> bool:
    return target == "queries-like-these"


def _share(part: Values, whole: Values) -> float | None:
    """The mean of ``part`` divided by that of ``whole``."""
    return float(part.mean() / whole.mean()) if whole.any() else None


@dataclass(frozen=True, eq=False)
class _PairDesign:
    """Pairs drawn one by one (Poisson), each with its probability in ``inclusion``, shape (pairs,)."""

    estimator: PairEstimator
    inclusion: Values
    relevance: Values

    def estimate(self, uniform: Values, *, like_these: bool) -> _Found:
        """Estimates from one draw, by the random numbers ``uniform``, shape (pairs,)."""
        drawn = np.flatnonzero(uniform < self.inclusion)
        stratum, sizes = np.zeros(len(drawn), dtype=np.int64), np.array([len(uniform)])
        sample = PairSample(drawn, self.relevance[drawn], self.inclusion[drawn], stratum, sizes, poisson=True)
        means = self.estimator.estimate(sample)
        found = means.means(like_these=like_these)
        return _Found(len(drawn), means.by_query, found, found, found)


def _pair_designs(census: Census, plan: ReplayPlan) -> dict[Method, _PairDesign]:
    """The designs that draw pairs; none for a measure that they cannot serve."""
    frame, measure = census.frame, census.measure
    if measure is None:
        return {}
    estimator = PairEstimator(frame, measure, census.scale, folds(len(frame), plan.seed))
    relevance = census.relevance.astype(np.float64)
    return {
        "pairs": _PairDesign(estimator, probabilities(frame, measure, plan.pairs), relevance),
        "uniform-pairs": _PairDesign(estimator, probabilities(frame, measure, plan.pairs, uniform=1), relevance),
    }


class _Collections:
    """Puts collections together from queries of a census; a query that is taken twice is two queries."""

    def __init__(self, census: Census) -> None:
        frame = census.frame
        self._census = census
        self._pairs = _Rows(frame.query, frame.queries)
        self._entries = _Rows(frame.query[frame.pair], frame.queries)

    def of(self, queries: Int) -> Census:
        census, frame = self._census, self._census.frame
        pairs, query = self._pairs.of(queries)
        entries, query_of_entry = self._entries.of(queries)
        sizes = frame.sizes[queries]
        first = np.cumsum(sizes) - sizes
        collected = PairFrame(
            query,
            len(queries),
            frame.judge[pairs],
            frame.systems,
            first[query_of_entry] + self._pairs.place[frame.pair[entries]],
            frame.system[entries],
            frame.rank[entries],
        )
        return Census(
            census.people[queries], census.judge[queries], collected, census.relevance[pairs], census.scale,
            census.measure,
        )  # fmt: skip


class _Rows:
    """The rows of each group. ``place``, shape (rows,), numbers the rows of a group from 0."""

    def __init__(self, group: Int, groups: int) -> None:
        self._order = np.argsort(group, kind="stable")
        self._counts = np.bincount(group, minlength=groups)
        self._first = np.cumsum(self._counts) - self._counts
        self.place = np.empty(len(group), dtype=np.int64)
        self.place[self._order] = np.arange(len(group)) - self._first[group[self._order]]

    def of(self, chosen: Int) -> tuple[Int, Int]:
        """The rows of the ``chosen`` groups, one group after the other, and the position in ``chosen`` of each."""
        counts = self._counts[chosen]
        position = np.repeat(np.arange(len(chosen)), counts)
        within = np.arange(len(position)) - (np.cumsum(counts) - counts)[position]
        return self._order[self._first[chosen][position] + within], position
