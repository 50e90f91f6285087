"""How far a judge's grades may differ from people's, danger by danger, before they should not be used for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from quati_pool.files.yaml_file import Model

Position = Literal["beyond", "undecided", "within"]
"""Where an interval is: surely beyond its bound, on both sides of it, surely within."""


Unit = Literal["pairs", "queries", "pairs of systems", "pairs of passages"]

Side = Literal["least", "most", "both"]
"""Whether a bound is the least, the most, or the most on both sides of zero."""


class GradeBounds(Model):
    """The bounds, which ``audit: bounds:`` in ``pool.yaml`` may set.

    The default of ``order`` is the least τ that Voorhees found between the orders of systems under the grades of two
    sets of TREC-4 assessors (Information Processing and Management 36, 2000).
    """

    order: Annotated[float, Field(gt=0, le=1, description="the least Kendall τ of systems with people's order")] = 0.87
    level: Annotated[float, Field(gt=0, description="the most that means of the measure may be off")] = 0.02
    grade: Annotated[float, Field(gt=0, description="the most that the mean grade may be off")] = 0.2
    length: Annotated[
        float, Field(gt=0, description="the most grades that twice the length may add at equal people's grade")
    ] = 0.1
    overlap: Annotated[
        float, Field(gt=0, description="the most grades that all of the query's terms may add at equal people's grade")
    ] = 0.3
    kin: Annotated[float, Field(gt=0, description="the most that a kin system's mean may gain over the others'")] = 0.02
    alike: Annotated[
        float, Field(gt=0, description="the most by which κ with another judge may exceed κ with people")
    ] = 0.1
    decisions: Annotated[
        float, Field(gt=0, lt=1, description="the largest share of decisions that people's grades do not bear out")
    ] = 0.1
    duplicates: Annotated[
        float, Field(gt=0, lt=1, description="the largest share of near-duplicates that may be graded apart")
    ] = 0.1


def within_both(low: float | None, high: float | None, bound: float) -> Position:
    """The position of an interval to ±``bound``; undecided without an interval."""
    if low is None or high is None:
        return "undecided"
    if low > bound or high < -bound:
        return "beyond"
    return "within" if -bound <= low and high <= bound else "undecided"


def below(low: float | None, high: float | None, bound: float) -> Position:
    """The position of an interval that must not be above ``bound``."""
    if low is None or high is None:
        return "undecided"
    if low > bound:
        return "beyond"
    return "within" if high <= bound else "undecided"


def above(low: float | None, high: float | None, bound: float) -> Position:
    """The position of an interval that must not be below ``bound``."""
    if low is None or high is None:
        return "undecided"
    if high < bound:
        return "beyond"
    return "within" if low >= bound else "undecided"


@dataclass(frozen=True)
class GradeLine:
    """One danger of a judge's grades: ``seen`` with its interval, in the unit of ``bound``, of ``n`` units (``of``),
    and what not to do where it is beyond. ``side`` says which values are within the bound."""

    danger: str
    seen: float
    low: float | None
    high: float | None
    bound: float
    position: Position
    n: int
    of: Unit
    advice: str
    side: Side
