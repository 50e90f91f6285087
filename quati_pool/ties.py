"""The order of a query's documents in trec_eval: by descending score and, for equal scores, by descending doc_id.

Arrays have one element per hit, shape (n,)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float32]


def in_order(
    query: Int, doc: Int, score: Float, id_rank: Callable[[Int], Int], depth: int | None = None
) -> tuple[Int, Int, Float, Int]:
    """The queries, documents and scores of hits, sorted by query, score and doc_id, and the rank of each hit in its
    query, counted from 1.

    ``id_rank`` returns the ranks of document codes in the byte order of their ids; it is called only for tied hits.
    With ``depth``, hits that score lower than the hit at this rank are dropped, and ties at the cut-off are kept.
    """
    if not _is_sorted(query, score):
        order = np.lexsort((-score, query))
        query, doc, score = query[order], doc[order], score[order]
    if depth is not None:
        kept = _reaching(query, score, depth)
        query, doc, score = query[kept], doc[kept], score[kept]
    rows = np.flatnonzero(tied(query, score))
    if len(rows):
        doc = doc.copy()
        order = np.lexsort((-id_rank(doc[rows]), -score[rows], query[rows]))
        doc[rows] = doc[rows][order]
    starts, lengths = _groups(query)
    return query, doc, score, np.arange(len(query)) - np.repeat(starts, lengths) + 1


def tied(query: Int, score: Float) -> npt.NDArray[np.bool_]:
    """Whether each hit has the same score as another hit of its query; hits must be sorted by query, then score."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    return np.r_[same, False] | np.r_[False, same] if len(query) else np.empty(0, dtype=bool)


def _is_sorted(query: Int, score: Float) -> bool:
    same = query[1:] == query[:-1]
    return bool(np.all((query[1:] > query[:-1]) | (same & (score[1:] <= score[:-1]))))


def _reaching(query: Int, score: Float, depth: int) -> npt.NDArray[np.bool_]:
    """Whether each hit scores at least as high as the hit at rank ``depth`` of its query."""
    starts, lengths = _groups(query)
    last = starts + np.minimum(lengths, depth) - 1
    kept: npt.NDArray[np.bool_] = score >= np.repeat(score[last], lengths)
    return kept


def _groups(query: npt.NDArray[Any]) -> tuple[Int, Int]:
    """The first row and the number of rows of each query, shape (queries,) each; ``query`` is sorted."""
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]]) if len(query) else np.empty(0, dtype=np.int64)
    return starts, np.diff(np.r_[starts, len(query)])
