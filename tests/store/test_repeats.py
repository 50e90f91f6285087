"""Slots in which people grade a pair again: who gets them, when, and what may become of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.listing import done_slots, slot_counts
from quati_pool.store.listing import slots as all_slots
from quati_pool.store.people import People
from quati_pool.store.records import Slot
from tests.store.annotation import LEASE, claimed, done, given, queue

Repeated = Callable[[int, Slot], Slot | None]


@pytest.fixture
def slots(store: Store) -> Assignments:
    """Ana holds q1 d1 to d3, and has graded the first two of them."""
    made = queue(store, queries=2)
    for slot in claimed(made)[:2]:
        done(made, slot)
    return made


@pytest.fixture
def repeated(store: Store, slots: Assignments) -> Repeated:
    design_id = Designs(store, "pira").of_repeats(7, 0.05)
    return lambda block, slot: slots.add_repeat("ana", design_id, block, slot)


@pytest.fixture
def first(slots: Assignments) -> Slot:
    return all_slots(slots._store, "pira", "ana")[0]


@pytest.fixture
def repeat(repeated: Repeated, first: Slot) -> Slot:
    made = repeated(1, first)
    assert made is not None
    return made


def answer(slots: Assignments, slot: Slot, status: State = State.ok) -> int:
    label = given(slot, status=status, phase=slot.phase)
    return slots.submit("ana", slot.assignment_id, label, LEASE).seq


def undone(slots: Assignments, slot: Slot, seq: int) -> None:
    slots.undo("ana", slot.assignment_id, seq, given(slot, status=State.retracted, phase=slot.phase))


def test_a_repeat_comes_before_the_other_open_slots(slots: Assignments, repeat: Slot, first: Slot) -> None:
    assert (repeat.phase, repeat.query_id, repeat.doc_id, repeat.replicate) == ("repeat", "q1", "d1", 1)
    assert repeat.assignment_id != first.assignment_id
    assert slots.held("ana") == repeat
    answer(slots, repeat)
    held = slots.held("ana")
    assert held is not None
    assert (held.doc_id, held.phase) == ("d3", "blind")


def test_an_undone_slot_comes_before_a_repeat(slots: Assignments, repeat: Slot) -> None:
    last = slots.last("ana")
    assert last is not None
    undone(slots, last[0], int(last[1].seq or 0))
    held = slots.held("ana")
    assert held is not None
    assert (held.doc_id, held.phase) == ("d2", "blind")


def test_a_repeat_is_undone_like_any_slot(slots: Assignments, repeat: Slot) -> None:
    seq = answer(slots, repeat)
    last = slots.last("ana")
    assert last is not None
    assert (last[0].assignment_id, last[1].seq, last[1].phase) == (repeat.assignment_id, seq, "repeat")
    undone(slots, last[0], seq)
    held = slots.held("ana")
    assert held is not None
    assert (held.assignment_id, held.state, held.label_seq) == (repeat.assignment_id, "open", None)


def test_later_puts_a_repeat_behind_all_others_and_can_be_undone(
    slots: Assignments, repeat: Slot, repeated: Repeated
) -> None:
    seq = answer(slots, repeat, State.skipped)
    after = slots.slot(repeat.assignment_id)
    assert after is not None
    assert (after.state, after.holder, after.label_seq) == ("open", "ana", seq)
    held = slots.held("ana")
    assert held is not None
    assert held.phase == "blind"
    assert repeated(1, after) is None
    undone(slots, after, seq)
    held = slots.held("ana")
    assert held is not None
    assert (held.assignment_id, held.skips) == (repeat.assignment_id, 0)


def test_a_block_and_a_pair_have_one_repeat_each(slots: Assignments, repeat: Slot, repeated: Repeated) -> None:
    first, second, _ = all_slots(slots._store, "pira", "ana")
    assert repeated(1, second) is None
    assert repeated(2, first) is None
    assert repeated(2, second) is not None


def test_two_pages_at_once_get_one_repeat(slots: Assignments, repeated: Repeated) -> None:
    first, second, _ = all_slots(slots._store, "pira", "ana")
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda place: repeated(1, (first, second)[place % 2]), range(8)))
    assert len([one for one in made if one]) == 1
    assert len(slots.repeats("ana")) == 1


def test_two_servers_at_once_make_one_design(store: Store) -> None:
    queue(store)
    with ThreadPoolExecutor(8) as threads:
        numbers = set(threads.map(lambda _: Designs(store, "pira").of_repeats(7, 0.05), range(8)))
    [design] = [one for one in Designs(store, "pira").all() if one.method == "repeats"]
    assert numbers == {design.design_id}
    assert (design.seed, design.parameters, design.frame_pairs) == (7, {"rate": 0.05}, 0)
    assert Designs(store, "quati").of_repeats(7, 0.05) != design.design_id


@pytest.mark.parametrize(("slot", "phase"), [("repeat", "blind"), ("blind", "repeat")])
def test_a_label_has_the_phase_of_its_slot(slots: Assignments, repeat: Slot, slot: str, phase: str) -> None:
    of = repeat if slot == "repeat" else all_slots(slots._store, "pira", "ana")[2]
    with pytest.raises(StoreError, match="is not of slot"):
        slots.submit("ana", of.assignment_id, given(of, phase=phase), LEASE)


def test_repeats_are_counted_for_the_person_only(slots: Assignments, repeat: Slot) -> None:
    def counts() -> list[tuple[str | None, int, int]]:
        return [(row.holder, row.open, row.done) for row in slots.progress()]

    assert [(row.open, row.done) for row in slots.mine("ana")] == [(2, 2)]
    assert counts() == [("ana", 1, 2), (None, 3, 0)]
    answer(slots, repeat)
    assert [(row.open, row.done) for row in slots.mine("ana")] == [(1, 3)]
    assert counts() == [("ana", 1, 2), (None, 3, 0)]
    assert slot_counts(slots._store, "pira") == {"open": 4, "done": 2}
    assert len(done_slots(slots._store, "pira")) == 2
    assert len(all_slots(slots._store, "pira")) == 6


def test_repeats_change_nothing_about_what_is_free(store: Store) -> None:
    slots = queue(store, overlap=2)
    for slot in claimed(slots)[:2]:
        done(slots, slot)
    before = [(slots.free_pairs(name), slots.open_queries(name)) for name in ("ana", "bia")]
    assert [free for free, _ in before] == [0, 3]
    first = all_slots(store, "pira", "ana")[0]
    repeat = slots.add_repeat("ana", Designs(store, "pira").of_repeats(0, 0.5), 1, first)
    assert repeat is not None
    assert [(slots.free_pairs(name), slots.open_queries(name)) for name in ("ana", "bia")] == before
    answer(slots, repeat, State.skipped)
    assert [(slots.free_pairs(name), slots.open_queries(name)) for name in ("ana", "bia")] == before


def test_releasing_a_person_frees_no_repeat(slots: Assignments, repeat: Slot) -> None:
    """A free slot of phase repeat would be somebody's who never graded the pair."""
    assert slots.release("ana") == 1
    after = slots.slot(repeat.assignment_id)
    assert after is not None
    assert (after.state, after.holder) == ("withdrawn", "ana")
    assert {slot.phase for slot in slots.free("bia", "q1")} == {"blind"}


def test_revoking_a_person_frees_no_repeat(store: Store, slots: Assignments, repeat: Slot) -> None:
    people = People(store, "pira")
    people.add("ana", "assessor", "ABCD", "hash")
    people.revoke("ana")
    after = slots.slot(repeat.assignment_id)
    assert after is not None
    assert after.holder == "ana"


def test_a_withdrawn_repeat_is_remembered(slots: Assignments, repeat: Slot, repeated: Repeated, first: Slot) -> None:
    assert slots.withdraw([repeat.assignment_id]) == 1
    assert repeated(2, first) is None
    with pytest.raises(ConflictError) as caught:
        answer(slots, repeat)
    assert caught.value.reason == "withdrawn"


def test_a_done_repeat_is_not_asked_again(slots: Assignments, repeat: Slot) -> None:
    answer(slots, repeat)
    ids = [slot.assignment_id for slot in all_slots(slots._store, "pira", "ana")]
    assert slots.reopen([*ids, repeat.assignment_id]) == 2
    after = slots.slot(repeat.assignment_id)
    assert after is not None
    assert after.state == "done"
