"""What people said, read on from where it was read last: always as if all were read again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from quati_pool.commands.annotate.review import annotated_pairs as reading
from quati_pool.commands.annotate.review.annotated_pairs import PeoplesPairs, peoples_pairs
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.label_queries import peoples_labels
from quati_pool.store.schema import labels
from tests.commands.annotate.disputes import add_label, disputed
from tests.commands.annotate.people_at_work import pairs
from tests.commands.judged import repool

SAID: list[tuple[int | None, State]] = [
    *((grade, State.ok) for grade in range(4)),
    (None, State.unsure),
    (None, State.skipped),
    (None, State.retracted),
    (None, State.failed),
]


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    with disputed(tmp_path, made_url) as (opened, _):
        yield opened


def now(session: AnnotationSession) -> PeoplesPairs:
    with session.store.snapshot():
        return peoples_pairs(session)


def seen(found: PeoplesPairs) -> dict[str, Any]:
    opinions = [(ids, [(one.labeler.name, one.label) for one in some]) for ids, some in found.opinions.items()]
    return {"opinions": opinions, "history": found.history, "told": found.labels}


def read_from_scratch(session: AnnotationSession) -> dict[str, Any]:
    with session.store.snapshot():
        return seen(PeoplesPairs(session.config, session.store, session.pool_view, session.narratives))


def test_reading_on_gives_what_reading_all_gives(session: AnnotationSession, tmp_path: Path) -> None:
    chosen = random.Random(5)
    rows = pairs()
    for step in range(120):
        name = chosen.choice(["ana", "bia", "caio", "gpt", "adjudicated"])
        grade, status = chosen.choice(SAID)
        phase = chosen.choice(["blind", "training"] if name != "adjudicated" else ["final"])
        add_label(session, name, f"q{chosen.randrange(2)}", f"d{chosen.randrange(3)}", grade, phase, status)
        if step % 40 == 39:
            rows[chosen.randrange(len(rows))]["text"] = f"another text, of step {step}"
            repool(tmp_path, rows)
        if chosen.random() < 0.5:
            with session.store.snapshot():
                assert seen(peoples_pairs(session)) == read_from_scratch(session)
    assert any(read_from_scratch(session)["history"].values())


def test_nothing_is_read_again(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(*asked: Any) -> Any:
        found = peoples_labels(*asked)
        read.append(sum(map(len, found.values())))
        return found

    monkeypatch.setattr(reading, "peoples_labels", counted)
    first = now(session)
    assert now(session) is first
    add_label(session, "ana", "q1", "d2", 3)
    add_label(session, "gpt", "q1", "d2", 3)
    second = now(session)
    assert now(session) is second
    # Eleven labels of ana and bia, then ana's new one; a judge's is no person's.
    assert read == [11, 1]
    assert second.labels.counting["ana"].keys() - first.labels.counting["ana"].keys() == {("q1", "d2")}


def test_a_label_that_is_committed_after_a_later_one_is_not_missed(session: AnnotationSession) -> None:
    late = add_label(session, "ana", "q1", "d2", 3)
    add_label(session, "bia", "q0", "d0", 1)
    # On PostgreSQL whoever took the earlier seq may commit later; here its row comes back after a reading.
    with session.store.writing() as connection:
        row = dict(connection.execute(select(labels).where(labels.c.seq == late)).one()._mapping)
        connection.execute(delete(labels).where(labels.c.seq == late))
    assert ("q1", "d2") not in now(session).labels.counting["ana"]
    with session.store.writing() as connection:
        connection.execute(insert(labels).values(row))
    assert now(session).labels.counting["ana"]["q1", "d2"].seq == late
    assert seen(now(session)) == read_from_scratch(session)


def test_what_was_read_before_is_not_changed_by_reading_on(session: AnnotationSession) -> None:
    first = now(session)
    before = read_from_scratch(session)
    add_label(session, "ana", "q0", "d0", 3)
    add_label(session, "adjudicated", "q0", "d0", 2, "final")
    assert seen(now(session)) != before
    assert seen(first) == before
