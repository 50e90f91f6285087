"""MaxSim over the token vectors of passages (Khattab and Zaharia 2020, ColBERT, section 3.3).

The score of a passage for a query is the sum, over the query's token vectors, of the greatest dot product with a token
vector of the passage. Passages have different numbers of tokens; their vectors are stored one after another, and
``ends`` holds the end of each passage's vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.late_interaction.token_vectors import TokenVectors
from quati_pool.retrieval.top_scores import best
from quati_pool.retrieval.vector_index.vector_search import Matrix

_COLUMNS = 4096  # query tokens that are compared at a time
_ELEMENTS = 1 << 22  # numbers in one block of dot products, and in one block of gathered vectors
_STRETCH = 8192  # passages scored before the candidates are reduced to the best ones
HELD = 4 * (_ELEMENTS * 4)
"""About how many bytes of memory a comparison takes, for blocks of vectors and of products."""
_UNIT = 2.0**-24  # the unit roundoff of float32


def maxsim_search(
    tokens: TokenVectors, queries: Sequence[Matrix], depth: int, progress: base.Progress, mean: bool = False
) -> base.Hits:
    """The ``depth`` best passages per query by exact MaxSim, ties at the cut-off included.

    Each query is given by its token vectors, shape (tokens, dimension). A passage or query without tokens is in no hit.
    ``mean`` is explained in ``pair_scores``; ``progress`` counts queries.
    """
    groups = list(_groups(queries))
    found = []
    for group in groups:
        asked = [queries[query] for query in group]

        def report(done: int, group: list[int] = group) -> None:
            progress(group[0] + len(group) * done // len(tokens), len(queries))

        for query, ordinals in zip(group, _candidates(tokens, asked, depth, report), strict=True):
            found.append(hits_of(tokens, queries, query, ordinals, depth, mean))
    return joined(found)


def hits_of(
    tokens: TokenVectors, queries: Sequence[Matrix], query: int, ordinals: Int, depth: int, mean: bool
) -> base.Hits:
    """The ``depth`` best of the passages ``ordinals`` for one of the queries, ties at the cut-off included."""
    rows = np.full(len(ordinals), query, dtype=np.int64)
    scores = pair_scores(tokens, queries, rows, ordinals, mean=mean)
    kept = best(scores, depth)
    return base.Hits(rows[kept], ordinals[kept], scores[kept])


def joined(hits: Sequence[base.Hits]) -> base.Hits:
    if not hits:
        return base.no_hits()
    return base.Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))


def pair_scores(
    tokens: TokenVectors,
    queries: Sequence[Matrix],
    query_rows: Int,
    ordinals: Int,
    progress: base.Progress = lambda done, total: None,
    mean: bool = False,
) -> Matrix:
    """The MaxSim scores of pairs, shape (n,): of the queries at ``query_rows`` with the passages ``ordinals``.

    With ``mean``, scores are divided by the number of query tokens. The score of a pair does not depend on the other
    pairs: equal token vectors give equal scores. A passage without tokens gets the lowest score that passage vectors of
    length 1 can give, which is minus the sum of the lengths of the query's vectors; a query without tokens gives 0.
    """
    scores = np.zeros(len(ordinals), dtype=np.float32)
    counts = tokens.counts(ordinals)
    order = np.lexsort((ordinals, counts, query_rows))
    # One product per passage, whose shape depends only on the numbers of tokens and not on neighbouring passages.
    for positions in _stretches(query_rows[order], counts[order]):
        pairs = order[positions]
        query, count = queries[query_rows[pairs[0]]], int(counts[pairs[0]])
        scale = 1 / max(len(query), 1) if mean else 1.0
        if count == 0 or len(query) == 0:
            scores[pairs] = -scale * np.linalg.norm(query.astype(np.float64), axis=1).sum()
        else:
            columns = np.ascontiguousarray(query.T)
            step = max(1, _ELEMENTS // (count * max(columns.shape)))
            for start in range(0, len(pairs), step):
                some = pairs[start : start + step]
                similar = tokens.of(ordinals[some], count) @ columns
                scores[some] = scale * similar.max(axis=1).sum(axis=1, dtype=np.float64)
        progress(int(positions.stop), len(order))
    return scores


def _groups(queries: Sequence[Matrix]) -> Iterator[list[int]]:
    """The positions of the queries that have tokens, in groups of at most _COLUMNS tokens, but at least one query."""
    group: list[int] = []
    columns = 0
    for position, query in enumerate(queries):
        if len(query) == 0:
            continue
        if group and columns + len(query) > _COLUMNS:
            yield group
            group, columns = [], 0
        group.append(position)
        columns += len(query)
    if group:
        yield group


def _stretches(*keys: Int) -> Iterator[slice]:
    """Each run of consecutive positions in which no key changes."""
    if len(keys[0]) == 0:
        return
    changed = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    starts = np.concatenate([[0], np.flatnonzero(changed) + 1])
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(keys[0])], strict=True):
        yield slice(start, end)


def _candidates(
    tokens: TokenVectors, queries: Sequence[Matrix], depth: int, report: Callable[[int], None]
) -> list[Int]:
    """For each query, all passages that may be among its ``depth`` best or tie with the last of them.

    Products of large blocks are rounded differently from those of single pairs. So every passage is kept whose score
    reaches the ``depth``-th score minus the possible rounding error: the error of a dot product of d float32 numbers is
    at most about d · 2⁻²⁴ times both lengths (Higham 2002, Accuracy and Stability, section 3.1).
    """
    columns = np.ascontiguousarray(np.concatenate(queries).T)
    firsts = np.cumsum([0, *(len(query) for query in queries[:-1])])
    lengths = np.linalg.norm(columns.astype(np.float64), axis=0)
    terms = tokens.dimension + np.diff([*firsts, columns.shape[1]])
    # The factor 4: the error counts for both passages compared, in the block and by the pair.
    slack = 4 * _UNIT * terms * np.add.reduceat(lengths, firsts) * tokens.longest

    docs = [np.empty(0, dtype=np.int64) for _ in queries]
    scores = [np.empty(0, dtype=np.float32) for _ in queries]
    for start in range(0, len(tokens), _STRETCH):
        stretch = np.arange(start, min(start + _STRETCH, len(tokens)))
        stretch = stretch[tokens.counts(stretch) > 0]
        block = _sums(tokens, stretch, columns, firsts)
        for row in range(len(queries)):
            all_scores = np.concatenate([scores[row], block[:, row]])
            kept = best(all_scores, depth, slack[row])
            docs[row] = np.concatenate([docs[row], stretch])[kept]
            scores[row] = all_scores[kept]
        report(min(start + _STRETCH, len(tokens)))
    return docs


def _sums(tokens: TokenVectors, ordinals: Int, columns: Matrix, firsts: Int) -> Matrix:
    """The MaxSim scores of passages, which must have tokens and be in order, for all queries, shape (passages,
    queries)."""
    greatest = np.empty((len(ordinals), columns.shape[1]), dtype=np.float32)
    budget = max(1, _ELEMENTS // max(columns.shape))
    starts, ends = tokens.starts[ordinals], tokens.ends[ordinals]
    at = 0
    while at < len(ordinals):
        # As many passages as fit, at least one.
        until = max(at + 1, int(np.searchsorted(ends, starts[at] + budget, side="right")))
        similar = tokens.rows(slice(int(starts[at]), int(ends[until - 1]))) @ columns
        for row in range(at, until):
            similar[starts[row] - starts[at] : ends[row] - starts[at]].max(axis=0, out=greatest[row])
        at = until
    sums: Matrix = np.add.reduceat(greatest, firsts, axis=1)
    return sums
