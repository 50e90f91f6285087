"""nDCG of many rankings at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quati_pool.records import Int

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def mean_ndcg(ranked: Int, gains: Values, query: Int, cutoff: int) -> Values:
    """The mean nDCG of each system over all queries, shape (systems,): linear gains, discounts 1/log2(rank + 1), as
    trec_eval has it.

    ``ranked``, shape (systems, queries, depth), are pairs in the order of their ranks, −1 for none. ``gains`` and
    ``query``, shape (pairs,), belong to the pairs; a gain below 0 counts as 0. A query without gains counts 0.
    """
    queries = ranked.shape[1]
    positive = np.maximum(gains, 0.0)
    discounts = 1 / np.log2(np.arange(2, cutoff + 2))
    # The last one is that of the pair −1.
    found = np.append(positive, 0.0)[ranked[:, :, :cutoff]]
    gained = found @ discounts[: found.shape[2]]
    order = np.lexsort((-positive, query))
    starts = np.searchsorted(query[order], np.arange(queries))
    place = np.arange(len(order)) - starts[query[order]]
    top = place < cutoff
    ideal = np.bincount(query[order][top], positive[order][top] * discounts[place[top]], minlength=queries)
    score: Values = np.divide(gained, ideal, out=np.zeros_like(gained), where=ideal > 0)
    mean: Values = score.mean(axis=1)
    return mean


def condensed(ranked: Int, judged: Flags) -> Int:
    """The rankings without unjudged pairs (Sakai, Alternatives to bpref, SIGIR 2007), same shape, −1 at the end."""
    there = np.append(judged, False)[ranked]
    order = np.argsort(~there, axis=2, kind="stable")
    return np.take_along_axis(np.where(there, ranked, -1), order, axis=2)
