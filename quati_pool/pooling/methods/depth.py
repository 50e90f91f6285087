"""Depth pooling: rank by rank, run after run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.methods.base import InOrder, Values


class Depth(InOrder):
    """All documents at rank 1, in the order of the runs, then those at rank 2, and so on."""

    id = "pool_method/depth"
    summary = "the first documents of all runs, rank by rank"
    example = "budget: 2000"
    moves = False

    def order(self) -> tuple[npt.NDArray[np.int64], Values]:
        by_rank = self.rankings.by_run.T.ravel()
        place = np.flatnonzero(by_rank >= 0)
        _, first = np.unique(by_rank[place], return_index=True)
        kept = place[np.sort(first)]
        rank = 1 + kept // max(len(self.rankings.by_run), 1)
        return by_rank[kept].astype(np.int64), -rank.astype(np.float64)
