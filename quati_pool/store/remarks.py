"""What assessors asked the leads about pairs, with the answers, stored as a log of events."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, select

from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Remark
from quati_pool.store.schema import remarks
from quati_pool.store.slots import lock_all

_REMARK = tuple(field.name for field in fields(Remark))
_WITH_TEXT = ("asked", "answered")


class Remarks:
    """The remarks of one collection, over an open store; as safe with threads and processes as the store.

    An assessor has one thread for each pair that they asked about.
    """

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    def add(self, remark: Remark) -> int:
        """Appends a remark and returns its seq. A remark whose nonce is in the store is not written again.

        Raises StoreError for a question or answer without text, a text with another action, or a nonce that another
        remark has.
        """
        if (remark.action in _WITH_TEXT) != bool(remark.text and remark.text.strip()):
            problem = "write a text" if remark.action in _WITH_TEXT else f"{remark.action} has no text; leave it out"
            raise StoreError(f"{remark.query_id} {remark.doc_id}: {problem}")
        row = {name: getattr(remark, name) for name in _REMARK if name != "seq"}
        row.update(collection=self._collection, created_at=datetime.now(UTC))
        with self._store.writing() as connection:
            # One at a time, so that the same remark sent twice at once is found below.
            lock_all(connection, f"remarks: {self._collection}")
            if (known := self._known(connection, remark)) is not None:
                return known
            given = connection.execute(insert(remarks).values(row)).inserted_primary_key
            assert given is not None
            return int(given[0])

    def _known(self, connection: Connection, remark: Remark) -> int | None:
        if remark.nonce is None:
            return None
        row = connection.execute(select(remarks).where(remarks.c.nonce == remark.nonce)).first()
        if row is None:
            return None
        sent = ("query_id", "doc_id", "thread", "by", "action", "text")
        if row.collection != self._collection or any(getattr(row, name) != getattr(remark, name) for name in sent):
            raise StoreError(f"{remark.by}: this nonce was already used for another remark; reload the page")
        return int(row.seq)

    def of(self, thread: str) -> list[Remark]:
        """All remarks in an assessor's threads, oldest first."""
        return self._found(remarks.c.thread == thread)

    def of_pair(self, query_id: str, doc_id: str) -> list[Remark]:
        """All remarks on a pair, in anybody's thread, oldest first."""
        return self._found(remarks.c.query_id == query_id, remarks.c.doc_id == doc_id)

    def open(self) -> list[Remark]:
        """The last question of each thread that waits for an answer: neither answered nor closed since. Those that have
        waited longest come first."""
        waiting: dict[tuple[str, str, str], Remark] = {}
        for remark in self._found():
            key = (remark.thread, remark.query_id, remark.doc_id)
            if remark.action == "asked":
                waiting[key] = remark
            elif remark.action != "read":
                waiting.pop(key, None)
        return sorted(waiting.values(), key=lambda remark: remark.seq or 0)

    def unread(self, thread: str) -> list[Remark]:
        """The answers in an assessor's threads that they have not read yet, oldest first."""
        unread: dict[tuple[str, str], list[Remark]] = {}
        for remark in self.of(thread):
            pair = (remark.query_id, remark.doc_id)
            if remark.action == "answered":
                unread.setdefault(pair, []).append(remark)
            elif remark.action == "read":
                unread.pop(pair, None)
        return sorted((remark for some in unread.values() for remark in some), key=lambda remark: remark.seq or 0)

    def _found(self, *conditions: ColumnElement[bool]) -> list[Remark]:
        wanted = select(remarks).where(remarks.c.collection == self._collection, *conditions).order_by(remarks.c.seq)
        with self._store.reading() as connection:
            return [_remark(row) for row in connection.execute(wanted)]


def _remark(row: Row[Any]) -> Remark:
    return Remark(**{name: getattr(row, name) for name in _REMARK})
