"""What is asked with every label reads a person's or a query's slots, never a collection's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import event

from quati_pool.records import State
from quati_pool.store.assessor_queries import labels_given, labels_since, last_labels, own_slots, practice_labels
from quati_pool.store.consistency_queries import answers, free_of, graded_slots, has_repeat, training_labels
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.label_changes import Change, write_changes
from tests.store.annotation import LEASE, claimed, given, queue


def test_sqlite_finds_slots_by_more_than_their_collection(tmp_path: Path) -> None:
    plans: list[tuple[str, str]] = []
    with Store.open(None, tmp_path) as store:
        slots = queue(store, queries=3, docs=4, overlap=2)

        @event.listens_for(store._engine, "before_cursor_execute")
        def explain(_: Any, cursor: Any, statement: str, parameters: Any, *__: Any) -> None:
            if statement.startswith(("SELECT", "UPDATE")):
                told = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
                plans.extend((statement, row[3]) for row in told)

        slots.open_queries("ana")
        slots.free_pairs("ana")
        slots.pairs_of_idle_leads("ana")
        slots.graders()
        [slot, *_] = claimed(slots)
        slots.claim("ana", [9, 10, 11, 12, 13, 14], LEASE, {1: 5})
        slots.withdraw([20, 21, 22, 23, 24])
        seq = slots.submit("ana", slot.assignment_id, given(slot), LEASE).seq
        slots.held("ana")
        slots.mine("ana")
        slots.last("ana")
        write_changes(store, [Change(seq, {f"{slot.query_id} {slot.doc_id}"}, given(slot))])
        own_slots(store, "pira", "ana")
        own_slots(store, "pira", "ana", "q1")
        labels_given(store, "pira", "ana", "guide-1")
        last_labels(store, "pira", "ana", 50)
        labels_since(store, "pira", "ana", "guide-1", datetime.now(UTC))
        practice_labels(store, "pira", "ana", "guide-1")
        answers(store, "pira", "ana")
        has_repeat(store, "pira", "ana", 1)
        graded_slots(store, "pira", "ana")
        free_of(store, "pira", "ana", {("q1", "d1"), ("q3", "d2")})
        training_labels(store, "pira", "ana", "guide-1", {("q1", "d1")})
        slots.add_repeat("ana", Designs(store, "pira").of_repeats(0, 0.05), 1, slot)
        slots.repeats("ana")
        slots.give_back("ana", 10)
        slots.undo("ana", slot.assignment_id, seq, given(slot, status=State.retracted))
    tables = ("assignments", "mine", "nobodys", "of_theirs", "labels")
    found = [(statement, step) for statement, step in plans if step.split()[1:2] and step.split()[1] in tables]
    assert len(found) > 20
    for statement, step in found:
        assert step.startswith("SEARCH"), statement
        assert not step.endswith("(collection=?)"), (step, statement)
