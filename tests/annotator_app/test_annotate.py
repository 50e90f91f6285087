"""The grading page over its API: what reached the store, and what is said if nothing did. What the page's script does
by itself is in tests/browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator_app.app import pages_of
from quati_pool.commands.annotate.errors import SignedOutError
from quati_pool.commands.annotate.grading import submission
from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.submission import Outcome
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from tests.annotator_app.opened import GradingPage, Ids, as_person, shown
from tests.commands.annotate.people_at_work import assigned, collection, everything, item, labels, text, token
from tests.commands.judged import pair, repool
from tests.reporting.hostile import HOSTILE

GRADES = ["Irrelevante", "Relevante", "Muito relevante", "Perfeitamente relevante"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Two queries of three pairs, all of them open, and ana signed in."""
    with AnnotationSession.open(collection(tmp_path / "small", annotation={"prompt": "quati-pt"})) as opened:
        assigned(opened)
        token(opened, "ana")
        yield opened


def stored(session: AnnotationSession, at: Ids, name: str = "ana") -> list[tuple[Any, ...]]:
    return [(label.status.value, label.relevance, label.phase) for label in labels(session, name, *at)]


def names(page: GradingPage, does: str) -> list[tuple[str, str]]:
    """The visible buttons that do something, with their keys."""
    return [(button.name, button.key) for button in page.buttons if button.does == does]


def test_a_grade_reaches_the_store_and_the_next_pair_comes(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    assert page.passage == text(100 * int(first.query_id[1:]) + int(first.doc_id[1:]))
    assert f"pergunta {first.query_id}" in page.text
    page.grade(2)
    assert stored(session, first) == [("ok", 2, "blind")]
    assert page.ids.doc_id != first.doc_id
    assert page.ids.query_id == first.query_id
    assert page.passage == text(100 * int(first.query_id[1:]) + int(page.ids.doc_id[1:]))
    assert "Stored: 2 Muito relevante" in page.text
    assert page.view["notice"] == ""


def test_every_grade_has_a_button_with_its_key_and_every_meaning_an_example(page: GradingPage) -> None:
    assert names(page, "grade") == list(zip(GRADES, "0123", strict=True))
    assert [button.value for button in page.buttons if button.does == "grade"] == list("0123")
    keys = {"Undo": "u", "Later": "s", "Cannot judge": "x", "Note": "n", "Highlight words": "h", "Guide": "?"}
    buttons = {button.name: button.key for button in page.buttons}
    assert {name: buttons[name] for name in keys} == keys
    # Next to the pair, and in the guide: four meanings, each with an example's query and passage.
    assert page.view["frame"].count('<div class="meaning">') == 8
    assert page.view["frame"].count('class="asked"') == page.view["frame"].count('class="shown theirs"') == 8


def test_undo_takes_the_grade_back_and_brings_its_pair(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    page.grade(1)
    page.undo()
    assert stored(session, first) == [("ok", 1, "blind"), ("retracted", None, "blind")]
    assert page.ids == first
    assert "Your last answer is taken back." in page.text
    page.grade(3)
    assert stored(session, first)[-1] == ("ok", 3, "blind")


def test_undo_that_is_sent_again_takes_back_one_answer(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    page.grade(1)
    second = page.ids
    page.grade(2)
    nonce = page.view["nonce"]
    for _ in range(3):
        page.send("undo", nonce=nonce, late=True)
    assert stored(session, first) == [("ok", 1, "blind")]
    assert stored(session, second) == [("ok", 2, "blind"), ("retracted", None, "blind")]
    assert page.ids == second


def test_undo_with_nothing_done_says_so(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    page.undo()
    assert "There is nothing to undo." in page.text
    assert page.ids == first
    assert everything(session) == 0


def test_later_puts_the_pair_behind_the_others(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    page.later()
    assert stored(session, first) == [("skipped", None, "blind")]
    assert "1 put off" in page.text
    seen = []
    for _ in range(2):
        seen.append(page.ids)
        page.grade(0)
    assert first not in seen
    assert page.ids == first


def test_what_cannot_be_judged_has_a_reason_and_no_grade(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    page.view["stage"] = "reasons"  # as the script says once x was pressed
    assert names(page, "grade") == []
    assert names(page, "because") == [
        ("Broken text", "1"),
        ("Other language", "2"),
        ("Needs context", "3"),
        ("Other reason", "4"),
    ]
    assert names(page, "cannot") == [("Back", "x")]
    page.cannot("other_language")
    assert stored(session, first) == [("unsure", None, "blind")]
    assert labels(session, "ana", *first)[0].extra["reason"] == "other_language"
    assert "Cannot be judged: other language" in page.text


def test_another_reason_needs_a_note_and_keeps_it(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    before = dict(page.view)
    for note in (None, "", " \n"):
        page.cannot("other", note)
        assert "needs a note" in page.text
        assert {**page.view, "notice": before["notice"]} == before  # nothing else on the page changes
        assert stored(session, first) == []
    page.cannot("other", "the passage is a <b>menu</b>")
    assert stored(session, first) == [("unsure", None, "blind")]
    assert labels(session, "ana", *first)[0].rationale == "the passage is a <b>menu</b>"


def test_a_note_and_the_highlighting_are_stored_with_the_grade_and_the_note_not_with_the_next(
    session: AnnotationSession, page: GradingPage
) -> None:
    first = page.ids
    page.highlight(True)
    page.grade(1, note="0 3 not quite")
    second = page.ids
    page.highlight(False)
    page.grade(1, note=None)
    told = [labels(session, "ana", *at)[0] for at in (first, second)]
    assert [(label.rationale, label.extra["highlighted"]) for label in told] == [("0 3 not quite", True), (None, False)]


def test_times_are_stored_as_the_script_measured_them(session: AnnotationSession, page: GradingPage) -> None:
    first = page.ids
    assert page.view["idle"] == 120  # annotation.idle, in seconds
    page.grade(1, active=130.0, elapsed=1010.0)
    extra = labels(session, "ana", *first)[0].extra
    assert (extra["active_seconds"], extra["elapsed_seconds"]) == (130.0, 1010.0)


def test_highlighting_marks_the_querys_words_and_is_kept(tmp_path: Path) -> None:
    # The query's words: o, lobo, guará. The last is in the passage, once in capitals and twice in all.
    rows = [{**pair("q0", "d0", "O GUARÁ come <b>frutas</b>; o cão não é guará."), "query": "lobo guará"}]
    with AnnotationSession.open(collection(tmp_path / "small", rows, annotation={"prompt": "quati-pt"})) as session:
        assigned(session)
        page = GradingPage(session, token(session, "ana")).open()
        assert "<mark>" not in page.view["pair"]
        drawn = page.highlight(True)
        assert "O <mark>GUARÁ</mark> come &lt;b&gt;frutas&lt;/b&gt;; o cão não é <mark>guará</mark>." in drawn
        assert session.person("token-of-ana").settings["highlight"] is True
        again = GradingPage(session, "token-of-ana").open()
        assert again.view["pair"] == drawn
        assert 'data-highlight="on"' in again.view["frame"]
        assert "<mark>" not in page.highlight(False)


def test_highlighting_draws_no_other_pair_than_the_one_on_the_page(
    session: AnnotationSession, page: GradingPage
) -> None:
    before = page.asked
    page.grade(1)
    assert page.send("highlight", on=True, item=before["item"], sha=before["sha"])["drawn"] is None


def test_evidence_is_stored_with_its_words(session: AnnotationSession, page: GradingPage) -> None:
    first, words = page.ids, page.passage
    # Out of order; the first two overlap.
    page.grade(3, evidence=[[3, 9], [0, 5], [len(words) - 4, len(words)]])
    assert labels(session, "ana", *first)[0].extra["evidence"] == [
        {"start": 0, "end": 9, "text": words[:9]},
        {"start": len(words) - 4, "end": len(words), "text": words[-4:]},
    ]


def test_a_grade_without_the_evidence_that_is_asked_for_is_refused_in_words_and_nothing_else_changes(
    tmp_path: Path,
) -> None:
    with AnnotationSession.open(collection(tmp_path / "small", annotation={"evidence": "required"})) as session:
        assigned(session)
        page = GradingPage(session, token(session, "ana"), "es").open()
        first, before = page.ids, dict(page.view)
        page.grade(1)
        assert {**page.view, "notice": ""} == before
        assert "Marca antes" in page.text
        assert stored(session, first) == []
        page.grade(1, evidence=[[0, 4]])
        assert stored(session, first) == [("ok", 1, "blind")]


def test_a_press_that_was_made_at_the_pair_before_grades_nothing(session: AnnotationSession, page: GradingPage) -> None:
    first, asked = page.ids, page.asked
    page.grade(3)
    second = page.ids
    for nonce in (asked["nonce"], page.view["nonce"]):
        page.send("answer", **{**asked, "nonce": nonce}, status="ok", relevance=0)
    assert stored(session, first) == [("ok", 3, "blind")]
    assert stored(session, second) == []
    assert page.ids == second
    assert "graded already" in page.text


def test_an_answer_that_cannot_be_stored_is_sent_again_as_the_same(
    session: AnnotationSession, page: GradingPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = page.ids
    sent: list[str] = []
    real = submission.submit

    def gone(session: AnnotationSession, token: str, item: Item, answer: Answer) -> Outcome:
        sent.append(answer.nonce)
        if len(sent) == 2:
            # Stored, and the response to it lost on the way.
            real(session, token, item, answer)
        if len(sent) < 3:
            raise StoreError("the connection to postgresql://secret is gone")
        return real(session, token, item, answer)

    monkeypatch.setattr(submission, "submit", gone)
    before = dict(page.view)
    assert page.grade(2) == {}
    assert page.status == 503
    assert page.view == before
    assert stored(session, first) == []
    assert page.grade(2, late=True) == {}
    assert page.status == 503
    page.grade(2, late=True)
    assert page.status == 200
    assert "Your answer is stored now." in page.text
    assert stored(session, first) == [("ok", 2, "blind")]
    assert len(set(sent)) == 1
    assert page.ids != first


@pytest.mark.parametrize("step", ["open", "next", "undo", "highlight"])
def test_every_step_says_that_the_database_is_gone_by_a_status_alone(
    session: AnnotationSession, page: GradingPage, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise StoreError("the connection to postgresql://secret is gone")

    with monkeypatch.context() as here:
        here.setattr(type(session.assignments), "held", gone)
        here.setattr(type(session.assignments), "last", gone)
        here.setattr(type(session.people), "set", gone)
        assert page.send(step, **page.asked, on=True) == {}
        assert page.status == 503
    page.send(step, **page.asked, on=True)
    assert page.status == 200


def test_a_pair_that_was_withdrawn_meanwhile_says_so_and_the_next_comes(
    session: AnnotationSession, page: GradingPage
) -> None:
    first = page.ids
    held = session.assignments.held("ana")
    assert held is not None
    session.assignments.withdraw([held.assignment_id])
    page.grade(1)
    assert "was withdrawn. Here is the next one." in page.text
    assert stored(session, first) == []
    assert page.ids != first


def test_a_question_about_a_pair_that_was_withdrawn_meanwhile_leaves_the_page_as_it_is(
    session: AnnotationSession, page: GradingPage
) -> None:
    held = session.assignments.held("ana")
    assert held is not None
    session.assignments.withdraw([held.assignment_id])
    found = page.send("ask", **{**page.asked, "nonce": page.view["asking"]}, text="Is it?")
    assert found.keys() == {"notice"}
    assert session.remarks.of("ana") == []


def test_a_pair_whose_text_changed_meanwhile_says_so_and_is_shown_as_it_is_now(
    session: AnnotationSession, page: GradingPage
) -> None:
    first = page.ids
    rows = [pair(f"q{q}", f"d{d}", f"texto novo {q} {d}") for q in range(2) for d in range(3)]
    repool(session.config.folder, rows)
    page.grade(1)
    assert "That pair has changed meanwhile, so your answer was not stored." in page.text
    assert page.ids == first
    assert page.passage == f"texto novo {first.query_id[1:]} {first.doc_id[1:]}"
    assert stored(session, first) == []
    page.grade(1)
    assert stored(session, first) == [("ok", 1, "blind")]


def test_a_second_tab_that_comes_too_late_says_so(session: AnnotationSession, page: GradingPage) -> None:
    other = GradingPage(session, "token-of-ana").open()
    first = page.ids
    assert other.view["item"] == page.view["item"]
    assert other.view["nonce"] != page.view["nonce"]
    other.grade(0)
    page.grade(3)
    assert stored(session, first) == [("ok", 0, "blind")]
    assert "graded already" in page.text
    assert page.view["item"] == other.view["item"]


def test_a_session_that_ended_shows_the_way_in_and_no_passage(session: AnnotationSession, page: GradingPage) -> None:
    first, passage = page.ids, page.passage
    session.people.revoke("ana")
    for _ in range(2):
        found = page.grade(1)
        assert page.status == 401
        assert 'href="/sign-in"' in found["pair"]
        assert found.keys() == {"stage", "pair"}
        assert passage not in json.dumps(found)
        assert stored(session, first) == []


def test_without_a_session_nothing_is_drawn_but_the_way_in(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with as_person(session, "no such token", monkeypatch) as app:
        app.run()
        assert 'href="/sign-in"' in shown(app)
        assert 'id="grading"' not in shown(app)
        assert not app.button
    page = GradingPage(session, "no such token").open()
    assert page.status == 401
    assert page.view.keys() == {"stage", "pair"}
    assert 'href="/sign-in"' in page.view["pair"]


def test_another_person_in_the_same_browser_starts_over(session: AnnotationSession, page: GradingPage) -> None:
    """A page that was left open when somebody else signed in sends its pair with their cookie."""
    first = page.ids
    other = GradingPage(session, token(session, "bia")).open()
    assert other.view["item"] != page.view["item"]
    page.client = other.client
    page.grade(3)
    assert "no longer there" in page.text
    assert page.view["item"] == other.view["item"]
    assert (stored(session, first), stored(session, first, "bia")) == ([], [])


def test_practice_comes_first_and_is_explained(session: AnnotationSession) -> None:
    token(session, "lia", "lead")
    session.training.add("q1", "d2", 3, "It <answers> in full.", "lia")
    page = GradingPage(session, "token-of-ana").open()
    practised = page.ids
    assert practised == ("q1", "d2")
    assert item(session, "token-of-ana").kind == "training"
    assert "Practice" in page.text
    assert "in full" not in page.html
    passage = page.passage
    page.grade(1)
    assert "You said: 1 Relevante." in page.text
    assert "The known grade is 3 Perfeitamente relevante." in page.text
    assert "It &lt;answers&gt; in full." in page.view["feedback"]
    assert page.passage == passage  # it can be read again
    assert [(button.name, button.key) for button in page.buttons if button.does in ("grade", "later", "undo")] == []
    assert names(page, "go_on") == [("Go on", "g")]
    page.go_on()
    assert page.view["feedback"] == ""
    assert item(session, "token-of-ana").kind == "blind"
    assert stored(session, practised) == [("ok", 1, "training")]


def test_a_right_answer_in_practice_says_so_and_one_that_is_sent_again_is_explained_again(
    session: AnnotationSession,
) -> None:
    token(session, "lia", "lead")
    session.training.add("q1", "d2", 3, "It does.", "lia")
    page = GradingPage(session, "token-of-ana").open()
    asked, practised = page.asked, page.ids
    for late in (False, True):
        page.send("answer", **asked, status="ok", relevance=3, late=late)
        assert page.view["stage"] == "practice"
        assert "Right: 3 Perfeitamente relevante." in page.text
    assert "Your answer is stored now." in page.text
    assert stored(session, practised) == [("ok", 3, "training")]


def test_the_end_says_that_all_is_done_and_a_pause_that_others_have_the_rest(
    session: AnnotationSession, page: GradingPage
) -> None:
    for _ in range(6):
        assert page.view["stage"] == "ask"
        page.grade(0)
    assert page.view["stage"] == "end"
    assert "All done" in page.text
    assert names(page, "go_on") == [("Look again", "g")]
    assert page.view["undoable"] is True
    page.go_on()
    assert "All done" in page.text
    page.undo()
    assert names(page, "grade") == list(zip(GRADES, "0123", strict=True))
    other = GradingPage(session, token(session, "bia")).open()
    assert other.view["stage"] == "end"
    assert "Nothing to grade right now" in other.text
    assert other.view["undoable"] is False


def test_who_was_given_nothing_is_sent_to_the_lead(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path / "small")) as session:
        page = GradingPage(session, token(session, "ana")).open()
        assert page.view["stage"] == "end"
        assert "No pairs are assigned to you yet. Ask the lead" in page.text


def test_the_whole_of_ones_work_is_in_the_store_and_nothing_twice(
    session: AnnotationSession, page: GradingPage
) -> None:
    given = {}
    while page.view["stage"] == "ask":
        given[page.ids] = (len(given) * 7) % 4
        page.grade(given[page.ids])
    assert len(given) == everything(session) == 6
    for at, grade in given.items():
        assert stored(session, at) == [("ok", grade, "blind")]


ACTIVE = re.compile(r"<(?:script|img|iframe|svg|style|link|meta|base|a href=java)|\son\w+\s*=\s*[\"'a]", re.IGNORECASE)


def harmless(html: str) -> None:
    """No text of others is markup, nor hidden: what is between < and > is ours."""
    tags = " ".join(re.findall(r"<[^>]*>", html))
    assert not ACTIVE.search(tags), ACTIVE.search(tags)
    assert "outside.example" not in tags
    assert not re.search("[\u202e\x00-\x08\x1b]", html)


def test_texts_of_others_are_escaped_wherever_they_stand(tmp_path: Path) -> None:
    """In queries, passages, similar passages, grades' names, guidelines, training and its explanation."""
    texts = [text for text in HOSTILE if "\ud800" not in text]
    rows = [{**pair("q0", f"d{place:02}", text), "query": " ".join(texts)} for place, text in enumerate(texts)]
    # Nearly the same text twice, so that each is shown next to the other.
    long = " ".join(texts)
    rows += [{**pair("q0", f"e{place}", f"{long} {place}"), "query": " ".join(texts)} for place in range(2)]
    grades = dict(enumerate(texts[:3]))
    folder = tmp_path / "hostile"
    guidelines = {"guidelines": "guidelines.md"}
    config = collection(folder, rows, grades=grades, annotation=guidelines, name="<script>alert('name')</script>")
    (folder / "guidelines.md").write_text("\n\n".join(texts), encoding="utf-8")
    with AnnotationSession.open(config) as session:
        assigned(session)
        session.training.add("q0", "d00", 2, long, token(session, "lia", "lead"))
        page = GradingPage(session, token(session, "ana")).open()
        frame, guidelines, guide_ends = re.split(
            '(<section class="guidelines">.*?</section>)', page.view["frame"], flags=re.S
        )
        page.view["frame"] = frame + guide_ends
        # Markdown, which may link to other sites, and nothing else.
        assert not ACTIVE.search(" ".join(re.findall(r"<[^>]*>", guidelines)))
        assert set(re.findall(r"<([a-z0-9]+)", guidelines)) <= {
            "section",
            "h2",
            "p",
            "a",
            "strong",
            "em",
            "code",
            "pre",
            "ul",
            "li",
        }
        assert set(re.findall('href="([^"]*)"', guidelines)) == {"https://outside.example/e.png"}
        harmless(page.html)
        page.grade(1, note=long)
        assert page.view["stage"] == "practice"
        harmless(page.html)
        page.go_on()
        twins = 0
        for _ in rows:
            harmless(page.html)
            harmless(page.highlight(True))
            twins += page.view["pair"].count('class="twin"')
            page.grade(1, note=long)
        assert page.view["stage"] == "end"
        assert twins >= 2
        harmless(page.html)
        page.undo()
        harmless(page.html)
        assert len(labels(session, "ana", "q0", "d00")) == 2  # practised, and graded


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["What the grades mean", "Undo", "Highly relevant"]),
        ("pt", ["O que as notas significam", "Desfazer", "Muito relevante"]),
        ("es", ["Qué significan las notas", "Deshacer", "Muy relevante"]),
    ],
)
def test_the_page_speaks_the_browsers_language_or_the_one_that_was_chosen(
    tmp_path: Path, language: str, said: list[str]
) -> None:
    with AnnotationSession.open(collection(tmp_path / "small")) as session:
        assigned(session)
        page = GradingPage(session, token(session, "ana"), language).open()
        for words in said:
            assert words in page.text
        page.grade(2)
        assert f"2 {said[2]}" in page.text
        session.people.set("ana", "language", language)
        chosen = GradingPage(session, "token-of-ana", "en").open()
        assert chosen.view["frame"] == page.view["frame"]


def test_the_language_is_kept_and_changes_the_page(session: AnnotationSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_person(session, "token-of-ana", monkeypatch) as app:
        app.run()
        assert 'id="grading" data-language="en"' in shown(app)
        app.button_group(key="language").set_value("es").run()
        assert 'id="grading" data-language="es"' in shown(app)
        assert not app.exception
    assert session.person("token-of-ana").language == "es"
    assert "Qué significan las notas" in GradingPage(session, "token-of-ana").open().text


def test_an_assessor_has_no_pages_of_a_lead(session: AnnotationSession) -> None:
    lead = session.person(token(session, "lia", "lead"))
    mine = pages_of(session.person("token-of-ana"), session)
    assert "annotate" in mine
    assert not {"review", "dashboard", "explorer"} & {*mine}
    assert {*mine, "review", "dashboard", "explorer"} <= {*pages_of(lead, session)}


def test_signed_out_is_no_fault_of_the_store() -> None:
    assert not issubclass(SignedOutError, StoreError)
