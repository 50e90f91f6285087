"""Exact search over vectors by inner product, and the scores of given pairs.

faiss finds candidates by matrix products, whose last bits depend on the position of a vector in the matrix and on the
number of threads. Scores closer to each other than that error are computed again, pair by pair, so that equal vectors
get equal scores and the ranking depends on neither position nor threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.retrieval.base import Hits, Progress, no_hits
from quati_pool.retrieval.top_scores import best
from quati_pool.retrieval.vector_index.faiss_library import load_faiss
from quati_pool.retrieval.vector_index.vectors import Matrix, VectorError, Vectors

Ints = npt.NDArray[np.int64]

_MARGIN = 16
_FOUND_BYTES = 256 * 2**20
_PAIRS_BYTES = 64 * 2**20
_UNIT = 2.0**-24
_SMALLEST = float(np.finfo(np.float32).smallest_normal)


def flat_search(vectors: Vectors, queries: Matrix, depth: int, progress: Progress) -> Hits:
    """The ``depth`` passages with the highest inner product per query, and all that tie with the last of them.

    ``queries`` has the shape (queries, dimension); a query with a zero vector has no direction and finds nothing. More
    passages may be returned than requested. ``progress`` counts queries. Raises VectorError if the dimensions differ or
    a query's vector is not finite.
    """
    queries = checked_queries(vectors, queries)
    asked = np.flatnonzero(queries.any(axis=1))
    width = min(depth + _MARGIN, len(vectors))
    if not len(asked) or width == 0:
        return no_hits()
    # Per query, faiss keeps up to twice ``width`` scores and ordinals.
    at_once = max(1, _FOUND_BYTES // (24 * width))
    hits = []
    for start in range(0, len(asked), at_once):
        some = asked[start : start + at_once]
        search = _Search(vectors, np.ascontiguousarray(queries[some]), depth, width)
        found = search.run(lambda share, start=start, some=some: progress(start + int(share * len(some)), len(asked)))
        hits.append(Hits(some[found.query], found.doc, found.score))
        progress(start + len(some), len(asked))
    return hits[0] if len(hits) == 1 else Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))


def pair_scores(
    vectors: Vectors,
    queries: Matrix,
    query_rows: npt.NDArray[np.integer[Any]],
    ordinals: npt.NDArray[np.integer[Any]],
    progress: Progress,
) -> Matrix:
    """The inner product of the query at ``query_rows[i]`` and the passage ``ordinals[i]``, shape (pairs,).

    The score of a pair does not depend on the other pairs. Raises VectorError as ``flat_search`` does.
    """
    queries = checked_queries(vectors, queries)
    faiss = load_faiss()
    pointer = faiss.swig_ptr
    scores = np.empty(len(ordinals), dtype=np.float32)
    in_order = np.argsort(ordinals)
    mapped = vectors.mapped
    # If vectors are memory-mapped as float32, no row is copied.
    at_once = 2**20 if mapped is not None else max(1, _PAIRS_BYTES // (4 * vectors.dimension))
    for start in range(0, len(in_order), at_once):
        pairs = in_order[start : start + at_once]
        rows = np.ascontiguousarray(query_rows[pairs], dtype=np.int64)
        docs = np.ascontiguousarray(ordinals[pairs], dtype=np.int64)
        passages = mapped
        if passages is None:
            # The passages are sorted, so a passage is new if it differs from the one before.
            new = np.append(True, docs[1:] != docs[:-1])
            passages, docs = vectors.rows(docs[new]), np.cumsum(new) - 1
        found = np.empty(len(pairs), dtype=np.float32)
        faiss.pairwise_indexed_inner_product(
            vectors.dimension, len(pairs),
            pointer(queries), pointer(rows), pointer(passages), pointer(docs), pointer(found),
        )  # fmt: skip
        scores[pairs] = found
        progress(start + len(pairs), len(in_order))
    return scores


def checked_queries(vectors: Vectors, queries: Matrix) -> Matrix:
    """The queries' vectors as a contiguous array; raises VectorError if they do not match those of the passages."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    if queries.shape[1] != vectors.dimension:
        raise VectorError(
            f"the queries' vectors have {queries.shape[1]} dimensions and the passages' {vectors.dimension}: "
            "encode both with the same model and the same parameters"
        )
    finite = np.isfinite(queries).all(axis=1)
    if not finite.all():
        raise VectorError(
            f"the vector of query {int(np.argmin(finite)) + 1} of {len(queries)} is not finite: "
            "set  compute: fp32, or use another model"
        )
    if len(queries) and float(np.linalg.norm(queries.astype(np.float64), axis=1).max()) * vectors.longest > 1e38:
        raise VectorError("the vectors are too long for their products to be single-precision numbers: normalize them")
    return queries


class _Search:
    """One search for some queries, whose vectors are not zero; ``run`` may be called only once."""

    def __init__(self, vectors: Vectors, queries: Matrix, depth: int, width: int) -> None:
        self.vectors, self.queries, self.depth, self.width = vectors, queries, depth, width
        # The rounding errors of a product of d terms grow with √d (Higham and Mary 2019, SIAM J. Sci. Comput.
        # 41(5)). Measured for 64 to 3,072 terms: below 0.4 √d units of rounding of |q|·|x| for normal components,
        # below 0.9 √d for positive ones. Scores further apart than twice that are in their true order.
        error = (9 + 1.5 * math.sqrt(vectors.dimension)) * _UNIT
        length = np.linalg.norm(queries.astype(np.float64), axis=1)
        near = error * vectors.longest * length + vectors.dimension * _SMALLEST
        self.near = near.astype(np.float32)[:, None]

    def run(self, progress: Any) -> Hits:
        score, doc = self._candidates(progress)
        last = score[:, [min(self.depth, self.width) - 1]] - self.near
        kept = score >= last
        # If even the last candidate could be tied, there may be more ties beyond it.
        more = np.flatnonzero(kept[:, -1]) if self.width < len(self.vectors) else np.empty(0, dtype=np.int64)
        kept[more] = False
        gap = score[:, :-1] - score[:, 1:] <= self.near
        gap &= kept[:, 1:]
        again = np.zeros(kept.shape, dtype=bool)
        again[:, 1:] = gap
        again[:, :-1] |= gap
        rows, columns = np.nonzero(again)
        score[rows, columns] = pair_scores(self.vectors, self.queries, rows, doc[rows, columns], _silent)
        query = np.repeat(np.arange(len(kept)), kept.sum(axis=1))
        found = Hits(query, doc[kept], score[kept])
        if not len(more):
            return found
        ties = self._with_ties(more, last[more])
        return Hits(*(np.concatenate(columns) for columns in zip(found, ties, strict=True)))

    def _candidates(self, progress: Any) -> tuple[Matrix, Ints]:
        """The scores and ordinals of the ``width`` best passages per query, best first, shape (queries, width) each."""
        faiss = load_faiss()
        score: Any = None
        doc: Any = None
        for start, block in self.vectors.blocks():
            new_score, new_doc = faiss.knn(self.queries, block, self.width, metric=faiss.METRIC_INNER_PRODUCT)
            new_doc += np.where(new_doc < 0, 0, start) if len(block) < self.width else start
            if score is None:
                score, doc = new_score, new_doc
            else:
                score, doc = faiss.merge_knn_results(
                    np.stack([score, new_score]), np.stack([doc, new_doc]), keep_max=True
                )
            progress((start + len(block)) / len(self.vectors))
        return score, doc

    def _with_ties(self, rows: Ints, lowest: Matrix) -> Hits:
        """The ``depth`` best passages of the queries at ``rows`` and all that tie with the last of them, with scores
        computed pair by pair; ``lowest`` is a lower bound on these scores per query."""
        some = self.queries[rows]
        at_once = max(1, _PAIRS_BYTES // (4 * len(rows)))
        query, doc = [], []
        lowest = lowest - self.near[rows]
        for start, block in self.vectors.blocks():
            for inner in range(0, len(block), at_once):
                found = np.nonzero(some @ block[inner : inner + at_once].T >= lowest)
                query.append(found[0])
                doc.append(found[1] + (start + inner))
        queries, docs = np.concatenate(query), np.concatenate(doc)
        scores = pair_scores(self.vectors, some, queries, docs, _silent)
        order = np.argsort(queries, kind="stable")
        ends = np.cumsum(np.bincount(queries, minlength=len(rows)))
        kept = np.concatenate([part[best(scores[part], self.depth)] for part in np.split(order, ends[:-1])])
        return Hits(rows[queries[kept]], docs[kept], scores[kept])


def _silent(done: int, total: int) -> None:
    """Progress callback for work that is part of a larger piece and not reported separately."""
