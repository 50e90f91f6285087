"""Near-duplicate passages of one query that get different grades: how often, and which people should look at first.

Duplicates measure how consistent grades are without asking again (Scholer, Turpin and Sanderson, SIGIR 2011, of NIST's
assessors).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quati_pool.audit.outcomes import Scale
from quati_pool.stats.shares import Share, clustered_share


class DuplicatePair(NamedTuple):
    """Two near-duplicate passages of one query with the judge's grade of each, and people's, None without one;
    ``similarity`` is from 0 to 1."""

    query_id: str
    doc_id: str
    grade: int
    other_doc_id: str
    other_grade: int
    similarity: float
    people: int | None = None
    other_people: int | None = None

    @property
    def gap(self) -> int:
        """By how many grades the judge grades the two apart."""
        return abs(self.grade - self.other_grade)

    @property
    def settled(self) -> bool:
        """Whether people graded both."""
        return self.people is not None and self.other_people is not None

    def across(self, answers_from: int) -> bool:
        """Whether one of the judge's grades answers the query and the other does not."""
        return min(self.grade, self.other_grade) < answers_from <= max(self.grade, self.other_grade)


@dataclass(frozen=True)
class GradedApart:
    """The share of pairs whose two grades differ, with its 95 % interval, and the number of those on both sides of the
    lowest grade that answers."""

    share: Share
    across: int


@dataclass(frozen=True)
class NearDuplicates:
    """How a judge grades near-duplicates: over all pairs, and over those of which people graded both (``there``), next
    to ``people``; both None if there are none. ``apart`` are the pairs that the judge grades apart, those to look at
    first before others: those that people have not settled, then by the gap between the grades, then those on both
    sides of the lowest grade that answers, then in the given order."""

    judge: GradedApart
    there: GradedApart | None
    people: GradedApart | None
    apart: tuple[DuplicatePair, ...]


def near_duplicates_apart(pairs: Sequence[DuplicatePair], scale: Scale) -> NearDuplicates:
    """What the grades of near-duplicates say. The pairs must be of passages that the judge was shown with different
    texts: equal ones share one answer, and cannot be graded apart.

    Among k passages that are alike there are k(k − 1)/2 pairs, which depend on each other; the intervals are clustered
    by query (``clustered_share``), which allows for any dependence within one.
    """
    settled = [pair for pair in pairs if pair.settled]
    by_people = [
        pair._replace(grade=pair.people, other_grade=pair.other_people)
        for pair in settled
        if pair.people is not None and pair.other_people is not None
    ]
    apart = sorted(
        (pair for pair in pairs if pair.gap),
        key=lambda pair: (pair.settled, -pair.gap, not pair.across(scale.answers_from)),
    )
    return NearDuplicates(
        judge=_graded_apart(pairs, scale),
        there=_graded_apart(settled, scale) if settled else None,
        people=_graded_apart(by_people, scale) if by_people else None,
        apart=tuple(apart),
    )


def _graded_apart(pairs: Sequence[DuplicatePair], scale: Scale) -> GradedApart:
    hits = np.array([pair.gap > 0 for pair in pairs], dtype=np.bool_)
    queries = np.array([pair.query_id for pair in pairs])
    return GradedApart(clustered_share(hits, queries), sum(pair.across(scale.answers_from) for pair in pairs))
