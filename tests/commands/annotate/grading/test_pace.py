"""A person's own pace and practice: by hand, and nothing in it tells repeats and gold pairs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from quati_pool.commands.annotate.errors import AnswerError, SignedOutError
from quati_pool.commands.annotate.grading.changes import change
from quati_pool.commands.annotate.grading.pace import RECENT, Pace, Practice, pace
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.own_labels import own_labels
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.records import Entry, Label
from quati_pool.store.schema import labels
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, token
from tests.commands.judged import many

NO_PRACTICE = Practice(0, 0, 0, 0, 0)


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Two queries of three passages each; on both engines."""
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        yield opened


def moved(session: AnnotationSession, seq: int, by: timedelta) -> None:
    """Lets a label have been given at another time."""
    with session.store.writing() as connection:
        at = datetime.now(UTC) + by
        connection.execute(update(labels).where(labels.c.seq == seq).values(created_at=at))


def test_without_an_answer_there_is_no_pace(session: AnnotationSession) -> None:
    assert pace(session, token(session, "ana")) == Pace(None, 0, 0, NO_PRACTICE)


def test_the_pace_is_the_median_time_of_first_answers(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, ("ana", "bia"))
    for number, seconds in enumerate((2.0, 60.0, 3.0, 7.0)):
        submit(session, ana, item(session, ana), answer(number, active_seconds=seconds))
    submit(session, bia, item(session, bia), answer(9, active_seconds=500.0))
    # Sorted 2, 3, 7, 60: the median is 5.
    assert pace(session, ana) == Pace(5.0, 4, 4, NO_PRACTICE)
    newest = own_labels(session, ana).labels[0]
    seen = (newest.query_id, newest.content_sha, newest.seq)
    change(session, ana, *seen, answer(20, 0, active_seconds=0.1))
    assert pace(session, ana) == Pace(5.0, 4, 4, NO_PRACTICE)
    undo(session, ana)
    # 2, 3, 60.
    assert pace(session, ana) == Pace(3.0, 3, 3, NO_PRACTICE)
    submit(session, ana, item(session, ana), answer(21, None, status="skipped", active_seconds=900.0))
    assert pace(session, ana) == Pace(3.0, 3, 3, NO_PRACTICE)


def test_only_recent_answers_make_the_pace(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path, many(1, RECENT + 5))) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",))
        for number in range(RECENT + 5):
            seconds = 1000.0 if number < 5 else float(number)
            submit(session, ana, item(session, ana), answer(number, active_seconds=seconds))
        # The last fifty are 5, 6, …, 54 s: the median is between 29 and 30.
        found = pace(session, ana)
        assert (found.seconds, found.timed, found.today) == (29.5, RECENT, RECENT + 5)


def test_today_begins_at_the_persons_midnight(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    first, second, _ = (submit(session, ana, item(session, ana), answer(number)).seq for number in range(3))
    moved(session, first, -timedelta(minutes=5))
    moved(session, second, -timedelta(minutes=20))
    now = datetime.now(UTC)
    midnight = -(60 * now.hour + now.minute)  # the offset of a clock at which the day began less than a minute ago
    assert [pace(session, ana, midnight + minutes).today for minutes in (2, 10, 30)] == [1, 2, 3]


def test_practice_is_compared_with_the_known_grades(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    known = {("q0", "d0"): 1, ("q0", "d1"): 1, ("q0", "d2"): 3, ("q1", "d0"): 2, ("q1", "d1"): 0}
    given = {("q0", "d0"): 1, ("q0", "d1"): 2, ("q0", "d2"): 1, ("q1", "d0"): None, ("q1", "d1"): 0}
    made = {ids: session.training.add(*ids, grade, "porque", "lia") for ids, grade in known.items()}
    for number in range(len(known)):
        shown = item(session, ana)
        grade = given[shown.query_id, shown.doc_id]
        if grade is None:
            submit(session, ana, shown, answer(number, None, status="unsure", reason="broken_text"))
        else:
            submit(session, ana, shown, answer(number, grade))
    # By hand: d0 of q0 and d1 of q1 are right, 2 is one from 1, 1 is two from 3, and one cannot be judged.
    assert pace(session, ana).practice == Practice(5, 2, 1, 1, 1)
    assert pace(session, ana).today == 5
    session.training.drop(made["q1", "d1"])
    assert pace(session, ana).practice == Practice(4, 1, 1, 1, 1)
    assert pace(session, token(session, "bia")).practice == NO_PRACTICE


def test_gold_pairs_and_repeats_are_no_practice_and_count_as_any_answer(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    gold = session.training.add("q1", "d0", 1, "", "lia", gold=True)
    common = {"collection": "test", "labeler_id": "ana", "kind": "assessor", "version": session.version}
    for phase, extra in (("training", {"training_id": gold, "known": 1}), ("repeat", {}), ("revealed", {})):
        label = Label(
            **common,
            query_id="q1",
            doc_id="d0",
            content_sha="c",
            status=State.ok,
            relevance=1,
            phase=phase,
            extra=extra,
        )  # type: ignore[arg-type]
        session.store.append([Entry(label=label)])
    assert pace(session, ana) == Pace(None, 0, 2, NO_PRACTICE)


def test_it_is_ones_own_and_needs_a_sign_in(session: AnnotationSession) -> None:
    for nobody in (None, "", "another"):
        with pytest.raises(SignedOutError):
            pace(session, nobody)
    with pytest.raises(AnswerError, match="offset"):
        pace(session, token(session, "ana"), 10**9)
