"""Whatever people do in whatever order, the slots keep their rules and the counts are right."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import select

from quati_pool.records import State
from quati_pool.store.assignments import Assignments
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.schema import assignments, labels, queues
from tests.store.annotation import LEASE, given, queue, run_out

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["ana", "bia", "caio"])
SLOTS = st.integers(1, 12)  # 2 queries × 3 documents × overlap 2


@cache
def made() -> bytes:
    """A database at the newest revision: migrating one for each run would take as long as half the run."""
    with tempfile.TemporaryDirectory() as folder:
        Store.open(None, Path(folder)).close()
        return (Path(folder) / "labels.db").read_bytes()


class Slots(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / "labels.db").write_bytes(made())
        self.store = Store.open(None, Path(self.folder.name))
        self.slots: Assignments = queue(self.store, queries=2, docs=3, overlap=2)
        self.over: set[str] = set()  # whose leases ran out
        self.written = 0
        self.seen: Any = None  # what the free slots were last found in

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(name=NAMES, ids=st.lists(SLOTS, max_size=12))
    def claim(self, name: str, ids: list[int]) -> None:
        before = {number: self.slots.slot(number) for number in ids}
        for slot in self.slots.claim(name, ids, LEASE):
            old = before[slot.assignment_id]
            assert old is not None
            assert old.state == "open"
            assert old.holder is None or (old.holder in self.over and old.holder != name)
            assert (slot.holder, slot.skips, slot.label_seq, slot.line) == (name, 0, None, 0)

    @rule(name=NAMES)
    def expire(self, name: str) -> None:
        run_out(self.store, name)
        self.over.add(name)

    @rule(name=NAMES, number=SLOTS, status=st.sampled_from([State.ok, State.unsure, State.skipped]))
    def submit(self, name: str, number: int, status: State) -> None:
        before = self.slots.slot(number)
        assert before is not None
        label = given(before, name, status)
        if (before.holder, before.state) != (name, "open"):
            with pytest.raises(ConflictError) as caught:
                self.slots.submit(name, number, label, LEASE)
            assert caught.value.reason == (
                before.state if before.state == "withdrawn" or before.holder == name else "taken"
            )
            assert self.slots.slot(number) == before
            return
        seq = self.slots.submit(name, number, label, LEASE).seq
        assert self.slots.submit(name, number, label, LEASE) == (seq, True)
        self.written += 1
        self.over.discard(name)
        last = self.slots.last(name)
        assert last is not None
        assert (last[0].assignment_id, last[1].seq, last[1].status) == (number, seq, status)

    @rule(name=NAMES)
    def undo(self, name: str) -> None:
        last = self.slots.last(name)
        if last is None:
            return
        slot, label = last
        assert label.labeler_id == name
        seq = label.seq or 0
        self.slots.undo(name, slot.assignment_id, seq, given(slot, name, State.retracted))
        self.written += 1
        first = self.slots.held(name)
        assert first is not None
        assert (first.assignment_id, first.label_seq) == (slot.assignment_id, None)
        assert first.skips == slot.skips - (label.status == State.skipped)

    @rule(name=NAMES)
    def release(self, name: str) -> None:
        self.slots.release(name)

    @rule(number=SLOTS)
    def withdraw(self, number: int) -> None:
        before = self.slots.slot(number)
        assert before is not None
        assert self.slots.withdraw([number]) == (before.state == "open")

    @invariant()
    def nobody_has_a_pair_twice_and_every_done_slot_has_its_holders_label(self) -> None:
        with self.store.reading() as connection:
            rows = connection.execute(select(assignments)).all()
            kept = {row.seq: row for row in connection.execute(select(labels))}
        assert len(kept) == self.written
        held = [(row.holder, row.query_id, row.doc_id) for row in rows if row.holder]
        assert len(held) == len(set(held))
        for row in rows:
            assert (row.holder is None) <= (row.label_seq is None)
            assert (row.state == "done") <= (row.label_seq is not None)
            if row.label_seq is not None:
                label = kept[row.label_seq]
                assert (label.labeler_id, label.assignment_id) == (row.holder, row.assignment_id)
                assert (label.status == "skipped") == (row.state == "open")

    @invariant()
    def what_is_said_to_be_free_is_what_can_be_had(self) -> None:
        with self.store.reading() as connection:
            now = connection.execute(select(assignments)).all(), connection.execute(select(queues)).all()
        if now == self.seen:  # a step that was refused: the same rows give the same answers
            return
        self.seen = now
        for name in ("ana", "dora"):
            told = {query.query_id: query.free for query in self.slots.open_queries(name)}
            found = {query_id: len(self.slots.free(name, query_id)) for query_id in ("q1", "q2")}
            assert told == {query_id: count for query_id, count in found.items() if count}
            assert self.slots.free_pairs(name) == sum(found.values())


# Every step writes to the disk.
Slots.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestSlots = Slots.TestCase
