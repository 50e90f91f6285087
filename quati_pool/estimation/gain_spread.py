"""How far people's gain of a pair may lie from what judges say of it: what the probability of drawing the pair may be
multiplied by.

The variance of an estimated sum of discounted gains is least where a pair is drawn in proportion to its weight in the
sum times the standard deviation of its gain about the prediction (Särndal, Swensson, Wretman, Model Assisted Survey
Sampling, 1992, section 12.2; active inference draws by the same rule: Zrnic, Candès, arXiv 2403.03208). Where people's
labels say how far they deviate from a judge, that is what multiplies. Where only judges do, half of the variance
follows them and half is equal for all pairs, so that judges who are sure and wrong cost precision and never validity.

All functions return standard deviations in units of the gain, shape (pairs,), or a constant 1 where nothing varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from quati_pool.estimation.pair_frame import NO_GRADE, Values
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.records import Int

Weighting = Literal["discount", "uncertainty", "disagreement"]
"""What pairs for a measure are drawn by: what they weigh in it; the same times how uncertain a judge's grade is, or how
far judges disagree."""
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)

LEAST_LABELS = 100
"""The fewest of people's labels that say how far they deviate from a judge."""


def gains(measure: PairMeasure, scale: Sequence[int], grades: Int) -> Values:
    """The gain of each of the ``grades``, NaN for NO_GRADE; in the shape of ``grades``."""
    levels = measure.levels(scale)
    reached = grades[..., None] >= np.array(list(levels), dtype=np.int64)
    found: Values = np.where(grades == NO_GRADE, np.nan, reached @ np.array(list(levels.values()), dtype=np.float64))
    return found


def assumed(gain: Values, correlation: float) -> Values:
    """Before anything is known of people: ``gain``, shape (pairs,), is the judge's, and people give a pair this gain
    with the probability ρ, ``correlation``, and otherwise that of a random pair, so that ρ is the correlation of both
    (``synthetic_grades.grades_by_correlation``). With m and s² the mean and the variance of the judge's gains, the
    variance of people's is (1 − ρ)(s² + ρ (gain − m)²)."""
    return mixed((1 - correlation) * (gain.var() + correlation * (gain - gain.mean()) ** 2))


def by_grade(judge: Int, gain: Values) -> dict[int, float]:
    """The standard deviation of people's ``gain`` of labelled pairs, shape (n,), at each grade of the ``judge``, shape
    (n,). Each variance has one pseudo-label of the mean variance within grades, so that none is 0 unless all are."""
    grades, code = np.unique(judge, return_inverse=True)
    count = np.bincount(code)
    mean = np.bincount(code, gain) / count
    squares = np.bincount(code, (gain - mean[code]) ** 2)
    within = squares.sum() / max(len(gain) - len(grades), 1)
    found = np.sqrt((squares + within) / count)
    return dict(zip(grades.tolist(), found.tolist(), strict=True))


def labelled(judge: Int, known: dict[int, float]) -> Values:
    """``known``, of ``by_grade``, for the pairs with these grades by the ``judge``, shape (pairs,); for a grade that
    is not known the root of the mean square of those that are."""
    other = float(np.sqrt(np.mean(np.square(list(known.values())))))
    grades, code = np.unique(judge, return_inverse=True)
    found = np.array([known.get(grade, other) for grade in grades.tolist()])[code]
    return found if found.min(initial=np.inf) > 0 else np.ones(len(judge))


def of_answers(answers: Values) -> Values:
    """From how far several ``answers`` differ, shape (answers, pairs), NaN where there is none: several judges' gains,
    or several samples of one. A pair with fewer than two counts with the mean variance of the others."""
    there = ~np.isnan(answers)
    count = there.sum(axis=0)
    total = np.where(there, answers, 0.0).sum(axis=0)
    deviation = np.where(there, answers - total / np.maximum(count, 1), 0.0)
    several = count > 1
    variance = (deviation**2).sum(axis=0) / np.maximum(count - 1, 1)
    mean = variance[several].mean() if several.any() else 0.0
    return mixed(np.where(several, variance, mean))


def mixed(variance: Values) -> Values:
    """Half of the ``variance``, shape (pairs,), and half of its mean."""
    mean = variance.mean() if len(variance) else 0.0
    return np.sqrt((variance + mean) / 2) if mean > 0 else np.ones(len(variance))
