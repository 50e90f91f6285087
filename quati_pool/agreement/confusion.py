"""Confusion counts of two labelers per query, whose sums the coefficients of two labelers are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Int


def confusion_by_query(ratings: Ratings, a: str, b: str) -> Int:
    """How often ``a`` gave one grade and ``b`` another to the pairs that both graded.

    Shape (queries, grades, grades) in the order of ``ratings.queries`` and of the scale, rows ``a``'s
    grades, columns ``b``'s; a query without a common pair has zeros alone.
    """
    grades = len(ratings.scale)
    of_a, of_b = ratings.of(a), ratings.of(b)
    both = np.flatnonzero((of_a >= 0) & (of_b >= 0))
    cell = (ratings.query[both] * grades + of_a[both]) * grades + of_b[both]
    shape = (len(ratings.queries), grades, grades)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def binarize(tables: npt.NDArray[Any], scale: Sequence[int], threshold: int) -> npt.NDArray[Any]:
    """Confusion tables of shape (…, grades, grades) as (…, 2, 2): a grade of ``threshold`` or more is
    relevant, the second row and column."""
    relevant = np.asarray(scale) >= threshold
    sides = np.stack([~relevant, relevant]).astype(tables.dtype)
    binary: npt.NDArray[Any] = sides @ tables @ sides.T
    return binary
