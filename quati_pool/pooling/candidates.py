"""The documents that a pool may be chosen from, and where the runs rank them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.records import Ids, Int, Run, align

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Rankings:
    """The candidates of one query, numbered from 0 to ``size`` − 1.

    ``by_run``, shape (runs, depth), has each run's candidates in the order of their ranks, −1 after the last one.
    """

    size: int
    by_run: Numbers

    @cached_property
    def _entries(self) -> tuple[Int, Int, Int]:
        """Runs and ranks of all candidates, grouped by candidate, and where the group of each candidate begins."""
        run, place = np.nonzero(self.by_run >= 0)
        candidate = self.by_run[run, place]
        order = np.argsort(candidate, kind="stable")
        starts = np.searchsorted(candidate[order], np.arange(self.size + 1))
        return run[order], place[order] + 1, starts

    def holders(self, candidate: int) -> Int:
        """The runs that rank a candidate, ascending."""
        runs, _, starts = self._entries
        return runs[starts[candidate] : starts[candidate + 1]]

    @cached_property
    def popularity(self) -> Int:
        """The number of runs that rank each candidate, shape (size,)."""
        return np.diff(self._entries[2])

    @cached_property
    def best_rank(self) -> Int:
        """The best rank of each candidate in any run, shape (size,)."""
        _, ranks, starts = self._entries
        return np.minimum.reduceat(ranks, starts[:-1]) if self.size else np.empty(0, dtype=np.int64)

    def spread(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """``values`` of ranks, shape (depth,), as those of each run's candidates: shape (runs, size), 0 where a run
        does not rank a candidate."""
        found = np.zeros((len(self.by_run), self.size))
        run, place = np.nonzero(self.by_run >= 0)
        found[run, self.by_run[run, place]] = values[place]
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
    """
    runs = align([run.head(depths[run.run_tag]) for run in runs if depths[run.run_tag]])
    if not runs:
        raise ValueError("no run feeds the pool")
    queries, docs = runs[0].queries, runs[0].docs
    width = max(len(docs), 1)
    query, doc = np.divmod(np.unique(np.concatenate([run.pair for run in runs])), width)
    order = np.lexsort((docs.lexicographic_rank(doc), query)) if len(query) else np.empty(0, dtype=np.int64)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    pairs = query * width + doc
    each = np.arange(len(queries) + 1)
    return Candidates(
        queries,
        docs,
        query[order],
        doc[order],
        np.searchsorted(query, each),
        tuple(run.run_tag for run in runs),
        tuple(number[np.searchsorted(pairs, run.pair)] for run in runs),
        tuple(np.searchsorted(run.query, each) for run in runs),
    )
