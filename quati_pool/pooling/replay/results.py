"""What is replayed, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Scoring = Literal["unjudged-as-0", "condensed", "hybrid"]
"""How systems are scored from a part of the grades: what was not judged gains nothing; or is taken out of the rankings;
or gains what people would be expected to grade it, given the judge's grade."""
SCORINGS: tuple[Scoring, ...] = ("unjudged-as-0", "condensed", "hybrid")

Steering = Literal["people", "judge"]


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


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A method with a part of the grades, averaged over ``seeds`` seeds.

    ``share`` of the candidates was the budget, ``labels`` is what was graded, ``found`` the relevant pairs among them,
    and ``recall`` their share of all relevant pairs among the candidates. ``left_out`` scores every system by a pool to
    which its own family gave nothing, with unjudged documents as 0; None if there is one family only.
    """

    method: str
    moves: bool
    steered_by: Steering
    share: float
    labels: float
    found: float
    recall: float
    rankings: dict[Scoring, Ranking]
    left_out: Ranking | None
    seeds: int = 1


@dataclass(frozen=True)
class PoolReplay:
    """The outcomes, in the order of the methods; ``judge_alone`` are the systems by the judge's grades without any of
    people's. ``candidates`` and ``relevant`` count pairs, ``ungraded`` the candidates that people did not grade, which
    count as not relevant."""

    outcomes: tuple[Outcome, ...]
    judge_alone: Ranking | None
    queries: int
    systems: int
    families: int
    candidates: int
    relevant: int
    ungraded: int
    depth: int
    shares: tuple[float, ...]
    truth: dict[str, float] = field(default_factory=dict)
    """The mean of each system from all grades."""
