"""What is replayed, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from quati_pool.pooling.methods.base import Values

Scoring = Literal["unjudged-as-0", "condensed", "hybrid"]
"""How systems are scored from a part of the grades: what was not judged gains nothing; or is taken out of the rankings;
or gains what people would be expected to grade it, given the judge's grade."""

Steering = Literal["people", "judge"]
Budget = Literal["per-query", "moving"]


@dataclass(frozen=True)
class Ranking:
    """How systems score compared to the scores from all grades.

    ``tau``, ``tau_ap`` and ``top_tau`` (over the ten best systems) are correlations of the two rankings, None where
    undefined. ``bias`` is the mean error of the systems' scores, ``error`` the root of their mean squared error.
    """

    tau: float | None
    tau_ap: float | None
    top_tau: float | None
    bias: float
    error: float


class Times(NamedTuple):
    """How many times as many relevant documents a method finds as depth pooling with the same budget, and the 95 %
    interval over queries; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


_UNDEFINED = Times()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A method with a part of the grades, averaged over ``seeds`` seeds.

    ``share`` of the candidates was the budget, ``labels`` is what was graded, ``relevant``, shape (queries,), the
    number of relevant pairs among them, and ``recall`` their share of all relevant pairs among the candidates.
    ``steered_by`` is None where no grade changes what is chosen. ``left_out`` scores every system by a pool to which
    its own family gave nothing, with unjudged documents as 0, for the first seed; None if that was not done.
    """

    method: str
    budget: Budget
    steered_by: Steering | None
    share: float
    labels: float
    relevant: Values
    recall: float
    rankings: dict[Scoring, Ranking]
    left_out: Ranking | None = None
    times_depth: Times = _UNDEFINED
    seeds: int = 1

    @property
    def found(self) -> float:
        """The number of relevant pairs."""
        return float(self.relevant.sum())


@dataclass(frozen=True, eq=False)
class PoolReplay:
    """The outcomes, by method in the order given, budget, steering and share.

    ``judge_alone`` are the systems by the judge's grades without any of people's, None without a judge. ``candidates``
    and ``relevant`` count pairs; ``lacking_people`` and ``lacking_judge`` are the numbers of candidates that have no
    grade. ``truth`` has the mean of each system from all of people's grades.
    """

    outcomes: tuple[Outcome, ...]
    judge_alone: Ranking | None
    queries: int
    families: int
    candidates: int
    relevant: int
    lacking_people: int
    lacking_judge: int
    truth: dict[str, float]
