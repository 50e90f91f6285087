"""The pairs that a sample is drawn from: where systems ranked them, and a judge's grades of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.records import Int

Values = npt.NDArray[np.float64]

NO_GRADE = np.iinfo(np.int64).min
"""In arrays of grades: there is none."""


@dataclass(frozen=True, eq=False)
class PairFrame:
    """The pairs of a pool, numbered from 0.

    ``query``, shape (pairs,), numbers each pair's query, from 0 to ``queries`` − 1; ``judge``, shape (pairs,), is the
    judge's grade, NO_GRADE where there is none. ``pair``, ``system`` and ``rank`` (from 1), shape (entries,), are where
    the systems, numbered from 0 to ``systems`` − 1, ranked the pairs.
    """

    query: Int
    queries: int
    judge: Int
    systems: int
    pair: Int
    system: Int
    rank: Int

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def sizes(self) -> Int:
        """The number of pairs of each query, shape (queries,)."""
        return np.bincount(self.query, minlength=self.queries)

    @cached_property
    def judge_or_mean(self) -> Int:
        """``judge_or_mean`` of these pairs."""
        return judge_or_mean(self.query, self.queries, self.judge)

    def discounts(self, measure: PairMeasure) -> Any:
        """δ of each pair's rank in each system, as a sparse matrix of shape (pairs, systems)."""
        from scipy.sparse import csr_array

        within = self.rank <= measure.cutoff
        values = measure.discounts[self.rank[within] - 1]
        return csr_array((values, (self.pair[within], self.system[within])), shape=(len(self), self.systems))

    def by_query(self, columns: Any) -> Any:
        """Sums of sparse ``columns``, shape (pairs, n), over the pairs of each query: shape (queries, n)."""
        from scipy.sparse import csr_array

        rows = csr_array((np.ones(len(self)), (self.query, np.arange(len(self)))), shape=(self.queries, len(self)))
        return rows @ columns


def judge_or_mean(query: Int, queries: int, judge: Int) -> Int:
    """The judge's grades, shape (pairs,); for a pair without one the mean grade of its query, rounded, or of all pairs
    where its query has none. 0 without any grade."""
    known = judge != NO_GRADE
    if known.all() or not known.any():
        return np.where(known, judge, 0)
    graded = np.bincount(query[known], minlength=queries)
    total = np.bincount(query[known], judge[known], minlength=queries)
    mean = np.where(graded > 0, total / np.maximum(graded, 1), judge[known].mean())
    return np.where(known, judge, np.rint(mean).astype(np.int64)[query])
