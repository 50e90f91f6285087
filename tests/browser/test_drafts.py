"""Drafts of a model and its translations, in Chromium: people accept, correct and refuse what it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from annotator_app import words
from quati_pool.annotation.authoring.forms import MACHINE
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import QuestionEvent
from tests.annotator_app import authored
from tests.annotator_app.authored import question_set
from tests.browser.served import code_for, let_in, question, served, visitor
from tests.browser.test_annotate import clean
from tests.browser.test_authoring import Writer, field, said, send, stored
from tests.commands.annotate import writers
from tests.commands.annotate.drafts.drafting import run, with_judge
from tests.llm.server import ServerProcess

pytestmark = pytest.mark.browser


def test_drafts_are_decided_on_and_a_translation_is_confirmed(
    browser: Browser, server: ServerProcess, tmp_path: Path
) -> None:
    config = with_judge(authored.workspace(tmp_path / "written", translator="fake"))
    assert run(config, count=3).waiting == 3
    with served(config) as app, visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        assert ana.title == ana.titled("draft")
        page.screenshot(path=str(tmp_path / "draft.png"), full_page=True)
        ana.press("g")
        field(page, "question.en").fill("Where do the whales rest?")
        expect(page.locator(".was:visible")).to_have_count(1)
        page.keyboard.press("Escape")
        ana.press("g")
        page.keyboard.press("x")
        ana.press("3")  # copies the text
        assert ana.title == ana.titled("set")
        offered = page.locator("[data-do=translate]:visible")
        expect(offered).to_have_count(0)
        form = question_set()
        ana.write({name: text for name, text in form.items() if name.endswith(".pt")})
        expect(offered).to_have_count(1)
        # While the model writes, people write too, and what they wrote stays.
        server.script(default="late 1")
        question(page)
        page.keyboard.press("m")
        field(page, "answer.en").fill("By hand.")
        expect(field(page, "question.en")).not_to_have_value("")
        expect(field(page, "answer.en")).to_have_value("By hand.")
        checked = page.locator(".machine input:visible")
        expect(checked).to_have_count(1)
        # A space makes it no correction: the tick is still wanted, and still there.
        field(page, "question.en").press("End")
        page.keyboard.type(" ")
        expect(checked).to_have_count(1)
        page.screenshot(path=str(tmp_path / "translated.png"), full_page=True)
        page.keyboard.press("Escape")
        send(page)
        expect(said(page, "question.en")).to_have_text(words.messages("en")["authoring.refused.unconfirmed"])
        page.reload()
        expect(checked).to_have_count(1)
        checked.check()
        page.keyboard.press("Escape")
        ana.press("g")
        # Taken back, it is still known to be the model's, and checked; edited, it needs no tick.
        ana.press("u")
        expect(checked).to_be_checked()
        field(page, "question.en").fill("Where is it, then?")
        expect(page.locator(".machine label:visible")).to_have_count(0)
        page.keyboard.press("Escape")
        ana.press("g")
        # A server that is down costs a sentence.
        server.script(default="400")
        field(page, "question.pt").fill("Onde fica o farol da ilha?")
        page.keyboard.press("Escape")
        question(page)
        page.keyboard.press("m")
        expect(page.locator(".said")).to_have_text(words.messages("en")["authoring.not_translated.failed"])
        expect(field(page, "question.pt")).to_have_value("Onde fica o farol da ilha?")
        server.script()
        page.keyboard.press("m")
        expect(checked).to_be_focused()
        page.keyboard.press("Space")
        expect(checked).to_be_checked()
        page.screenshot(path=str(tmp_path / "writing.png"), full_page=True)
        clean(record, app)
    items, entries = stored(config)
    drafts = [one for one in items if one.drafted_by is not None]
    assert sorted((one.state, one.reason) for one in drafts) == [("open", None), ("open", None), ("out", "copied")]
    made = [one for one in entries if one.round == "create" and one.action == "given"]
    assert [{name: one["edited"] for name, one in entry.content[MACHINE].items()} for entry in made] == [
        {"question.en": False},
        {"question.en": True},
    ]


def test_a_draft_on_the_page_of_questions(browser: Browser, tmp_path: Path) -> None:
    config = writers.workspace(tmp_path / "small", annotation={"language": "en"})
    with AnnotationSession.open(config) as session:
        session.store.register("version-canary", "judge", {"name": "canary-7b"})
        for query in ("Que navio encalhou na barra?", "Quem cuida do farol?"):
            session.questions.add_event(
                QuestionEvent(by="", action="proposed", query=query, drafted_by="version-canary")
            )
    with served(config) as app, visitor(browser) as (_, record):
        page = record.page
        let_in(page, app, code_for(config, "bia"))
        page.goto(f"{app.address}/questions")
        page.get_by_role("tab", name="Questions").click()
        cards = page.locator("article.question")
        expect(cards).to_have_count(2)
        expect(cards.first).to_contain_text("a model")
        page.get_by_role("button", name="Accept").first.click()
        expect(page.get_by_text("Accepted as q0001.")).to_be_visible()
        page.get_by_role("button", name="Withdraw").first.click()
        expect(page.get_by_text("Say in the comment why.")).to_be_visible()
        page.screenshot(path=str(tmp_path / "questions.png"), full_page=True)
        assert "canary" not in page.content()
        clean(record, app)
