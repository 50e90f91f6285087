"""Training pairs: pairs with a known grade that people do first, to practise, or (gold) among the others."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime

from sqlalchemy import bindparam, insert, select, update

from quati_pool.store.database import Store
from quati_pool.store.records import Training
from quati_pool.store.schema import training
from quati_pool.store.slots import lock_all

# Runs with every item, so built once: building a statement takes SQLAlchemy longer than the database to answer it.
_ALL = (
    select(*(training.c[field.name] for field in fields(Training)))
    .where(training.c.collection == bindparam("collection"), training.c.dropped_at.is_(None))
    .order_by(training.c.training_id)
)


class TrainingPairs:
    """The training pairs of one collection, over an open store; as safe with threads and processes as the store."""

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    def all(self) -> list[Training]:
        """The training pairs, gold ones included, oldest first, without those that were dropped."""
        with self._store.reading() as connection:
            rows = connection.execute(_ALL, {"collection": self._collection})
            return [Training(**row) for row in rows.mappings()]

    def add(self, query_id: str, doc_id: str, relevance: int, explanation: str, by: str, *, gold: bool = False) -> int:
        """Adds a training pair, replacing an earlier one with the same ids; returns its training_id."""
        c = training.c
        now = datetime.now(UTC)
        row = {
            "collection": self._collection, "query_id": query_id, "doc_id": doc_id, "relevance": relevance,
            "explanation": explanation, "by": by, "created_at": now, "gold": gold,
        }  # fmt: skip
        same = (c.collection == self._collection, c.query_id == query_id, c.doc_id == doc_id, c.dropped_at.is_(None))
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            connection.execute(update(training).where(*same).values(dropped_at=now))
            key = connection.execute(insert(training).values(row)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def drop(self, training_id: int) -> bool:
        """Drops a training pair; False if there is no such pair."""
        c = training.c
        mine = (c.training_id == training_id, c.collection == self._collection, c.dropped_at.is_(None))
        with self._store.writing() as connection:
            dropped = connection.execute(update(training).where(*mine).values(dropped_at=datetime.now(UTC)))
        return dropped.rowcount == 1
