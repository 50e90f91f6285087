"""Means and least-squares slopes of units that come in clusters, with intervals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LEVEL = 0.95

Values = npt.NDArray[np.float64]


class ClusteredMean(NamedTuple):
    """An estimate and its interval; ``low`` and ``high`` are None with a single cluster. ``n`` units."""

    value: float
    low: float | None
    high: float | None
    n: int


def clustered_mean(values: npt.NDArray[Any], clusters: npt.NDArray[Any], level: float = LEVEL) -> ClusteredMean:
    """The mean of ``values``, shape (n,), n > 0, over units in ``clusters``, codes of shape (n,).

    The variance is that of a ratio over clusters, linearised (Cochran, Sampling Techniques, 1977, section 9A.1,
    without the finite population correction), the interval that of t with clusters − 1 degrees of freedom. With one
    unit per cluster this is the t interval of a mean.
    """
    from scipy.stats import t

    value = float(np.mean(values))
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max()) + 1
    if groups < 2:
        return ClusteredMean(value, None, None, len(values))
    sums = np.bincount(codes, weights=values - value)
    error = math.sqrt(groups / (groups - 1) * float(sums @ sums)) / len(values)
    half = float(t.ppf(0.5 + level / 2, groups - 1)) * error
    return ClusteredMean(value, value - half, value + half, len(values))


def clustered_slopes(
    response: npt.NDArray[Any], predictors: npt.NDArray[Any], clusters: npt.NDArray[Any], level: float = LEVEL
) -> list[ClusteredMean] | None:
    """Least-squares coefficients of ``predictors``, shape (n, p), with intervals for clustered units.

    The sandwich variance with clusters, scaled by G/(G − 1) · (n − 1)/(n − p) (CR1; Liang and Zeger, Biometrika 73,
    1986), and t with G − 1 degrees of freedom for G clusters. None if the predictors are linearly dependent, or there
    are fewer than two clusters or no more units than predictors.
    """
    from scipy.stats import t

    n, p = predictors.shape
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max()) + 1 if n else 0
    if groups < 2 or n <= p or np.linalg.matrix_rank(predictors) < p:
        return None
    bread = np.linalg.inv(predictors.T @ predictors)
    slopes = bread @ predictors.T @ response
    residuals = response - predictors @ slopes
    scores = np.zeros((groups, p))
    np.add.at(scores, codes, predictors * residuals[:, None])
    scale = groups / (groups - 1) * (n - 1) / (n - p)
    errors = np.sqrt(scale * np.einsum("ij,jk,ik->i", bread, scores.T @ scores, bread))
    half = float(t.ppf(0.5 + level / 2, groups - 1)) * errors
    return [
        ClusteredMean(float(slope), float(slope - width), float(slope + width), n)
        for slope, width in zip(slopes, half, strict=True)
    ]
