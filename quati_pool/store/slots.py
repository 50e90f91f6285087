"""What several statements about slots share: which are free, whose they are, and who may change them now."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Row, and_, exists, or_, select, text

from quati_pool.store.clock import database_now
from quati_pool.store.records import Slot
from quati_pool.store.schema import assignments

SLOT = tuple(assignments.c[name] for name in Slot._fields)
"""The columns of a ``Slot``, in its order."""

NOBODYS = {
    "holder": None, "leased_until": None, "query_turn": None, "turn": None, "skips": 0, "line": 0, "label_seq": None,
}  # fmt: skip
"""What an open slot holds that nobody has."""

IN_LINE = (assignments.c.line, assignments.c.query_turn, assignments.c.skips, assignments.c.turn)
"""The order in which a person does the open slots they hold."""

_BOTH = text("SELECT pg_advisory_xact_lock_shared(:all), pg_advisory_xact_lock(:person)")
_ALONE = text("SELECT pg_advisory_xact_lock(:number)")


def slot_of(row: Row[Any] | Sequence[Any]) -> Slot:
    """From a row of the columns ``SLOT``."""
    return Slot(*row)


def held_by(collection: str | BindParameter[str], name: str | BindParameter[str]) -> tuple[ColumnElement[bool], ...]:
    """The slots, of any state, that are a person's."""
    return (assignments.c.collection == collection, assignments.c.holder == name)


def free_now() -> ColumnElement[bool]:
    """Open slots that nobody has, or only by a lease that ran out."""
    return or_(and_(assignments.c.state == "open", assignments.c.holder.is_(None)), lease_over())


def lease_over() -> ColumnElement[bool]:
    """Open slots that somebody had for a time that is over, and nobody claimed since."""
    c = assignments.c
    return and_(c.state == "open", c.leased_until.is_not(None), c.leased_until < database_now())


def not_yet(name: str | BindParameter[str]) -> ColumnElement[bool]:
    """Slots of pairs of which a person neither holds nor did any."""
    mine, c = assignments.alias("mine"), assignments.c
    same = (mine.c.collection == c.collection, mine.c.query_id == c.query_id, mine.c.doc_id == c.doc_id)
    return ~exists(select(mine.c.assignment_id).where(*same, mine.c.holder == name).correlate(assignments))


def looked_up(column: ColumnElement[str]) -> ColumnElement[str]:
    """A column that SQLite, which knows nothing of how many rows there are, takes for no reason to use an index:
    it would read a whole collection for a condition that others narrow to a few rows, or for the order of a group."""
    return column.concat("")


def lock_person(connection: Connection, collection: str, name: str) -> None:
    """Until the transaction ends, nobody else changes what this person holds, though others change theirs.

    SQLite has one writer at a time as it is; on PostgreSQL two windows of one person would meet otherwise: each
    counting what the person has, or waiting for the other's rows.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_BOTH, {"all": _number(collection), "person": _number(collection, name)})


def lock_all(connection: Connection, collection: str) -> None:
    """Until the transaction ends, nobody else changes who holds what."""
    if connection.dialect.name == "postgresql":
        connection.execute(_ALONE, {"number": _number(collection)})


def _number(*names: str) -> int:
    """A 64-bit number for these names."""
    joined = "\x00".join(("quati-pool slots", *names))
    return int.from_bytes(hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()[:8], signed=True)
