"""Holds the estimates of draws against the truth, and sums up over draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from quati_pool.estimation import decisions
from quati_pool.estimation.estimated import Estimated, Values, compared
from quati_pool.estimation.pair_refusals import Refusal
from quati_pool.estimation.replay.differences import differences
from quati_pool.estimation.replay.methods import DrawEstimates, RefusedDraw
from quati_pool.estimation.replay.results import Decisions, Intervals, Method, MethodReplay, ReplayPlan
from quati_pool.estimation.replay.simultaneous import SimultaneousIntervals
from quati_pool.estimation.results import Target
from quati_pool.records import Int
from quati_pool.stats.sample_sizes import FEWEST_QUERIES

_ROUNDING = 1e-12


@dataclass(eq=False)
class Tally:
    """Sums over draws. ``systems`` and ``differences`` have shape (4, columns): intervals that contain the truth,
    half-widths, errors and squared errors; ``verdicts`` shape (5,): as ``Truth.verdicts``; ``simultaneous`` shape (2,):
    draws in which all simultaneous intervals contain the truth, and draws in which they were computed."""

    systems: Values
    differences: Values
    verdicts: Values = field(default_factory=lambda: np.zeros(5))
    simultaneous: Int = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    labels: int = 0
    draws: int = 0
    refused: Counter[Refusal] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.systems += other.systems
        self.differences += other.differences
        self.verdicts += other.verdicts
        self.simultaneous += other.simultaneous
        self.labels += other.labels
        self.draws += other.draws
        self.refused += other.refused

    def result(self, target: Target, method: Method) -> MethodReplay:
        systems = self.systems.shape[1]
        estimated = self.draws - self.refused.total() or np.nan
        held, of = self.simultaneous.tolist()
        return MethodReplay(
            method,
            target,
            self.draws,
            self.labels / self.draws,
            _intervals(self.systems / estimated),
            _intervals(self.differences / estimated),
            _decisions(self.verdicts / estimated, systems * (systems - 1) // 2),
            held / of if of else None,
            dict(self.refused),
        )


def _intervals(means: Values) -> Intervals:
    coverage, half_width, bias, squared_error = means
    return Intervals(coverage, half_width, bias, np.sqrt(squared_error))


def _decisions(means: Values, pairs: int) -> Decisions:
    ordered, tied, wrong_order_draws, wrong, wrong_tie_draws = means.tolist()
    return Decisions(
        ordered / pairs, tied / pairs, wrong_order_draws, wrong / ordered if ordered > 0 else None, wrong_tie_draws
    )


class Truth:
    """The true means of systems, shape (systems,), against which draws are held."""

    def __init__(self, means: Values, plan: ReplayPlan) -> None:
        self._means, self._plan = means, plan
        self._compared = compared(len(means), plan.baseline)
        self._pairs = compared(len(means), None)
        self._simultaneous = SimultaneousIntervals(*self._compared, plan.alpha, plan.seed)

    def tally(self) -> Tally:
        """One of no draws."""
        return Tally(np.zeros((4, len(self._means))), np.zeros((4, len(self._compared[0]))))

    def count(self, tally: Tally, draw: int, found: DrawEstimates | RefusedDraw) -> None:
        """Adds the draw with this number to ``tally``."""
        tally.labels += found.labels
        tally.draws += 1
        if isinstance(found, RefusedDraw):
            tally.refused[found.reason] += 1
            return
        plan = self._plan
        of_compared, support = differences(found.for_compared, *self._compared), _support(found, self._compared)
        truth = self._differences(self._compared)
        tally.systems += _sums(found.systems, self._means, plan.alpha)
        tally.differences += _sums(of_compared, truth, plan.alpha)
        if draw < plan.simultaneous_draws:
            tested = support >= FEWEST_QUERIES
            held = self._simultaneous.contain(found.for_compared, of_compared, truth, tested)
            tally.simultaneous += np.array([held, 1])
        of_pairs = of_compared
        if plan.baseline is not None:
            of_pairs, support = differences(found.for_pairs, *self._pairs), _support(found, self._pairs)
        tally.verdicts += self._verdicts(of_pairs, support, all_graded=found.all_graded)

    def _differences(self, positions: tuple[Int, Int]) -> Values:
        a, b = positions
        return self._means[a] - self._means[b]

    def _verdicts(self, found: Estimated, support: Int, *, all_graded: bool) -> Values:
        """Of one draw: pairs found to differ, ties found, whether an order is wrong, wrong orders, whether a tie is
        wrong."""
        plan, truth = self._plan, self._differences(self._pairs)
        verdicts = decisions.verdicts(found, support, plan.alpha, plan.delta)
        if all_graded:
            known = found.standard_error == 0
            verdicts[known] = decisions.known_verdicts(found.estimate[known])
        tied = verdicts == "tie"
        ordered = ~tied & (verdicts != "inconclusive")
        direction = np.where(np.abs(truth) > _ROUNDING, np.sign(truth), 0.0)
        wrong = (ordered & (np.sign(found.estimate) != direction)).sum()
        wrong_ties = (tied & (np.abs(truth) > plan.delta + _ROUNDING)).any()
        return np.array([ordered.sum(), tied.sum(), wrong > 0, wrong, wrong_ties], dtype=np.float64)


def _sums(found: Estimated, truth: Values, alpha: float) -> Values:
    error, half_width = found.estimate - truth, found.half_width(alpha)
    return np.stack([np.abs(error) <= half_width + _ROUNDING, half_width, error, error**2])


def _support(found: DrawEstimates, positions: tuple[Int, Int]) -> Int:
    """The number of queries in which the systems of each pair differ."""
    a, b = positions
    support: Int = (np.abs(found.by_query[:, a] - found.by_query[:, b]) > _ROUNDING).sum(axis=0)
    return support
