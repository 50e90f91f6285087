"""A judge's grade revealed after a person's own: the blind label stays, and the second one counts only where asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.commands.agree import agree
from quati_pool.commands.annotate.grading import submission
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from tests.annotator_app.opened import GradingPage, Ids
from tests.commands.annotate.people_at_work import everything, labels, token
from tests.commands.annotate.revealing import revealing

GRADES = ["Irrelevante", "Relevante", "Muito relevante", "Perfeitamente relevante"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """One query, whose passages d0, d1, d2 the judge grades 0, 1, 2; ana is signed in."""
    with revealing(tmp_path / "small") as opened:
        token(opened, "ana")
        yield opened


def stored(session: AnnotationSession, at: Ids) -> list[tuple[str, int | None, str]]:
    return [(label.status.value, label.relevance, label.phase) for label in labels(session, "ana", *at)]


def judge_of(at: Ids) -> str:
    """What the judge says of a passage, in words."""
    grade = int(at.doc_id[1:])
    return f"lexical says: {grade} {GRADES[grade]}."


def silent(view: dict[str, object]) -> None:
    """Nothing of the judge, and no passage's id, is in what was received."""
    whole = json.dumps(view, ensure_ascii=False)
    for secret in ("lexical", "nota ", r"\bd[012]\b", "runs", "systems"):
        assert not re.search(secret, whole), secret


def test_nothing_of_the_judge_reaches_the_page_before_ones_own_grade(page: GradingPage) -> None:
    silent(page.view)
    for _ in range(2):
        silent(page.later())
        page.highlight(True)
        silent(page.view)
    # Nor by an answer that is refused, or to a pair that is another's or none.
    for fields in ({"relevance": 9}, {"nonce": "x"}, {"item": "s999"}, {"sha": "0" * 64}):
        silent(page.answer(**{"status": "ok", "relevance": 1, **fields}))
    silent(page.send("second", **page.asked, status="ok", relevance=1))


def test_the_judges_grade_and_reasons_come_after_ones_own(session: AnnotationSession, page: GradingPage) -> None:
    first, passage = page.ids, page.passage
    page.grade(3)
    assert "Your grade is stored: 3 Perfeitamente relevante." in page.text
    assert judge_of(first) in page.text
    assert f"nota {first.doc_id[1:]} para {first.doc_id}" in page.text
    assert page.passage == passage
    # Its first grade stays: there is neither undo nor a way to put it off.
    keyed = [button.name for button in page.buttons if button.does in ("grade", "go_on", "undo", "later", "cannot")]
    assert keyed == [*GRADES, "Go on"]
    page.go_on()
    assert stored(session, first) == [("ok", 3, "blind")]
    assert page.ids != first
    silent(page.view)
    page.undo()
    assert "so your own stays" in page.text
    assert stored(session, first) == [("ok", 3, "blind")]


def test_a_second_grade_is_kept_next_to_the_blind_one_and_counts_only_where_asked(
    session: AnnotationSession, page: GradingPage
) -> None:
    # ana says 1 of d0, d1, d2, and 0 of d0 on second sight; the judge says 0, 1, 2.
    for _ in range(3):
        at = page.ids
        page.grade(1)
        if at.doc_id == "d0":
            page.grade(0)
        else:
            page.go_on()
        second = [("ok", 0, "revealed")] if at.doc_id == "d0" else []
        assert stored(session, at) == [("ok", 1, "blind"), *second]
    assert "All done" in page.text

    def equal(revealed: bool) -> float | None:
        (found,) = agree(session.config.path, ["ana", "lexical"], draws=0, revealed=revealed).pairs
        assert found.n == 3
        return found.values["agreement"]

    assert equal(False) == pytest.approx(1 / 3)  # d1
    assert equal(True) == pytest.approx(2 / 3)  # d0 and d1


def test_a_first_grade_whose_response_was_lost_is_revealed_again_and_stored_once(
    session: AnnotationSession, page: GradingPage
) -> None:
    at, asked = page.ids, page.asked
    for late in (False, True):
        page.send("answer", **asked, status="ok", relevance=1, late=late)
        assert page.view["stage"] == "reveal"
        assert judge_of(at) in page.text
    assert "Your answer is stored now." in page.text
    assert stored(session, at) == [("ok", 1, "blind")]
    # Having seen the judge's, a blind grade of the same pair cannot be given again.
    page.send("answer", **page.asked, status="ok", relevance=int(at.doc_id[1:]))
    assert "graded already" in page.text
    assert stored(session, at) == [("ok", 1, "blind")]


def test_a_second_grade_that_cannot_be_stored_is_sent_again_as_the_same(
    session: AnnotationSession, page: GradingPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = page.ids
    page.grade(1)
    second_label = submission.second_label

    def lost(*given: object) -> int:
        second_label(*given)  # type: ignore[arg-type]
        raise StoreError("stored, and the response to it lost on the way")

    def gone(*_: object) -> int:
        raise StoreError("the database is gone")

    before = dict(page.view)
    for fault, seen in ((gone, []), (lost, [("ok", 2, "revealed")])):
        monkeypatch.setattr(submission, "second_label", fault)
        assert page.grade(2) == {}
        assert page.status == 503
        assert page.view == before
        assert stored(session, at) == [("ok", 1, "blind"), *seen]
    monkeypatch.setattr(submission, "second_label", second_label)
    page.grade(2, late=True)
    assert "Your answer is stored now." in page.text
    assert page.ids != at
    assert stored(session, at) == [("ok", 1, "blind"), ("ok", 2, "revealed")]


def test_a_second_grade_without_a_reveal_is_refused(session: AnnotationSession, page: GradingPage) -> None:
    page.send("second", **page.asked, status="ok", relevance=1)
    assert "nothing was revealed to you" in page.text
    assert everything(session) == 3  # the judge's


def test_what_cannot_be_judged_is_revealed_too_and_what_is_put_off_is_not(
    session: AnnotationSession, page: GradingPage
) -> None:
    page.later()
    assert page.view["stage"] == "ask"
    at = page.ids
    page.cannot("broken_text")
    assert page.view["stage"] == "reveal"
    assert "Cannot be judged: broken text" in page.text
    assert judge_of(at) in page.text
    assert stored(session, at) == [("unsure", None, "blind")]


def test_a_reload_before_the_second_grade_goes_on_with_the_next_pair(
    session: AnnotationSession, page: GradingPage
) -> None:
    at = page.ids
    page.grade(1)
    again = GradingPage(session, "token-of-ana").open()
    assert again.ids != at
    silent(again.view)
    assert stored(session, at) == [("ok", 1, "blind")]


def test_nothing_of_other_people_is_in_a_response(session: AnnotationSession) -> None:
    """Neither their names nor their notes, whatever is asked for."""
    with revealing(session.config.folder.parent / "shared", (None, None)) as shared:
        ana, bia = (GradingPage(shared, token(shared, name)).open() for name in ("ana", "bia"))
        while ana.view["stage"] != "end":
            ana.grade(1, note="what ana thinks")
            ana.go_on()
        received = [bia.view]
        while bia.view["stage"] != "end":
            received += [bia.later(), bia.grade(2), bia.grade(1), bia.undo(), bia.go_on()]
        assert everything(shared) > 6
        for view in received:
            assert not re.search(r"\bana\b", json.dumps(view))
