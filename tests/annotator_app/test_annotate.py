"""The annotate page's logic, as AppTest runs it: what reached the store, and what is said where it could not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from annotator_app import context
from annotator_app.grading import Grading
from quati_pool.commands.annotate.errors import SignedOutError
from quati_pool.commands.annotate.grading import submission
from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.submission import Outcome
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from tests.annotator_app.opened import as_person, press, shown
from tests.commands.annotate.people_at_work import assigned, collection, labels, token
from tests.commands.judged import pair
from tests.reporting.hostile import HOSTILE

GRADES = ["Irrelevant", "Relevant", "Highly relevant", "Perfectly relevant"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Two queries of three pairs, all of them open, and ana signed in."""
    with AnnotationSession.open(collection(tmp_path / "small", annotation={"prompt": "quati-pt"})) as opened:
        assigned(opened)
        token(opened, "ana")
        yield opened


def state(app: AppTest) -> Grading:
    found = app.session_state["grading"]
    assert isinstance(found, Grading)
    return found


def item(app: AppTest) -> Item:
    found = state(app).item
    assert found is not None
    return found


def stored(session: AnnotationSession, at: Item, name: str = "ana") -> list[tuple[Any, ...]]:
    return [
        (label.status.value, label.relevance, label.phase) for label in labels(session, name, at.query_id, at.doc_id)
    ]


def test_a_grade_reaches_the_store_and_the_next_pair_comes(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    assert first.text in shown(app)
    press(app, "Highly relevant")
    assert stored(session, first) == [("ok", 2, "blind")]
    assert item(app).doc_id != first.doc_id
    assert item(app).query_id == first.query_id
    assert "Stored: 2 Highly relevant" in shown(app)
    assert not app.exception


def test_every_grade_has_a_button_with_its_key_and_every_meaning_an_example(app: AppTest) -> None:
    buttons = {button.label: button.proto.shortcut for button in app.button}
    assert {name: buttons[name] for name in GRADES} == dict(zip(GRADES, "0123", strict=True))
    keys = {"Undo": "u", "Later": "s", "Cannot judge": "x", "Note": "n", "Highlight words": "h"}
    assert {name: buttons[name].lower() for name in keys} == keys
    assert shown(app).count('class="meaning explained"') == 8  # wide and narrow
    assert shown(app).count('class="asked"') == 8


def test_undo_takes_the_grade_back_and_brings_its_pair(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    press(app, "Relevant")
    press(app, "Undo")
    assert stored(session, first) == [("ok", 1, "blind"), ("retracted", None, "blind")]
    assert item(app).doc_id == first.doc_id
    press(app, "Perfectly")
    assert stored(session, first)[-1] == ("ok", 3, "blind")


def test_undo_with_nothing_done_says_so(app: AppTest) -> None:
    first = item(app)
    press(app, "Undo")
    assert "There is nothing to undo." in shown(app)
    assert item(app) == first


def test_later_puts_the_pair_behind_the_others(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    press(app, "Later")
    assert stored(session, first) == [("skipped", None, "blind")]
    seen = []
    for _ in range(2):
        seen.append(item(app).doc_id)
        press(app, "Irrelevant")
    assert first.doc_id not in seen
    assert item(app).doc_id == first.doc_id


def test_what_cannot_be_judged_has_a_reason_and_no_grade(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    press(app, "Cannot judge")
    assert not [button for button in app.button if button.label in GRADES]
    reasons = [(button.label, button.proto.shortcut) for button in app.button if button.proto.shortcut in "1234"]
    assert reasons == [
        ("Broken text", "1"),
        ("Other language", "2"),
        ("Needs context", "3"),
        ("Other &#40;write a note&#41;", "4"),
    ]
    press(app, "Other language")
    assert stored(session, first) == [("unsure", None, "blind")]
    assert labels(session, "ana", first.query_id, first.doc_id)[0].extra["reason"] == "other_language"


def test_another_reason_asks_for_a_note_and_keeps_it(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    press(app, "Cannot judge")
    press(app, "Other &#40;")
    assert stored(session, first) == []
    assert "Write in the note why" in shown(app)
    app.text_area[0].set_value("the passage is a <b>menu</b>").run()
    press(app, "Other &#40;")
    assert stored(session, first) == [("unsure", None, "blind")]
    assert labels(session, "ana", first.query_id, first.doc_id)[0].rationale == "the passage is a <b>menu</b>"


def test_cannot_judge_pressed_twice_goes_back_to_the_grades(app: AppTest) -> None:
    press(app, "Cannot judge")
    press(app, "Back")
    assert [button.label for button in app.button if button.label in GRADES] == GRADES


def test_a_note_and_the_highlighting_are_stored_with_the_grade_and_the_note_not_with_the_next(
    session: AnnotationSession, app: AppTest
) -> None:
    first = item(app)
    press(app, "Note")
    app.text_area[0].set_value("0 3 not quite").run()
    press(app, "Highlight words")
    press(app, "Relevant")
    second = item(app)
    press(app, "No highlight")
    press(app, "Relevant")
    told = [labels(session, "ana", at.query_id, at.doc_id)[0] for at in (first, second)]
    assert [(label.rationale, label.extra["highlighted"]) for label in told] == [("0 3 not quite", True), (None, False)]


def test_highlighting_marks_the_querys_words(session: AnnotationSession, app: AppTest) -> None:
    assert "<mark>" not in shown(app)
    press(app, "Highlight words")
    # The pool's queries are "pergunta q0", "pergunta q1"; no passage has either word.
    assert "<mark>" not in shown(app)
    assert session.person("token-of-ana").settings["highlight"] is True


def test_a_press_that_was_made_at_the_pair_before_grades_nothing(session: AnnotationSession, app: AppTest) -> None:
    grading = state(app)
    first, before = item(app), grading.nonce
    grading.grade(before, 3)
    grading.draw()
    second = item(app)
    grading.grade(before, 3)
    assert stored(session, first) == [("ok", 3, "blind")]
    assert stored(session, second) == []


def test_a_press_before_anybody_could_read_is_not_counted_and_says_so(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotator_app.grading.SOONEST", 1e9)
    first = item(app)
    press(app, "Relevant")
    assert stored(session, first) == []
    assert item(app) == first
    assert "was not counted" in shown(app)


def test_time_per_label_leaves_out_idle_time(session: AnnotationSession) -> None:
    now = [100.0]
    grading = Grading(session, "token-of-ana", False, lambda: now[0])
    grading.draw()
    first = grading.item
    assert first is not None
    now[0] += 10  # looks, then toggles the highlighting
    grading.draw()
    now[0] += 1000  # away: counts as the 120 s of annotation.idle
    grading.grade(grading.nonce, 1)
    extra = labels(session, "ana", first.query_id, first.doc_id)[0].extra
    assert (extra["active_seconds"], extra["elapsed_seconds"]) == (130.0, 1010.0)


def test_an_answer_that_cannot_be_stored_stays_and_is_sent_again_as_the_same(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = item(app)
    sent: list[str] = []
    real = submission.submit

    def gone(session: AnnotationSession, token: str, item: Item, answer: Answer) -> Outcome:
        sent.append(answer.nonce)
        if len(sent) == 2:
            # Stored, and the answer to it lost on the way.
            real(session, token, item, answer)
        if len(sent) < 3:
            raise StoreError("the connection is gone")
        return real(session, token, item, answer)

    monkeypatch.setattr(submission, "submit", gone)
    press(app, "Highly relevant")
    assert "Your choice: 2 Highly relevant" in shown(app)
    assert "not stored yet" in shown(app)
    assert first.text in shown(app)
    assert not [button for button in app.button if button.label in GRADES]
    grading = state(app)
    assert not grading.retry()
    assert grading.retry()
    app.run()
    assert "Your answer is stored now." in shown(app)
    assert stored(session, first) == [("ok", 2, "blind")]
    assert len(set(sent)) == 1


def test_a_pair_that_was_withdrawn_meanwhile_says_so_and_the_next_comes(
    session: AnnotationSession, app: AppTest
) -> None:
    first = item(app)
    assert first.assignment_id is not None
    session.assignments.withdraw([first.assignment_id])
    press(app, "Relevant")
    assert "was withdrawn. Here is the next one." in shown(app)
    assert stored(session, first) == []
    assert item(app).doc_id != first.doc_id


def test_a_second_tab_that_comes_too_late_says_so(session: AnnotationSession, app: AppTest) -> None:
    other = Grading(session, "token-of-ana", False)
    other.draw()
    first = item(app)
    assert other.item is not None
    assert other.item.assignment_id == first.assignment_id
    other.grade(other.nonce, 0)
    press(app, "Perfectly")
    assert stored(session, first) == [("ok", 0, "blind")]
    assert "graded already" in shown(app)


def test_a_session_that_ended_shows_the_way_in_and_no_passage(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    session.people.revoke("ana")
    press(app, "Relevant")
    assert 'href="/sign-in"' in shown(app)
    assert first.text not in shown(app)
    assert stored(session, first) == []
    app.run()
    assert 'href="/sign-in"' in shown(app)


def test_without_a_session_nothing_is_drawn_but_the_way_in(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with as_person(session, "no such token", monkeypatch) as app:
        app.run()
        assert 'href="/sign-in"' in shown(app)
        assert 'class="passage' not in shown(app)
        assert not app.button


def test_another_session_in_the_same_tab_starts_over(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = item(app)
    token(session, "bia")
    monkeypatch.setattr(context, "token", lambda: "token-of-bia")
    app.run()
    assert state(app).token == "token-of-bia"
    assert item(app).assignment_id != first.assignment_id


def test_practice_comes_first_and_is_explained(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> None:
    token(session, "lia", "lead")
    session.training.add("q1", "d2", 3, "It <answers> in full.", "lia")
    with as_person(session, "token-of-ana", monkeypatch) as app:
        app.run()
        practised = item(app)
        assert (practised.kind, practised.query_id, practised.doc_id) == ("training", "q1", "d2")
        assert "Practice" in shown(app)
        press(app, "Relevant")
        page = shown(app)
        assert "You said: 1 Relevant." in page
        assert "The known grade is 3 Perfectly relevant." in page
        assert "It &lt;answers&gt; in full." in page
        assert [button.label for button in app.button if button.proto.shortcut] == ["Go on"]
        press(app, "Go on")
        assert item(app).kind == "blind"
        assert stored(session, practised) == [("ok", 1, "training")]


def test_the_end_says_that_all_is_done_and_a_pause_that_others_have_the_rest(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        press(app, "Irrelevant")
    assert "All done" in shown(app)
    press(app, "Look again")
    assert "All done" in shown(app)
    press(app, "Undo")
    assert [button.label for button in app.button if button.label in GRADES] == GRADES
    with as_person(session, token(session, "bia"), monkeypatch) as other:
        other.run()
        assert "Nothing to grade right now" in shown(other)


def test_texts_of_others_are_escaped_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text in HOSTILE if "\ud800" not in text]
    rows = [{**pair("q0", f"d{place}", text), "query": " ".join(texts)} for place, text in enumerate(texts)]
    with AnnotationSession.open(collection(tmp_path / "hostile", rows)) as session:
        assigned(session)
        with as_person(session, token(session, "ana"), monkeypatch) as app:
            app.run()
            for _ in texts:
                page = shown(app)
                assert "<script>alert" not in page
                assert "<img" not in page
                assert "\u202e" not in page
                press(app, "Irrelevant")
            assert "All done" in shown(app)
            assert not app.exception


def test_the_language_is_kept_and_changes_the_page(session: AnnotationSession, app: AppTest) -> None:
    assert "What the grades mean" in shown(app)
    app.button_group(key="language").set_value("es").run()
    assert "Qué significan las notas" in shown(app)
    assert session.person("token-of-ana").language == "es"


def test_an_assessor_has_no_pages_of_a_lead(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from annotator_app.app import pages_of

    assert pages_of(session.person("token-of-ana"), session) == ["annotate", "questions"]
    lead = session.person(token(session, "lia", "lead"))
    assert pages_of(lead, session) == ["annotate", "questions", "review", "dashboard", "explorer"]


def test_signed_out_is_no_fault_of_the_store() -> None:
    assert not issubclass(SignedOutError, StoreError)
