"""Queries about one person's slots and labels, and the renewal of their leases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select, update

from quati_pool.store.clock import database_now
from quati_pool.store.database import Store
from quati_pool.store.label_resolution import resolved
from quati_pool.store.records import CurrentLabel, Submitted
from quati_pool.store.rows import KEY, RESOLVING, current_of, of_version
from quati_pool.store.schema import assignments, labels
from quati_pool.store.slots import lock_person
from quati_pool.store.statements import OWN_STATES, SEQ_OF_NONCE


def own_states(store: Store, collection: str, name: str, query_id: str) -> Mapping[str, str]:
    """The state of each of a query's passages that a person holds (``open``) or has done (``done``), by doc_id."""
    mine = {"of": collection, "name": name, "query_id": query_id}
    with store.reading() as connection:
        return {row.doc_id: row.state for row in connection.execute(OWN_STATES, mine)}


def own_open(store: Store, collection: str, name: str) -> list[tuple[int, str, str]]:
    """The assignment_id, query_id and doc_id of every open slot that a person holds."""
    a = assignments.c
    mine = (a.collection == collection, a.holder == name, a.state == "open")
    wanted = select(a.assignment_id, a.query_id, a.doc_id).where(*mine).order_by(a.assignment_id)
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(wanted)]


def own_loads(store: Store, collection: str, name: str) -> dict[int, int]:
    """How many slots of each design a person holds or has done, by design_id."""
    a = assignments.c
    mine = (a.collection == collection, a.holder == name)
    wanted = select(a.design_id, func.count().label("slots")).where(*mine).group_by(a.design_id)
    with store.reading() as connection:
        return {row.design_id: row.slots for row in connection.execute(wanted)}


class GivenLabel(NamedTuple):
    """A person's label, their note with it, and when it was given (UTC)."""

    label: CurrentLabel
    note: str | None
    created_at: datetime


def labels_given(
    store: Store, collection: str, name: str, version: str, query_id: str | None = None
) -> list[GivenLabel]:
    """A person's blind labels under a version that were not replaced, of all queries or of one, in order of seq."""
    c = labels.c
    mine = (c.collection == collection, c.labeler_id == name, c.version == version, c.phase == "blind")
    wanted = select(*RESOLVING, c.rationale, c.created_at).where(*mine).order_by(c.seq)
    if query_id is not None:
        wanted = wanted.where(c.query_id == query_id)
    with store.reading() as connection:
        rows = resolved(connection.execute(wanted).all(), KEY)
    given = [GivenLabel(current_of(row), row.rationale, row.created_at) for row in rows]
    return sorted(given, key=lambda one: one.label.seq)


def last_labels(store: Store, collection: str, name: str, most: int) -> list[CurrentLabel]:
    """The last labels, newest first, with which a person completed slots of the first time."""
    a, c = assignments.c, labels.c
    mine = (a.collection == collection, a.holder == name, a.state == "done", a.phase == "blind")
    wanted = select(*RESOLVING).join_from(assignments, labels, c.seq == a.label_seq).where(*mine)
    with store.reading() as connection:
        return [current_of(row) for row in connection.execute(wanted.order_by(a.label_seq.desc()).limit(most))]


def labels_since(store: Store, collection: str, name: str, version: str, since: datetime) -> list[CurrentLabel]:
    """All labels that a person has given under a version since a time, replaced ones included, in order of seq."""
    c = labels.c
    mine = (c.collection == collection, c.labeler_id == name, c.version == version, c.created_at >= since)
    with store.reading() as connection:
        return [current_of(row) for row in connection.execute(select(*RESOLVING).where(*mine).order_by(c.seq))]


def practice_labels(store: Store, collection: str, name: str, version: str) -> list[CurrentLabel]:
    """A person's labels of training pairs under a version that were not replaced, in order of seq."""
    with store.reading() as connection:
        rows = connection.execute(of_version(collection, name, version, ("training",))).all()
    return sorted(map(current_of, resolved(rows, KEY)), key=lambda label: label.seq)


class OwnSlot(NamedTuple):
    """A slot that a person holds (``open``) or has done (``done``)."""

    assignment_id: int
    state: str


def own_slots(store: Store, collection: str, name: str, query_id: str | None = None) -> dict[tuple[str, str], OwnSlot]:
    """The slot of each pair (query_id, doc_id) that a person holds or has done for the first time, of all queries or
    of one."""
    a = assignments.c
    mine = (a.collection == collection, a.holder == name, a.phase == "blind")
    wanted = select(a.query_id, a.doc_id, a.assignment_id, a.state).where(*mine)
    if query_id is not None:
        wanted = wanted.where(a.query_id == query_id)
    with store.reading() as connection:
        rows = connection.execute(wanted)
        return {(row.query_id, row.doc_id): OwnSlot(row.assignment_id, row.state) for row in rows}


def renew(store: Store, collection: str, name: str, seconds: float) -> int:
    """Extends a person's leases to ``seconds`` from now by the database's clock, including expired ones that nobody
    has taken over; returns how many there are."""
    a = assignments.c
    mine = (a.collection == collection, a.holder == name, a.state == "open", a.leased_until.is_not(None))
    with store.writing() as connection:
        lock_person(connection, collection, name)
        return connection.execute(
            update(assignments).where(*mine).values(leased_until=database_now() + seconds)
        ).rowcount


def stored(store: Store, nonce: str) -> Submitted | None:
    """The label that was sent with this nonce, if it is in the store."""
    with store.reading() as connection:
        seq = connection.execute(SEQ_OF_NONCE, {"nonce": nonce}).scalar()
    return None if seq is None else Submitted(seq, True)
