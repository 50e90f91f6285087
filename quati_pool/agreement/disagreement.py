"""Where labelers disagree: the hardest queries, and the grades that are confused most often.

A comparison is one pair graded by two labelers; a pair that three people graded gives three comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from quati_pool.agreement.confusion import confusion_by_query
from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Int
from quati_pool.stats.bootstrap import Values
from quati_pool.stats.ratio import ratio

Among = Literal["labelers", "people", "judge"]


@dataclass(frozen=True)
class QueryDisagreement:
    """Disagreement over the ``n`` comparisons of one query.

    ``agreement`` is the share of comparisons with equal grades, ``distance`` the mean absolute difference between
    the two grades.
    """

    query_id: str
    n: int
    agreement: float
    distance: float


@dataclass(frozen=True)
class Hardness:
    """Queries sorted by how much labelers disagree on them, hardest first: by descending mean distance, then
    ascending agreement, then query_id.

    ``among`` says whose grades are compared: those of all independent ``labelers``, of all ``people``, or of one
    ``judge`` with each person (with each other independent judge if there are no people). A panel is never
    compared with its own members. Queries without a comparison are left out.
    """

    among: Among
    judge: str | None
    queries: tuple[QueryDisagreement, ...]


def hardest_queries(ratings: Ratings) -> list[Hardness]:
    """The hardest queries for all labelers, for people (if there are two) and for each judge (if there is
    another labeler to compare with)."""
    people = [labeler for labeler in ratings.labelers if labeler in ratings.people]
    judges = [labeler for labeler in ratings.labelers if labeler not in ratings.people]
    others = people or [labeler for labeler in judges if labeler in ratings.independent]
    tables = {
        pair: confusion_by_query(ratings, *pair)
        for pair in combinations(ratings.labelers, 2)
        if not ratings.shared_members(*pair)
    }
    place = {labeler: position for position, labeler in enumerate(ratings.labelers)}

    def compared(judge: str) -> list[tuple[str, str]]:
        return [(judge, other) for other in others if not ratings.shared_members(judge, other)]

    groups: list[tuple[Among, str | None, list[tuple[str, str]]]] = [
        ("labelers", None, list(combinations(ratings.independent, 2))),
        ("people", None, list(combinations(people, 2))),
        *(("judge", judge, compared(judge)) for judge in judges),
    ]
    found = []
    for among, judge, pairs in groups:
        if pairs:
            # Agreement and distance are symmetric, so either order of the two labelers will do.
            ordered = [(a, b) if place[a] < place[b] else (b, a) for a, b in pairs]
            comparisons = np.sum([tables[pair] for pair in ordered], axis=0)
            found.append(Hardness(among, judge, _hardest_first(ratings, comparisons)))
    return found


def _hardest_first(ratings: Ratings, comparisons: Int) -> tuple[QueryDisagreement, ...]:
    kept = np.flatnonzero(comparisons.any(axis=(1, 2)))
    tables = comparisons[kept]
    n = tables.sum(axis=(1, 2))
    scale = np.asarray(ratings.scale)
    agreement = np.trace(tables, axis1=1, axis2=2) / n
    distance = (tables * np.abs(scale[:, None] - scale)).sum(axis=(1, 2)) / n
    order = np.lexsort((ratings.queries.lexicographic_rank(kept), agreement, -distance))
    columns = (n[order].tolist(), agreement[order].tolist(), distance[order].tolist())
    query_ids = ratings.queries.decode(kept[order]).to_pylist()
    return tuple(QueryDisagreement(*row) for row in zip(query_ids, *columns, strict=True))


@dataclass(frozen=True, eq=False)
class GradeDisagreement:
    """Agreement of two labelers ``a`` and ``b`` grade by grade; arrays have shape (grades,), NaN where a grade was
    not given.

    ``specific``: the share of the labels with this grade that the other labeler matched
    (2 n_gg / (row + column); Cicchetti and Feinstein, Journal of Clinical Epidemiology 43(6), 1990).
    ``mean_b``: b's mean grade on the pairs to which a gave this grade; ``mean_a``: the same with a and b exchanged.
    """

    scale: tuple[int, ...]
    specific: Values
    mean_b: Values
    mean_a: Values


def by_grade(confusion: Int, scale: Sequence[int]) -> GradeDisagreement:
    """Breaks a confusion table, shape (grades, grades), down by grade; rows are a's grades, columns b's."""
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    grades = np.asarray(scale, dtype=np.float64)
    return GradeDisagreement(
        scale=tuple(scale),
        specific=ratio(2 * np.diagonal(confusion), rows + columns),
        mean_b=ratio((confusion * grades).sum(axis=1), rows),
        mean_a=ratio((confusion * grades[:, None]).sum(axis=0), columns),
    )
