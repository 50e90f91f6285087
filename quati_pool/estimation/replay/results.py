"""What is replayed, and how the methods did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quati_pool.estimation.estimated import Values
from quati_pool.estimation.gain_spread import Weighting
from quati_pool.estimation.pair_refusals import Refusal
from quati_pool.estimation.results import TARGETS, Target
from quati_pool.records import Int

Method = Literal[
    "queries", "people-only", "pairs", "pairs-by-uncertainty", "pairs-by-disagreement", "uniform-pairs", "judge-only"
]
"""Whole queries drawn at random, with the judge's grades and without; pairs drawn with probabilities for the measure
(those times the judge's uncertainty, or the disagreement of judges), and with equal ones; the judge's grades alone,
with t intervals over all queries."""

PAIRS: Mapping[Weighting, Method] = {
    "discount": "pairs",
    "uncertainty": "pairs-by-uncertainty",
    "disagreement": "pairs-by-disagreement",
}
"""The methods that draw pairs for the measure."""

SIMULTANEOUS_DRAWS = 200
"""The simultaneous intervals of differences, which are resampled, take longer than everything else of a draw, and are
computed in this many draws only."""


@dataclass(frozen=True, kw_only=True)
class ReplayPlan:
    """What is drawn, and what is estimated from it.

    ``queries``: how many are drawn whole. ``pairs``: how many are expected to be drawn as pairs. ``baseline``: the
    position of the system to which the others are compared; None compares all pairs of systems. Verdicts are always
    about all pairs of systems. Draw r uses the seed [seed, r].

    ``by``: what pairs are drawn by, besides ``discount``, which always is among the methods. How uncertain the judge
    is is known from people's grades of ``pilot`` random pairs, the same ones in all draws, or, if that is 0, follows
    from an assumed ``correlation`` of people's and the judge's gains (``gain_spread.assumed``).
    """

    queries: int
    pairs: float
    draws: int = 1000
    seed: int = 0
    targets: tuple[Target, ...] = TARGETS
    baseline: int | None = None
    alpha: float = 0.05
    delta: float = 0.02
    by: tuple[Weighting, ...] = ("discount",)
    pilot: int = 0
    correlation: float = 0.6

    @property
    def simultaneous_draws(self) -> int:
        """In how many draws, the first ones, simultaneous intervals are computed."""
        return min(self.draws, SIMULTANEOUS_DRAWS)


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
    """How one method did for one target.

    ``labels``: people's grades that a draw uses, on average. ``refused``: the number of draws from which ``estimate``
    would give nothing, by reason; all other figures are those of the rest, NaN without any. ``simultaneous_coverage``:
    the share of the first draws in which the simultaneous intervals of the differences contain the truth all at once,
    None without any.
    """

    method: Method
    target: Target
    draws: int
    labels: float
    systems: Intervals
    differences: Intervals
    decisions: Decisions
    simultaneous_coverage: float | None
    refused: Mapping[Refusal, int]

    @property
    def estimated(self) -> int:
        """The number of draws that were estimated from."""
        return self.draws - sum(self.refused.values())


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
        without a judge; None where these have no width, or ``one`` has no estimate."""
        (alone,) = (other for other in self.methods if (other.method, other.target) == ("people-only", one.target))
        return (
            _share(one.systems.half_width, alone.systems.half_width),
            _share(one.differences.half_width, alone.differences.half_width),
        )


def _share(part: Values, whole: Values) -> float | None:
    """The mean of ``part`` divided by that of ``whole``."""
    share = float(part.mean() / whole.mean()) if whole.any() else None
    return None if share != share else share
