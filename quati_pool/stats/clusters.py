"""The worst query of each cluster of related queries: robustness as RoMQA measures it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


def cluster_minima(values: npt.NDArray[Any], clusters: npt.NDArray[Any]) -> Values:
    """The lowest value of each cluster (Zhong et al., RoMQA, arXiv 2210.14353, on robustness).

    ``values``, shape (…, n), are those of n queries; ``clusters``, shape (n,), holds the number of each query's
    cluster. Shape (…, number of clusters), in the order of these numbers. A NaN makes its cluster's minimum NaN.
    """
    found, code = np.unique(clusters, return_inverse=True)
    values = np.asarray(values, dtype=np.float64)
    if values.shape[-1] != len(code):
        raise ValueError(f"{values.shape[-1]} values and {len(code)} clusters; expected one for each value")
    if len(found) == 0:
        return values
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(found)))
    minima: Values = np.minimum.reduceat(values[..., order], starts, axis=-1)
    return minima


def cluster_sizes(clusters: npt.NDArray[Any]) -> Int:
    """The number of queries of each cluster, shape (number of clusters,), in the order of ``cluster_minima``."""
    sizes: Int = np.unique(clusters, return_counts=True)[1].astype(np.int64)
    return sizes
