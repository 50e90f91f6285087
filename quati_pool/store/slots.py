"""Building blocks of the statements about slots: columns, conditions (free, held by a person) and locks."""

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
"""The columns of an open slot without a holder."""

IN_LINE = (assignments.c.line, assignments.c.query_turn, assignments.c.skips, assignments.c.turn)
"""The order in which a person does the open slots they hold."""

_BOTH = text("SELECT pg_advisory_xact_lock_shared(:all), pg_advisory_xact_lock(:person)")
_ALONE = text("SELECT pg_advisory_xact_lock(:number)")


def slot_of(row: Row[Any] | Sequence[Any]) -> Slot:
    """The Slot of a row with the columns ``SLOT``."""
    return Slot(*row)


def held_by(collection: str | BindParameter[str], name: str | BindParameter[str]) -> tuple[ColumnElement[bool], ...]:
    """Conditions for the slots of a person, in any state."""
    return (assignments.c.collection == collection, assignments.c.holder == name)


def free_now() -> ColumnElement[bool]:
    """Condition for open slots that have no holder or an expired lease."""
    return or_(and_(assignments.c.state == "open", assignments.c.holder.is_(None)), lease_over())


def lease_over() -> ColumnElement[bool]:
    """Condition for open slots whose lease has expired and that nobody has claimed since."""
    c = assignments.c
    return and_(c.state == "open", c.leased_until.is_not(None), c.leased_until < database_now())


def not_yet(name: str | BindParameter[str]) -> ColumnElement[bool]:
    """Condition for slots of pairs of which a person neither holds nor has done any slot."""
    mine, c = assignments.alias("mine"), assignments.c
    same = (mine.c.collection == c.collection, mine.c.query_id == c.query_id, mine.c.doc_id == c.doc_id)
    return ~exists(select(mine.c.assignment_id).where(*same, mine.c.holder == name).correlate(assignments))


def looked_up(column: ColumnElement[str]) -> ColumnElement[str]:
    """The column as an expression for which SQLite uses no index. SQLite has no statistics about the rows, so it would
    read a whole collection for a condition although others narrow it to a few rows, or to group in index order."""
    return column.concat("")


def lock_person(connection: Connection, collection: str, name: str) -> None:
    """Locks what this person holds until the transaction ends; what other people hold can still change.

    SQLite has one writer at a time anyway. On PostgreSQL, two windows of one person would otherwise conflict: each
    would count what the person has, or wait for the other's rows.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_BOTH, {"all": _number(collection), "person": _number(collection, name)})


def lock_all(connection: Connection, collection: str) -> None:
    """Locks who holds what in a collection until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(_ALONE, {"number": _number(collection)})


def _number(*names: str) -> int:
    """The 64-bit advisory lock number of these names."""
    joined = "\x00".join(("quati-pool slots", *names))
    return int.from_bytes(hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()[:8], signed=True)
