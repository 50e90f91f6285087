"""Differences of many systems."""

from __future__ import annotations

import numpy as np

from quati_pool.estimation.estimated import Estimated
from quati_pool.records import Int

_ROUNDING = 1e-12


def differences(systems: Estimated, a: Int, b: Int) -> Estimated:
    """Systems ``a`` minus systems ``b``, with their variances but not their covariances: as ``Estimated.differences``
    at the cost of systems², not of labels · comparisons."""
    covariance = systems.rows.T @ systems.rows
    own = np.diag(covariance)
    either = own[a] + own[b]
    variance = either - 2 * covariance[a, b]
    error = np.sqrt(np.where(variance > _ROUNDING * either, variance, 0.0))[None]
    return Estimated(systems.estimate[a] - systems.estimate[b], error, error, systems.degrees, np.full(len(a), np.nan))
