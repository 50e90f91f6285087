"""How many queries or pairs people have to grade for intervals of a given width, or to tell systems apart.

Samples are drawn from grades that people might give (see synthetic_grades), and estimated from as people's would be.
The squared standard errors fall with the number n of N queries or pairs as c·(1/n − 1/N), where c hardly depends on n:
one size is tried out, then the size that follows from its c, and so on until the goal is just reached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from quati_pool.estimation.estimated import Values
from quati_pool.estimation.pair_estimates import PairEstimator, PairSample, folds
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.pair_refusals import ideal_error
from quati_pool.estimation.planning_goals import Goal, quantile
from quati_pool.estimation.query_regression import QuerySample, shared_weight
from quati_pool.estimation.results import Drawn, Estimate, Target, Unit
from quati_pool.records import Int
from quati_pool.stats.sample_sizes import FEWEST_QUERIES

LEAST_PAIRS = 100
"""The fewest pairs that are planned: of fewer, the quantiles of intervals are too small."""

_QUERY_DRAWS = 12
"""Draws of whole queries from each set of grades. Pairs are drawn once: as each is drawn by itself, their errors
differ little between draws."""
_TRIES, _BISECTING = 12, 6
"""At most so many sizes are tried out; after some, by bisection."""
_CLOSE = 0.97
"""A size that gives this share of the goal's figure or more is not made smaller."""

Minimum = Literal["queries", "pairs", "ideal"]
"""The fewest queries, or pairs, that are planned, or the fewest pairs from which the ideal of nDCG is known."""


@dataclass(frozen=True, kw_only=True)
class PlannedDesign:
    """How much people have to grade by one kind of design.

    ``count``: the number of queries drawn whole, or of pairs (expected); None if not even all of them would do.
    ``labels``: how many pairs people grade then, in how many ``queries``. ``figure``: the half-width, or the smallest
    difference found, that this number (all, for None) gave when tried out. ``minimum``: why it is not smaller although
    fewer would reach the goal; None where they would not.
    """

    unit: Unit
    count: int | None
    labels: int
    queries: int
    figure: float
    minimum: Minimum | None = None


@dataclass(frozen=True, kw_only=True)
class TriedDesign:
    """What ``count`` queries drawn whole, or pairs, gave when tried out.

    ``labels``: how many pairs people grade then, in how many ``queries``. ``figure``: the half-width, or the smallest
    difference found. ``least``: the smallest count from which the ideal of nDCG is known well enough.
    """

    count: int
    labels: int
    queries: int
    figure: float
    least: float


class Planner:
    """Plans designs for ``measure`` of the systems of ``frame``.

    ``truths`` are sets of people's grades that might be, of shape (pairs,) each, on ``scale``. The result depends on
    the ``seed``, by which samples are drawn.
    """

    def __init__(
        self,
        frame: PairFrame,
        measure: PairMeasure,
        scale: list[int],
        truths: Sequence[Int],
        goal: Goal,
        target: Target,
        seed: int,
    ) -> None:
        self._frame, self._measure, self._goal, self._seed = frame, measure, goal, seed
        self._estimator = PairEstimator(frame, measure, scale, folds(len(frame), seed))
        self._truths = [relevance.astype(np.float64) for relevance in truths]
        self._values = [goal.columns(self._estimator.under(relevance)) for relevance in self._truths]
        self._like_these = target == "queries-like-these"

    def queries(self) -> PlannedDesign:
        """The queries to draw whole; there must be at least 8."""
        return _planned(self._query_trial, self._goal, self._fixed)

    def pairs(self, most_ideal_error: float) -> PlannedDesign:
        """The pairs to draw for the measure, so many that the expected ``ideal_error`` is at most
        ``most_ideal_error``."""
        return _planned(self._pair_trial(most_ideal_error), self._goal, self._fixed)

    def given_queries(self, count: int) -> TriedDesign | None:
        """What ``count`` queries drawn whole give, whether that reaches the goal or not; more than all are all, and
        None is returned for fewer than 8."""
        return _tried(self._query_trial, self._goal, self._fixed, count)

    def given_pairs(self, count: int, most_ideal_error: float) -> TriedDesign | None:
        """What ``count`` pairs drawn for the measure give, whether that reaches the goal or not; more than all are all,
        and None is returned for fewer than ``LEAST_PAIRS``, or all if these are fewer."""
        return _tried(self._pair_trial(most_ideal_error), self._goal, self._fixed, count)

    @property
    def _query_trial(self) -> _QueryTrial:
        judge = self._goal.columns(self._estimator.under(self._frame.judge_or_mean.astype(np.float64)))
        return _QueryTrial(self._values, judge, len(self._frame), self._seed)

    def _pair_trial(self, most_ideal_error: float) -> _PairTrial:
        degrees = self._frame.queries - 1.0 if self._like_these else np.inf
        return _PairTrial(
            self._frame, self._measure, self._estimator, self._truths, self._goal, most_ideal_error, degrees, self._seed
        )

    @property
    def _fixed(self) -> float:
        """The standard error that remains when all pairs are graded: that of a mean over all queries, as a sample of
        queries like them."""
        if not self._like_these:
            return 0.0
        spread = np.mean([values.std(axis=0, ddof=1).mean() for values in self._values])
        return float(spread / np.sqrt(self._frame.queries))


def queries_by_residuals(these: Estimate, target: Estimate, drawn: Drawn, goal: Goal) -> PlannedDesign:
    """The queries to draw whole, from an estimate for these queries of ``drawn`` whole queries, and one for the target:
    for measures that cannot be tried out, because they are not sums over pairs."""
    drawing, error = goal.known_errors(these), goal.known_errors(target)
    fixed = np.sqrt(np.maximum(error**2 - drawing**2, 0.0)).mean()
    return _planned(_Residuals(drawn, float(drawing.mean())), goal, float(fixed))


def projected_half_width(estimate: Estimate, drawn: Drawn, more: int) -> float:
    """Half the width of the intervals of the systems, on average, once people have graded ``more`` further queries or
    pairs (as drawn; at most all of them count).

    Variances fall as 1/n − 1/N. For drawn pairs of which some queries are not done, they are taken to fall as the
    reciprocal of the number of queries that are: a little too slowly.

    ``estimate`` is one for these queries, from ``drawn``. Raises ValueError for another target, whose intervals do not
    become arbitrarily narrow.
    """
    if estimate.target != "these-queries":
        raise ValueError(f"an estimate for {estimate.target}; give one for these-queries")
    if drawn.unit == "pairs" and drawn.labelled < drawn.queries:
        graded = drawn.labelled
        wanted = min(graded * (1 + more / drawn.labels), drawn.queries)
        fall = graded / wanted
    else:
        graded, frame = (drawn.labelled, drawn.queries) if drawn.unit == "queries" else (drawn.labels, drawn.pairs)
        wanted = min(graded + more, frame)
        fall = (1 / wanted - 1 / frame) / (1 / graded - 1 / frame) if wanted < frame else 0.0
    degrees = np.inf if estimate.degrees is None else estimate.degrees + wanted - graded
    error = np.mean([system.standard_error for system in estimate.systems])
    return float(error * np.sqrt(fall) * quantile(1 - estimate.alpha / estimate.looks / 2, degrees))


class _Outcome(NamedTuple):
    """What a size gave when tried out: the standard error that further labels would lessen, the pairs graded, the
    queries they are of, and the least size that the ideal of nDCG needs."""

    drawing: float
    labels: float
    queries: float
    least: float = 0.0


class _Trial(ABC):
    """Tries out sizes of a design, from ``least`` up to ``most``, its census; the ``first`` one is below that."""

    unit: Unit
    least: int
    most: int
    first: int

    @abstractmethod
    def outcome(self, size: int) -> _Outcome:
        """Of a size below ``most``."""

    @abstractmethod
    def census(self) -> _Outcome: ...

    @abstractmethod
    def degrees(self, sizes: Int) -> Values:
        """The degrees of freedom of estimates from samples of these sizes, which may be infinite."""


class _Queries(_Trial):
    """Whole queries; the frame has ``most``, of ``pairs`` pairs in all."""

    unit = "queries"
    least = FEWEST_QUERIES

    def __init__(self, most: int, pairs: int, first: int) -> None:
        self.most, self._pairs = most, pairs
        self.first = min(max(first, self.least), most - 1)

    def census(self) -> _Outcome:
        return _Outcome(0.0, self._pairs, self.most)

    def degrees(self, sizes: Int) -> Values:
        return sizes.astype(np.float64) - 1

    def _of(self, size: int, drawing: float) -> _Outcome:
        return _Outcome(drawing, self._pairs * size / self.most, size)


class _QueryTrial(_Queries):
    """``values`` are people's, one array of shape (queries, columns) for each set of grades, ``judge`` the judge's."""

    def __init__(self, values: Sequence[Values], judge: Values, pairs: int, seed: int) -> None:
        super().__init__(len(judge), pairs, len(judge) // 3)
        self._values, self._judge = values, judge
        generator = np.random.default_rng(seed)
        self._orders = [generator.permutation(self.most) for _ in range(_QUERY_DRAWS)]
        self._stratum = np.zeros(self.most, dtype=np.int64)

    def outcome(self, size: int) -> _Outcome:
        errors = []
        for order in self._orders:
            sample = QuerySample(order[:size], self._stratum)
            for values in self._values:
                people = values[sample.drawn]
                weight = shared_weight(*sample.judge_weights(people, self._judge))
                found = sample.means(people, self._judge, weight, like_these=False)
                errors.append(found.standard_error.mean())
        return self._of(size, float(np.mean(errors)))


class _Residuals(_Queries):
    """Whole queries with a known standard error from those drawn so far; nothing is drawn."""

    def __init__(self, drawn: Drawn, error: float) -> None:
        super().__init__(drawn.queries, drawn.pairs, drawn.labelled)
        known = 1 / drawn.labelled - 1 / self.most
        # Once all are graded, what fewer would have given is unknown, and all are needed.
        self._constant = error / np.sqrt(known) if known > 0 else np.inf

    def outcome(self, size: int) -> _Outcome:
        return self._of(size, float(self._constant * np.sqrt(1 / size - 1 / self.most)))


class _PairTrial(_Trial):
    """Pairs drawn for ``measure``, each by itself; ``limit`` is that of the ideal's error."""

    unit = "pairs"
    least = LEAST_PAIRS

    def __init__(
        self,
        frame: PairFrame,
        measure: PairMeasure,
        estimator: PairEstimator,
        truths: Sequence[Values],
        goal: Goal,
        limit: float,
        degrees: float,
        seed: int,
    ) -> None:
        self._frame, self._measure, self._estimator, self._goal = frame, measure, estimator, goal
        self._limit, self._degrees = limit, degrees
        # The pairs outside the first ranks matter for the ideal alone.
        self.most = len(frame) if measure.normalized else len(np.unique(frame.pair[frame.rank <= measure.cutoff]))
        self.least = min(self.least, self.most)
        self.first = min(max(self.most // 5, self.least), self.most - 1)
        generator = np.random.default_rng(seed)
        self._draws = [(relevance, generator.random(len(frame))) for relevance in truths]

    def outcome(self, size: int) -> _Outcome:
        inclusion = probabilities(self._frame, self._measure, size)
        found = [self._one(relevance, uniform, inclusion) for relevance, uniform in self._draws]
        drawing, queries, unsure = np.mean(found, axis=0).tolist()
        return _Outcome(drawing, size, queries, size * unsure / self._limit)

    def _one(self, relevance: Values, uniform: Values, inclusion: Values) -> tuple[float, int, float]:
        pair = np.flatnonzero(uniform < inclusion)
        stratum, sizes = np.zeros(len(pair), dtype=np.int64), np.array([len(inclusion)])
        sample = PairSample(pair, relevance[pair], inclusion[pair], stratum, sizes, poisson=True)
        found = self._estimator.estimate(sample)
        error = self._goal.errors(found.means(like_these=False)).mean()
        return float(error), len(np.unique(self._frame.query[pair])), ideal_error(found.ideal_error)

    def census(self) -> _Outcome:
        return _Outcome(0.0, self.most, len(np.unique(self._frame.query)))

    def degrees(self, sizes: Int) -> Values:
        return np.full(len(sizes), self._degrees)


def _planned(trial: _Trial, goal: Goal, fixed: float) -> PlannedDesign:
    """The smallest size that reaches the goal; ``fixed`` is the standard error that no size lessens."""
    low, high, found = trial.least - 1, trial.most, trial.census()
    if not _figure(trial, goal, high, fixed) <= goal.most:
        low = high
    ideal_lacks = False
    size = trial.first
    for tries in range(_TRIES):
        if high - low <= 1:
            break
        outcome = trial.outcome(size)
        figure = _figure(trial, goal, size, np.hypot(outcome.drawing, fixed))
        if figure <= goal.most and size >= outcome.least:
            high, found = size, outcome
            if figure >= _CLOSE * goal.most or _CLOSE * size <= outcome.least:
                break
        else:
            low, ideal_lacks = size, figure <= goal.most
        size = _wanted(trial, goal, fixed, size, outcome)
        if not low < size < high or tries >= _BISECTING:
            size = (low + high) // 2
    figure = _figure(trial, goal, high, np.hypot(found.drawing, fixed))
    minimum: Minimum | None = None
    if low < trial.most and figure < _CLOSE * goal.most:
        if ideal_lacks or _CLOSE * high <= found.least:
            minimum = "ideal"
        elif high == trial.least and _fewer_would_do(trial, goal, fixed, high, found):
            minimum = trial.unit
    return PlannedDesign(
        unit=trial.unit,
        count=None if low == trial.most else high,
        labels=round(found.labels),
        queries=round(found.queries),
        figure=figure,
        minimum=minimum,
    )


def _tried(trial: _Trial, goal: Goal, fixed: float, size: int) -> TriedDesign | None:
    """What ``size`` gives; ``fixed`` is the standard error that no size lessens."""
    size = min(size, trial.most)
    if size < trial.least:
        return None
    outcome = trial.census() if size == trial.most else trial.outcome(size)
    return TriedDesign(
        count=size,
        labels=round(outcome.labels),
        queries=round(outcome.queries),
        figure=_figure(trial, goal, size, np.hypot(outcome.drawing, fixed)),
        least=outcome.least,
    )


def _figure(trial: _Trial, goal: Goal, size: int, error: float) -> float:
    return float(goal.figure(error, trial.degrees(np.array([size])))[0])


def _wanted(trial: _Trial, goal: Goal, fixed: float, size: int, outcome: _Outcome) -> int:
    """The smallest size that reaches the goal with a little to spare, if c is that of ``outcome``; ``most`` if none
    below it does."""
    sizes = np.arange(trial.least, trial.most)
    aim = (1 + _CLOSE) / 2 * goal.most
    enough = (_projected(trial, goal, fixed, size, outcome, sizes) <= aim) & (sizes >= outcome.least)
    return int(sizes[np.argmax(enough)]) if enough.any() else trial.most


def _projected(trial: _Trial, goal: Goal, fixed: float, size: int, outcome: _Outcome, sizes: Int) -> Values:
    """The figures of ``sizes``, if c is that of ``outcome``, which ``size`` gave."""
    constant = outcome.drawing**2 / (1 / size - 1 / trial.most)
    return goal.figure(np.sqrt(constant * (1 / sizes - 1 / trial.most) + fixed**2), trial.degrees(sizes))


def _fewer_would_do(trial: _Trial, goal: Goal, fixed: float, size: int, outcome: _Outcome) -> bool:
    """Whether one less would reach the goal too, if c is that of ``outcome``; of a census c is not known."""
    if size == trial.most:
        return True
    return bool(_projected(trial, goal, fixed, size, outcome, np.array([size - 1]))[0] <= goal.most)
