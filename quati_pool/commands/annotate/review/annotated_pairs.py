"""The pairs that people labelled, with the labels of all labelers: the data behind the lead's pages.

A judge's labels are read for these pairs only, and the texts come from the pool view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from quati_pool.commands.annotate.annotation_pair import Ids, counting_shas, shown_pair
from quati_pool.commands.annotate.pool_view import PoolView
from quati_pool.commands.annotate.review.background import for_pages
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError, message_of
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.labelers import Grading, StoredLabeler, people_version
from quati_pool.project.config import HybridConfig, PeopleConfig, PoolConfig
from quati_pool.store.database import Store
from quati_pool.store.label_queries import extent, labels_of_peoples_pairs, peoples_labels
from quati_pool.store.label_resolution import resolved
from quati_pool.store.records import ADJUDICATED, CurrentLabel
from quati_pool.store.records import Labeler as KnownLabeler
from quati_pool.store.rows import KEY


class Opinion(NamedTuple):
    """A labeler in the store, and the label of theirs that counts for a pair."""

    labeler: StoredLabeler
    label: CurrentLabel


class PeoplesLabels(NamedTuple):
    """People's labels in the store, including leads' decisions, by labeler_id and pair: ``rows`` are all labels that
    may count, ``counting`` the one that does. ``last`` and ``total`` are from the store's ``Extent`` at reading."""

    last: int
    total: int
    rows: Mapping[str, Mapping[Ids, Sequence[CurrentLabel]]]
    counting: Mapping[str, Mapping[Ids, CurrentLabel]]


class PeoplesPairs(Grading):
    """A collection's labelers over the pairs of the pool that a person labelled with their current texts.

    Create and use it only within snapshots of one state of the labels: it never reads anything twice. From
    ``earlier``, which must be of the same pool and narratives, it takes the labels read so far and the hashes of the
    texts.
    """

    def __init__(
        self,
        config: PoolConfig,
        store: Store,
        pool: PoolView,
        narratives: Mapping[str, str],
        earlier: PeoplesPairs | None = None,
    ) -> None:
        super().__init__(config, store)
        self.pool_view = pool
        self.narratives = narratives
        self._version = people_version(config)
        self._pairs: dict[Ids, Pair | None] = {} if earlier is None else earlier._pairs
        self._shas: dict[Ids, frozenset[str]] = {} if earlier is None else earlier._shas
        self._rows: dict[tuple[str, str], Mapping[Ids, Sequence[CurrentLabel]]] = {}
        self.labels: PeoplesLabels = self._read(None if earlier is None else earlier.labels)

    def _read(self, earlier: PeoplesLabels | None) -> PeoplesLabels:
        at = extent(self.store, self.config.name, 0 if earlier is None else earlier.last)
        if earlier is not None and at.total == earlier.total:
            return earlier
        if earlier is None or earlier.total + at.newer != at.total:
            # Read all again: a writer that took an earlier seq may have committed later.
            earlier = PeoplesLabels(0, 0, {}, {})
        rows, counting = {**earlier.rows}, {**earlier.counting}
        for name, new in peoples_labels(self.store, self.config.name, self._version, earlier.last).items():
            labeler = _Person(name, "assessor", self._version, self)
            theirs, counts = {**rows.get(name, {})}, {**counting.get(name, {})}
            for ids, some in _by_pair(new).items():
                theirs[ids] = resolved([*theirs.get(ids, ()), *some], KEY)
                pair = self.pair(*ids)
                of_now = labeler.counting(pair, theirs[ids]) if pair else []
                if of_now:
                    counts[ids] = of_now[-1]
            rows[name], counting[name] = theirs, counts
        return PeoplesLabels(at.last, at.total, rows, counting)

    @cached_property
    def _stored(self) -> list[KnownLabeler]:
        return super().stored()

    def stored(self) -> list[KnownLabeler]:
        return self._stored

    def _stored_labeler(self, name: str) -> StoredLabeler | None:
        found = super()._stored_labeler(name)
        if found is None:
            return None
        return _Person(found.name, found.kind, found.version, self, fenced=found.fenced, reading=found.reading)

    @cached_property
    def unlabelled(self) -> dict[Ids, Graded]:
        """For each pair, an empty ``Graded`` for labelers without a label of it."""
        return {ids: Graded(*ids, None, None) for ids in self.opinions}

    @cached_property
    def judges(self) -> tuple[list[Labeler], dict[str, str]]:
        """All other labelers that are not computed from people's labels (judges, consensuses and label files), and by
        name why one cannot be read."""
        of_people = (PeopleConfig, HybridConfig)
        panels = {name for name, judge in self.config.judges.items() if isinstance(judge, of_people)}
        people = {ADJUDICATED, *panels, *(person.name for person in self.people())}
        found, problems = [], {}
        for name in self.names:
            if name not in people:
                try:
                    found.append(self.labeler(name))
                except (ConfigError, InputError) as error:
                    problems[name] = for_pages(message_of(error))
        return found, problems

    @cached_property
    def opinions(self) -> dict[Ids, list[Opinion]]:
        """The label that counts of each person for each pair, in the pool's order; people by name."""
        found: dict[Ids, list[Opinion]] = {}
        for person in self.people():
            for ids, label in self.labels.counting.get(person.name, {}).items():
                found.setdefault(ids, []).append(Opinion(person, label))
        return {ids: found[ids] for ids in self._in_order(found)}

    @cached_property
    def history(self) -> dict[str, int]:
        """How many of a person's labels, by name, are of pairs that left the pool or whose texts have changed."""
        return {
            name: sum(map(len, self.labels.rows.get(name, {}).values())) - len(self.labels.counting.get(name, {}))
            for name in (person.name for person in self.people())
        }

    def pair(self, query_id: str, doc_id: str) -> Pair | None:
        """A pair with its current texts; None if it is no longer in the pool."""
        ids = (query_id, doc_id)
        if ids not in self._pairs:
            self._pairs[ids] = shown_pair(self.pool_view, self.narratives, query_id, doc_id)
        return self._pairs[ids]

    def shas(self, pair: Pair) -> frozenset[str]:
        """The pair's ``counting_shas``, cached."""
        ids = (pair.query_id, pair.doc_id)
        if ids not in self._shas:
            self._shas[ids] = counting_shas(pair)
        return self._shas[ids]

    def pairs(self) -> Iterator[list[Pair]]:
        """All pairs, as one chunk."""
        opinions = self.opinions
        if opinions:
            yield [pair for ids in opinions if (pair := self.pair(*ids)) is not None]

    def current(self, name: str, kind: str, version: str, query_ids: Sequence[str]) -> list[CurrentLabel]:
        wanted = set(query_ids)
        return [row for ids, rows in self.rows(name, version).items() if ids[0] in wanted for row in rows]

    def rows(self, name: str, version: str) -> Mapping[Ids, Sequence[CurrentLabel]]:
        """A labeler's labels that may count, by pair."""
        if version == self._version:
            return self.labels.rows.get(name, {})
        key = name, version
        if key not in self._rows:
            people = dict.fromkeys((person.name for person in self.people()), self._version)
            self._rows[key] = _by_pair(labels_of_peoples_pairs(self.store, self.config.name, name, version, people))
        return self._rows[key]

    def _in_order(self, pairs: Iterable[Ids]) -> list[Ids]:
        by_query: dict[str, set[str]] = {}
        for query_id, doc_id in pairs:
            by_query.setdefault(query_id, set()).add(doc_id)
        order = sorted(by_query, key=lambda query_id: self.pool_view.query(query_id).start)
        return [
            (query_id, doc_id)
            for query_id in order
            for doc_id in self.pool_view.doc_ids(query_id)
            if doc_id in by_query[query_id]
        ]


class _Person(StoredLabeler):
    """A stored labeler, optimized for many people of whom most have no label of most pairs."""

    grading: PeoplesPairs

    def graded(self, pairs: Sequence[Pair]) -> list[Graded]:
        rows = self.grading.rows(self.name, self.version)
        unlabelled = self.grading.unlabelled
        return [
            self._graded(pair, rows[ids]) if ids in rows else unlabelled[ids]
            for pair, ids in ((pair, (pair.query_id, pair.doc_id)) for pair in pairs)
        ]

    def _is_current(self, row: CurrentLabel, pair: Pair) -> bool:
        return row.content_sha in self.grading.shas(pair) or super()._is_current(row, pair)


def _by_pair(rows: Iterable[CurrentLabel]) -> dict[Ids, list[CurrentLabel]]:
    found: dict[Ids, list[CurrentLabel]] = {}
    for row in rows:
        found.setdefault((row.query_id, row.doc_id), []).append(row)
    return found


_last_read: WeakKeyDictionary[AnnotationSession, PeoplesPairs] = WeakKeyDictionary()


def peoples_pairs(session: AnnotationSession) -> PeoplesPairs:
    """The session's annotated pairs, to be called within a snapshot; what was read before is reused until a label is
    added or the pool or the narratives change."""
    pool, narratives = session.pool_view, session.narratives
    held = _last_read.get(session)
    earlier = held if held is not None and held.pool_view is pool and held.narratives == narratives else None
    current = PeoplesPairs(session.config, session.store, pool, narratives, earlier)
    if earlier is not None and current.labels is earlier.labels:
        return earlier
    _last_read[session] = current
    return current
