"""Confusion counts of two labelers per query; pairwise coefficients are computed from their sums over queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Int


def confusion_by_query(ratings: Ratings, a: str, b: str) -> Int:
    """Confusion tables of ``a`` and ``b``, one per query, over the pairs that both graded.

    Shape (queries, grades, grades), in the order of ``ratings.queries`` and of the scale: rows are ``a``'s
    grades, columns ``b``'s. A query without a common pair has only zeros.
    """
    grades = len(ratings.scale)
    of_a, of_b = ratings.of(a), ratings.of(b)
    both = np.flatnonzero((of_a >= 0) & (of_b >= 0))
    cell = (ratings.query[both] * grades + of_a[both]) * grades + of_b[both]
    shape = (len(ratings.queries), grades, grades)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def binarize(tables: npt.NDArray[Any], scale: Sequence[int], threshold: int) -> npt.NDArray[Any]:
    """Reduces confusion tables of shape (…, grades, grades) to (…, 2, 2).

    Grades of ``threshold`` or more count as relevant and form the second row and column.
    """
    relevant = np.asarray(scale) >= threshold
    sides = np.stack([~relevant, relevant]).astype(tables.dtype)
    binary: npt.NDArray[Any] = sides @ tables @ sides.T
    return binary
