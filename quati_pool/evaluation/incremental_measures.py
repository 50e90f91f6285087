"""Common measures, computed quickly for many reduced sets of judgements.

The runs stay the same; only the judgements change. So each measure stores the rows that can count and sums those
whose judgement is kept. This takes a few milliseconds for all runs and queries, whereas ir_measures would read all
rankings again. The values equal those of ``scores.score`` under the reduced qrels, except for the last bits of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.evaluation.judged_runs import JudgedRows, Judgements, places, starts
from quati_pool.records import Int
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_NAMES = frozenset({"AP", "Judged", "P", "R", "RR", "Success", "nDCG"})


def recountable(measure: Any) -> bool:
    """Whether an ir_measures object is one of AP, Judged, P, R, RR, Success and nDCG, with no parameters other than a
    cutoff and a lowest relevant grade (``rel``)."""
    params = {name: value for name, value in measure.params.items() if (name, value) != ("dcg", "log2")}
    return measure.NAME in _NAMES and set(params) <= {"cutoff", "rel"}


class Recount:
    """Computes measures for some runs when only some of the judgements are kept.

    ``rows``, one per run, must reach the deepest cutoff. A query without any kept judgement counts as 0.
    """

    def __init__(self, judged: Judgements, rows: Sequence[JudgedRows], measures: Sequence[Any]) -> None:
        self._shape = (len(rows), len(judged.query_ids))
        cells = [run * self._shape[1] + one.query for run, one in enumerate(rows)]
        nothing = np.empty(0, dtype=np.int64)
        found = _RetrievedRows(
            cell=np.concatenate([nothing, *cells]),
            rank=np.concatenate([nothing, *(one.rank for one in rows)]),
            judgement=np.concatenate([nothing, *(one.judgement for one in rows)]),
        )
        self._measures = [
            _MEASURES[measure.NAME](judged, found, self._shape, **_parameters(measure)) for measure in measures
        ]

    def values(self, kept: Flags) -> Values:
        """The values under the ``kept`` judgements, a mask of shape (judgements,) in the order of the qrels; shape
        (runs, measures, queries)."""
        values = [measure.values(kept).reshape(self._shape) for measure in self._measures]
        return np.stack(values, axis=1) if values else np.empty((self._shape[0], 0, self._shape[1]))


def _parameters(measure: Any) -> dict[str, int]:
    return {name: value for name, value in measure.params.items() if name in ("cutoff", "rel")}


class _RetrievedRows:
    """The rows of all runs; ``cell`` is run * queries + query. Rows of a cell are consecutive and sorted by rank."""

    def __init__(self, cell: Int, rank: Int, judgement: Int) -> None:
        self.cell, self.rank, self.judgement = cell, rank, judgement

    def where(self, chosen: Flags) -> _RetrievedRows:
        return _RetrievedRows(self.cell[chosen], self.rank[chosen], self.judgement[chosen])


class _RelevantRows:
    """Base of measures that count documents with grade ``rel`` or above, down to rank ``cutoff``."""

    def __init__(
        self, judged: Judgements, found: _RetrievedRows, shape: tuple[int, int], cutoff: int | None = None, rel: int = 1
    ) -> None:
        self._cells = shape[0] * shape[1]
        self._runs, self._queries = shape
        self._cutoff = cutoff
        relevant = judged.relevance >= rel
        chosen = found.judgement >= 0
        chosen[chosen] = relevant[found.judgement[chosen]]
        self._found = found.where(chosen if cutoff is None else chosen & (found.rank <= cutoff))
        self._relevant = np.flatnonzero(relevant)
        self._relevant_query = judged.query[self._relevant]

    def _kept(self, kept: Flags) -> Int:
        """The places of the rows whose judgements are kept."""
        return np.flatnonzero(kept[self._found.judgement])

    def _count(self, rows: Int, weights: Values | None = None) -> Values:
        """The sum of ``weights``, by default of ones, over the rows of each run and query."""
        return np.bincount(self._found.cell[rows], weights, minlength=self._cells).astype(np.float64)

    def _per_relevant(self, totals: Values, kept: Flags) -> Values:
        """``totals`` divided by the number of relevant documents of each query; 0 if it has none."""
        there = np.bincount(self._relevant_query[kept[self._relevant]], minlength=self._queries)
        return ratio(totals, np.tile(there.astype(np.float64), self._runs), otherwise=0)


class _Recall(_RelevantRows):
    def values(self, kept: Flags) -> Values:
        return self._per_relevant(self._count(self._kept(kept)), kept)


class _Precision(_RelevantRows):
    def values(self, kept: Flags) -> Values:
        assert self._cutoff is not None, "P has a cutoff"
        return self._count(self._kept(kept)) / self._cutoff


class _Success(_RelevantRows):
    def values(self, kept: Flags) -> Values:
        return (self._count(self._kept(kept)) > 0).astype(np.float64)


class _ReciprocalRank(_RelevantRows):
    def values(self, kept: Flags) -> Values:
        rows = self._kept(kept)
        first = rows[starts(self._found.cell[rows])]
        values = np.zeros(self._cells)
        values[self._found.cell[first]] = 1 / self._found.rank[first]
        return values


class _AveragePrecision(_RelevantRows):
    def values(self, kept: Flags) -> Values:
        rows = self._kept(kept)
        precision = (places(self._found.cell[rows]) + 1) / self._found.rank[rows]
        return self._per_relevant(self._count(rows, precision), kept)


class _Ndcg(_RelevantRows):
    def __init__(
        self, judged: Judgements, found: _RetrievedRows, shape: tuple[int, int], cutoff: int | None = None
    ) -> None:
        super().__init__(judged, found, shape, cutoff)
        self._gain = judged.relevance
        self._discounted = self._gain[self._found.judgement] / np.log2(self._found.rank + 1)
        ideal = np.lexsort((-judged.relevance[self._relevant], self._relevant_query))
        self._ideal, self._ideal_query = self._relevant[ideal], self._relevant_query[ideal]

    def values(self, kept: Flags) -> Values:
        rows = self._kept(kept)
        totals = self._count(rows, self._discounted[rows])
        there = kept[self._ideal]
        judgement, query = self._ideal[there], self._ideal_query[there]
        place = places(query)
        first = slice(None) if self._cutoff is None else place < self._cutoff
        gain = self._gain[judgement[first]] / np.log2(place[first] + 2)
        ideal = np.bincount(query[first], gain, minlength=self._queries)
        return ratio(totals, np.tile(ideal, self._runs), otherwise=0)


class _Judged:
    """The share of the returned documents that are judged."""

    def __init__(
        self, judged: Judgements, found: _RetrievedRows, shape: tuple[int, int], cutoff: int | None = None
    ) -> None:
        self._cells = shape[0] * shape[1]
        within = found if cutoff is None else found.where(found.rank <= cutoff)
        self._returned = np.bincount(within.cell, minlength=self._cells).astype(np.float64)
        self._found = within.where(within.judgement >= 0)

    def values(self, kept: Flags) -> Values:
        there = self._found.cell[kept[self._found.judgement]]
        return ratio(np.bincount(there, minlength=self._cells).astype(np.float64), self._returned, otherwise=0)


_MEASURES: dict[str, Any] = {
    "AP": _AveragePrecision,
    "Judged": _Judged,
    "P": _Precision,
    "R": _Recall,
    "RR": _ReciprocalRank,
    "Success": _Success,
    "nDCG": _Ndcg,
}
