"""The documents that a pool may be chosen from, and where the runs rank them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from quati_pool.records import Ids, Int, Run, align

Numbers = npt.NDArray[np.int32]

_ROWS = 1_000_000
"""About how many rows of all runs are sorted at a time."""


@dataclass(frozen=True, eq=False)
class Rankings:
    """The candidates of one query, numbered from 0 to ``size`` − 1.

    ``by_run``, shape (runs, depth), has each run's candidates in the order of their ranks, −1 after the last one. Where
    a run's ranks have gaps, those here have none.
    """

    size: int
    by_run: Numbers

    def places(self, candidate: int) -> tuple[Int, Int]:
        """The runs that rank a candidate, ascending, and their ranks of it, from 1: shape (holders,) each."""
        # np.nonzero of a matrix takes nine times as long.
        cells = np.flatnonzero(self.by_run.ravel() == candidate)
        runs, places = np.divmod(cells, max(self.by_run.shape[1], 1))
        return runs, places + 1

    @cached_property
    def popularity(self) -> Int:
        """The number of runs that rank each candidate, shape (size,)."""
        return np.bincount(self.by_run[self.by_run >= 0], minlength=self.size)

    @cached_property
    def best_rank(self) -> Int:
        """The best rank of each candidate in any run, shape (size,)."""
        runs, places = np.nonzero(self.by_run >= 0)
        found = np.full(self.size, self.by_run.shape[1] + 1, dtype=np.int64)
        np.minimum.at(found, self.by_run[runs, places], places + 1)
        return found


@dataclass(frozen=True, eq=False)
class Candidates:
    """The first documents of each run, and the pairs that these make, numbered from 0.

    ``query`` and ``doc``, shape (pairs,), are sorted by query, so that the pairs of query q are those from
    ``starts[q]`` to ``starts[q + 1]`` − 1. ``numbers`` has for each run the pairs that it ranks, sorted by query and
    rank, and ``of_query``, shape (queries + 1,) each, where those of each query begin.
    """

    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    starts: Int
    run_tags: tuple[str, ...]
    numbers: tuple[Numbers, ...]
    of_query: tuple[Int, ...]

    def __len__(self) -> int:
        return len(self.query)

    @property
    def sizes(self) -> Int:
        """The number of pairs of each query, shape (queries,)."""
        return np.diff(self.starts)

    def rankings(self, query: int) -> Rankings:
        """The rankings of a query; its candidates are its pairs, in their order."""
        start = int(self.starts[query])
        columns = [
            numbers[starts[query] : starts[query + 1]] - start
            for numbers, starts in zip(self.numbers, self.of_query, strict=True)
        ]
        by_run = np.full((len(columns), max(map(len, columns), default=0)), -1, dtype=np.int32)
        for run, column in enumerate(columns):
            by_run[run, : len(column)] = column
        return Rankings(int(self.starts[query + 1]) - start, by_run)


def candidates(runs: Sequence[Run], depths: Mapping[str, int]) -> Candidates:
    """The first ``depths[run_tag]`` documents per query of each run. A run of depth 0 gives none and is left out.

    The pairs of a query are sorted by doc_id, so that their order does not reveal ranks. Queries keep the order of the
    runs' vocabulary.

    Raises ValueError if no run has a depth above 0.
    """
    heads = [run.head(depths[run.run_tag]) for run in runs if depths[run.run_tag]]
    if not heads:
        raise ValueError("no run feeds the pool")
    runs = align(heads)
    queries, docs = runs[0].queries, runs[0].docs
    of_query = [np.searchsorted(run.query, np.arange(len(queries) + 1)) for run in runs]
    query, doc, numbers = _pairs(runs, of_query)
    order = np.lexsort((docs.lexicographic_rank(doc), query)) if len(query) else np.empty(0, dtype=np.int64)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Candidates(
        queries,
        docs,
        query[order],
        doc[order],
        np.searchsorted(query, np.arange(len(queries) + 1)),
        tuple(run.run_tag for run in runs),
        tuple(number[column] for column in numbers),
        tuple(of_query),
    )


def _pairs(runs: Sequence[Run], of_query: Sequence[Int]) -> tuple[Int, Int, list[Numbers]]:
    """The distinct pairs of all runs, ascending: their queries and documents, and which of them each row of each run
    is. Some queries at a time, which sorts faster than all."""
    width = max(len(runs[0].docs), 1)
    rows = np.sum(of_query, axis=0)
    edges = np.unique(np.append(np.searchsorted(rows, np.arange(0, rows[-1], _ROWS)), len(rows) - 1))
    numbers = [np.empty(len(run), dtype=np.int32) for run in runs]
    distinct: list[Int] = [np.empty(0, dtype=np.int64)]
    size = 0
    for first, last in pairwise(edges.tolist()):
        parts = [slice(starts[first], starts[last]) for starts in of_query]
        codes = [run.query[part] * width + run.doc[part] for run, part in zip(runs, parts, strict=True)]
        found, place = np.unique(np.concatenate(codes), return_inverse=True)
        ends = np.cumsum([len(part) for part in codes])
        for column, part, places in zip(numbers, parts, np.split(place, ends[:-1]), strict=True):
            column[part] = size + places
        distinct.append(found)
        size += len(found)
    query, doc = np.divmod(np.concatenate(distinct), width)
    return query, doc, numbers
