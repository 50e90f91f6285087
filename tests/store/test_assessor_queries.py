"""One person's slots and labels beside the queue: nobody else's are read or renewed."""

from __future__ import annotations

from sqlalchemy import select, update

from quati_pool.records import State
from quati_pool.store.assessor_queries import own_loads, own_open, own_states, renew, stored
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.records import Design, Label, NewSlot, Selection
from quati_pool.store.schema import assignments

DOCS = ("d1", "d2", "d3", "d4")


def made(store: Store, collection: str = "test") -> Assignments:
    """Two people hold q1's four passages for good, and q2's are in the open queue."""
    queue = Assignments(store, collection)
    chosen = [Selection(query_id, doc_id, "all", 1.0, 2) for query_id in ("q1", "q2") for doc_id in DOCS]
    slots = [NewSlot("q1", doc_id, place, 1, name) for doc_id in DOCS for place, name in enumerate(("ana", "bia"), 1)]
    slots += [NewSlot("q2", doc_id, 1, 2) for doc_id in DOCS]
    Designs(store, collection).create(Design(method="all", seed=0, frame_sha="f", frame_pairs=8), chosen, slots)
    return queue


def graded(queue: Assignments, name: str, nonce: str) -> int:
    slot = queue.held(name)
    assert slot is not None
    label = Label(
        collection="test", labeler_id=name, kind="assessor", version="v", query_id=slot.query_id, doc_id=slot.doc_id,
        content_sha="c", status=State.ok, relevance=1, nonce=nonce,
    )  # fmt: skip
    return queue.submit(name, slot.assignment_id, label, 60).seq


def leases(store: Store) -> dict[str, float | None]:
    """When each held slot of q2 runs out, by doc_id."""
    c = assignments.c
    with store.reading() as connection:
        rows = connection.execute(select(c.doc_id, c.leased_until).where(c.query_id == "q2", c.holder.is_not(None)))
        return {row.doc_id: row.leased_until for row in rows}


def test_ones_own_slots_are_told_by_state(store: Store) -> None:
    queue = made(store)
    made(store, "other")
    first = queue.held("ana")
    assert first is not None
    graded(queue, "ana", "n1")
    second = queue.held("ana")
    assert second is not None
    queue.withdraw([second.assignment_id])
    states = own_states(store, "test", "ana", "q1")
    assert states == {
        doc_id: "done" if doc_id == first.doc_id else "open" for doc_id in DOCS if doc_id != second.doc_id
    }
    left = [doc_id for doc_id, state in states.items() if state == "open"]
    assert sorted(doc_id for _, _, doc_id in own_open(store, "test", "ana")) == sorted(left)
    for number, query_id, doc_id in own_open(store, "test", "ana"):
        slot = queue.slot(number)
        assert slot is not None
        assert (slot.holder, slot.query_id, slot.doc_id) == ("ana", query_id, doc_id)
    assert own_states(store, "test", "ana", "q2") == {}
    assert own_states(store, "test", "caio", "q1") == {}


def test_a_load_counts_what_is_held_and_done_but_not_what_was_withdrawn(store: Store) -> None:
    queue = made(store)
    [design] = Designs(store, "test").all()
    graded(queue, "ana", "n1")
    last = queue.held("ana")
    assert last is not None
    queue.withdraw([last.assignment_id])
    assert own_loads(store, "test", "ana") == {design.design_id: 3}
    assert own_loads(store, "test", "bia") == {design.design_id: 4}
    assert own_loads(store, "test", "caio") == {}


def test_only_ones_own_leases_are_renewed_and_what_is_for_good_stays_so(store: Store) -> None:
    queue = made(store)
    free = {slot.doc_id: slot.assignment_id for slot in queue.free("caio", "q2")}
    queue.claim("caio", [free["d1"], free["d2"]], 60)
    queue.claim("dora", [free["d3"]], 60)
    with store.writing() as connection:
        connection.execute(update(assignments).where(assignments.c.query_id == "q2").values(leased_until=1.0))
    assert renew(store, "test", "caio", 600) == 2
    until = leases(store)
    assert until["d3"] == 1.0
    assert until["d1"] is not None
    assert until["d1"] > 1.0
    assert until["d1"] == until["d2"]
    assert renew(store, "test", "ana", 600) == 0


def test_a_label_is_found_by_its_nonce(store: Store) -> None:
    queue = made(store)
    seq = graded(queue, "ana", "n1")
    assert stored(store, "n1") == (seq, True)
    assert stored(store, "n2") is None
