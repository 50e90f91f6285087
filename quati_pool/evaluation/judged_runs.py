"""Joins runs to qrels: for each row of a run, its judged query and its judgement, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Ids, Int, Qrels, Run


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows of a run that belong to judged queries, sorted by query (in the run's order), then rank; each array has
    shape (n,).

    ``query`` holds positions in ``Judgements.query_ids``; ``judgement`` holds row numbers of the qrels, -1 where the
    document is unjudged. ``unjudged_queries`` counts the run's queries without a judgement.
    """

    query: Int
    rank: Int
    judgement: Int
    unjudged_queries: int

    def head(self, depth: int) -> JudgedRows:
        """The rows of the first ``depth`` documents of every query."""
        kept = self.rank <= depth
        return JudgedRows(self.query[kept], self.rank[kept], self.judgement[kept], self.unjudged_queries)


def emptied_if_unjudged(run: Run, qrels: Qrels) -> Run:
    """The run itself, or an empty run if none of its queries is judged."""
    queries = qrels.queries.encode(run.queries.decode(np.unique(run.query)))
    return run if np.isin(queries, qrels.query).any() else Run.empty(run.run_tag, run.queries, run.docs)


def condensed(run: Run, query_ids: Sequence[str], doc_ids: Sequence[str]) -> Run:
    """The run without some pairs; what it ranked below them moves up."""
    query, doc = run.queries.encode(query_ids), run.docs.encode(doc_ids)
    known = (query >= 0) & (doc >= 0)
    removed = np.isin(run.query * len(run.docs) + run.doc, query[known] * len(run.docs) + doc[known])
    if not removed.any():
        return run
    first = np.flatnonzero(starts(run.query))
    above: Int = np.cumsum(removed) - removed
    rank = run.rank - (above - np.repeat(above[first], np.diff(np.r_[first, len(run)])))
    kept = ~removed
    return Run(run.run_tag, run.queries, run.docs, run.query[kept], run.doc[kept], rank[kept], run.score[kept])


class Judgements:
    """Qrels grouped by query.

    ``query_ids`` are in order of first appearance. The other attributes have shape (judgements,): ``query`` holds
    positions in ``query_ids``, ``place`` numbers the judgements of a query from 0, ``relevance`` holds the grades.
    """

    def __init__(self, qrels: Qrels) -> None:
        codes, first, inverse = np.unique(qrels.query, return_index=True, return_inverse=True)
        order = np.argsort(first)
        position = np.empty(len(codes), dtype=np.int64)
        position[order] = np.arange(len(codes))
        self._queries = Ids(qrels.queries.decode(codes[order]))
        self._docs = qrels.docs
        self.query_ids: tuple[str, ...] = tuple(self._queries.values.to_pylist())
        self.query: Int = position[inverse]
        self.relevance = qrels.relevance
        pairs = self.query * max(len(self._docs), 1) + qrels.doc
        self._row_by_pair = np.argsort(pairs)
        self._pairs = pairs[self._row_by_pair]
        by_query = np.argsort(self.query, kind="stable")
        self.place: Int = np.empty(len(qrels), dtype=np.int64)
        self.place[by_query] = places(self.query[by_query])

    def rows(self, runs: Sequence[Run], depth: int | None = None) -> Iterator[JudgedRows]:
        """For each run, its rows of judged queries, down to rank ``depth`` (None for all).

        Raises QuatiPoolError for a run that has rows, but none for a judged query.
        """
        queries = [self._queries.encode(run.queries.values)[run.query] for run in runs]
        kept = []
        for run, query in zip(runs, queries, strict=True):
            if len(query) and (query < 0).all():
                raise self._no_judged_query(run)
            kept.append((query >= 0) if depth is None else (query >= 0) & (run.rank <= depth))
        docs = self._doc_codes(runs, kept)
        for run, query, rows in zip(runs, queries, kept, strict=True):
            unjudged = len(np.unique(run.query[query < 0]))
            query, doc, rank = (column if rows.all() else column[rows] for column in (query, run.doc, run.rank))
            yield JudgedRows(query, rank, self._find(query, docs[id(run.docs)][doc]), unjudged)

    def _doc_codes(self, runs: Sequence[Run], kept: Sequence[npt.NDArray[np.bool_]]) -> dict[int, npt.NDArray[Any]]:
        """For each vocabulary of documents (by ``id``), shape (documents,): the codes in the qrels of the documents in
        kept rows, -1 for all others."""
        used: dict[int, npt.NDArray[np.bool_]] = {}
        for run, rows in zip(runs, kept, strict=True):
            used.setdefault(id(run.docs), np.zeros(len(run.docs), dtype=bool))[run.doc[rows]] = True
        codes: dict[int, npt.NDArray[Any]] = {}
        for run in runs:
            if id(run.docs) in codes:
                continue
            table = np.full(len(run.docs), -1, dtype=np.int32)
            occurring = np.flatnonzero(used[id(run.docs)])
            same = run.docs is self._docs
            table[occurring] = occurring if same else self._docs.encode(run.docs.decode(occurring))
            codes[id(run.docs)] = table
        return codes

    def _find(self, query: Int, doc: npt.NDArray[Any]) -> Int:
        """The row number in the qrels of each pair, -1 where it is unjudged."""
        found = np.full(len(query), -1, dtype=np.int64)
        known = np.flatnonzero(doc >= 0)
        if len(known) and len(self._pairs):
            wanted = query[known] * len(self._docs) + doc[known]
            at = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
            same = self._pairs[at] == wanted
            found[known[same]] = self._row_by_pair[at[same]]
        return found

    def _no_judged_query(self, run: Run) -> QuatiPoolError:
        codes = np.unique(run.query)
        theirs = run.queries.decode(codes[:3]).to_pylist()
        return QuatiPoolError(
            f"{run.run_tag}: 0 of its {len(codes):,} queries ({_some(theirs, len(codes))}) are among the "
            f"{len(self.query_ids):,} judged ones ({_some(self.query_ids[:3], len(self.query_ids))}); "
            "give the run and the qrels of the same queries"
        )


class JudgedRuns:
    """Runs and the qrels that they are evaluated under.

    Judgements are looked up once, and again only when deeper rows are requested than before.
    """

    def __init__(self, runs: Sequence[Run], qrels: Qrels) -> None:
        self.runs = tuple(runs)
        self.qrels = qrels
        self.judged = Judgements(qrels)
        self._rows: list[JudgedRows] = []
        # The depth of ``_rows``: 0 before the first look-up, None for all rows.
        self._depth: int | None = 0

    def rows(self, depth: int | None = None) -> list[JudgedRows]:
        """Like ``Judgements.rows`` for all runs, reusing the last look-up if that is deep enough."""
        if self._depth is not None and (depth is None or depth > self._depth):
            self._rows, self._depth = list(self.judged.rows(self.runs, depth)), depth
        if depth is None or depth == self._depth:
            return self._rows
        return [rows.head(depth) for rows in self._rows]


def _some(query_ids: Sequence[str], count: int) -> str:
    return ", ".join([*query_ids, *(["…"] if count > len(query_ids) else [])]) or "none"


def starts(groups: Int) -> npt.NDArray[np.bool_]:
    """Which rows are the first of their group; the rows of a group must be consecutive."""
    found: npt.NDArray[np.bool_] = np.r_[True, groups[1:] != groups[:-1]] if len(groups) else np.empty(0, dtype=bool)
    return found


def places(groups: Int) -> Int:
    """The position of each row within its group, from 0; the rows of a group must be consecutive."""
    first = np.flatnonzero(starts(groups))
    place: Int = np.arange(len(groups)) - np.repeat(first, np.diff(np.r_[first, len(groups)]))
    return place
