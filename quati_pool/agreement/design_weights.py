"""Agreement of two labelers over pairs that were drawn with unequal probabilities.

The share of each cell of the confusion matrix is estimated by Σ w·1[cell] / Σ w, with the weights of ``PairSample``;
coefficients are computed from these shares. Their intervals are by linearisation for the finite population of the
designs' pairs: a coefficient θ of the shares p has about the variance of the total of u = w (∂θ/∂p·(1[cell] − p)) / Σ w
under the design (Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, section 5.5). Quantiles are those of
Student's t: over samples of 60 of 240 pairs in three strata, 95 % intervals of κ cover the truth in 94.6 %, with normal
quantiles in 94.0 % (TREC DL 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.coefficients import coefficients, why_undefined
from quati_pool.agreement.confusion import binarize
from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.pair_designs import Draw, PairSample
from quati_pool.records import Int
from quati_pool.stats.bootstrap import LEVEL, Interval, Values
from quati_pool.stats.design_variance import design_residuals

# Finite differences: the step, as a part of the share that is changed.
_STEP = 1e-4
# The ranges of coefficients whose interval would otherwise pass a bound.
_LOWEST = {"agreement": 0.0, "difference": -np.inf}
_HIGHEST = {"difference": np.inf}

Coefficients = Callable[[npt.NDArray[Any]], dict[str, Values]]
"""Coefficients by name, each of shape (…), of confusion tables of shape (…, grades, grades)."""


class WeightedTable:
    """The weighted confusion matrix of two labelers over a sample. ``a`` and ``b``, shape (n,), are the positions of
    their grades in a scale of ``grades`` grades.

    ``counts`` and ``shares``, shape (grades, grades): the number of pairs of the sample in each cell, and its estimated
    share, with the sum 1.
    """

    def __init__(self, sample: PairSample, a: npt.NDArray[Any], b: npt.NDArray[Any], grades: int) -> None:
        self._sample = sample
        self._cell: Int = a.astype(np.int64) * grades + b
        cells = grades * grades
        shape = (grades, grades)
        self._total = float(sample.weight.sum())
        self.counts: Int = np.bincount(self._cell, minlength=cells).reshape(shape)
        self.shares: Values = np.bincount(self._cell, sample.weight, cells).reshape(shape) / self._total

    def estimates(
        self,
        scale: Sequence[int],
        words: Sequence[str],
        a: str,
        b: str,
        *,
        intervals: bool,
        threshold: int | None = None,
    ) -> Estimates:
        """All coefficients with 95 % intervals; with ``threshold`` those of relevant (that grade and higher) or not.

        ``words`` names the grades, ``a`` and ``b`` the labelers, in reasons for what is undefined.
        """

        def reduced(tables: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return tables if threshold is None else binarize(tables, scale, threshold)

        values = scale if threshold is None else (0, 1)
        found = coefficients(reduced(self.shares), values)
        undefined = {
            name: why_undefined(reduced(self.counts), words, a, b) for name, value in found.items() if np.isnan(value)
        }
        ends: Mapping[str, Interval] = {}
        if intervals:
            errors = self.standard_errors(lambda tables: coefficients(reduced(tables), values))
            ends = {name: self._interval(name, float(value), errors[name]) for name, value in found.items()}
            undefined |= {
                f"intervals.{name}": "one common pair only; an interval under the design needs two"
                for name, one in ends.items()
                if one.low is None and name not in undefined
            }
        return Estimates(
            values={name: None if np.isnan(value) else float(value) for name, value in found.items()},
            intervals=dict(ends),
            undefined=undefined,
        )

    def standard_errors(self, of: Coefficients) -> dict[str, float]:
        """The linearised standard error of each coefficient; NaN where it is undefined."""
        derivatives = self._derivatives(of)
        observed = np.flatnonzero(self.shares)
        shares = self.shares.ravel()[observed]
        # Shape (cells, coefficients), less the mean over the cells: shares sum to 1, whatever the sample.
        centred = np.stack(list(derivatives.values()), axis=1)
        centred -= shares @ centred
        residuals = centred[np.searchsorted(observed, self._cell)] / self._total
        return dict(zip(derivatives, np.sqrt(_variance(self._sample.draws, residuals)).tolist(), strict=True))

    def _derivatives(self, of: Coefficients) -> dict[str, Values]:
        """Of each coefficient by the share of each cell that occurs in the sample, shape (cells,): central finite
        differences."""
        flat = self.shares.ravel()
        observed = np.flatnonzero(flat)
        steps = _STEP * flat[observed]
        changes = np.zeros((len(observed), len(flat)))
        changes[np.arange(len(observed)), observed] = steps
        up, down = (of((flat + sign * changes).reshape(-1, *self.shares.shape)) for sign in (1, -1))
        return {name: (up[name] - down[name]) / (2 * steps) for name in up}

    def _interval(self, name: str, value: float, error: float) -> Interval:
        if np.isnan(value) or np.isnan(error) or len(self._sample.rows) < 2:
            return Interval(None, None)
        # Imported here, as agreement without weights does not need scipy, whose import takes time and memory.
        from scipy.special import stdtrit

        degrees = min(draw.degrees for draw in self._sample.draws if len(draw.at))
        reach = float(stdtrit(degrees, (1 + LEVEL) / 2)) * error
        return Interval(max(value - reach, _LOWEST.get(name, -1.0)), min(value + reach, _HIGHEST.get(name, 1.0)))


def _variance(draws: Sequence[Draw], residuals: Values) -> Values:
    """The variances, shape (m,), of the weighted totals of ``residuals``, shape (pairs of the sample, m).

    Of several designs, those with different seeds are independent, and their variances add up. Those with one seed may
    depend on each other in a way that is not known: their standard deviations are added, which is never too small
    (Minkowski's inequality).
    """
    total: Values = np.zeros(residuals.shape[1])
    for _, alike in groupby(sorted(draws, key=_seed), key=_seed):
        total += sum(np.sqrt(_variance_of(draw, residuals)) for draw in alike) ** 2
    return total


def _seed(draw: Draw) -> tuple[int, str]:
    seed = draw.design.seed
    return (-1, draw.design.key) if seed is None else (seed, "")


def _variance_of(draw: Draw, residuals: Values) -> Values:
    """One design's part: the variance between its units, which are pairs or whole queries."""
    units = np.zeros((len(draw.inclusion), residuals.shape[1]))
    np.add.at(units, draw.unit, draw.weight[:, None] * residuals[draw.at])
    z = design_residuals(units, draw.inclusion, draw.stratum, draw.sizes, draw.design.poisson)
    variance: Values = (z**2).sum(axis=0)
    return variance
