"""Search over the passages' vectors by inner product, exactly or with candidates from an index.

This is the interface for retrievers and rerankers over vectors; the parts are in ``vectors``, ``flat``, ``ann`` and
``index_parameters``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from quati_pool.retrieval.base import Hits, Progress, no_hits
from quati_pool.retrieval.top_scores import best
from quati_pool.retrieval.vector_index import ann
from quati_pool.retrieval.vector_index.flat import checked_queries, flat_search, pair_scores
from quati_pool.retrieval.vector_index.index_parameters import IndexParameters, index_bytes, index_key, search_key
from quati_pool.retrieval.vector_index.vectors import (
    Matrix,
    Precision,
    VectorError,
    Vectors,
    store_arrays,
    vector_bytes,
)

__all__ = [
    "IndexParameters",
    "Matrix",
    "Precision",
    "VectorError",
    "Vectors",
    "build_index",
    "flat_search",
    "index_bytes",
    "index_key",
    "pair_scores",
    "search_index",
    "search_key",
    "store_arrays",
    "vector_bytes",
]


def build_index(vectors: Vectors, folder: Path, parameters: IndexParameters, seed: int, progress: Progress) -> None:
    """Writes the index over ``vectors`` into ``folder`` (nothing for ``flat``); ``progress`` counts passages."""
    if parameters.index != "flat":
        ann.build(vectors, folder, parameters, seed, progress)


def search_index(
    vectors: Vectors, folder: Path, queries: Matrix, depth: int, parameters: IndexParameters, progress: Progress
) -> Hits:
    """The ``depth`` passages with the highest inner products per query; ``queries`` has shape (queries, dimension).

    ``flat`` finds them exactly. The other kinds of index fetch more candidates than requested and score those exactly,
    so that a passage may be missed, but scores are never approximate. A zero query vector finds nothing. Raises
    VectorError if dimensions differ, if a query's vector is not finite, or if the index in ``folder`` is damaged or
    belongs to other vectors.
    """
    if parameters.index == "flat":
        return flat_search(vectors, queries, depth, progress)
    queries = checked_queries(vectors, queries)
    asked = np.flatnonzero(queries.any(axis=1))
    if not len(asked):
        return no_hits()
    index = ann.Index(vectors, folder, parameters)
    hits = []
    for start in range(0, len(asked), ann.AT_ONCE):
        some = asked[start : start + ann.AT_ONCE]
        row, doc = index.candidates(np.ascontiguousarray(queries[some]), depth)
        query = some[row]
        score = pair_scores(vectors, queries, query, doc, lambda done, total: None)
        ends = np.cumsum(np.bincount(row, minlength=len(some)))
        parts = np.split(np.arange(len(row)), ends[:-1])
        kept = np.concatenate([part[best(score[part], depth)] for part in parts])
        hits.append(Hits(query[kept], doc[kept], score[kept]))
        progress(start + len(some), len(asked))
    return Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))
