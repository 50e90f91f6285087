"""A question to the lead in Chromium: asked beside the pair, answered, and read by who asked and by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.served import code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import clean, labels, press
from tests.commands.annotate.people_at_work import assigned, collection, token
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)> **bold** \u202e 3"


def test_a_question_is_asked_by_keys_and_its_answer_is_read_once(browser: Browser, tmp_path: Path) -> None:
    config = collection(tmp_path / "small", [pair("q0", f"d{d}", "Uma frase.") for d in range(3)])
    with AnnotationSession.open(config) as session:
        assigned(session, (None, None))
        with served(config) as app, visitor(browser) as (_, record):
            page = record.page
            sign_in(page, app, code_for(config, "ana"))
            question(page)
            page.keyboard.press("q")
            expect(page.locator("#question")).to_be_focused()
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".notice")).to_contain_text("Write something first.")
            page.locator("#question").focus()
            page.keyboard.type(f"Is this a menu? {HOSTILE}")  # digits and letters are no keys here
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".notice.good")).to_contain_text("Sent to the lead")
            expect(page.locator("#question")).to_be_hidden()
            assert labels(config, "ana") == []
            press(page, "2")
            assert page.locator(".answer").count() == 0

            lia = token(session, "lia", "lead")
            (asked,) = remarks.open_remarks(session, lia)
            assert [message.text for message in asked.messages] == [f"Is this a menu? {HOSTILE}"]
            remarks.answer_remark(
                session, lia, "ana", asked.query_id, asked.doc_id, f"Yes: {HOSTILE}", "0123456789abcdef"
            )
            press(page, "1")
            answer = page.locator(".answer")
            expect(answer).to_contain_text("You: Is this a menu?")
            expect(answer).to_contain_text("The lead: Yes: <img src=x onerror=alert(1)> **bold** ⟨U+202E⟩ 3")
            assert "lia" not in page.content()
            with visitor(browser) as (_, other):
                sign_in(other.page, app, code_for(config, "bia"))
                question(other.page)
                assert other.page.locator(".answer").count() == 0
            answer.get_by_role("button", name="Read").click()
            expect(answer).to_have_count(0)
            press(page, "0")
            assert page.locator(".answer").count() == 0
            clean(record, app)
        assert remarks.open_remarks(session, lia) == []
