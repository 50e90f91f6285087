"""Designs (how pairs were chosen for people to grade), the pairs that each selected from its frame, and the slots it
created."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from quati_pool.store import statements
from quati_pool.store.bulk import insert_rows
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.queues import rebuild
from quati_pool.store.records import Design, DesignOutline, FramePair, NewSlot, Selection
from quati_pool.store.schema import assignments, designs, frame_pairs, selections
from quati_pool.store.slots import lock_all

_NO_FRAME = hashlib.sha256().hexdigest()
_DESIGN = tuple(field.name for field in fields(Design))
_NEW_SLOT = (
    "query_id", "doc_id", "replicate", "query_order", "holder", "query_turn", "turn",
    "collection", "design_id", "state", "skips", "line",
)  # fmt: skip


class Designs:
    """The designs of one collection, over an open store; as safe with threads and processes as the store."""

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection
        self._orders: dict[int, Mapping[str, int]] = {}

    def create(
        self,
        design: Design,
        selected: Iterable[Selection],
        slots: Iterable[NewSlot],
        frame: Iterable[FramePair] = (),
    ) -> int:
        """Stores a design with the pairs it selected, their slots, and, for a random design, all pairs of the ``frame``
        that it could have selected (method ``all`` selects them all, so that they are not stored again). All or
        nothing; returns its design_id. A holder's new queries are queued after those they already have.

        Raises StoreError if a pair is selected twice, or would be assigned to the same person a second time.
        """
        row = {name: getattr(design, name) for name in _DESIGN if name != "design_id"}
        row.update(collection=self._collection, created_at=datetime.now(UTC))
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            key = connection.execute(insert(designs).values(row)).inserted_primary_key
            assert key is not None
            design_id = int(key[0])
            try:
                selection_rows = ((*one, design_id) for one in selected)
                insert_rows(connection, selections, (*Selection._fields, "design_id"), selection_rows)
                if design.method != "all":
                    frame_rows = ((*one, design_id) for one in frame)
                    insert_rows(connection, frame_pairs, (*FramePair._fields, "design_id"), frame_rows)
                insert_rows(connection, assignments, _NEW_SLOT, self._slot_rows(connection, slots, design_id))
                rebuild(connection, self._collection)
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql("ANALYZE assignments")  # autovacuum would only do it a minute later
            except IntegrityError as error:
                raise StoreError(
                    f"{self._store.name}: the design was not kept: a pair is chosen twice, has an inclusion of 0, "
                    "or was given before to a person who would get it again; leave out what people have"
                ) from error
        return design_id

    def of_repeats(self, seed: int, rate: float) -> int:
        """The design_id of the collection's one design of method ``repeats``, which selects no pairs and is stored when
        it is first asked for, with this seed and rate (repeats per blind answer)."""
        row = {
            "collection": self._collection, "method": "repeats", "seed": seed, "frame_sha": _NO_FRAME,
            "frame_pairs": 0, "strata": {}, "parameters": {"rate": rate}, "created_at": datetime.now(UTC),
        }  # fmt: skip
        with self._store.reading() as connection:
            known = connection.execute(statements.REPEATS, {"of": self._collection}).scalar()
        if known is not None:
            return int(known)
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            # Another process may have been faster.
            known = connection.execute(statements.REPEATS, {"of": self._collection}).scalar()
            if known is None:
                known = connection.execute(insert(designs).values(row).returning(designs.c.design_id)).scalar_one()
        return int(known)

    def _slot_rows(self, connection: Connection, slots: Iterable[NewSlot], design_id: int) -> Iterator[tuple[Any, ...]]:
        c = assignments.c
        turns = select(c.holder, func.max(c.query_turn) + 1).where(c.collection == self._collection).group_by(c.holder)
        first: dict[str | None, int | None] = dict(connection.execute(turns).all())
        rest = (self._collection, design_id, "open", 0, 0)
        for at, slot in enumerate(slots):
            if slot.holder is not None:
                turn = slot.query_order if slot.query_turn is None else slot.query_turn
                turn += first.get(slot.holder) or 0
                slot = slot._replace(query_turn=turn, turn=at if slot.turn is None else slot.turn)
            yield (*slot, *rest)

    def all(self) -> list[Design]:
        """All designs, oldest first."""
        wanted = select(*(designs.c[name] for name in _DESIGN)).where(designs.c.collection == self._collection)
        with self._store.reading() as connection:
            return [Design(**row) for row in connection.execute(wanted.order_by(designs.c.design_id)).mappings()]

    def outlines(self) -> list[DesignOutline]:
        """The designs that assign pairs to people for the first time, oldest first."""
        with self._store.reading() as connection:
            return [DesignOutline(*row) for row in connection.execute(statements.OUTLINES, {"of": self._collection})]

    def query_order(self, design_id: int) -> Mapping[str, int]:
        """The place of each query of a design's slots, by query_id in this order. It never changes, and is read once.
        The queries of a smaller design that this one extends have their slots there: see
        ``annotation.sampling.random_query_order`` for the order of all queries of a frame.

        A design's slots are not indexed by it: this reads all slots of the collection.
        """
        if design_id not in self._orders:
            c = assignments.c
            mine = (c.collection == self._collection, c.design_id == design_id)
            place = func.min(c.query_order)
            wanted = select(c.query_id, place).where(*mine).group_by(c.query_id).order_by(place, c.query_id)
            with self._store.reading() as connection:
                self._orders[design_id] = dict(connection.execute(wanted).all())
        return self._orders[design_id]

    def frame(self, design_id: int) -> list[FramePair] | None:
        """All pairs that a random design could have selected, by query_id, then doc_id. None if the design is not
        random, or if it was stored before frames were (revision 0007)."""
        c = frame_pairs.c
        known = select(designs.c.method).where(
            designs.c.design_id == design_id, designs.c.collection == self._collection
        )
        wanted = select(*(c[name] for name in FramePair._fields)).where(c.design_id == design_id)
        with self._store.reading() as connection:
            method = connection.execute(known).scalar()
            if method is None:
                return None
            if method != "all":
                rows = connection.execute(wanted.order_by(c.query_id, c.doc_id))
                return [FramePair(*row) for row in rows] or None
        return [FramePair(one.query_id, one.doc_id, one.stratum, one.inclusion) for one in self.selections(design_id)]

    def selections(self, design_id: int) -> list[Selection]:
        """The pairs that a design selected, by query_id, then doc_id."""
        c = selections.c
        wanted = select(*(c[name] for name in Selection._fields)).where(
            c.design_id == design_id, designs.c.design_id == c.design_id, designs.c.collection == self._collection
        )
        with self._store.reading() as connection:
            return [Selection(*row) for row in connection.execute(wanted.order_by(c.query_id, c.doc_id))]
