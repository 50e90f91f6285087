"""The lowest value in each cluster of related queries: robustness as measured by RoMQA."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


def cluster_minima(values: npt.NDArray[Any], clusters: npt.NDArray[Any]) -> Values:
    """The lowest value in each cluster (Zhong et al., RoMQA, arXiv 2210.14353, on robustness).

    ``values``, shape (…, n), are the values of n queries; ``clusters``, shape (n,), is the number of each query's
    cluster. Returns shape (…, number of clusters), in ascending order of cluster number. A NaN makes its cluster's
    minimum NaN. Raises ValueError if the lengths differ.
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
    """The number of queries in each cluster, shape (number of clusters,), in the order of ``cluster_minima``."""
    sizes: Int = np.unique(clusters, return_counts=True)[1].astype(np.int64)
    return sizes
