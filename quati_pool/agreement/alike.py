"""Whether two judges agree with each other more than with people: then the second confirms the first's errors rather
than its grades (Dietz et al., ICTIR 2025, arXiv 2504.19076)."""

from __future__ import annotations

from dataclasses import dataclass

from quati_pool.agreement.kappa_contrast import kappa_contrast
from quati_pool.agreement.ratings import Ratings
from quati_pool.stats.bootstrap import DRAWS, Interval


@dataclass(frozen=True)
class AlikeJudges:
    """Cohen's κ of a judge ``with_other`` judge and ``with_people`` over the ``n`` pairs that all three graded, and the
    ``excess`` of the first over the second, with its bootstrap interval over queries; None where a κ is undefined."""

    other: str
    n: int
    with_other: float | None
    with_people: float | None
    excess: float | None
    interval: Interval


def alike(ratings: Ratings, judge: str, other: str, people: str, draws: int = DRAWS, seed: int = 0) -> AlikeJudges:
    """Compares two κ of ``judge``; the same queries are drawn for both."""
    found = kappa_contrast(ratings, judge, other, people, draws, seed)
    with_other, with_people, excess, interval = found.kappa
    return AlikeJudges(other, found.n, with_other, with_people, excess, interval)
