"""Many at once: no slot is given twice, no label is lost or written twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.people import People
from quati_pool.store.records import Slot
from quati_pool.store.schema import assignments, labels
from tests.patience import PATIENCE
from tests.store.annotation import LEASE, claimed, done, given, queue, run_out
from tests.store.processes import go, line, start
from tests.store.samples import entry


def at_once(count: int, task: Callable[[int], object]) -> list[object]:
    """Runs a task that many times in threads that all begin together."""
    gate = threading.Barrier(count)

    def one(number: int) -> object:
        gate.wait()
        return task(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def labelled(store: Store) -> list[tuple[str, str, str, int]]:
    c = labels.c
    with store.reading() as connection:
        rows = connection.execute(select(c.labeler_id, c.query_id, c.doc_id, c.assignment_id).order_by(c.seq)).all()
    return [(row.labeler_id, row.query_id, row.doc_id, row.assignment_id) for row in rows]


def one_label_a_slot(store: Store, count: int) -> None:
    """Each label is of a slot of its own, whose holder gave it, and nobody graded a pair twice."""
    written = labelled(store)
    assert len(written) == count
    assert len({slot for *_, slot in written}) == count
    assert len({row[:3] for row in written}) == count
    c = assignments.c
    with store.reading() as connection:
        kept = connection.execute(select(c.holder, c.query_id, c.doc_id, c.assignment_id).where(c.state == "done"))
        assert {tuple(row) for row in kept} == set(written)


def work(slots: Assignments, name: str, count: int) -> None:
    """Somebody who claims and grades until they have done so many; every tenth label is sent twice."""
    left = count
    while left:
        slot = slots.held(name)
        if slot is None:
            query = slots.open_queries(name)[0]
            ids = [free.assignment_id for free in slots.free(name, query.query_id)]
            slots.claim(name, ids[: min(left, 10)], LEASE)
            continue
        label = given(slot, name)
        first = slots.submit(name, slot.assignment_id, label, LEASE)
        if left % 10 == 0:
            assert slots.submit(name, slot.assignment_id, label, LEASE) == (first.seq, True)
        left -= 1


@pytest.mark.slow
def test_twenty_people_give_eight_hundred_labels_at_once(store: Store) -> None:
    """Two thousand are in tests/load, through the steps."""
    # More than they do: the very last slots could be of pairs that the last person had.
    slots = queue(store, queries=24, docs=20, overlap=2)
    at_once(20, lambda number: work(slots, f"person{number}", 40))
    one_label_a_slot(store, 800)
    assert Counter(name for name, *_ in labelled(store)) == {f"person{number}": 40 for number in range(20)}


@pytest.mark.parametrize("people", [2, 8])
def test_all_who_ask_for_the_same_slots_get_different_ones(store: Store, people: int) -> None:
    slots = queue(store, docs=30)
    ids = [slot.assignment_id for slot in slots.free("ana", "q1")]
    got = at_once(people, lambda number: slots.claim(f"person{number}", ids, LEASE, {1: 30 // people}))
    taken = [slot.assignment_id for some in got for slot in some]  # type: ignore[attr-defined]
    assert len(taken) == len(set(taken))
    with store.reading() as connection:
        holders = connection.execute(select(assignments.c.holder).where(assignments.c.holder.is_not(None))).scalars()
        assert len(holders.all()) == len(taken)


def test_two_windows_of_one_person_get_a_pair_once_and_keep_to_the_load(store: Store) -> None:
    slots = queue(store, docs=10, overlap=2)
    every = list(range(1, 21))
    got = at_once(8, lambda number: slots.claim("ana", every[number:] + every[:number], LEASE, {1: 7}))
    taken = [(slot.query_id, slot.doc_id) for some in got for slot in some]  # type: ignore[attr-defined]
    assert len(taken) == len(set(taken)) == 7


def test_a_label_that_is_sent_eight_times_at_once_is_written_once(store: Store) -> None:
    slots = queue(store, docs=1)
    [slot] = claimed(slots)
    label = given(slot)
    got = at_once(8, lambda _: slots.submit("ana", slot.assignment_id, label, LEASE))
    assert sorted(one.again for one in got) == [False] + [True] * 7  # type: ignore[attr-defined]
    assert len(labelled(store)) == 1


def test_of_two_windows_that_grade_one_slot_one_is_told_so(store: Store) -> None:
    slots = queue(store, docs=20)
    for slot in claimed(slots):

        def grade(_: int, slot: Slot = slot) -> str:
            try:
                done(slots, slot)
            except ConflictError as error:
                return error.reason
            return "written"

        assert sorted(map(str, at_once(2, grade))) == ["done", "written"]
    one_label_a_slot(store, 20)


def test_a_slot_that_is_graded_as_it_is_taken_over_goes_to_one_of_them(store: Store) -> None:
    slots = queue(store, docs=20)
    mine = claimed(slots)
    for slot in mine:
        run_out(store, "ana")

        def either(number: int, slot: Slot = slot) -> str:
            if number:
                return "claimed" if slots.claim("bia", [slot.assignment_id], LEASE) else ""
            try:
                done(slots, slot)
            except ConflictError as error:
                return error.reason
            return "written"

        assert at_once(2, either) in (["written", ""], ["taken", "claimed"])
    one_label_a_slot(store, len(labelled(store)))


def test_everything_at_once_ends_without_a_deadlock(store: Store) -> None:
    slots, people = queue(store, queries=4, docs=20, overlap=2), People(store, "pira")
    for number in range(8):
        people.add(f"person{number}", "assessor", f"CODE{number}", "hash")

    def some(number: int) -> None:
        name = f"person{number}"
        for turn in range(12):
            for query in slots.open_queries(name)[:2]:
                claimed(slots, name, query.query_id, lease=-1 if turn % 2 else LEASE)
            slot = slots.held(name)
            try:
                if slot is not None:
                    seq = done(slots, slot, name, State.skipped if turn % 5 == 4 else State.ok)
                    if turn % 3 == 2:
                        slots.undo(name, slot.assignment_id, seq, given(slot, name, State.retracted))
            except ConflictError:
                pass
            if number == 0:
                slots.release("person3")
                slots.withdraw([turn + 1])
            if number == 1 and turn == 6:
                people.revoke("person2")

    at_once(8, some)
    c = assignments.c
    with store.reading() as connection:
        finished = connection.execute(select(c.assignment_id, c.label_seq, c.holder).where(c.state == "done")).all()
        by = dict(connection.execute(select(labels.c.seq, labels.c.labeler_id)).all())  # type: ignore[arg-type]
    assert finished
    assert all(by[seq] == holder for _, seq, holder in finished)


@pytest.mark.slow
def test_two_processes_and_their_threads_share_one_queue(store: Store, made_url: str) -> None:
    queue(store, queries=15, docs=10, overlap=2)  # more than they do
    script = """
from concurrent.futures import ThreadPoolExecutor
from quati_pool.store.assignments import Assignments
from tests.store import annotation
from tests.store.test_together import work
annotation._numbers = iter(range(int(sys.argv[2]) * 10**6, 10**9))
with Store.open(sys.argv[1], Path()) as store:
    slots = Assignments(store, "pira")
    tell("ready")
    sys.stdin.read()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: work(slots, f"person{sys.argv[2]}-{n}", 25), range(4)))
    tell("done")
"""
    processes = [start(script, made_url, number) for number in (1, 2)]
    assert [line(process) for process in processes] == ["ready", "ready"]
    for process in processes:
        go(process)
    assert [line(process) for process in processes] == ["done", "done"]
    for process in processes:
        with process:
            assert process.wait(PATIENCE) == 0
    one_label_a_slot(store, 200)


def test_a_snapshot_is_its_threads_alone(store: Store, made_url: str) -> None:
    with Store.open(made_url, Path()) as other, store.snapshot():
        other.append([entry(doc_id="d1")])
        with ThreadPoolExecutor(1) as pool:
            seen = pool.submit(lambda: len(store.current("pira", "gpt", "v1", ["q1"]))).result()
        assert (seen, len(store.current("pira", "gpt", "v1", ["q1"]))) == (1, 0)


def test_a_transaction_that_fails_leaves_nothing_and_lets_the_next_one_in(store: Store) -> None:
    slots = queue(store, docs=1)
    [slot] = claimed(slots)

    def fail() -> None:
        with store.writing() as connection:
            connection.execute(assignments.update().values(state="done"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert slots.held("ana") == slot
    assert done(slots, slot)
