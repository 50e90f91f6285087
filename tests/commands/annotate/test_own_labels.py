"""A person's own labels: what is listed, found and counted, and that nobody else's are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update

from quati_pool.annotation.presentation_order import shuffled
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.item import training_item
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.own_labels import (
    LISTED,
    LONGEST_SEARCH,
    OwnFilter,
    OwnLabel,
    own_labels,
    own_query,
)
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.records import Entry, Label, content_sha
from quati_pool.store.schema import labels as labels_table
from quati_pool.text.sentences import Span
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, pairs, text, token
from tests.commands.annotate.revealing import revealing
from tests.commands.judged import many, pair, repool


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Two queries of three passages each; on both engines."""
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        yield opened


def graded(session: AnnotationSession, mine: str, **grades: int | None) -> list[tuple[str, str]]:
    """Grades as many pairs as there are grades, in order, None "cannot judge"; the pairs in this order."""
    done = []
    for number, (name, grade) in enumerate(grades.items()):
        shown = item(session, mine)
        unsure: dict[str, Any] = (
            {"status": "unsure", "reason": "other", "note": f"nota {name}"} if grade is None else {}
        )
        submit(session, mine, shown, answer(number, grade, **unsure))
        done.append((shown.query_id, shown.doc_id))
    return done


def ids(labels: tuple[OwnLabel, ...]) -> list[tuple[str, str]]:
    return [(label.query_id, label.doc_id) for label in labels]


def test_ones_own_current_labels_are_listed_newest_first(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, ("ana", "bia"))
    done = graded(session, ana, a=3, b=0, c=None, d=1)
    graded(session, bia, x=2, y=2)
    found = own_labels(session, ana)
    assert ids(found.labels) == done[::-1]
    assert (found.start, found.total) == (0, 4)
    assert [(label.status, label.relevance) for label in found.labels] == [
        (State.ok, 1), (State.unsure, None), (State.ok, 0), (State.ok, 3),
    ]  # fmt: skip
    cannot = found.labels[1]
    assert (cannot.reason, cannot.note, cannot.fixed) == ("other", "nota c", None)
    number = 100 * int(cannot.query_id[1:]) + int(cannot.doc_id[1:])
    assert (cannot.query, cannot.text_start) == (f"pergunta {cannot.query_id}", text(number)[:200])
    assert cannot.content_sha == content_sha(cannot.query, text(number))
    assert cannot.day == datetime.now(UTC).date()
    # What is taken back or put off is no label.
    undo(session, ana)
    submit(session, ana, item(session, ana), answer(77, None, status="skipped"))
    assert ids(own_labels(session, ana).labels) == done[2::-1]


def test_labels_of_other_texts_versions_and_phases_are_not_listed(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [first, second] = graded(session, ana, a=3, b=0)
    session.training.add("q1", "d1", 1, "porque", "lia")
    submit(session, ana, item(session, ana), answer(5, 2))
    common: dict[str, Any] = {
        "collection": "test", "labeler_id": "ana", "kind": "assessor", "query_id": "q1", "doc_id": "d2",
        "content_sha": content_sha("pergunta q1", text(102)), "status": State.ok, "relevance": 1,
    }  # fmt: skip
    session.store.append(
        [
            Entry(label=Label(version=session.version, phase="repeat", **common)),
            Entry(label=Label(version=session.version, phase="revealed", **common)),
            Entry(label=Label(version="older", **common)),
        ]
    )
    assert ids(own_labels(session, ana).labels) == [second, first]
    changed = [dict(row, text="outro") if (row["query_id"], row["doc_id"]) == second else row for row in pairs()]
    repool(session.config.folder, changed)  # type: ignore[arg-type]
    assert ids(own_labels(session, ana).labels) == [first]
    repool(session.config.folder, [pair("q9", "d9")])
    assert own_labels(session, ana).labels == ()


def test_filters_by_grade_status_and_query_and_counts_the_queries(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    done = graded(session, ana, a=3, b=0, c=None, d=0, e=3, f=3)
    other, first = done[3][0], done[0][0]

    def found(**wanted: Any) -> list[tuple[str, str]]:
        return ids(own_labels(session, ana, OwnFilter(**wanted)).labels)

    assert found(grade=0) == [done[3], done[1]]
    assert found(grade=2) == []
    assert found(status=State.unsure) == [done[2]]
    assert found(status=State.ok, query_id=first) == [done[1], done[0]]
    counted = own_labels(session, ana, OwnFilter(grade=3, query_id=first))
    # By hand: of the grades 3, 0, none of the first query and 0, 3, 3 of the other.
    assert {(one.query_id, one.query, one.labels) for one in counted.queries} == {
        (first, f"pergunta {first}", 1), (other, f"pergunta {other}", 2),
    }  # fmt: skip
    assert [one.query_id for one in counted.queries] == sorted([first, other])
    assert (counted.total, ids(counted.labels)) == (1, [done[0]])


def test_words_are_found_in_query_passage_and_note_whatever_their_case_and_accents(tmp_path: Path) -> None:
    rows = [
        pair("q0", "d0", "O pão de AÇÚCAR"),
        pair("q0", "d1", "A acção — ſtraße, İstanbul"),
        pair("q1", "d0", "nada"),
    ]
    with AnnotationSession.open(collection(tmp_path, rows)) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",))
        for number in range(3):
            shown = item(session, ana)
            note = "Vê o CAFÉ" if shown.query_id == "q1" else None
            submit(session, ana, shown, answer(number, 1, note=note))

        def found(words: str) -> set[tuple[str, str]]:
            return set(ids(own_labels(session, ana, OwnFilter(text=words)).labels))

        everything = {("q0", "d0"), ("q0", "d1"), ("q1", "d0")}
        assert found("") == found("  ") == found("PERGUNTA") == everything
        assert found("acucar") == found("AC\u0327U\u0301CAR") == found("pao acuc") == {("q0", "d0")}
        assert found("accao") == found("STRASSE istanbul") == {("q0", "d1")}
        assert found("cafe") == found("q1 nada cafe") == {("q1", "d0")}
        assert found("pao cafe") == found("%") == found("' OR 1=1 --") == set()
        assert found(".*") == set()


@pytest.mark.parametrize("words", ["x" * (LONGEST_SEARCH + 1), None, 7, ["a"]])
def test_a_search_that_is_none_is_refused(session: AnnotationSession, words: Any) -> None:
    with pytest.raises(AnswerError):
        own_labels(session, token(session, "ana"), OwnFilter(text=words))


def test_a_day_begins_where_the_person_is(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [first, second] = graded(session, ana, a=3, b=0)
    late = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    with session.store.writing() as connection:
        for label, at in zip(own_labels(session, ana).labels, (late, late - timedelta(hours=22)), strict=True):
            moved = update(labels_table).where(labels_table.c.seq == label.seq)
            connection.execute(moved.values(created_at=at))

    def found(day: date, utc_offset: int) -> list[tuple[str, str]]:
        return ids(own_labels(session, ana, OwnFilter(day=day), utc_offset=utc_offset).labels)

    ninth = date(2026, 3, 9)
    # 23:30 and 01:30 UTC; an hour ahead 00:30 of the tenth and 02:30, three hours behind 20:30 and 22:30 of the eighth.
    assert found(ninth, 0) == [second, first]
    assert found(ninth, 60) == [first]
    assert found(ninth, -180) == [second]
    assert own_labels(session, ana, utc_offset=60).labels[0].day == date(2026, 3, 10)


@pytest.mark.parametrize("utc_offset", [1440, -1440, 10**12, 60.0, "60", None, True])
def test_an_offset_that_no_clock_has_is_refused(session: AnnotationSession, utc_offset: Any) -> None:
    with pytest.raises(AnswerError, match="offset"):
        own_labels(session, token(session, "ana"), utc_offset=utc_offset)


def test_pages_hold_fifty_and_a_start_beyond_the_end_is_the_last(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, many(3, 40))) as session:
        ana = token(session, "ana")
        _import_grades(session, "ana", 3, 40)
        found = own_labels(session, ana)
        assert (len(found.labels), found.start, found.total) == (LISTED, 0, 120)
        second, third = own_labels(session, ana, start=50), own_labels(session, ana, start=100)
        assert len({*ids(found.labels), *ids(second.labels), *ids(third.labels)}) == 120
        assert [label.seq for label in third.labels] == sorted((label.seq for label in third.labels), reverse=True)
        assert own_labels(session, ana, start=10**9) == third
        assert own_labels(session, ana, start=-1) == found
        # They are in no slot, so what is to be changed there is graded instead.
        assert {label.fixed for label in found.labels} == {"open"}


def _import_grades(session: AnnotationSession, name: str, queries: int, docs: int) -> None:
    entries = []
    for q in range(queries):
        for d in range(docs):
            shown = session.pool_view.pair(f"q{q:04d}", f"d{d:04d}")
            assert shown is not None
            label = Label(
                collection="test", labeler_id=name, kind="assessor", version=session.version, query_id=shown.query_id,
                doc_id=shown.doc_id, content_sha=content_sha(shown.query, shown.text), status=State.ok, relevance=d % 4,
                rationale=f"nota {d}", extra={"active_seconds": 4.0},
            )  # fmt: skip
            entries.append(Entry(label=label))
    session.store.append(entries)


def test_the_number_of_statements_does_not_grow_with_the_labels(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, many(10, 50))) as session:
        ana, bia = token(session, "ana"), token(session, "bia")
        _import_grades(session, "ana", 1, 1)
        _import_grades(session, "bia", 10, 50)
        counts = []
        for mine in (ana, bia):
            statements: list[str] = []

            def count(*args: Any, found: list[str] = statements) -> None:
                found.append(args[2])

            event.listen(session.store._engine, "before_cursor_execute", count)
            own_labels(session, mine, OwnFilter(text="assunto"))
            own_query(session, mine, "q0000")
            event.remove(session.store._engine, "before_cursor_execute", count)
            counts.append(len(statements))
        assert counts[0] == counts[1]


def test_evidence_comes_with_its_place_and_a_revealed_label_is_fixed(tmp_path: Path) -> None:
    with revealing(tmp_path) as session:
        ana = token(session, "ana")
        submit(session, ana, item(session, ana), answer(1, 3, evidence=[Span(0, 3)]))
        [label] = own_labels(session, ana).labels
        assert (label.evidence, label.fixed) == ((Span(0, 3),), "revealed")


def test_a_query_comes_with_all_passages_of_ones_own(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, ("ana", None))
    [first, second] = graded(session, ana, a=3, b=None)
    found = own_query(session, ana, first[0])
    assert (found.query_id, found.query, found.narrative) == (first[0], f"pergunta {first[0]}", None)
    assert [one.doc_id for one in found.passages] == shuffled(0, "ana", first[0], ["d0", "d1", "d2"])
    by_doc_id = {one.doc_id: one for one in found.passages}
    graded_passage = by_doc_id[first[1]]
    assert graded_passage.label is not None
    assert (graded_passage.label.relevance, graded_passage.label.doc_id) == (3, first[1])
    assert {doc_id for doc_id, one in by_doc_id.items() if one.label is None} == {"d0", "d1", "d2"} - {
        first[1], second[1],
    }  # fmt: skip
    for doc_id, one in by_doc_id.items():
        assert one.text == text(100 * int(first[0][1:]) + int(doc_id[1:]))
        assert one.content_sha == content_sha(found.query, one.text)
        slot = session.assignments.slot(one.assignment_id or 0)
        state = "open" if one.label is None else "done"
        assert slot is not None
        assert (slot.query_id, slot.doc_id, slot.state) == (first[0], doc_id, state)
        assert one.label is None or one.label.assignment_id == one.assignment_id
    with pytest.raises(ForbiddenError):
        own_query(session, bia, first[0])
    # A passage that left the pool is not shown.
    repool(session.config.folder, [row for row in pairs() if (row["query_id"], row["doc_id"]) != first])
    assert first[1] not in [one.doc_id for one in own_query(session, ana, first[0]).passages]


def test_a_pair_to_be_graded_again_unannounced_is_only_shown_as_graded(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    design = assigned(session, ("ana",))
    [first] = graded(session, ana, a=3)
    slot, _ = session.assignments.last("ana") or (None, None)
    assert slot is not None
    assert session.assignments.add_repeat("ana", design, 1, slot) is not None
    shown = [one.label for one in own_query(session, ana, first[0]).passages if one.doc_id == first[1]]
    assert [label and (label.relevance, label.fixed) for label in shown] == [(3, None)]
    assert own_labels(session, ana).labels[0].fixed is None


def test_a_gold_pair_that_was_answered_is_not_shown_as_open(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",), queries=["q0"])
    given = item(session, ana)
    others = {one.doc_id for one in own_query(session, ana, "q0").passages} - {given.doc_id}
    session.training.add("q0", given.doc_id, 3, "", token(session, "lia", "lead"), gold=True)
    [gold] = session.training.all()
    assert {one.doc_id for one in own_query(session, ana, "q0").passages} == others | {given.doc_id}
    submit(session, ana, training_item(session, gold), answer(1, 3))
    assert {one.doc_id for one in own_query(session, ana, "q0").passages} == others


@pytest.mark.parametrize("query_id", ["", "q9", "q0\x00", "\ud800", "x" * 10**6, None, 0, ["q0"], {"q0": 1}])
def test_a_query_that_is_none_is_refused(session: AnnotationSession, query_id: Any) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    with pytest.raises(ForbiddenError):
        own_query(session, ana, query_id)


def test_nothing_is_listed_without_a_sign_in(session: AnnotationSession) -> None:
    calls: list[Callable[[str | None], object]] = [
        lambda mine: own_labels(session, mine),
        lambda mine: own_query(session, mine, "q0"),
    ]
    for call in calls:
        for nobody in (None, "", "another"):
            with pytest.raises(SignedOutError):
                call(nobody)
