"""The pairs that people labelled, and what everybody says of them: all that the lead's pages read.

A judge's hundred thousand labels stay where they are, and the pool's texts come from the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from quati_pool.config import PeopleConfig, PoolConfig
from quati_pool.errors import ConfigError, InputError
from quati_pool.judging.base import Pair
from quati_pool.steps.annotation.desk import Desk
from quati_pool.steps.annotation.frame import Frame
from quati_pool.steps.labelers import ADJUDICATED, Graded, Grading, Labeler, StoredLabeler
from quati_pool.store.beside import beside_people
from quati_pool.store.database import Store
from quati_pool.store.records import CurrentLabel
from quati_pool.store.records import Labeler as KnownLabeler

Ids = tuple[str, str]
"""query_id and doc_id."""


@dataclass(frozen=True)
class Opinion:
    """A labeler of the store and the label that counts of a pair."""

    labeler: StoredLabeler
    label: CurrentLabel


class PeoplesPairs(Grading):
    """A collection's labelers over those of the pool's pairs that a person labelled as they are shown now.

    To be used within snapshots of one state of the labels: what it read once it does not read again. What it knows
    of the pairs' texts is taken over from ``earlier``, one of the same frame and narratives.
    """

    def __init__(
        self,
        config: PoolConfig,
        store: Store,
        frame: Frame,
        narratives: Mapping[str, str],
        earlier: PeoplesPairs | None = None,
    ) -> None:
        super().__init__(config, store)
        self._frame = frame
        self.narratives = narratives
        # Of labels by seq, whether they are of the texts that the pair has.
        self.current_seqs: dict[int, bool] = {} if earlier is None else earlier.current_seqs
        self._rows: dict[tuple[str, str], dict[str, list[CurrentLabel]]] = {}
        self._pairs: dict[Ids, Pair | None] = {} if earlier is None else earlier._pairs

    @cached_property
    def _stored(self) -> list[KnownLabeler]:
        return super().stored()

    def stored(self) -> list[KnownLabeler]:
        return self._stored

    def _stored_labeler(self, name: str) -> StoredLabeler | None:
        found = super()._stored_labeler(name)
        return None if found is None else _Person(self, found.name, found.kind, found.version)

    @cached_property
    def unlabelled(self) -> dict[Ids, Graded]:
        """What whoever has no label of a pair says of it."""
        return {ids: Graded(*ids, None, None) for ids in self.opinions}

    @cached_property
    def adjudicated(self) -> StoredLabeler | None:
        """The leads' decisions; None where there are none."""
        return self._stored_labeler(ADJUDICATED)

    @cached_property
    def judges(self) -> tuple[list[Labeler], dict[str, str]]:
        """All others: judges, consensuses and label files; and why one of them cannot be read."""
        panels = {name for name, judge in self.config.judges.items() if isinstance(judge, PeopleConfig)}
        people = {ADJUDICATED, *panels, *(person.name for person in self.people())}
        found, problems = [], {}
        for name in self.names:
            if name not in people:
                try:
                    found.append(self.labeler(name))
                except (ConfigError, InputError) as error:
                    problems[name] = str(error)
        return found, problems

    @cached_property
    def opinions(self) -> dict[Ids, list[Opinion]]:
        """What each person says of each pair, in the pool's order; people by name."""
        found: dict[Ids, list[Opinion]] = {}
        for person in self.people():
            for rows in self._by_query(person.name, person.version).values():
                by_pair: dict[Ids, list[CurrentLabel]] = {}
                for row in rows:
                    by_pair.setdefault((row.query_id, row.doc_id), []).append(row)
                for ids, theirs in by_pair.items():
                    pair = self.pair(*ids)
                    counting = person.counting(pair, theirs) if pair else []
                    if counting:
                        found.setdefault(ids, []).append(Opinion(person, counting[-1]))
        return {ids: found[ids] for ids in self._in_order(found)}

    @cached_property
    def history(self) -> dict[str, int]:
        """How many of each person's labels are of pairs that the pool has no more, or has other texts of."""
        counted = dict.fromkeys((person.name for person in self.people()), 0)
        for person in self.people():
            rows = self._by_query(person.name, person.version).values()
            counted[person.name] = sum(map(len, rows))
        for opinions in self.opinions.values():
            for opinion in opinions:
                counted[opinion.labeler.name] -= 1
        return counted

    def pair(self, query_id: str, doc_id: str) -> Pair | None:
        """A pair as people are shown it now; None where the pool has it no more."""
        ids = (query_id, doc_id)
        if ids not in self._pairs:
            shown = self._frame.pair(*ids)
            told = self.narratives.get(query_id)
            self._pairs[ids] = None if shown is None else Pair(*ids, shown.query, shown.text, told)
        return self._pairs[ids]

    def pairs(self) -> Iterator[list[Pair]]:
        """All of them in one piece."""
        opinions = self.opinions
        if opinions:
            yield [pair for ids in opinions if (pair := self.pair(*ids)) is not None]

    def current(self, name: str, kind: str, version: str, query_ids: Sequence[str]) -> list[CurrentLabel]:
        rows = self._by_query(name, version)
        return [row for query_id in query_ids for row in rows.get(query_id, ())]

    def _by_query(self, name: str, version: str) -> dict[str, list[CurrentLabel]]:
        key = name, version
        if key not in self._rows:
            people = {found.name: found.version for found in self.people()}
            by_query: dict[str, list[CurrentLabel]] = {}
            for row in beside_people(self.store, self.config.name, name, version, people):
                by_query.setdefault(row.query_id, []).append(row)
            self._rows[key] = by_query
        return self._rows[key]

    def _in_order(self, pairs: Iterable[Ids]) -> list[Ids]:
        by_query: dict[str, set[str]] = {}
        for query_id, doc_id in pairs:
            by_query.setdefault(query_id, set()).add(doc_id)
        order = sorted(by_query, key=lambda query_id: self._frame.query(query_id).start)
        return [
            (query_id, doc_id)
            for query_id in order
            for doc_id in self._frame.doc_ids(query_id)
            if doc_id in by_query[query_id]
        ]


class _Person(StoredLabeler):
    """Whom only the store knows: one of many, most of whom have no label of most pairs."""

    grading: PeoplesPairs

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        by_pair: dict[Ids, list[CurrentLabel]] = {}
        for rows in self.grading._by_query(self.name, self.version).values():
            for row in rows:
                by_pair.setdefault((row.query_id, row.doc_id), []).append(row)
        unlabelled = self.grading.unlabelled
        return [
            self._graded(pair, by_pair[ids]) if ids in by_pair else unlabelled[ids]
            for pair, ids in ((pair, (pair.query_id, pair.doc_id)) for pair in pairs)
        ]

    def _is_current(self, row: CurrentLabel, pair: Pair) -> bool:
        known = self.grading.current_seqs.get(row.seq)
        if known is None:
            known = self.grading.current_seqs[row.seq] = super()._is_current(row, pair)
        return known


_last_read: WeakKeyDictionary[Desk, tuple[int, Frame, Mapping[str, str], PeoplesPairs]] = WeakKeyDictionary()


def peoples_pairs(desk: Desk, last: int) -> PeoplesPairs:
    """The desk's, within a snapshot whose last label is ``last``: labels are only ever appended, so that as
    long as no newer one is there, and pool and narratives stay, what was read before is read no more."""
    frame, narratives = desk.frame, desk.narratives
    held = _last_read.get(desk)
    earlier = held[3] if held is not None and held[1] is frame and held[2] == narratives else None
    if held is not None and earlier is not None and held[0] == last:
        return earlier
    made = PeoplesPairs(desk.config, desk.store, frame, narratives, earlier)
    _last_read[desk] = (last, frame, narratives, made)
    return made
