"""Estimated means of several systems with their joint error, and their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    errors that further drawn queries or pairs would lessen. ``degrees`` of freedom, None where quantiles are normal.

    Each of ``units`` drawn queries has one row in each of the first ``parts`` blocks of ``units`` rows: the first has
    the errors of drawing them; another has those of all queries as a sample of a population, which are estimated from
    the same queries.
    """

    estimate: Values
    rows: Values
    drawing: Values
    degrees: float | None
    spread: Values
    units: int = 0
    parts: int = 1

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
        return replace(
            self,
            estimate=self.estimate[chosen],
            rows=self.rows[:, chosen],
            drawing=self.drawing[:, chosen],
            spread=self.spread[chosen],
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
        return replace(
            self,
            estimate=self.estimate[a] - self.estimate[b],
            rows=self.rows[:, a] - self.rows[:, b],
            drawing=self.drawing[:, a] - self.drawing[:, b],
            spread=np.full(len(a), np.nan),
        )
