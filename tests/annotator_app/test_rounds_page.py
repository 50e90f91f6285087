"""The lead's page about the rounds, and the menu of a collection whose questions are written in rounds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotator_app import context
from quati_pool.commands.annotate.access import set_preference
from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotator_app import authored
from tests.annotator_app.authored import EVALUATION, PARAPHRASE, VALIDATION, WritingPage, question_set
from tests.annotator_app.opened import as_person, shown
from tests.annotator_app.test_lead_pages import page
from tests.commands.judged import pair, repool


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Three texts, of which ana has written one question and bia refused nothing; lea leads."""
    with authored.opened(authored.workspace(tmp_path / "written")) as opened:
        for name in ("ana", "bia"):
            authored.token(opened, name)
        authored.token(opened, "lea", "lead")
        context.use(opened)
        yield opened
        context.use(None)


@pytest.fixture
def written(session: AnnotationSession) -> dict[str, WritingPage]:
    """The pages of the people, after ana wrote one question from the first text."""
    pages = {name: WritingPage(session, f"token-of-{name}") for name in ("ana", "bia", "lea")}
    pages["ana"].open().give(question_set())
    return pages


def texts(app_html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", re.sub("<style>.*?</style>", "", app_html, flags=re.DOTALL)).split())


def tables(html: str) -> dict[str, list[list[str]]]:
    """The rows of the tables, by caption."""
    found = {}
    for caption, body in re.findall("<caption>(.*?)</caption>.*?<tbody>(.*?)</tbody>", html, re.DOTALL):
        rows = re.findall("<tr>(.*?)</tr>", body, re.DOTALL)
        found[caption] = [
            [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", row, re.DOTALL)] for row in rows
        ]
    return found


def test_the_menu_has_writing_instead_of_questions_and_rounds_for_leads(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from annotator_app.app import first_page, pages_of

    assert pages_of(session.person("token-of-ana"), session) == ["annotate", "labels", "write"]
    lead = pages_of(session.person("token-of-lea"), session)
    assert lead == ["annotate", "labels", "write", "team", "rounds", "review", "dashboard", "explorer"]
    assert first_page(session) == "write"
    with as_person(session, "token-of-ana", monkeypatch) as app:
        assert '<div id="writing"' in shown(app.run())
    repool(session.config.folder, [pair("q0", "d0")])
    assert first_page(session) == "annotate"


def test_without_rounds_the_menu_is_as_it_was(tmp_path: Path) -> None:
    from annotator_app.app import first_page, pages_of
    from tests.commands.annotate.people_at_work import collection, token

    with AnnotationSession.open(collection(tmp_path / "small")) as session:
        person = session.person(token(session, "lea", "lead"))
        assert pages_of(person, session) == [
            "annotate", "labels", "questions", "team", "review", "dashboard", "explorer",
        ]  # fmt: skip
        assert first_page(session) == "annotate"


def test_the_answer_comes_first_and_the_tables_say_the_same(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page("rounds", "token-of-lea", monkeypatch)
    found = re.findall('<p class="answer">(.*?)</p>', shown(app))
    assert found == [
        "0 questions are kept. People can take: 2 × Creation. Leads can take: 1 × Editing. 1 task is with somebody."
    ]
    assert tables(shown(app))["Rounds"] == [
        ["Subject", "0", "0", "0"],
        ["Creation", "2", "1", "0"],
        ["Drafts", "0", "0", "0"],
        ["Editing", "1", "0", "0"],
        ["Assessment", "0", "0", "0"],
        ["Curation", "0", "0", "0"],
        ["Acceptance", "0", "0", "0"],
        ["Multiple choice", "0", "0", "0"],
    ]
    assert tables(shown(app))["Items"] == [["Text", "3", "0", "0"], ["Question", "1", "0", "0"]]
    # 4.25 seconds are 0.1 minutes.
    assert tables(shown(app))["People"] == [["ana", "Creation", "1", "0.1"]]


def test_what_is_kept_is_counted_and_everything_is_said_in_the_leads_language(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, bia, lea = (written[name] for name in ("ana", "bia", "lea"))
    ana.send("end", **ana.task)
    lea.open().until("Check spelling and grammar")
    lea.give(lea.view["prefilled"])
    bia.open().until("Answer from the text alone")
    for content in (VALIDATION, EVALUATION, PARAPHRASE):
        bia.give(content)
    lea.open().until("Check what assessors wrote")
    lea.give(lea.view["prefilled"])
    set_preference(session, "token-of-lea", "language", "pt")
    app = page("rounds", "token-of-lea", monkeypatch)
    assert "1 pergunta está aceita." in texts(shown(app))
    assert ["Avaliação", "0", "0", "1"] in tables(shown(app))["Rodadas"]


def test_tasks_that_nobody_may_take_are_pointed_out(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    session.people.revoke("bia")
    lea = written["lea"]
    lea.open().until("Check spelling and grammar")
    lea.give(lea.view["prefilled"])
    text = texts(shown(page("rounds", "token-of-lea", monkeypatch)))
    assert "1 task of Assessment can be taken by nobody here" in text
    assert "1 × Assessment" not in text


def test_what_somebody_holds_is_given_back(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page("rounds", "token-of-lea", monkeypatch)
    assert "ana · Creation" in texts(shown(app)).replace(" ", " ")
    assert "lapses by itself" not in texts(shown(app))
    (button,) = [one for one in app.button if one.label == "Give back"]
    button.click().run()
    assert "The task is open again." in texts(shown(app))
    assert not [one for one in app.button if one.label == "Give back"]
    assert "Nothing is held." in texts(shown(app))


def test_what_is_out_is_listed_by_reason_and_restored(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    lea = written["lea"]
    lea.open().until("Check spelling and grammar")
    lea.send("refuse", **lea.task, reason="other", comment="<b>too long</b>")
    app = page("rounds", "token-of-lea", monkeypatch)
    assert "Other reason Question 1" in texts(shown(app))
    assert "&lt;b&gt;too long" in shown(app)
    (button,) = [one for one in app.button if one.label == "Restore"]
    button.click().run()
    assert "It is open again." in texts(shown(app))
    assert session.authoring is not None
    assert session.authoring.items("question")[0].state == "open"
    assert "Nothing is out." in texts(shown(app))


def test_what_was_freed_meanwhile_is_said(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page("rounds", "token-of-lea", monkeypatch)
    written["ana"].send("end", **written["ana"].task)
    (button,) = [one for one in app.button if one.label == "Give back"]
    button.click().run()
    assert "Look at the list again." in texts(shown(app))


def test_an_assessor_gets_nothing_of_it(
    session: AnnotationSession, written: dict[str, WritingPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = texts(shown(page("rounds", "token-of-ana", monkeypatch)))
    assert "This page is not for your role." in text
    assert "Creation" not in text
