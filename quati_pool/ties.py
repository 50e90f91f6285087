"""The order of a query's documents, as trec_eval has it: by score, descending; documents of equal score by doc_id,
descending. Arrays have one row per hit, shape (n,)."""

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
    """Hits sorted by query, score and doc_id, and the rank of each in its query, from 1.

    ``id_rank`` gives the places of doc codes in the byte order of their ids, and is asked only about ties. With
    ``depth``, hits that score lower than the one of this rank are left out; ties at the cut-off are kept.
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
    """Which hits have the same score as another hit of their query; hits are sorted by query, then score."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    return np.r_[same, False] | np.r_[False, same] if len(query) else np.empty(0, dtype=bool)


def _is_sorted(query: Int, score: Float) -> bool:
    same = query[1:] == query[:-1]
    return bool(np.all((query[1:] > query[:-1]) | (same & (score[1:] <= score[:-1]))))


def _reaching(query: Int, score: Float, depth: int) -> npt.NDArray[np.bool_]:
    """Which hits score at least as high as the one at ``depth`` of their query."""
    starts, lengths = _groups(query)
    last = starts + np.minimum(lengths, depth) - 1
    kept: npt.NDArray[np.bool_] = score >= np.repeat(score[last], lengths)
    return kept


def _groups(query: npt.NDArray[Any]) -> tuple[Int, Int]:
    """Where the hits of each query begin, and how many there are; ``query`` is sorted."""
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]]) if len(query) else np.empty(0, dtype=np.int64)
    return starts, np.diff(np.r_[starts, len(query)])
