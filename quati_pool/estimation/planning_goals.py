"""What estimates are to show: intervals of a given width, or which systems differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quati_pool.estimation.estimated import Estimated, Values
from quati_pool.estimation.results import Estimate
from quati_pool.records import Int

_DIFFERENCES = 200
"""At most so many differences of systems, chosen at random, are tried out."""


@dataclass(frozen=True, kw_only=True)
class HalfWidth:
    """The goal that the intervals of systems are ``most`` to either side, on average over the systems; each errs with
    probability ``level``."""

    most: float
    level: float

    def figure(self, error: Values | float, degrees: Values | float) -> Values:
        """The half-width that standard errors mean; ``degrees`` of freedom may be infinite."""
        return error * quantile(1 - self.level / 2, degrees)

    def columns(self, values: Values) -> Values:
        """What intervals are for: ``values``, shape (queries, systems)."""
        return values

    def errors(self, found: Estimated) -> Values:
        """The standard errors, shape (columns,), of estimates of systems."""
        return found.standard_error

    def known_errors(self, found: Estimate) -> Values:
        """Those of an estimate."""
        return np.array([one.standard_error for one in found.systems])


@dataclass(frozen=True, kw_only=True, eq=False)
class Detection:
    """The goal that two systems which differ by ``most`` are found to differ with probability ``power``, by a two-sided
    test at ``level``, shared by all comparisons (Bonferroni, the first step of Holm).

    The positions of the systems that are compared are ``a`` and ``b``, shape (comparisons,).
    """

    most: float
    power: float
    level: float
    a: Int
    b: Int

    def figure(self, error: Values | float, degrees: Values | float) -> Values:
        """The smallest difference that is found, for standard errors of differences."""
        critical = quantile(1 - self.level / len(self.a) / 2, degrees)
        return error * (critical + quantile(self.power, degrees))

    def columns(self, values: Values) -> Values:
        """The differences that are tried out, of ``values``, shape (queries, systems)."""
        a, b = self._tried
        return values[:, a] - values[:, b]

    def errors(self, found: Estimated) -> Values:
        """The standard errors of these differences, of estimates of systems."""
        a, b = self._tried
        covariance = found.rows.T @ found.rows
        variance = np.diag(covariance)
        error: Values = np.sqrt(np.maximum(variance[a] + variance[b] - 2 * covariance[a, b], 0.0))
        return error

    def known_errors(self, found: Estimate) -> Values:
        """The standard errors of the differences of an estimate that were tested."""
        ends = [(one.low, one.high) for one in found.differences]
        widths = [high - low for low, high in ends if low is not None and high is not None]
        return np.array(widths) / 2 / (found.critical or 1.0)

    @cached_property
    def _tried(self) -> tuple[Int, Int]:
        some = np.random.default_rng(0).permutation(len(self.a))[:_DIFFERENCES]
        return self.a[some], self.b[some]


Goal = HalfWidth | Detection


def quantile(probability: float, degrees: Values | float) -> Values:
    """The quantiles of Student's t with these ``degrees`` of freedom, which may be infinite."""
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(degrees)
    found: Values = np.where(finite, stdtrit(np.where(finite, degrees, 1.0), probability), ndtri(probability))
    return found
