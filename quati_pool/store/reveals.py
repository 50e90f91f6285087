"""The pairs of which a lead has seen names and grades of judges and systems."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import select

from quati_pool.store.database import Store
from quati_pool.store.engine import insert_where_new
from quati_pool.store.schema import reveals


class Reveals:
    """The reveals of one collection, over an open store; as safe with threads and processes as the store."""

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    def add(self, name: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Records that ``pairs`` (query_id, doc_id) were revealed to a person; what is recorded stays as it is."""
        of = {"collection": self._collection, "name": name, "created_at": datetime.now(UTC)}
        rows = [{**of, "query_id": query_id, "doc_id": doc_id} for query_id, doc_id in pairs]
        if rows:
            with self._store.writing() as connection:
                insert_where_new(connection, reveals, rows)

    def of(self, name: str, query_id: str | None = None) -> frozenset[tuple[str, str]]:
        """The pairs that were revealed to a person, of all queries or of one."""
        r = reveals.c
        wanted = select(r.query_id, r.doc_id).where(r.collection == self._collection, r.name == name)
        if query_id is not None:
            wanted = wanted.where(r.query_id == query_id)
        with self._store.reading() as connection:
            return frozenset((row.query_id, row.doc_id) for row in connection.execute(wanted))
