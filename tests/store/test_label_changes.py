"""Changes of labels in the store: what was seen must still count, and all are written or none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quati_pool.records import State
from quati_pool.store.assessor_queries import labels_given, own_slots
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_changes import Change, known_changes, write_changes
from quati_pool.store.records import Slot
from tests.store.annotation import claimed, done, given, queue


def changes(slots: Sequence[Slot], seqs: Sequence[int], grade: int = 0) -> list[Change]:
    return [
        Change(seq, {f"{slot.query_id} {slot.doc_id}"}, given(slot, relevance=grade, nonce=f"change {seq} {grade}"))
        for slot, seq in zip(slots, seqs, strict=True)
    ]


def graded(store: Store) -> tuple[Assignments, list[Slot], list[int]]:
    work = queue(store)
    slots = claimed(work)
    return work, slots, [done(work, slot) for slot in slots]


def grades(store: Store) -> list[int | None]:
    return [one.label.relevance for one in labels_given(store, "pira", "ana", "guide-1")]


def test_changes_are_written_once_and_the_slots_stay(store: Store) -> None:
    work, slots, seqs = graded(store)
    before = [work.slot(slot.assignment_id) for slot in slots]
    wanted = changes(slots, seqs)
    new = write_changes(store, wanted)
    assert write_changes(store, wanted) == new
    assert known_changes(store, [str(one.label.nonce) for one in wanted], State.ok, 0) == new
    assert known_changes(store, ["another"], State.ok, 0) == []
    assert [work.slot(slot.assignment_id) for slot in slots] == before
    found = labels_given(store, "pira", "ana", "guide-1")
    assert [(one.label.seq, one.label.relevance) for one in found] == [(seq, 0) for seq in new]
    history = [label.assignment_id for label, _ in store.history("pira", "ana", "q1", "d1")]
    assert history == [slots[0].assignment_id] * 2


def test_one_that_was_replaced_meanwhile_stops_all(store: Store) -> None:
    _, slots, seqs = graded(store)
    write_changes(store, changes(slots[:1], seqs[:1], 1))
    with pytest.raises(ConflictError) as caught:
        write_changes(store, changes(slots, seqs))
    assert (caught.value.reason, caught.value.count) == ("changed", 1)
    assert sorted(grade or 0 for grade in grades(store)) == [1, 2, 2]


def test_labels_of_other_texts_do_not_count_as_newer(store: Store) -> None:
    _, slots, seqs = graded(store)
    other = given(slots[0], content_sha="another text")
    work = Assignments(store, "pira")
    work.add_label(other)
    write_changes(store, changes(slots[:1], seqs[:1]))
    assert len(grades(store)) == 4


def test_only_done_slots_of_the_person_are_changed(store: Store) -> None:
    work, slots, seqs = graded(store)
    work.reopen([slots[0].assignment_id, slots[1].assignment_id])
    with pytest.raises(ConflictError) as caught:
        write_changes(store, changes(slots, seqs))
    assert (caught.value.reason, caught.value.count) == ("gone", 2)
    assert grades(store) == [2, 2, 2]


def test_a_nonce_of_other_changes_is_refused(store: Store) -> None:
    _, slots, seqs = graded(store)
    write_changes(store, changes(slots[:1], seqs[:1]))
    for nonces, grade in ((["change 1 0"], 3), (["change 1 0", "change 2 0"], 0)):
        assert seqs[:2] == [1, 2]
        with pytest.raises(ConflictError) as caught:
            known_changes(store, nonces, State.ok, grade)
        assert caught.value.reason == "done"


def test_own_slots_are_those_graded_for_the_first_time(store: Store) -> None:
    work, slots, _ = graded(store)
    queue(store, 1, 1, collection="other")
    work.undo("ana", slots[2].assignment_id, 3, given(slots[2], status=State.retracted))
    work.add_repeat("ana", slots[0].design_id, 1, slots[0])
    expected = {("q1", "d1"): "done", ("q1", "d2"): "done", ("q1", "d3"): "open"}
    found = own_slots(store, "pira", "ana")
    assert {ids: slot.state for ids, slot in found.items()} == expected
    assert own_slots(store, "pira", "ana", "q1") == found
    assert own_slots(store, "pira", "ana", "q2") == own_slots(store, "pira", "bia") == {}
