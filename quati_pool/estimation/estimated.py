"""Estimated means of several systems with their joint error, and their differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.records import Int

Values = npt.NDArray[np.float64]


def compared(systems: int, baseline: int | None) -> tuple[Int, Int]:
    """The positions of the systems that are compared, shape (comparisons,) each: all pairs, or each with the
    baseline."""
    if baseline is None:
        first, second = np.triu_indices(systems, k=1)
        return first, second
    others = np.delete(np.arange(systems), baseline)
    return others, np.full(len(others), baseline)


@dataclass(frozen=True, eq=False)
class Estimated:
    """Estimates of several columns (systems or differences of systems).

    ``estimate`` and ``spread`` have shape (columns,); ``spread`` is the variance of a single query's value. ``rows``,
    shape (n, columns), has the covariances of the errors as rowsᵀ·rows; ``drawing``, likewise, those of the part of the
    errors that further drawn queries or pairs would lessen. The first ``units`` rows are those of single queries.
    ``degrees`` of freedom, None where quantiles are normal.
    """

    estimate: Values
    rows: Values
    drawing: Values
    degrees: float | None
    spread: Values
    units: int = 0

    @property
    def standard_error(self) -> Values:
        """Shape (columns,)."""
        error: Values = np.sqrt((self.rows**2).sum(axis=0))
        return error

    @property
    def drawing_variance(self) -> Values:
        """What further labels would lessen of the squared standard error, shape (columns,)."""
        variance: Values = (self.drawing**2).sum(axis=0)
        return variance

    @property
    def fixed_variance(self) -> Values:
        """The rest of it."""
        return np.maximum(self.standard_error**2 - self.drawing_variance, 0.0)

    def columns(self, chosen: npt.NDArray[np.bool_]) -> Estimated:
        """The ``chosen`` columns, shape (columns,)."""
        return Estimated(
            self.estimate[chosen],
            self.rows[:, chosen],
            self.drawing[:, chosen],
            self.degrees,
            self.spread[chosen],
            self.units,
        )

    def quantile(self, probability: float) -> float:
        """The quantile of an estimate's error in standard errors."""
        from scipy.special import ndtri, stdtrit

        return float(ndtri(probability) if self.degrees is None else stdtrit(self.degrees, probability))

    def half_width(self, alpha: float) -> Values:
        """Half the width of the intervals with level 1 − ``alpha``, shape (columns,)."""
        return self.quantile(1 - alpha / 2) * self.standard_error

    def differences(self, a: Int, b: Int) -> Estimated:
        """Columns ``a`` minus columns ``b``; for estimates that are linear in the columns."""
        return Estimated(
            self.estimate[a] - self.estimate[b],
            self.rows[:, a] - self.rows[:, b],
            self.drawing[:, a] - self.drawing[:, b],
            self.degrees,
            np.full(len(a), np.nan),
            self.units,
        )
