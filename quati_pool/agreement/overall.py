"""Agreement of all labelers together: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2.

All are computed from counts of how often two grades occur together in a pair (ordered, so each combination counts
both ways), summed over a query's pairs, separately by the number of labelers that graded the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quati_pool.agreement.estimates import Estimates, estimate, resample
from quati_pool.agreement.pairwise import queries_by_id
from quati_pool.agreement.ratings import Positions, Ratings
from quati_pool.errors import TranslatableText
from quati_pool.records import Int
from quati_pool.stats.bootstrap import DRAWS, Values
from quati_pool.stats.ratio import ratio
from quati_pool.text.pluralize import listed

# The number of pairs counted at a time.
_BLOCK = 1 << 17

AC2_WEIGHTS = "quadratic, by position in the scale"


@dataclass(frozen=True, eq=False, kw_only=True)
class Overall(Estimates):
    """Coefficients of all independent ``labelers`` together.

    Derived labelers are ``left_out`` because their agreement with their own members is not evidence. ``n`` counts, by
    name, the pairs over which a coefficient is computed (for Fleiss' kappa those that all labelers graded, otherwise
    those that two or more graded), and ``queries`` the queries resampled for it. ``graded`` counts all graded pairs;
    those graded by a single labeler count only in the grade shares of AC1 and AC2. ``ac2_weights`` names AC2's
    weights.
    """

    n: dict[str, int]
    queries: dict[str, int]
    graded: int
    labelers: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    ac2_weights: str = AC2_WEIGHTS


@dataclass(frozen=True, eq=False)
class _GradeCounts:
    """Counts of grades, summed over pairs.

    ``together``, shape (…, labelers - 1, grades, grades): how often two grades occur together in pairs graded by
    2, 3, … all labelers. ``single``, shape (…, grades): the grades of pairs that only one labeler graded.
    ``grades``: the scale's values.
    """

    together: Values
    single: Values
    grades: Values

    @property
    def raters(self) -> Values:
        return np.arange(2, self.together.shape[-3] + 2, dtype=np.float64)

    @property
    def given(self) -> Values:
        """How often each grade was given, shape (…, labelers - 1, grades)."""
        given: Values = self.together.sum(axis=-1) / (self.raters[:, None] - 1)
        return given

    @property
    def pairs(self) -> Values:
        """The number of pairs graded by 2, 3, … all labelers, shape (…, labelers - 1)."""
        pairs: Values = self.given.sum(axis=-1) / self.raters
        return pairs


def _alpha(sums: _GradeCounts, distance: Callable[[Values, Values], Values]) -> Values:
    """Krippendorff's alpha (Content Analysis, 4th ed., 2018, chapter 12).

    ``distance`` computes squared distances, shape (…, grades, grades), from the grades and the number of times each
    occurs.
    """
    coincidences = (sums.together / (sums.raters[:, None, None] - 1)).sum(axis=-3)
    margin = sums.given.sum(axis=-2)
    squared = distance(sums.grades, margin)
    observed = (margin.sum(axis=-1) - 1) * (coincidences * squared).sum(axis=(-2, -1))
    expected = (margin[..., :, None] * margin[..., None, :] * squared).sum(axis=(-2, -1))
    return 1 - ratio(observed, expected, (margin > 0).sum(axis=-1) > 1)


def _nominal(grades: Values, margin: Values) -> Values:
    return 1 - np.eye(len(grades))


def _ordinal(grades: Values, margin: Values) -> Values:
    """Squared distances: the number of labels between two grades of the scale, with the labels of those two grades
    themselves counted half, squared."""
    middle = margin.cumsum(axis=-1) - margin / 2
    squared: Values = (middle[..., :, None] - middle[..., None, :]) ** 2
    return squared


def _interval(grades: Values, margin: Values) -> Values:
    squared: Values = (grades[:, None] - grades) ** 2
    return squared


def _fleiss(sums: _GradeCounts) -> Values:
    """Fleiss' kappa (Psychological Bulletin 76(5), 1971) over the pairs that all labelers graded."""
    if sums.together.shape[-3] == 0:
        return np.full(sums.single.shape[:-1], np.nan)
    met, given = sums.together[..., -1, :, :], sums.given[..., -1, :]
    total = given.sum(axis=-1)
    defined = total > 0
    observed = ratio(np.trace(met, axis1=-2, axis2=-1), met.sum(axis=(-2, -1)), defined)
    expected = ratio((given**2).sum(axis=-1), total**2, defined)
    return ratio(observed - expected, 1 - expected, (given > 0).sum(axis=-1) > 1)


def _gwet(sums: _GradeCounts, weights: Values) -> Values:
    """Gwet's AC2 with agreement weights of shape (grades, grades); with the identity matrix, AC1.

    This is the form for missing grades (Gwet, Handbook of Inter-Rater Reliability, 4th ed., 2014). All grades of the
    scale count, including those never given.
    """
    grades = len(sums.grades)
    raters = sums.raters
    # Each pair has the same weight, regardless of how many labelers graded it.
    agreeing = ((sums.together * weights).sum(axis=(-2, -1)) / (raters * (raters - 1))).sum(axis=-1)
    pairs = sums.pairs.sum(axis=-1)
    observed = ratio(agreeing, pairs, pairs > 0)
    graded = pairs + sums.single.sum(axis=-1)
    share = (sums.given / raters[:, None]).sum(axis=-2) + sums.single
    share = ratio(share, graded[..., None], graded[..., None] > 0)
    chance = weights.sum() / max(grades * (grades - 1), 1) * (share * (1 - share)).sum(axis=-1)
    return ratio(observed - chance, 1 - chance, (pairs > 0) & (grades > 1))


def _quadratic(grades: int) -> Values:
    place = np.arange(grades, dtype=np.float64)
    weights: Values = 1 - ((place[:, None] - place) / max(grades - 1, 1)) ** 2
    return weights


_ALPHA: dict[str, Callable[[_GradeCounts], Values]] = {
    "alpha_nominal": lambda sums: _alpha(sums, _nominal),
    "alpha_ordinal": lambda sums: _alpha(sums, _ordinal),
    "alpha_interval": lambda sums: _alpha(sums, _interval),
}
_FLEISS: dict[str, Callable[[_GradeCounts], Values]] = {"fleiss_kappa": _fleiss}
_GWET: dict[str, Callable[[_GradeCounts], Values]] = {
    "gwet_ac1": lambda sums: _gwet(sums, np.eye(len(sums.grades))),
    "gwet_ac2": lambda sums: _gwet(sums, _quadratic(len(sums.grades))),
}


def overall(ratings: Ratings, draws: int = DRAWS, seed: int = 0) -> Overall:
    """All coefficients over all independent labelers, with intervals over the queries that each coefficient uses;
    draws=0 leaves out the intervals."""
    left_out = tuple(name for name in ratings.labelers if name in ratings.members)
    if left_out:
        ratings = ratings.only(ratings.independent)
    order = queries_by_id(ratings)
    met, single = (sums[order] for sums in _by_query(ratings))
    two, every = met.any(axis=(1, 2, 3)), met[:, -1:].any(axis=(1, 2, 3))
    groups = [(_ALPHA, two), (_FLEISS, every), (_GWET, two | single.any(axis=1))]
    drawn = iter(resample([sums[kept] for _, kept in groups for sums in (met, single)], draws, seed))
    grades = np.asarray(ratings.scale, dtype=np.float64)
    total = _GradeCounts(met.sum(axis=0).astype(np.float64), single.sum(axis=0).astype(np.float64), grades)
    pairs = np.round(total.pairs).astype(int)
    counts: dict[str, int] = {}
    values: dict[str, Values] = {}
    resampled: dict[str, Values] = {}
    queries: dict[str, int] = {}
    for group, kept in groups:
        totals = _GradeCounts(next(drawn), next(drawn), grades)
        for name, coefficient in group.items():
            values[name], resampled[name] = coefficient(total), coefficient(totals)
            queries[name] = int(kept.sum())
            counts[name] = int((pairs[-1:] if group is _FLEISS else pairs).sum())
    found = estimate(values, resampled, lambda name: _why(name, ratings, counts, total, left_out), draws, queries)
    return Overall(
        values=found.values,
        intervals=found.intervals,
        undefined=found.undefined,
        n=counts,
        queries=queries,
        graded=len(ratings),
        labelers=ratings.labelers,
        left_out=left_out,
    )


def _by_query(ratings: Ratings) -> tuple[Int, Int]:
    """``together`` and ``single`` of ``_GradeCounts`` per query, of shapes (queries, labelers - 1, grades, grades) and
    (queries, grades)."""
    queries, grades, labelers = len(ratings.queries), len(ratings.scale), len(ratings.labelers)
    met = np.zeros((queries, max(labelers - 1, 0), grades, grades), dtype=np.int64)
    single = np.zeros((queries, grades), dtype=np.int64)
    for start in range(0, len(ratings), _BLOCK):
        _add(met, single, ratings.query[start : start + _BLOCK], ratings.grade[:, start : start + _BLOCK])
    return met, single


def _add(met: Int, single: Int, query: Int, grade: Positions) -> None:
    """Adds a block of pairs to the sums ``met`` and ``single``, in place."""
    queries, many_raters, grades, _ = met.shape
    given = np.stack([(grade == position).sum(axis=0) for position in range(grades)])
    raters = given.sum(axis=0)
    many = np.flatnonzero(raters > 1)
    cells = queries * many_raters
    cell = query[many] * many_raters + raters[many] - 2
    few = given[:, many]
    for i in range(grades):
        for j in range(i, grades):
            times = few[i] * (few[j] - 1 if i == j else few[j])
            # The float sums are exact: integers below 2**53.
            sums = np.bincount(cell, weights=times, minlength=cells).astype(np.int64).reshape(met.shape[:2])
            met[..., i, j] += sums
            if i != j:
                met[..., j, i] += sums
    one = np.flatnonzero(raters == 1)
    at = query[one] * grades + given[:, one].argmax(axis=0)
    single += np.bincount(at, minlength=queries * grades).reshape(queries, grades)


def basis(labelers: Sequence[str], left_out: Sequence[str]) -> str:
    """Which labelers the coefficients cover, for messages: "over lexical and local; both is
    computed from others' grades and left out"."""
    over = f"over {listed(labelers)}" if labelers else "over nobody"
    if not left_out:
        return over
    are = "is" if len(left_out) == 1 else "are"
    return f"{over}; {listed(left_out)} {are} computed from others' grades and left out"


def _why(name: str, ratings: Ratings, counts: Mapping[str, int], total: _GradeCounts, left_out: Sequence[str]) -> str:
    labelers = len(ratings.labelers)
    if labelers < 2:
        if not left_out:
            return "there are no two labelers"
        return f"there are no two independent labelers ({basis(ratings.labelers, left_out)})"
    if counts[name] == 0:
        if name in _FLEISS and labelers > 2:
            text = f"no pair was graded by all {labelers} labelers"
            return TranslatableText(text, "no_pair_of_all", labelers=labelers)
        return "no pair was graded by two labelers"
    if name in _GWET:
        return "the scale has one grade only"
    given = total.given[-1] if name in _FLEISS else total.given.sum(axis=0)
    grade = ratings.scale[int(np.argmax(given))]
    return TranslatableText(f"every pair got the grade {grade} from all", "same_grade", grade=grade)
