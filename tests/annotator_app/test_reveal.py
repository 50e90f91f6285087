"""A judge's grade revealed after a person's own: the blind label stays, and the second one counts only where asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from annotator_app import context
from annotator_app.grading import Grading
from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.grading import submission
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from tests.annotator_app.opened import as_person, press, shown
from tests.commands.annotate.people_at_work import labels, token
from tests.commands.annotate.revealing import revealing

GRADES = ["Irrelevant", "Relevant", "Highly relevant", "Perfectly relevant"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """One query, whose passages d0, d1, d2 the judge grades 0, 1, 2; ana is signed in."""
    with revealing(tmp_path / "small") as opened:
        token(opened, "ana")
        yield opened


def item(app: AppTest) -> Item:
    grading = app.session_state["grading"]
    assert isinstance(grading, Grading)
    assert grading.item is not None
    return grading.item


def stored(session: AnnotationSession, at: Item) -> list[tuple[str, int | None, str]]:
    return [
        (label.status.value, label.relevance, label.phase) for label in labels(session, "ana", at.query_id, at.doc_id)
    ]


def test_nothing_of_the_judge_is_on_the_page_before_ones_own_grade(app: AppTest) -> None:
    for _ in range(2):
        assert "lexical" not in shown(app)
        assert "nota " not in shown(app)
        press(app, "Later")
    assert "lexical" not in shown(app)


def test_the_judges_grade_and_reasons_come_after_ones_own(session: AnnotationSession, app: AppTest) -> None:
    first = item(app)
    press(app, "Perfectly relevant")
    judges = int(first.doc_id[1:])
    page = shown(app)
    assert "Your grade is stored: 3 Perfectly relevant." in page
    assert f"lexical says: {judges} {GRADES[judges]}." in page
    assert f"nota {judges} para {first.doc_id}" in page
    assert first.text in page
    # Its first grade stays: there is neither undo nor a way to put it off.
    assert [button.label for button in app.button if button.proto.shortcut] == [*GRADES, "Go on"]
    press(app, "Go on")
    assert stored(session, first) == [("ok", 3, "blind")]
    assert item(app).doc_id != first.doc_id
    press(app, "Undo")
    assert "so your own stays" in shown(app)
    assert stored(session, first) == [("ok", 3, "blind")]


def test_a_second_grade_stands_beside_the_blind_one_and_counts_only_where_asked(
    session: AnnotationSession, app: AppTest
) -> None:
    # ana says 1 of d0, d1, d2, and 0 of d0 on second sight; the judge says 0, 1, 2.
    for _ in range(3):
        at = item(app)
        press(app, "Relevant")
        press(app, "Irrelevant" if at.doc_id == "d0" else "Go on")
        second = [("ok", 0, "revealed")] if at.doc_id == "d0" else []
        assert stored(session, at) == [("ok", 1, "blind"), *second]
    assert "All done" in shown(app)

    def equal(revealed: bool) -> float | None:
        (found,) = agree(session.config.path, ["ana", "lexical"], draws=0, revealed=revealed).pairs
        assert found.n == 3
        return found.values["agreement"]

    assert equal(False) == pytest.approx(1 / 3)  # d1
    assert equal(True) == pytest.approx(2 / 3)  # d0 and d1


def test_a_second_grade_that_cannot_be_stored_waits_on_the_page(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = item(app)
    press(app, "Relevant")
    second_label = submission.second_label

    def gone(*_: object) -> int:
        raise StoreError("the database is gone")

    monkeypatch.setattr(submission, "second_label", gone)
    press(app, "Highly relevant")
    assert "Your choice: 2 Highly relevant" in shown(app)
    assert stored(session, at) == [("ok", 1, "blind")]
    monkeypatch.setattr(submission, "second_label", second_label)
    grading = app.session_state["grading"]
    assert grading.retry()
    assert stored(session, at) == [("ok", 1, "blind"), ("ok", 2, "revealed")]


def test_a_reload_before_the_second_grade_goes_on_with_the_next_pair(
    session: AnnotationSession, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = item(app)
    press(app, "Relevant")
    with as_person(session, context.token(), monkeypatch) as again:
        again.run()
        assert item(again).doc_id != at.doc_id
        assert "lexical" not in shown(again)
    assert stored(session, at) == [("ok", 1, "blind")]
