"""Variances of estimated totals under the sampling design (Särndal, Swensson, Wretman, Model Assisted Survey Sampling,
1992, sections 3.5 and 3.7; for nonlinear estimators, whose residuals are linearised, section 5.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def design_residuals(
    u: npt.NDArray[Any],
    inclusion: npt.NDArray[Any],
    stratum: npt.NDArray[Any],
    sizes: npt.NDArray[Any],
    poisson: bool,
) -> Values:
    """Residuals Z, shape (n, m), with ``Z.T @ Z`` the estimated covariance matrix of m estimated totals.

    ``u``, shape (n, m), holds the weighted values of the n sampled units (value / inclusion probability), whose sums
    over the units are the totals. ``inclusion``, shape (n,), are the inclusion probabilities (0 < π <= 1); ``stratum``,
    shape (n,), codes into ``sizes``, shape (strata,), the number of the frame's units in each stratum.

    With ``poisson``, units were drawn independently: Σ (1 − π) u², without regard to strata. Otherwise each stratum
    has a simple random sample without replacement of fixed size n of N: Σ over strata of
    (1 − n/N) · n/(n − 1) · Σ (u − ū)². Both are unbiased for values that are fixed before the draw. A stratum with
    one sampled unit has no variance of its own; it contributes the Poisson term, which is 0 for a census and on
    average too large otherwise.

    Raises ValueError if a stratum has more sampled units than units, or if a probability is not in (0, 1].
    """
    u, inclusion = np.asarray(u, dtype=np.float64), np.asarray(inclusion, dtype=np.float64)
    if np.any(~((inclusion > 0) & (inclusion <= 1))):
        raise ValueError("an inclusion probability is not above 0 and at most 1")
    independent: Values = np.sqrt(1 - inclusion)[:, None] * u
    if poisson:
        return independent
    sampled = np.bincount(stratum, minlength=len(sizes))
    if len(sampled) > len(sizes) or np.any(sampled > sizes):
        raise ValueError("a stratum has more sampled units than units")
    totals = np.zeros((len(sizes), u.shape[1]))
    np.add.at(totals, stratum, u)
    # Strata without a sampled unit, or with one, get factors that are not used.
    means = totals / np.maximum(sampled, 1)[:, None]
    factor = (1 - sampled / np.maximum(sizes, 1)) * sampled / np.maximum(sampled - 1, 1)
    centred: Values = np.sqrt(factor)[stratum, None] * (u - means[stratum])
    return np.where((sampled[stratum] > 1)[:, None], centred, independent)
