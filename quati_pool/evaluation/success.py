"""Success@k: the share of queries with a relevant document among their first k, for every k at once.

This follows Pirá's information retrieval benchmark (Pirozelli et al. 2023, arXiv 2309.10945), where each question
has one relevant text; if there are several, any of them is a success, as in ir_measures' Success@k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.records import Int

Values = npt.NDArray[np.float64]


def first_relevant(joined: JudgedRuns, depth: int | None = None) -> Int:
    """The rank of the first document with a grade above 0 for every run and judged query.

    0 if there is none among the first ``depth`` documents (None for all). Shape (runs, queries), queries in the order
    of ``Scores.query_ids``. Raises QuatiPoolError for a run that has rows, but none for a judged query.
    """
    judged = joined.judged
    found = np.zeros((len(joined.runs), len(judged.query_ids)), dtype=np.int64)
    for run, rows in enumerate(joined.rows(depth)):
        known = np.flatnonzero(rows.judgement >= 0)
        relevant = known[judged.relevance[rows.judgement[known]] > 0]
        # Rows are sorted by query, then rank, so the first row of a query is its best.
        query, first = np.unique(rows.query[relevant], return_index=True)
        found[run, query] = rows.rank[relevant[first]]
    return found


def success(first: Int, depth: int) -> Values:
    """Success@k for k = 1…``depth``, shape (runs, depth), over all queries; a query that a run lacks is not a success.

    ``first``, shape (runs, queries), is the result of ``first_relevant`` with at least that depth. Raises ConfigError
    for a depth below 1 and if there are no queries.
    """
    runs, queries = first.shape
    _check(depth, queries)
    rank = np.where((first > 0) & (first <= depth), first, depth + 1)
    place = np.arange(runs)[:, None] * (depth + 2) + rank
    at = np.bincount(place.ravel(), minlength=runs * (depth + 2)).reshape(runs, depth + 2)
    curve: Values = np.cumsum(at[:, 1:-1], axis=1) / queries
    return curve


def random_success(relevant: Int, documents: int, depth: int) -> Values:
    """The expected success@k of a random order of all documents, for k = 1…``depth``, shape (depth,).

    This is the mean over queries of 1 - C(N - R, k) / C(N, k), where N is ``documents`` and R the number of relevant
    documents of the query, from ``relevant``, shape (queries,). With one relevant document per query it is k / N, the
    line in the Pirá paper. From k = N on, all documents are returned.

    Raises ConfigError for a depth below 1, if there are no queries, and for more relevant documents than documents.
    """
    _check(depth, len(relevant))
    if (relevant < 0).any() or (relevant > documents).any():
        raise ConfigError(f"a query has {int(relevant.max())} relevant documents of {documents}; give 0 to {documents}")
    # A product avoids factorials of large N: if the first i documents are not relevant, the next one is not relevant
    # with probability (N - R - i) / (N - i).
    several, queries = np.unique(relevant, return_counts=True)
    drawn = np.arange(min(depth, documents))
    missed = np.cumprod(np.maximum(documents - several[:, None] - drawn, 0) / (documents - drawn), axis=1)
    curve = np.repeat((several > 0)[:, None].astype(np.float64), depth, axis=1)
    curve[:, : len(drawn)] = 1 - missed
    expected: Values = (queries[:, None] * curve).sum(axis=0) / len(relevant)
    return expected


def _check(depth: int, queries: int) -> None:
    if depth < 1:
        raise ConfigError(f"the depth is {depth}; give a whole number from 1")
    if queries == 0:
        raise ConfigError("there is no judged query; give qrels that hold one at least")
