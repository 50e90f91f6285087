"""Tests of marginal homogeneity: whether grades of the same units at two times have the same distribution.

Tables have shape (…, grades, grades) and hold counts: rows are the first grades, columns the second ones. Where nothing
has changed, the two grades of a unit are exchangeable, so that every unit whose grades differ could as well have them
the other way round: the p-values are those of all such swaps, or of many at random.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

SWAPS = 9_999
EXACT = 50_000
"""With at most this many different results of swapping, all are enumerated."""

# The statistics are sums of floats, of which equal ones may differ in the last digits.
_DECIMALS = 9
_SLACK = 1 + 1e-9


class MarginalTest(NamedTuple):
    """``n`` units, of which ``changed`` have two different grades; ``shift`` is the mean of the second ones less that
    of the first. ``statistic`` is Stuart and Maxwell's, asymptotically χ² with ``df`` degrees of freedom.

    ``p_shift`` and ``p_statistic`` are the p-values of the shift (two-sided) and of the statistic, by swaps; ``p`` is
    that of the smaller of the two."""

    n: int
    changed: int
    shift: float
    statistic: float
    df: int
    p_shift: float
    p_statistic: float
    p: float


def stuart_maxwell(table: npt.NDArray[Any]) -> tuple[float, int]:
    """The statistic and its degrees of freedom, for a table of shape (grades, grades).

    Stuart (Biometrika 42, 1955, p. 412) with the variance under the hypothesis (Maxwell, British Journal of Psychiatry
    116, 1970, p. 651); with two grades it is McNemar's, without a correction. The degrees of freedom are one less than
    the number of grades, or fewer where grades are never exchanged.
    """
    cells, ups = _discordant(np.asarray(table, dtype=np.int64)[None])
    form, rank = _form(cells, len(table))
    x = (2 * ups - cells)[0].astype(np.float64)
    return float(x @ form[0] @ x), int(rank[0])


def marginal_test(table: npt.NDArray[Any], scores: npt.NDArray[Any], seed: int = 0) -> MarginalTest:
    """Whether rows and columns of a table of shape (grades, grades) have the same distribution; ``scores``, of shape
    (grades,), are the grades.

    Two statistics are used, as neither finds everything: the shift of the mean (Agresti, Categorical Data Analysis,
    2013, section 11.3.2), which finds it best if a judge has become milder or stricter, and Stuart and Maxwell's, which
    finds any change of the distribution. The smaller p-value of both is referred to its own distribution under swaps
    (Westfall and Young, Resampling-Based Multiple Testing, 1993, section 2.3), so that two looks count as one test.
    With two grades all three are McNemar's exact test.
    """
    table, scores = np.asarray(table, dtype=np.int64), np.asarray(scores, dtype=np.float64)
    cells, ups = (found[0] for found in _discordant(table[None]))
    n, changed = int(table.sum()), int(cells.sum())
    shift = float((table.sum(axis=0) - table.sum(axis=1)) @ scores / n) if n else math.nan
    statistic, df = stuart_maxwell(table)
    if not changed:
        return MarginalTest(n, 0, shift, statistic, df, 1.0, 1.0, 1.0)
    used = np.flatnonzero(cells)
    results = math.prod((cells[used] + 1).tolist())
    if results <= EXACT:
        points, weights, place = _all_swaps(cells[used], ups[used])
    else:
        drawn = np.random.default_rng(seed).binomial(cells[used], 0.5, size=(SWAPS, len(used)))
        points = np.concatenate([ups[used][None], drawn])
        weights, place = np.full(len(points), 1 / len(points)), 0
    swapped = np.zeros((len(points), len(cells)), dtype=np.int64)
    swapped[:, used] = points
    shifts, statistics = _statistics(cells[None], swapped[None], scores)
    by_shift, by_statistic = (_exceeding(found[0], weights) for found in (shifts, statistics))
    smaller = np.minimum(by_shift, by_statistic)
    p = float(weights[smaller <= smaller[place] * _SLACK].sum())
    found = (float(one[place]) for one in (by_shift, by_statistic))
    return MarginalTest(n, changed, shift, statistic, df, *(min(each, 1.0) for each in (*found, p)))


def p_values(tables: Counts, scores: npt.NDArray[Any], swaps: int, seed: int = 0) -> Values:
    """``p`` of ``marginal_test`` for each of many tables, shape (tables, grades, grades), by ``swaps`` swaps at random;
    shape (tables,)."""
    cells, ups = _discordant(tables)
    used = np.flatnonzero(cells.any(axis=0))
    drawn = np.zeros((len(tables), swaps + 1, cells.shape[1]), dtype=np.int64)
    drawn[:, 0] = ups
    size = (len(tables), swaps, len(used))
    drawn[:, 1:, used] = np.random.default_rng(seed).binomial(cells[:, None, used], 0.5, size=size)
    by_each = _statistics(cells, drawn, np.asarray(scores, dtype=np.float64))
    exceeding = [(found >= found[:, :1]).sum(axis=1) for found in by_each]
    fewest = np.minimum(*exceeding)
    # A result's own p-value is at most that of the tables where fewer than so many results are as large.
    extreme = np.zeros((len(tables), swaps + 1), dtype=np.bool_)
    for found in by_each:
        ordered = np.concatenate([np.full((len(tables), 1), -np.inf), np.sort(found, axis=1)], axis=1)
        extreme |= found > np.take_along_axis(ordered, (swaps + 1 - fewest)[:, None], axis=1)
    p: Values = extreme.mean(axis=1)
    return p


def _discordant(tables: Counts) -> tuple[Counts, Counts]:
    """For each two different grades, how many units have them, and how many of these have the lower one first: two
    arrays of shape (tables, pairs of grades)."""
    low, high = np.triu_indices(tables.shape[-1], 1)
    ups = tables[:, low, high]
    return ups + tables[:, high, low], ups


def _form(cells: Counts, grades: int) -> tuple[Values, Counts]:
    """The quadratic form that gives the statistic of ups less downs, shape (tables, pairs, pairs), and its rank.

    The differences of margins are d = Bᵀx for x ups less downs and B the incidence of pairs and grades, and their
    variance under the hypothesis is V = Bᵀ diag(cells) B, the same for all swaps: dᵀV⁺d = xᵀ(B V⁺ Bᵀ)x.
    """
    low, high = np.triu_indices(grades, 1)
    incidence = np.zeros((len(low), grades))
    places = np.arange(len(low))
    incidence[places, low], incidence[places, high] = -1, 1
    variance = np.einsum("pi,tp,pj->tij", incidence, cells.astype(np.float64), incidence)
    inverse = np.linalg.pinv(variance, rcond=1e-9, hermitian=True)
    form: Values = incidence @ inverse @ incidence.T
    return form, np.linalg.matrix_rank(variance, tol=1e-9, hermitian=True).astype(np.int64)


def _statistics(cells: Counts, ups: Counts, scores: Values) -> tuple[Values, Values]:
    """The absolute shift, as a sum, and Stuart and Maxwell's statistic after swaps, both of shape (tables, swaps);
    ``ups`` has shape (tables, swaps, pairs of grades)."""
    low, high = np.triu_indices(len(scores), 1)
    x = (2 * ups - cells[:, None]).astype(np.float64)
    form, _ = _form(cells, len(scores))
    shifts: Values = np.abs(x @ (scores[high] - scores[low])).round(_DECIMALS)
    statistics: Values = ((x @ form) * x).sum(axis=-1).round(_DECIMALS)
    return shifts, statistics


def _all_swaps(cells: Counts, ups: Counts) -> tuple[Counts, Values, int]:
    """Every result of swapping, shape (results, pairs of grades), its probability, and the place of ``ups``."""
    axes = [np.arange(count + 1) for count in cells.tolist()]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    chances = [[math.comb(count, up) / 2**count for up in range(count + 1)] for count in cells.tolist()]
    weights = np.ones(1)
    for chance in chances:
        weights = np.multiply.outer(weights, np.array(chance)).ravel()
    return points, weights, int(np.ravel_multi_index(tuple(ups.tolist()), tuple((cells + 1).tolist())))


def _exceeding(statistics: Values, weights: Values) -> Values:
    """The probability of a statistic of at least each of these."""
    _, codes = np.unique(statistics, return_inverse=True)
    by_value = np.bincount(codes, weights=weights)
    exceeding: Values = by_value[::-1].cumsum()[::-1][codes]
    return exceeding
