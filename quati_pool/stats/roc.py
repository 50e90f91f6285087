"""The area under the ROC curve, with an interval over queries: the probability that a relevant pair scores above an
irrelevant one, ties counting one half (Hanley and McNeil 1982, Radiology 143(1))."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from quati_pool.stats.bootstrap import DRAWS, Interval, interval, multiplicities
from quati_pool.stats.ratio import ratio


class RocArea(NamedTuple):
    """The area, None if there are no relevant or no irrelevant pairs, and its percentile interval over queries."""

    area: float | None
    interval: Interval


def roc_area(
    scores: npt.NDArray[Any], relevant: npt.NDArray[np.bool_], query: npt.NDArray[np.int64], seed: int = 0,
    draws: int = DRAWS,
) -> RocArea:  # fmt: skip
    """The area over all pairs: ``scores``, whether each is ``relevant``, and the code of its query from 0, shape
    (pairs,) each."""
    queries = int(query.max()) + 1 if len(query) else 0
    _, place = np.unique(scores, return_inverse=True)
    shape = (queries, int(place.max()) + 1 if len(place) else 0)

    def counts(rows: npt.NDArray[np.bool_]) -> Any:
        return sparse.csr_matrix((np.ones(int(rows.sum())), (query[rows], place[rows])), shape=shape)

    above, below = counts(relevant), counts(~relevant)
    area = float(_areas(np.ones((1, queries)), above, below)[0])
    drawn = [_areas(weights, above, below) for weights in multiplicities(queries, draws, seed)] if draws else []
    found = interval(np.concatenate(drawn)) if drawn and len(query) else Interval(None, None)
    return RocArea(None if np.isnan(area) else area, found)


def _areas(weights: npt.NDArray[np.float64], relevant: Any, irrelevant: Any) -> npt.NDArray[np.float64]:
    """The area in each resample, shape (draws,), NaN where it is undefined. ``relevant`` and ``irrelevant`` count the
    pairs of each query at each score, in rising order."""
    found = []
    # Some resamples at a time: their counts are dense.
    step = max(1, 4_000_000 // max(relevant.shape[1], 1))
    for start in range(0, len(weights), step):
        some = weights[start : start + step]
        upper, lower = some @ relevant, some @ irrelevant
        beaten = np.cumsum(lower, axis=1) - lower / 2
        pairs = upper.sum(axis=1) * lower.sum(axis=1)
        found.append(ratio((upper * beaten).sum(axis=1), pairs, pairs > 0))
    return np.concatenate(found) if found else np.full(len(weights), np.nan)
