"""Slots go to one person each, come back when a lease runs out, and keep what they are given."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.listing import done_slots
from quati_pool.store.people import People
from quati_pool.store.records import COUNTING, Design, NewSlot, OpenQuery, QueryProgress, Selection
from quati_pool.store.schema import assignments, designs, labels, queues, selections
from quati_pool.store.training import TrainingPairs
from tests.store.annotation import LEASE, claimed, done, given, queue, run_out

DESIGN = Design(
    method="stratified", seed=7, frame_sha="f00d", frame_pairs=40, strata={"grade=2": [40, 4]}, parameters={"n": 4}
)


def count(store: Store, table: object) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def conflict(slots: Assignments, name: str, assignment_id: int, like: object = None) -> str:
    """Why a label is refused; nothing is written."""
    before = count(slots._store, labels)
    slot = slots.slot(assignment_id) or claimed(slots)[0]
    with pytest.raises(ConflictError) as caught:
        slots.submit(name, assignment_id, given(slot, name), LEASE)
    assert "\n" not in str(caught.value)
    assert count(slots._store, labels) == before
    return caught.value.reason


def test_a_design_comes_back_as_it_was_given(store: Store) -> None:
    kept = Designs(store, "pira")
    chosen = [Selection("q1", "d2", "grade=2", 0.1, 2), Selection("q1", "d10", "grade=2", 1.0, 1)]
    design_id = kept.create(DESIGN, chosen, [])
    [found] = kept.all()
    assert found.created_at is not None
    assert replace(found, created_at=None) == replace(DESIGN, design_id=design_id)
    assert kept.selections(design_id) == [chosen[1], chosen[0]]  # by the bytes of the ids: "d10" < "d2"
    assert Designs(store, "other").all() == []
    assert Designs(store, "other").selections(design_id) == []


@pytest.mark.parametrize(
    ("chosen", "new"),
    [
        ([Selection("q1", "d1", "", 1.0, 1)] * 2, [NewSlot("q1", "d1", 1, 1)]),
        ([Selection("q1", "d1", "", 0.0, 1)], [NewSlot("q1", "d1", 1, 1)]),
        ([Selection("q1", "d1", "", 1.5, 1)], [NewSlot("q1", "d1", 1, 1)]),
        ([Selection("q1", "d1", "", 1.0, 2)], [NewSlot("q1", "d1", n, 1, "ana") for n in (1, 2)]),
    ],
    ids=["a pair twice", "no probability", "too much", "a person twice"],
)
def test_a_design_that_cannot_be_leaves_nothing(store: Store, chosen: list[Selection], new: list[NewSlot]) -> None:
    with pytest.raises(StoreError, match="the design was not kept"):
        Designs(store, "pira").create(DESIGN, chosen, [NewSlot("q0", "d0", 1, 1), *new])
    assert [count(store, table) for table in (designs, selections, assignments, queues)] == [0, 0, 0, 0]


def test_slots_given_for_good_come_in_their_order_and_later_designs_after_them(store: Store) -> None:
    slots = Assignments(store, "pira")
    first = [NewSlot("q2", "d1", 1, 2, "ana"), NewSlot("q1", "d2", 1, 1, "ana"), NewSlot("q1", "d1", 1, 1, "ana")]
    Designs(store, "pira").create(DESIGN, [], first)
    Designs(store, "pira").create(DESIGN, [], [NewSlot("q0", "d1", 1, 0, "ana"), NewSlot("q0", "d2", 1, 0, "bia")])
    order = []
    while (slot := slots.held("ana")) is not None:
        assert slot.leased_until is None
        order.append((slot.query_id, slot.doc_id))
        done(slots, slot)
    assert order == [("q1", "d2"), ("q1", "d1"), ("q2", "d1"), ("q0", "d1")]


def test_a_person_is_offered_each_pair_once_and_none_they_had(store: Store) -> None:
    slots = queue(store, queries=2, docs=2, overlap=2)
    assert slots.open_queries("ana") == [OpenQuery("q1", 1, 2), OpenQuery("q2", 2, 2)]
    offered = slots.free("ana", "q1")
    assert [(slot.doc_id, slot.replicate) for slot in offered] == [("d1", 1), ("d2", 1)]
    got = slots.claim("ana", [offered[1].assignment_id], LEASE)
    assert [(slot.doc_id, slot.holder, slot.turn) for slot in got] == [("d2", "ana", 0)]
    assert slots.open_queries("ana") == [OpenQuery("q1", 1, 1), OpenQuery("q2", 2, 2)]
    assert slots.open_queries("bia") == [OpenQuery("q1", 1, 2), OpenQuery("q2", 2, 2)]
    assert [(slot.doc_id, slot.replicate) for slot in slots.free("bia", "q1")] == [("d1", 1), ("d2", 2)]
    done(slots, got[0])
    assert [slot.doc_id for slot in slots.free("ana", "q1")] == ["d1"]
    assert Assignments(store, "other").open_queries("ana") == []


def test_a_claim_is_in_the_order_asked_for_and_after_what_is_held(store: Store) -> None:
    slots = queue(store, queries=2, docs=3)
    first, second, third = (slot.assignment_id for slot in slots.free("ana", "q2"))
    assert [slot.assignment_id for slot in slots.claim("ana", [third, first, second, third], LEASE)] == [
        third, first, second,
    ]  # fmt: skip
    claimed(slots, query_id="q1")
    order = []
    while (slot := slots.held("ana")) is not None:
        order.append(f"{slot.query_id} {slot.doc_id}")
        done(slots, slot)
    assert order == ["q2 d3", "q2 d1", "q2 d2", "q1 d1", "q1 d2", "q1 d3"]


def test_nobody_claims_both_slots_of_a_pair(store: Store) -> None:
    slots = queue(store, docs=1, overlap=2)
    both = [1, 2]
    assert [slot.replicate for slot in slots.claim("ana", both, LEASE)] == [1]
    assert slots.claim("ana", both, LEASE) == []
    assert [slot.replicate for slot in slots.claim("bia", both, LEASE)] == [2]
    assert slots.claim("caio", both, LEASE) == []
    assert slots.claim("caio", [99], LEASE) == []
    assert Assignments(store, "other").claim("caio", both, LEASE) == []


def test_a_load_is_of_what_a_person_holds_and_did_in_one_design(store: Store) -> None:
    slots = queue(store, queries=1, docs=5)
    [design] = Designs(store, "pira").all()
    assert design.design_id is not None
    ids = [slot.assignment_id for slot in slots.free("ana", "q1")]
    assert len(slots.claim("ana", ids, LEASE, {design.design_id: 2})) == 2
    slot = slots.held("ana")
    assert slot is not None
    done(slots, slot)
    assert slots.claim("ana", ids, LEASE, {design.design_id: 2}) == []
    assert len(slots.claim("ana", ids, LEASE, {design.design_id: 3, 99: 0})) == 1
    assert len(slots.claim("ana", ids, LEASE, {99: 0})) == 2


def test_a_lease_that_ran_out_stays_its_holders_until_somebody_takes_it_over(store: Store) -> None:
    slots = queue(store, docs=2)
    mine = claimed(slots)
    assert slots.open_queries("bia") == []
    assert slots.claim("bia", [slot.assignment_id for slot in mine], LEASE) == []
    run_out(store, "ana")
    assert slots.held("ana") is not None
    assert slots.open_queries("ana") == []
    assert slots.open_queries("bia") == [OpenQuery("q1", 1, 2)]
    assert slots.free("bia", "q1")[0].holder == "ana"
    done(slots, mine[0])  # renews what else is held
    assert slots.open_queries("bia") == []
    run_out(store, "ana")
    [taken] = slots.claim("bia", [slot.assignment_id for slot in mine], LEASE)
    assert (taken.assignment_id, taken.holder, taken.skips, taken.label_seq) == (mine[1].assignment_id, "bia", 0, None)
    assert slots.held("ana") is None
    assert conflict(slots, "ana", taken.assignment_id) == "taken"
    assert done(slots, taken, "bia") > 0


def test_a_lease_of_no_time_is_over_at_once_and_others_skips_are_not_taken_over(store: Store) -> None:
    slots = queue(store, docs=1)
    [slot] = claimed(slots, lease=-1)
    assert slots.submit("ana", slot.assignment_id, given(slot, status=State.skipped), -1).seq
    [taken] = claimed(slots, "bia", lease=-1)
    assert (taken.skips, taken.label_seq) == (0, None)
    assert slots.last("ana") is None
    [back] = claimed(slots, "ana")
    assert (back.assignment_id, back.skips) == (slot.assignment_id, 0)


def test_a_label_is_written_once_by_its_nonce(store: Store) -> None:
    slots = queue(store, docs=2)
    one, two = claimed(slots)
    label = given(one)
    first = slots.submit("ana", one.assignment_id, label, LEASE)
    assert not first.again
    again = slots.submit("ana", one.assignment_id, label, LEASE)
    assert again == (first.seq, True)
    assert count(store, labels) == 1
    [(known, _)] = store.history("pira", "ana", "q1", one.doc_id)
    assert replace(known, created_at=None) == replace(label, seq=first.seq, assignment_id=one.assignment_id)
    with pytest.raises(ConflictError) as caught:  # the same, with another grade
        slots.submit("ana", one.assignment_id, replace(label, relevance=0), LEASE)
    assert caught.value.reason == "done"
    for other in (given(two, nonce=label.nonce), replace(label, labeler_id="bia")):
        with pytest.raises(StoreError, match="its nonce was already used for another label"):
            slots.submit(other.labeler_id, two.assignment_id, other, LEASE)
    assert count(store, labels) == 1
    assert slots.slot(two.assignment_id) == two


def test_a_label_without_a_slot_is_written_once_by_its_nonce(store: Store) -> None:
    slots = queue(store, docs=1)
    [slot] = claimed(slots)
    for phase in ("training", "revealed"):
        label = given(slot, phase=phase)
        first = slots.add_label(label)
        assert slots.add_label(label) == (first.seq, True)
        assert not first.again
    assert count(store, labels) == 2
    assert store.current("pira", "ana", "guide-1", ["q1"], COUNTING) == []
    assert slots.held("ana") == slot
    with pytest.raises(StoreError, match="does not belong to pira"):
        slots.add_label(given(slot, collection="other"))


def test_what_cannot_be_graded_any_more_is_refused_with_its_reason(store: Store) -> None:
    slots = queue(store, docs=3)
    one, two, _ = claimed(slots)
    done(slots, one)
    assert slots.withdraw([one.assignment_id, two.assignment_id, 99]) == 1
    assert conflict(slots, "ana", one.assignment_id) == "done"
    assert conflict(slots, "bia", one.assignment_id) == "taken"
    assert conflict(slots, "ana", two.assignment_id) == "withdrawn"
    with pytest.raises(ConflictError) as caught:
        slots.submit("ana", 99, given(one), LEASE)
    assert caught.value.reason == "gone"


@pytest.mark.parametrize(
    "wrong",
    [{"labeler_id": "bia"}, {"query_id": "q2"}, {"doc_id": "d9"}, {"collection": "other"}, {"kind": "judge"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_label_of_something_else_is_refused(store: Store, wrong: dict[str, str]) -> None:
    slots = queue(store, docs=1)
    [slot] = claimed(slots)
    with pytest.raises(StoreError, match="is not of slot 1"):
        slots.submit("ana", slot.assignment_id, replace(given(slot), **wrong), LEASE)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="cannot be failed"):
        slots.submit("ana", slot.assignment_id, given(slot, status=State.failed), LEASE)
    assert count(store, labels) == 0
    assert slots.held("ana") == slot


def test_later_comes_after_the_rest_of_its_query_and_twice_later_after_everything(store: Store) -> None:
    slots = queue(store, queries=2, docs=2)
    claimed(slots)
    claimed(slots, query_id="q2")
    order = []
    for step in range(8):
        slot = slots.held("ana")
        assert slot is not None
        order.append(f"{slot.query_id} {slot.doc_id}")
        done(
            slots, slot, status=State.skipped if (slot.query_id, slot.doc_id) == ("q1", "d1") and step < 4 else State.ok
        )
        if slots.held("ana") is None:
            break
    # q1 d1 is put off at once, then again after the rest of q1; then all of q2, and it comes a last time.
    assert order == ["q1 d1", "q1 d2", "q1 d1", "q2 d1", "q2 d2", "q1 d1"]


def test_undo_takes_back_one_label_after_the_other_and_opens_the_slot_first_in_line(store: Store) -> None:
    slots = queue(store, docs=3)
    one, two, three = claimed(slots)
    done(slots, one)
    done(slots, two, status=State.unsure)
    for expected in (two, one):
        last = slots.last("ana")
        assert last is not None
        slot, label = last
        assert slot.assignment_id == expected.assignment_id
        assert label.seq == slot.label_seq
        back = given(slot, status=State.retracted, version="of another day", content_sha="of another text")
        seq = slots.undo("ana", slot.assignment_id, label.seq or 0, back)
        assert slots.undo("ana", slot.assignment_id, label.seq or 0, back) == seq  # sent twice
        now = slots.held("ana")
        assert now is not None
        assert (now.assignment_id, now.state, now.label_seq, now.skips) == (expected.assignment_id, "open", None, 0)
    assert slots.last("ana") is None
    states = {row.doc_id: row.status for row in store.current("pira", "ana", "guide-1", ["q1"])}
    assert states == {"d1": State.retracted, "d2": State.retracted}
    for slot in (one, two, three):
        assert slots.held("ana") is not None
        done(slots, slot)
    assert slots.held("ana") is None


def test_undo_of_later_gives_the_turn_back(store: Store) -> None:
    slots = queue(store, docs=2)
    one, two = claimed(slots)
    for _ in range(2):
        done(slots, one, status=State.skipped)
    seq = done(slots, one, status=State.skipped)
    assert slots.held("ana") == slots.slot(two.assignment_id)
    slots.undo("ana", one.assignment_id, seq, given(one, status=State.retracted))
    now = slots.held("ana")
    assert now is not None
    assert (now.assignment_id, now.skips) == (one.assignment_id, 2)


def test_an_undo_that_comes_too_late_writes_nothing(store: Store) -> None:
    slots = queue(store, docs=2)
    one, two = claimed(slots)
    seq = done(slots, one)
    slots.undo("ana", one.assignment_id, seq, given(one, status=State.retracted))
    later = done(slots, one)
    before = count(store, labels)
    for name, assignment_id, known, reason in [
        ("ana", one.assignment_id, seq, "changed"),
        ("ana", two.assignment_id, seq, "changed"),
        ("bia", one.assignment_id, later, "taken"),
        ("ana", 99, later, "gone"),
    ]:
        slot = slots.slot(assignment_id) or one
        with pytest.raises(ConflictError) as caught:
            slots.undo(name, assignment_id, known, given(slot, name, State.retracted))
        assert caught.value.reason == reason
    with pytest.raises(StoreError, match="takes nothing back"):
        slots.undo("ana", one.assignment_id, later, given(one))
    assert count(store, labels) == before


def test_the_open_pairs_are_those_that_somebody_is_still_to_grade(store: Store) -> None:
    slots = queue(store, queries=2, docs=2, overlap=2)
    queue(store, collection="other")
    first = claimed(slots)[0]
    slots.submit("ana", first.assignment_id, given(first), LEASE)
    assert slots.open_pairs() == {("q1", "d1"), ("q1", "d2"), ("q2", "d1"), ("q2", "d2")}
    slots.submit("bia", claimed(slots, "bia")[0].assignment_id, given(first, "bia"), LEASE)
    slots.withdraw([slot.assignment_id for slot in slots.free("caio", "q2")])
    assert slots.open_pairs() == {("q1", "d2"), ("q2", "d1"), ("q2", "d2")}


def test_withdrawn_and_released_slots(store: Store) -> None:
    slots = queue(store, queries=2, docs=2)
    claimed(slots)
    Designs(store, "pira").create(DESIGN, [], [NewSlot("q9", "d1", 1, 9, "ana")])
    assert slots.withdraw([1]) == 1
    assert slots.release("bia") == 0
    assert slots.open_queries("ana") == [OpenQuery("q2", 2, 2)]
    assert slots.release("ana") == 2  # what was given for good too
    assert slots.held("ana") is None
    assert [query.query_id for query in slots.open_queries("bia")] == ["q1", "q2", "q9"]
    assert claimed(Assignments(store, "other")) == []


def test_done_slots_are_opened_again_for_whoever_did_them(store: Store) -> None:
    people = People(store, "pira")
    people.add("ana", "assessor", "AAAA", "hash of ana")
    people.add("bia", "assessor", "BBBB", "hash of bia")
    slots = queue(store, queries=3, docs=1)
    wanted = [("ana", "q1"), ("bia", "q2"), ("ana", "q3")]
    first, second, third = [claimed(slots, name, query_id)[0] for name, query_id in wanted]
    seq = done(slots, first)
    done(slots, second, "bia")
    people.revoke("bia")
    told = [(one.assignment_id, one.query_id, one.version, one.content_sha) for one in done_slots(store, "pira")]
    assert told == [(first.assignment_id, "q1", "guide-1", "q1 d1"), (second.assignment_id, "q2", "guide-1", "q2 d1")]
    before = count(store, labels)
    assert slots.reopen([first.assignment_id, second.assignment_id, third.assignment_id, 99]) == 2  # one is open
    assert slots.reopen([first.assignment_id]) == 0
    held = slots.held("ana")
    assert held is not None
    assert (held.assignment_id, held.label_seq) == (first.assignment_id, None)
    assert slots.open_queries("caio") == [OpenQuery("q2", 2, 1)]  # whose bia is gone
    assert count(store, labels) == before
    assert done(slots, first) > seq
    assert Assignments(store, "other").reopen([first.assignment_id]) == 0


def test_progress_counts_by_person_and_query(store: Store) -> None:
    slots = queue(store, queries=2, docs=3)
    one, two, _ = claimed(slots)
    done(slots, one)
    done(slots, two, status=State.skipped)
    slots.withdraw([6])
    mine = [QueryProgress("ana", "q1", 2, 1, 1)]
    assert slots.mine("ana") == mine
    assert slots.mine("bia") == []
    assert slots.progress() == [*mine, QueryProgress(None, "q2", 2, 0, 0)]


def test_training_is_added_replaced_and_dropped(store: Store) -> None:
    training = TrainingPairs(store, "pira")
    training.add("q1", "d1", 0, "off topic", "bia")
    second = training.add("q1", "d2", 3, "NUL \x00", "bia")
    third = training.add("q1", "d1", 1, "on topic", "bia")
    assert [(one.training_id, one.doc_id, one.relevance, one.explanation) for one in training.all()] == [
        (second, "d2", 3, "NUL \x00"),
        (third, "d1", 1, "on topic"),
    ]
    assert TrainingPairs(store, "other").drop(second) is False
    assert training.drop(second)
    assert not training.drop(second)
    assert [one.training_id for one in training.all()] == [third]


def test_a_slot_that_is_given_back_is_free_for_others(store: Store) -> None:
    slots = queue(store)
    first, second, _ = claimed(slots)
    done(slots, second)
    assert not slots.give_back("bia", first.assignment_id)
    assert not slots.give_back("ana", second.assignment_id)
    assert slots.free_pairs("bia") == 0
    assert slots.give_back("ana", first.assignment_id)
    assert [slot.doc_id for slot in slots.free("bia", "q1")] == ["d1"]
    assert slots.free_pairs("bia") == 1
