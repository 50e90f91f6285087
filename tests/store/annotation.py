"""Slots and people for tests, with what a test does not care about filled in."""

from __future__ import annotations

from itertools import count
from typing import Any

from sqlalchemy import update

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.clock import database_now
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.records import Design, Label, NewSlot, Selection, Slot
from quati_pool.store.schema import assignments

LEASE = 1800.0
_numbers = count()


def queue(
    store: Store, queries: int = 1, docs: int = 3, overlap: int = 1, collection: str = "pira", **values: Any
) -> Assignments:
    """Open slots of the pairs q1 d1, q1 d2, …"""
    slots = Assignments(store, collection)
    pairs = [(f"q{q}", f"d{d}", q) for q in range(1, queries + 1) for d in range(1, docs + 1)]
    design = Design(method="all", seed=0, frame_sha="f00d", frame_pairs=len(pairs), **values)
    chosen = [Selection(query_id, doc_id, "all", 1.0, overlap) for query_id, doc_id, _ in pairs]
    new = [NewSlot(query_id, doc_id, n, q) for query_id, doc_id, q in pairs for n in range(1, overlap + 1)]
    Designs(store, collection).create(design, chosen, new)
    return slots


def claimed(slots: Assignments, name: str = "ana", query_id: str = "q1", lease: float = LEASE) -> list[Slot]:
    """What a person gets who asks for all there is of a query."""
    return slots.claim(name, [slot.assignment_id for slot in slots.free(name, query_id)], lease)


def given(slot: Slot, name: str = "ana", status: State = State.ok, **values: Any) -> Label:
    """A person's label of a slot, of grade 2 where it is ok, with a nonce of its own."""
    known: dict[str, Any] = {
        "collection": "pira",
        "labeler_id": name,
        "kind": "assessor",
        "version": "guide-1",
        "query_id": slot.query_id,
        "doc_id": slot.doc_id,
        "content_sha": f"{slot.query_id} {slot.doc_id}",
        "status": status,
        "relevance": 2 if status == State.ok else None,
        "nonce": f"nonce {next(_numbers)}",
    }
    return Label(**{**known, **values})


def done(slots: Assignments, slot: Slot, name: str = "ana", status: State = State.ok) -> int:
    """Submits a label; its seq."""
    return slots.submit(name, slot.assignment_id, given(slot, name, status), LEASE).seq


def run_out(store: Store, name: str) -> None:
    """Moves the end of a person's leases into the past, by the database's clock."""
    c = assignments.c
    with store.writing() as connection:
        over = update(assignments).where(c.holder == name, c.leased_until.is_not(None))
        connection.execute(over.values(leased_until=database_now() - 1))
