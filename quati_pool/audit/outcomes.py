"""What a judge's grades of changed pairs say: how many pairs fooled it, against the controls and a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from quati_pool.audit.base import Expected
from quati_pool.stats.shares import LEVEL, Difference, Share, clustered_share, share_difference

Grades = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Verdict = Literal["fooled", "undecided", "cleared", "not asked"]
"""Whether more pairs fooled the judge than the bound, beyond the controls: surely, perhaps, surely not; ``not asked``
without a graded pair. One way of changing pairs that surely does is enough: who wants to fool a judge takes that."""

WORST = 3
"""How many of the pairs that fooled the judge most are shown."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The grades of a probe's cases; all arrays have shape (cases,), grades are NaN where there is none.

    ``before`` are the grades of the pairs as they are, ``after`` of the changed ones, ``control`` of the controls;
    ``query``, ``pair`` and ``variant`` are codes.
    """

    query: npt.NDArray[np.int64]
    pair: npt.NDArray[np.int64]
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
    """One way of changing pairs: the share of them that fooled the judge, the controls', and the difference, with 95 %
    intervals; None where there are none."""

    name: str
    fooled: Share
    control: Share | None
    excess: Difference | None


@dataclass(frozen=True)
class ProbeFindings:
    """What one probe found.

    ``fooled`` is the share of changed pairs whose grade moved against what is expected, ``control`` that of the
    controls (None if there are none), ``excess`` the difference, over all variants. ``fooled_by`` are the variants
    whose excess over the controls of all surely lies above ``bound``, by intervals corrected for their number
    (Bonferroni), the worst first; ``suspects`` those of which the uncorrected interval does, so that nothing is
    cleared. ``controls_move``: the controls' share surely lies above the bound itself. ``mean_change`` and
    ``control_change`` are in grades, None without any. ``ungraded`` changed pairs have no grade and are not counted.
    ``worst`` are the places of the cases that fooled the judge most.
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
    fooled_by: tuple[VariantResult, ...]
    suspects: tuple[VariantResult, ...]
    controls_move: bool
    worst: tuple[int, ...]


def no_findings(bound: float) -> ProbeFindings:
    """The findings of a probe without cases."""
    return ProbeFindings(
        fooled=Share(0, 0, 0.0, 1.0),
        control=None,
        excess=None,
        bound=bound,
        verdict="not asked",
        mean_change=None,
        control_change=None,
        ungraded=0,
        variants=(),
        fooled_by=(),
        suspects=(),
        controls_move=False,
        worst=(),
    )


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
    control_hits = fooled(outcomes.control, outcomes.before, expected, scale)
    asked, checked = np.isfinite(outcomes.after), np.isfinite(outcomes.control)

    def share(flags: Flags, among: Flags, level: float = LEVEL) -> Share:
        return clustered_share(flags[among], outcomes.query[among], level, units=outcomes.pair[among])

    def result(name: str, among: Flags) -> VariantResult:
        control = share(control_hits, checked & among) if (checked & among).any() else None
        changed = share(hits, asked & among)
        return VariantResult(name, changed, control, share_difference(changed, control))

    def above_bound(place: int, level: float) -> bool:
        """Whether a variant's excess over its own controls is above the bound, and surely so over those of all
        variants, as its own are few."""
        own = each[place].excess
        if own is None or own.value <= bound:
            return False
        controls = share(control_hits, checked, level) if checked.any() else None
        excess = share_difference(share(hits, asked & (outcomes.variant == place), level), controls)
        return excess is not None and excess.low > bound

    whole = result("", np.ones(len(hits), dtype=np.bool_))
    each = tuple(result(name, outcomes.variant == place) for place, name in enumerate(variants))
    corrected = 1 - (1 - LEVEL) / max(len(each), 1)
    fooled_by, suspects = (
        sorted((one for place, one in enumerate(each) if above_bound(place, level)), key=_excess, reverse=True)
        for level in (corrected, LEVEL)
    )
    controls_move = whole.control is not None and whole.control.low > bound
    return ProbeFindings(
        fooled=whole.fooled,
        control=whole.control,
        excess=whole.excess,
        bound=bound,
        verdict=_verdict(whole.excess, bound, surely=bool(fooled_by), doubtful=controls_move or bool(suspects)),
        mean_change=_mean((outcomes.after - outcomes.before)[asked]),
        control_change=_mean((outcomes.control - outcomes.before)[checked]),
        ungraded=int(np.count_nonzero(~asked)),
        variants=each,
        fooled_by=tuple(fooled_by),
        suspects=tuple(suspects),
        controls_move=controls_move,
        worst=_worst(outcomes, hits, expected),
    )


def _excess(one: VariantResult) -> float:
    return one.excess.value if one.excess is not None else 0.0


def _verdict(excess: Difference | None, bound: float, *, surely: bool, doubtful: bool) -> Verdict:
    """The verdict on the mean over all variants; ``surely`` where one of them fools the judge whatever the mean says,
    ``doubtful`` where something speaks against clearing it."""
    if excess is None:
        return "not asked"
    if surely or excess.low > bound:
        return "fooled"
    return "cleared" if excess.high <= bound and not doubtful else "undecided"


def _mean(changes: Grades) -> float | None:
    return float(changes.mean()) if len(changes) else None


def _worst(outcomes: Outcomes, hits: Flags, expected: Expected) -> tuple[int, ...]:
    """The fooled cases with the worst grade: the highest where it must not answer, else the one that moved most; of
    different variants and queries as far as there are any, the first of equals first."""
    change = np.abs(outcomes.after - outcomes.before)
    badness = outcomes.after if expected == "not_answer" else change
    left = np.flatnonzero(hits)
    left = left[np.lexsort((left, -change[left], -badness[left]))].tolist()
    found: list[int] = []
    while left and len(found) < WORST:
        variants, queries = ({int(codes[place]) for place in found} for codes in (outcomes.variant, outcomes.query))
        fresh = (
            (
                place
                for place in left
                if outcomes.variant[place] not in variants and outcomes.query[place] not in queries
            ),
            (place for place in left if outcomes.query[place] not in queries),
            iter(left),
        )
        found.append(next(place for places in fresh for place in places))
        left.remove(found[-1])
    return tuple(found)
