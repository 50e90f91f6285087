"""Intervals of shares and of their differences, for units that come in clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LEVEL = 0.95
UNSEEN_CORRELATION = 0.2
"""The correlation within clusters that is assumed where the data cannot show any."""


@dataclass(frozen=True)
class Share:
    """``hits`` of ``n`` units and the interval of their share; without units, or from a single cluster, ``low`` and
    ``high`` are 0 and 1."""

    n: int
    hits: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """From 0 to 1; None without units."""
        return self.hits / self.n if self.n else None


class Difference(NamedTuple):
    """A difference of two shares and its interval."""

    value: float
    low: float
    high: float


def clustered_share(
    hits: npt.NDArray[Any],
    clusters: npt.NDArray[Any],
    level: float = LEVEL,
    *,
    units: npt.NDArray[Any] | None = None,
) -> Share:
    """The share of ``hits``, booleans of shape (n,), whose units come in ``clusters``, codes of shape (n,). With codes
    of ``units`` that were measured repeatedly, no more units count than there are of them.

    Wilson's score interval for the effective number of units: n over the design effect, which is the variance between
    clusters (linearised, as for a ratio) over that of independent units, and at least 1; then scaled for the degrees of
    freedom (Korn and Graubard, Survey Methodology 24, 1998, with Wilson's interval in place of Clopper and Pearson's;
    Wilson, JASA 22, 1927). Where all units or none are hits, the data do not show the design effect: it is that of
    units with a correlation of ``UNSEEN_CORRELATION`` within clusters (Kish, Survey Sampling, 1965).
    """
    from scipy.stats import norm, t

    n, count = len(hits), int(np.count_nonzero(hits))
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max()) + 1 if n else 0
    if groups < 2:
        return Share(n, count, 0.0, 1.0)
    share = count / n
    effective = float(n if units is None else len(np.unique(units)))
    if 0 < count < n:
        sums = np.bincount(codes, weights=hits - share)
        variance = groups / (groups - 1) * float(sums @ sums) / n**2
        if variance > 0:
            effective = min(effective, share * (1 - share) / variance)
    else:
        sizes = np.bincount(codes) * (effective / n)
        per_cluster = float(sizes @ sizes) / effective
        effective /= 1 + max(per_cluster - 1, 0.0) * UNSEEN_CORRELATION
    z = float(norm.ppf(0.5 + level / 2))
    low, high = _wilson(share, effective * (z / float(t.ppf(0.5 + level / 2, groups - 1))) ** 2, z)
    return Share(n, count, low, high)


def independent_share(hits: int, n: int, level: float = LEVEL) -> Share:
    """The share of ``hits`` among ``n`` independent units, with Wilson's score interval (JASA 22, 1927)."""
    from scipy.stats import norm

    low, high = _wilson(hits / n, n, float(norm.ppf(0.5 + level / 2))) if n else (0.0, 1.0)
    return Share(n, hits, low, high)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # The ends of a share of 0 or 1 are exact, whatever is lost in rounding.
    return max(0.0, centre - half) if share else 0.0, min(1.0, centre + half) if share < 1 else 1.0


def share_difference(one: Share, other: Share | None, correlation: float = 0.0) -> Difference | None:
    """``one`` less ``other``, or ``one`` itself where there is no other; None without units.

    The interval joins those of the two shares by their squared distances (Newcombe, Statistics in Medicine 17, 1998,
    p. 873, method 10), as if they were independent: for shares of the same units, which are rarely opposed, it is too
    wide rather than too narrow, unless it is given the ``correlation`` of their hits (the same volume, p. 2635, method
    10).
    """
    if one.share is None or (other is not None and other.share is None):
        return None
    if other is None or other.share is None:
        return Difference(one.share, one.low, one.high)
    value = one.share - other.share
    low = value - _joined(one.share - one.low, other.high - other.share, correlation)
    high = value + _joined(one.high - one.share, other.share - other.low, correlation)
    return Difference(value, max(-1.0, low), min(1.0, high))


def _joined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(one**2 - 2 * correlation * one * other + other**2, 0.0))


def paired_difference(
    one: npt.NDArray[Any],
    other: npt.NDArray[Any],
    clusters: npt.NDArray[Any],
    *,
    units: npt.NDArray[Any] | None = None,
) -> Difference | None:
    """The difference of two shares of hits among the same units, with the arrays of ``clustered_share``; None without
    units."""
    first, second = (clustered_share(hits, clusters, units=units) for hits in (one, other))
    return share_difference(first, second, hit_correlation(one, other))


def hit_correlation(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """The correlation φ of two columns of hits, booleans of shape (n,); a positive one with Newcombe's continuity
    correction, and 0 where all units of a column are hits or none."""
    n, first, second, both = len(one), *(int(np.count_nonzero(hits)) for hits in (one, other, one & other))
    margins = first * (n - first) * second * (n - second)
    if not margins:
        return 0.0
    product = float(both * (n - first - second + both) - (first - both) * (second - both))
    return (max(product - n / 2, 0.0) if product > 0 else product) / math.sqrt(margins)
