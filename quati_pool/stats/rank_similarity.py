"""Rank-biased overlap: the similarity of two ranked lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def rank_biased_overlap(
    common: npt.NDArray[np.float64], length_a: npt.NDArray[Any], length_b: npt.NDArray[Any], p: float
) -> npt.NDArray[np.float64]:
    """Extrapolated rank-biased overlap, RBO_ext, of many pairs of lists (Webber, Moffat and Zobel,
    TOIS 28(4), 2010, equation 32, for lists of uneven length).

    ``common``, shape (n, depth), is the number of items that the two lists share in their first 1…depth ranks (beyond
    the end of a list, all of its items count); ``length_a`` and ``length_b``, shape (n,), are the lengths of the
    lists, at most depth; ``p``, between 0 and 1, is the persistence: depth d has the weight p^d. Returns shape (n,),
    from 0 to 1; NaN where a list is empty, for which RBO is undefined.
    """
    short = np.minimum(length_a, length_b).astype(np.int64)
    long = np.maximum(length_a, length_b).astype(np.int64)
    n, depth = common.shape
    d = np.arange(1, depth + 1, dtype=np.float64)
    weight = p**d
    defined = short > 0
    s = np.where(defined, short, 1)[:, None].astype(np.float64)
    long_ = np.where(defined, long, 1)[:, None].astype(np.float64)
    rows = np.arange(n)
    at_short = common[rows, np.where(defined, short, 1) - 1][:, None]
    at_long = common[rows, np.where(defined, long, 1) - 1][:, None]
    seen = np.where(d <= long_, common / d * weight, 0.0).sum(axis=1)
    beyond = np.where((d > s) & (d <= long_), at_short * (d - s) / (s * d) * weight, 0.0).sum(axis=1)
    tail = ((at_long - at_short) / long_ + at_short / s)[:, 0] * p ** long_[:, 0]
    value = (1 - p) / p * (seen + beyond) + tail
    return np.where(defined, value, np.nan)
