"""Hybrid grades: people's where they graded, and elsewhere what they would probably have given, by a judge's grades.

For each grade of the judge and each grade h, the share of pairs that people grade h or higher is taken from the pairs
that both graded, and from 20 more on which people are assumed to agree with the judge: a grade of which people saw few
pairs is nearly believed. How strict people are on a query is an effect on the logit of that share, to first order
p(1 − p) times the effect, shrunk as in ``calibration``: it moves what is uncertain, and little of what is as good as
sure. No pair is predicted from its own grade, as people's own grade is taken there.

Estimates also predict from the number of systems that rank a pair; hybrid grades do not. They rank the systems
directly, and would favour those that return what the others do: on TREC DL 2021 with people's grades of a fifth of the
pool, Kendall's τ to the ranking by all of people's grades is .010 to .014 lower with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.calibration import Values, as_probabilities, query_effects
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.records import Int

FEWEST_LABELS = 100
"""The pairs that people and the judge must both have graded for a calibration. On TREC DL 2021 the likeliest grade is
from here on more often people's than the judge's own grade is, whether pairs are graded by depth, in the judge's order
or at random; with 50, not clearly so."""
_BELIEVED = 20
"""The pairs of each of the judge's grades on which people are assumed to agree with the judge. From 5 to 100, hybrid τ
on TREC DL 2021 differs by at most .005 for most orders of labels."""
_DECIMALS = 9
"""Probabilities that differ less are equal: rounding errors of sums must not choose a grade."""


@dataclass(frozen=True, eq=False)
class HybridGrades:
    """Grades of pairs on the ``scale`` of ascending grades.

    ``reached``, shape (pairs, grades − 1), is the probability of each pair to reach each grade but the lowest: 0 or 1
    where people graded it, or where the judge's grades are not calibrated; NaN where there is no grade. ``by_people``,
    shape (pairs,), marks the pairs that people graded. ``calibrated``: whether the judge's grades are calibrated;
    ``labels`` is the number of pairs that both graded, from which that is learned.
    """

    scale: tuple[int, ...]
    reached: Values
    by_people: npt.NDArray[np.bool_]
    calibrated: bool
    labels: int

    @property
    def expected(self) -> Values:
        """The expected grade of each pair, shape (pairs,); NaN where there is none."""
        expected: Values = self.scale[0] + self.reached @ np.diff(self.scale)
        return expected

    @property
    def likeliest(self) -> Int:
        """The most probable grade of each pair, shape (pairs,), the lowest of equally probable ones; NO_GRADE where
        there is none."""
        ends = np.ones(len(self.reached)), np.zeros(len(self.reached))
        shares = -np.diff(np.column_stack([ends[0], self.reached, ends[1]]), axis=1)
        known = ~np.isnan(shares).any(axis=1)
        found = np.full(len(self.reached), NO_GRADE, dtype=np.int64)
        found[known] = np.array(self.scale)[shares[known].round(_DECIMALS).argmax(axis=1)]
        return found


def hybrid_grades(frame: PairFrame, people: Int, scale: Sequence[int], *, calibrated: bool = True) -> HybridGrades:
    """People's grades where they graded, else those of the frame's judge, calibrated unless fewer than FEWEST_LABELS
    pairs have a grade by both, or unless ``calibrated`` is false.

    ``people``, shape (pairs,), are people's grades, NO_GRADE where they gave none; ``scale`` has all grades, ascending.
    """
    grades = np.array(scale[1:], dtype=np.int64)
    by_people, by_judge = people != NO_GRADE, frame.judge != NO_GRADE
    judged = (frame.judge[:, None] >= grades).astype(np.float64)
    given = (people[:, None] >= grades).astype(np.float64)
    labelled = np.flatnonzero(by_people & by_judge)
    calibrated = calibrated and len(labelled) >= FEWEST_LABELS
    reached = np.full(judged.shape, np.nan)
    reached[by_judge] = judged[by_judge]
    if calibrated:
        wanted = np.flatnonzero(by_judge & ~by_people)
        reached[wanted] = _calibrated(frame, labelled, given, judged)[wanted]
    reached[by_people] = given[by_people]
    return HybridGrades(tuple(scale), reached, by_people, calibrated, len(labelled))


def _calibrated(frame: PairFrame, labelled: Int, given: Values, judged: Values) -> Values:
    """The probability of each pair to reach each grade but the lowest, shape (pairs, grades − 1), from people's grades
    of the ``labelled`` pairs, ``given``, and the judge's of all, ``judged``: 1 where the grade is reached, same
    shape."""
    grades, code = np.unique(frame.judge, return_inverse=True)
    count = np.bincount(code[labelled], minlength=len(grades))[:, None]
    reached = np.column_stack(
        [np.bincount(code[labelled], column, minlength=len(grades)) for column in given[labelled].T]
    )
    believed = np.zeros_like(reached)
    believed[code] = judged
    share = ((reached + _BELIEVED * believed) / (count + _BELIEVED))[code]
    weight = share * (1 - share)
    effects = query_effects(frame.query[labelled], frame.queries, (given - share)[labelled], weight[labelled])
    return as_probabilities(share + effects[frame.query] * weight)
