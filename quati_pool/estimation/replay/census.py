"""Grades of all pairs, and collections put together from their queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quati_pool.estimation.estimated import Values
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.records import Int


@dataclass(frozen=True, eq=False)
class Census:
    """Grades of all pairs by people and a judge, and at least two systems.

    ``people`` and ``judge``, shape (queries, systems), are a measure's values. ``relevance``, shape (pairs,), are
    people's grades of the pairs of ``frame``, on ``scale``. ``measure`` is None if samples of pairs cannot estimate it.
    ``further``, shape (judges, pairs), are the grades of further judges, NO_GRADE where there is none; None without
    any.
    """

    people: Values
    judge: Values
    frame: PairFrame
    relevance: Int
    scale: list[int]
    measure: PairMeasure | None
    further: Int | None = None

    @cached_property
    def truth(self) -> Values:
        """The mean of each system, shape (systems,)."""
        mean: Values = self.people.mean(axis=0)
        return mean


class Collections:
    """Puts collections together from queries of a census; a query that is taken twice is two queries."""

    def __init__(self, census: Census) -> None:
        frame = census.frame
        self._census = census
        self._pairs = _Rows(frame.query, frame.queries)
        self._entries = _Rows(frame.query[frame.pair], frame.queries)

    def of(self, queries: Int) -> Census:
        census, frame = self._census, self._census.frame
        pairs, query = self._pairs.of(queries)
        entries, query_of_entry = self._entries.of(queries)
        sizes = frame.sizes[queries]
        first = np.cumsum(sizes) - sizes
        collected = PairFrame(
            query,
            len(queries),
            frame.judge[pairs],
            frame.systems,
            first[query_of_entry] + self._pairs.place[frame.pair[entries]],
            frame.system[entries],
            frame.rank[entries],
        )
        return Census(
            census.people[queries], census.judge[queries], collected, census.relevance[pairs], census.scale,
            census.measure, None if census.further is None else census.further[:, pairs],
        )  # fmt: skip


class _Rows:
    """The rows of each group. ``place``, shape (rows,), numbers the rows of a group from 0."""

    def __init__(self, group: Int, groups: int) -> None:
        self._order = np.argsort(group, kind="stable")
        self._counts = np.bincount(group, minlength=groups)
        self._first = np.cumsum(self._counts) - self._counts
        self.place = np.empty(len(group), dtype=np.int64)
        self.place[self._order] = np.arange(len(group)) - self._first[group[self._order]]

    def of(self, chosen: Int) -> tuple[Int, Int]:
        """The rows of the ``chosen`` groups, one group after the other, and the position in ``chosen`` of each."""
        counts = self._counts[chosen]
        position = np.repeat(np.arange(len(chosen)), counts)
        within = np.arange(len(position)) - (np.cumsum(counts) - counts)[position]
        return self._order[self._first[chosen][position] + within], position
