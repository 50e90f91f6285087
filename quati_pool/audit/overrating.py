"""How a judge's grades differ from people's: on average, by people's grade, and with length and wording at equal grade.

A shift by people's grade alone says little: where two raters disagree at random, the second one's mean at the first
one's lowest grade is above it, and below it at the highest. It is shown against what symmetric disagreement implies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.stats.clustered_means import ClusteredMean, clustered_mean, clustered_slopes

Int = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GradeShift:
    """The pairs to which people gave ``grade``: the judge's mean grade, and the mean that the confusion matrix implies
    without overrating."""

    grade: int
    n: int
    judge: float
    implied: float


@dataclass(frozen=True)
class Overrating:
    """``shift``: the judge's grade less people's. ``by_grade`` in ascending order. ``length`` and ``overlap`` are the
    grades by which the judge differs, at equal people's grade, for a passage of twice the length, and for one with all
    terms of its query instead of none; None without texts, or where they cannot be told apart."""

    shift: ClusteredMean
    by_grade: tuple[GradeShift, ...]
    length: ClusteredMean | None = None
    overlap: ClusteredMean | None = None


def overrating(
    judge: Int,
    people: Int,
    query: Int,
    lengths: npt.NDArray[Any] | None = None,
    overlaps: npt.NDArray[Any] | None = None,
) -> Overrating:
    """Both labelers' grades of the same pairs, the pairs' queries as codes and, where texts are known, the passages'
    ``lengths`` in characters and the shares of their query's terms that they hold; all of shape (pairs,), pairs > 0."""
    length = overlap = None
    if lengths is not None and overlaps is not None:
        length, overlap = _slopes(judge, people, query, lengths, overlaps)
    return Overrating(clustered_mean(judge - people, query), tuple(_by_grade(judge, people)), length, overlap)


def _by_grade(judge: Int, people: Int) -> Sequence[GradeShift]:
    """Without overrating the confusion matrix would be symmetric: the implied means are those of its mean with its
    transpose, which has the same agreement."""
    grades = np.unique(np.r_[judge, people])
    table = np.zeros((len(grades), len(grades)))
    np.add.at(table, (np.searchsorted(grades, people), np.searchsorted(grades, judge)), 1)
    symmetric = (table + table.T) / 2
    found = []
    for place in np.flatnonzero(table.sum(axis=1)).tolist():
        row, even = table[place], symmetric[place]
        n = int(row.sum())
        found.append(GradeShift(int(grades[place]), n, float(row @ grades / n), float(even @ grades / even.sum())))
    return found


def _slopes(
    judge: Int, people: Int, query: Int, lengths: npt.NDArray[Any], overlaps: npt.NDArray[Any]
) -> tuple[ClusteredMean | None, ClusteredMean | None]:
    levels = np.unique(people)
    equal = (people[:, None] == levels).astype(np.float64)
    doublings = np.log2(np.maximum(lengths, 1))
    predictors = np.column_stack([equal, doublings, overlaps])
    slopes = clustered_slopes(judge.astype(np.float64), predictors, query)
    return (None, None) if slopes is None else (slopes[-2], slopes[-1])
