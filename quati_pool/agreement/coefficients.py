"""Coefficients of agreement between two labelers, computed from many confusion tables at once.

Tables have shape (…, grades, grades) and hold counts or weights: rows are the first labeler's grades, columns the
second's. The result has shape (…). NaN means undefined: any coefficient if there is no common pair, kappa if both
labelers gave the same single grade to all pairs, a correlation if either labeler gave one grade to all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import TranslatableText
from quati_pool.records import Int
from quati_pool.stats.bootstrap import Values
from quati_pool.stats.ratio import ratio


class _Tables(NamedTuple):
    """Confusion tables with the sums that several coefficients need.

    ``varied`` is true where both labelers used two or more grades.
    """

    cells: Values
    rows: Values
    columns: Values
    n: Values
    grades: Values
    varied: npt.NDArray[np.bool_]


def _kappa(tables: _Tables, disagreement: Values) -> Values:
    """Weighted kappa, 1 - observed / expected disagreement (Cohen, Psychological Bulletin 70(4), 1968).

    ``disagreement`` holds the weights, shape (grades, grades), with a zero diagonal.
    """
    observed = (tables.cells * disagreement).sum(axis=(-2, -1)) * tables.n
    expected = (tables.rows[..., :, None] * tables.columns[..., None, :] * disagreement).sum(axis=(-2, -1))
    # All pairs are in one cell, whose two grades are the same.
    same = ((tables.cells > 0).sum(axis=(-2, -1)) == 1) & (np.trace(tables.cells, axis1=-2, axis2=-1) > 0)
    return 1 - ratio(observed, expected, (tables.n > 0) & ~same)


def _distance(tables: _Tables) -> Values:
    place = np.arange(tables.cells.shape[-1], dtype=np.float64)
    distance: Values = np.abs(place[:, None] - place)
    return distance


def kappa(tables: _Tables) -> Values:
    """Cohen's kappa (Educational and Psychological Measurement 20(1), 1960)."""
    return _kappa(tables, np.sign(_distance(tables)))


def kappa_linear(tables: _Tables) -> Values:
    """Kappa with disagreement weighted by the distance between the grades' positions in the scale."""
    return _kappa(tables, _distance(tables))


def kappa_quadratic(tables: _Tables) -> Values:
    """Kappa with disagreement weighted by the squared distance between the positions."""
    return _kappa(tables, _distance(tables) ** 2)


def spearman(tables: _Tables) -> Values:
    """Spearman's rho: Pearson's correlation of the midranks."""

    # Twice the midrank minus its mean, n + 1: integers with mean 0.
    def ranks(margins: Values) -> Values:
        return 2 * margins.cumsum(axis=-1) - margins - tables.n[..., None]

    x, y = ranks(tables.rows), ranks(tables.columns)
    covariance = (tables.cells * x[..., :, None] * y[..., None, :]).sum(axis=(-2, -1))
    spread_x, spread_y = (tables.rows * x**2).sum(axis=-1), (tables.columns * y**2).sum(axis=-1)
    return _correlation(covariance, spread_x, spread_y, tables.varied)


def pearson(tables: _Tables) -> Values:
    """Pearson's correlation of the grades as numbers."""
    grades, n = tables.grades, tables.n
    products = (tables.cells * grades[:, None] * grades).sum(axis=(-2, -1))
    sum_x, sum_y = (tables.rows * grades).sum(axis=-1), (tables.columns * grades).sum(axis=-1)
    spread_x = n * (tables.rows * grades**2).sum(axis=-1) - sum_x**2
    spread_y = n * (tables.columns * grades**2).sum(axis=-1) - sum_y**2
    return _correlation(n * products - sum_x * sum_y, spread_x, spread_y, tables.varied)


def kendall(tables: _Tables) -> Values:
    """Kendall's tau-b (Biometrika 33(3), 1945)."""
    place = np.arange(tables.cells.shape[-1])
    direction = np.sign(place[:, None] - place).astype(np.float64)
    # All three sums count every combination of two pairs twice, and each pair with itself as a tie.
    agreeing = (tables.cells * (direction @ tables.cells @ direction.T)).sum(axis=(-2, -1))
    untied_x = tables.n**2 - (tables.rows**2).sum(axis=-1)
    untied_y = tables.n**2 - (tables.columns**2).sum(axis=-1)
    return _correlation(agreeing, untied_x, untied_y, tables.varied)


def agreement(tables: _Tables) -> Values:
    """The share of pairs to which both labelers gave the same grade, from 0 to 1."""
    return ratio(np.trace(tables.cells, axis1=-2, axis2=-1), tables.n, tables.n > 0)


def difference(tables: _Tables) -> Values:
    """The first labeler's mean grade minus the second's: above 0 if the first is more lenient."""
    return ratio(((tables.rows - tables.columns) * tables.grades).sum(axis=-1), tables.n, tables.n > 0)


COEFFICIENTS: Mapping[str, Callable[[_Tables], Values]] = {
    "kappa": kappa,
    "kappa_linear": kappa_linear,
    "kappa_quadratic": kappa_quadratic,
    "spearman": spearman,
    "pearson": pearson,
    "kendall": kendall,
    "agreement": agreement,
    "difference": difference,
}


def coefficients(
    tables: npt.NDArray[Any], scale: Sequence[int], names: Sequence[str] = tuple(COEFFICIENTS)
) -> dict[str, Values]:
    """The named coefficients of confusion tables, shape (…, grades, grades); each has shape (…).

    ``scale`` holds the grades' values, ascending, shape (grades,). A grade that nobody gave does not change the
    result.
    """
    cells = np.asarray(tables, dtype=np.float64)
    rows, columns = cells.sum(axis=-1), cells.sum(axis=-2)
    varied = ((rows > 0).sum(axis=-1) > 1) & ((columns > 0).sum(axis=-1) > 1)
    prepared = _Tables(cells, rows, columns, rows.sum(axis=-1), np.asarray(scale, dtype=np.float64), varied)
    return {name: COEFFICIENTS[name](prepared) for name in names}


def cohen_kappa(grades: Sequence[int], one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Cohen's κ of two sequences of grades of the same units, both of shape (n,); ``grades`` is the scale, ascending.
    None if it is undefined."""
    table = np.zeros((len(grades), len(grades)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(grades, one), np.searchsorted(grades, other)), 1)
    value = float(coefficients(table, grades, ["kappa"])["kappa"])
    return None if np.isnan(value) else value


def why_undefined(table: Int, grades: Sequence[str], a: str, b: str) -> str:
    """Why a coefficient is NaN for ``table``, shape (grades, grades); a TranslatableText.

    ``grades`` names the table's rows and columns for the message, such as "the grade 0"; ``a`` and ``b`` are the
    labelers' names.
    """
    n = int(table.sum())
    if n == 0:
        return TranslatableText("no common pair", "no_common_pair")
    if n == 1:
        return TranslatableText("one common pair only", "one_common_pair")
    used_a, used_b = np.flatnonzero(table.sum(axis=1)), np.flatnonzero(table.sum(axis=0))
    of_a, of_b = grades[used_a[0]], grades[used_b[0]]
    if len(used_a) > 1:
        return TranslatableText(f"{b} gave every pair {of_b}", "one_grade", labeler=b, grade=of_b)
    if len(used_b) > 1:
        return TranslatableText(f"{a} gave every pair {of_a}", "one_grade", labeler=a, grade=of_a)
    if used_a[0] == used_b[0]:
        return TranslatableText(f"both gave every pair {of_a}", "both_one_grade", grade=of_a)
    return TranslatableText(
        f"{a} gave every pair {of_a}, {b} {of_b}", "each_one_grade", a=a, a_grade=of_a, b=b, b_grade=of_b
    )


def _correlation(covariance: Values, x: Values, y: Values, varied: npt.NDArray[np.bool_]) -> Values:
    # Rounding errors can push a perfect correlation past 1.
    return np.clip(ratio(covariance, np.sqrt(x * y), varied), -1, 1)
