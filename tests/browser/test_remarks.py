"""A question to the lead in Chromium: asked next to the pair, answered on Review, and read by its author and nobody
else; by keys, and on a phone by touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from annotator_app import words
from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme, too_wide
from tests.browser.served import Served, code_for, let_in, question, served, sign_in, visitor
from tests.browser.test_annotate import another, clean, labels, press
from tests.browser.test_appearance import asserts_legible
from tests.commands.annotate.people_at_work import assigned, collection, token
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)> **bold** \u202e 3"
SHOWN = "<img src=x onerror=alert(1)> **bold** ⟨U+202E⟩ 3"


@pytest.mark.parametrize(
    ("language", "width", "scheme"), [("en", 1280, "dark"), ("pt", 390, "dark"), ("es", 1280, "light")]
)
def test_a_question_is_asked_answered_and_read_once(
    browser: Browser, tmp_path: Path, language: str, width: int, scheme: Scheme
) -> None:
    def said(key: str, **values: object) -> str:
        return words.message(language, key, **values)

    def does(button: Locator) -> None:
        if width < 600:
            button.tap()
        else:
            button.press("Enter")

    config = collection(tmp_path / "small", [pair("q0", f"d{d}", "Uma frase.") for d in range(3)])
    with AnnotationSession.open(config) as session:
        assigned(session, (None, None))
    ana, bia, zuleica = code_for(config, "ana"), code_for(config, "bia"), code_for(config, "zuleica", "lead")
    with served(config) as app, visitor(browser, width, scheme, language, 844) as (_, record):
        page = record.page
        sign_in(page, app, ana)
        question(page)
        if width < 600:
            page.get_by_role("button", name=said("annotate.more")).tap()
            page.get_by_role("button", name=said("annotate.ask")).tap()
        else:
            page.keyboard.press("q")
        expect(page.locator("#question")).to_be_focused()
        send = page.get_by_role("button", name=said("annotate.ask_send"))
        does(send)
        expect(page.locator(".notice")).to_contain_text(said("annotate.remark_empty"))
        page.locator("#question").focus()
        page.keyboard.type(f"Is this a menu? {HOSTILE}")  # digits and letters are no keys here
        asserts_legible(page)
        does(send)
        expect(page.locator(".notice.good")).to_contain_text(said("annotate.asked"))
        expect(page.locator("#question")).to_be_hidden()
        assert labels(config, "ana") == []
        grades(page, 2, width)
        assert page.locator(".answer").count() == 0

        with visitor(browser, width, scheme, language, 844) as (_, lead):
            let_in(lead.page, app, zuleica)
            answers(lead.page, app, language)
        grades(page, 1, width)
        answer = page.locator(".answer")
        expect(answer).to_contain_text(f"{said('annotate.you_asked')} Is this a menu? {SHOWN}")
        expect(answer).to_contain_text(f"{said('annotate.answered')} Yes: {SHOWN}")
        assert "zuleica" not in page.content()
        asserts_legible(page)
        assert too_wide(page) <= 0
        record.screenshot(tmp_path / f"answer-{language}.png")
        with visitor(browser, width, scheme, language, 844) as (_, other):
            sign_in(other.page, app, bia)
            question(other.page)
            assert other.page.locator(".answer").count() == 0
        does(answer.get_by_role("button", name=said("annotate.answer_read")))
        expect(answer).to_have_count(0)
        grades(page, 0, width)
        assert page.locator(".answer").count() == 0
        clean(record, app)
    with AnnotationSession.open(config) as session:
        assert remarks.open_remarks(session, token(session, "leo", "lead")) == []


def grades(page: Page, grade: int, width: int) -> None:
    """Grades the pair, and waits for the next one."""
    if width < 600:
        asked = question(page)
        page.locator(f"[data-do=grade][data-value='{grade}']").tap()
        another(page, asked)
    else:
        press(page, str(grade))


def answers(page: Page, app: Served, language: str) -> None:
    """The lead, on Review."""

    def said(key: str, **values: object) -> str:
        return words.message(language, f"review.remarks.{key}", **values)

    page.goto(f"{app.address}/review")
    page.locator("summary").filter(has_text=said("title", count=1)).press("Enter")
    asked = page.locator(".asked-about")
    expect(asked.locator(".message")).to_contain_text(f"Is this a menu? {SHOWN}")
    page.get_by_label(said("answer"), exact=True).fill(f"Yes: {HOSTILE}")
    page.get_by_role("button", name=said("send")).press("Enter")
    expect(page.get_by_text(said("answered"))).to_be_visible()
    expect(asked).to_have_count(0)
