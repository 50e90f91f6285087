"""What a judge's grades of changed pairs say: how many pairs fooled it, against the controls and a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from quati_pool.audit.base import Expected
from quati_pool.stats.shares import Difference, Share, clustered_share, share_difference

Grades = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Verdict = Literal["fooled", "undecided", "cleared", "not asked"]
"""Whether more pairs fooled the judge than the bound, beyond the controls: surely, perhaps, surely not; ``not asked``
without a graded pair."""

WORST = 3
"""How many of the pairs that fooled the judge most are shown."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The grades of a probe's cases; all arrays have shape (cases,), grades are NaN where there is none.

    ``before`` are the grades of the pairs as they are, ``after`` of the changed ones, ``control`` of the controls;
    ``query`` and ``variant`` are codes.
    """

    query: npt.NDArray[np.int64]
    variant: npt.NDArray[np.int64]
    before: Grades
    after: Grades
    control: Grades


@dataclass(frozen=True)
class Scale:
    """The grades that matter: the lowest of the scale, and the lowest that answers a query."""

    lowest: int
    answers_from: int


@dataclass(frozen=True)
class VariantResult:
    """One way of changing pairs: the share of them that fooled the judge, and the controls'."""

    name: str
    fooled: Share
    control: Share | None


@dataclass(frozen=True)
class ProbeFindings:
    """What one probe found.

    ``fooled`` is the share of changed pairs whose grade moved against what is expected, ``control`` that of the
    controls (None if there are none), ``excess`` the difference, which ``verdict`` compares with ``bound``.
    ``mean_change`` and ``control_change`` are in grades, None without any. ``ungraded`` changed pairs have no grade and
    are not counted. ``worst`` are the places of the cases that fooled the judge most. ``pairs_needed`` would decide, if
    the shares stay; None where they cannot, or are decided.
    """

    fooled: Share
    control: Share | None
    excess: Difference | None
    bound: float
    verdict: Verdict
    mean_change: float | None
    control_change: float | None
    ungraded: int
    variants: tuple[VariantResult, ...]
    worst: tuple[int, ...]
    pairs_needed: int | None


def fooled(after: Grades, before: Grades, expected: Expected, scale: Scale) -> Flags:
    """Whether each grade moved against what is expected, of shape (cases,); False where there is no grade."""
    moved: Flags
    if expected == "not_rise":
        moved = after > before
    elif expected == "not_answer":
        moved = after >= scale.answers_from
    elif expected == "hold":
        moved = (after > before) | ((before >= scale.answers_from) & (after < scale.answers_from))
    else:
        moved = np.isfinite(after) & (after != before)
    return moved


def findings(
    outcomes: Outcomes, variants: Sequence[str], expected: Expected, scale: Scale, bound: float
) -> ProbeFindings:
    """The findings of a probe with these ``variants``."""
    hits = fooled(outcomes.after, outcomes.before, expected, scale)
    controls = fooled(outcomes.control, outcomes.before, expected, scale)
    asked, checked = np.isfinite(outcomes.after), np.isfinite(outcomes.control)

    def share(flags: Flags, among: Flags) -> Share:
        return clustered_share(flags[among], outcomes.query[among])

    whole = share(hits, asked)
    control = share(controls, checked) if checked.any() else None
    excess = share_difference(whole, control)
    verdict = _verdict(excess, bound)
    return ProbeFindings(
        fooled=whole,
        control=control,
        excess=excess,
        bound=bound,
        verdict=verdict,
        mean_change=_mean((outcomes.after - outcomes.before)[asked]),
        control_change=_mean((outcomes.control - outcomes.before)[checked]),
        ungraded=int(np.count_nonzero(~asked)),
        variants=tuple(
            VariantResult(
                name,
                share(hits, asked & (outcomes.variant == place)),
                share(controls, among) if (among := checked & (outcomes.variant == place)).any() else None,
            )
            for place, name in enumerate(variants)
        ),
        worst=_worst(outcomes, hits),
        pairs_needed=_pairs_needed(whole.n, excess, bound) if excess is not None and verdict == "undecided" else None,
    )


def _verdict(excess: Difference | None, bound: float) -> Verdict:
    if excess is None:
        return "not asked"
    if excess.low > bound:
        return "fooled"
    return "cleared" if excess.high <= bound else "undecided"


def _mean(changes: Grades) -> float | None:
    return float(changes.mean()) if len(changes) else None


def _worst(outcomes: Outcomes, hits: Flags) -> tuple[int, ...]:
    """The fooled cases with the largest change, the first of equals first."""
    change = np.abs(outcomes.after - outcomes.before)
    places = np.flatnonzero(hits)
    return tuple(places[np.argsort(-change[places], kind="stable")][:WORST].tolist())


def _pairs_needed(pairs: int, excess: Difference, bound: float) -> int | None:
    """The number of pairs with which the interval of the excess would no longer hold the bound, if it stays where it is
    and narrows with the root of their number. None where the excess is the bound."""
    distance = excess.value - bound
    if not distance:
        return None
    half_width = excess.value - excess.low if distance > 0 else excess.high - excess.value
    return max(math.ceil(pairs * (half_width / distance) ** 2), pairs + 1)
