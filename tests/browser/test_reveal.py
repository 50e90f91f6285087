"""The reveal in Chromium: nothing of a judge reaches the browser before the person's own grade."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Response, WebSocket, expect

from annotator_app import words
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import clean, labels, press
from tests.commands.annotate.revealing import revealing

pytestmark = pytest.mark.browser


class Sent:
    """All that the server sent to the page: over its web sockets, and in response to its script."""

    def __init__(self, page: Page) -> None:
        self.bytes = b""
        page.on("websocket", self._hear)
        page.on("response", self._read)

    def _hear(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._keep)

    def _read(self, response: Response) -> None:
        if "/grading/" in response.url:
            self._keep(response.body().replace(b'\\"', b'"'))

    def _keep(self, frame: str | bytes) -> None:
        self.bytes += frame if isinstance(frame, bytes) else frame.encode()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One query of three passages, each graded by the judge, of which four people's labels are wanted."""
    with revealing(tmp_path_factory.mktemp("reveal") / "small", [None] * 4) as session:
        config = session.config.path
    with served(config) as started:
        yield started


@pytest.mark.parametrize(
    ("name", "language", "width", "scheme"), [("caio", "en", 1280, "light"), ("dora", "es", 390, "dark")]
)
def test_blind_first_then_the_judge_then_a_second_grade(
    browser: Browser, app: Served, name: str, language: str, width: int, scheme: Scheme
) -> None:
    say = words.messages(language)
    with visitor(browser, width, scheme, language, height=800) as (_, record):
        page = record.page
        sent = Sent(page)
        sign_in(page, app, code_for(app.config, name))
        question(page)
        for secret in (b"lexical", b"nota 0", b"nota 1", b"nota 2", b'"d0"', b"runs", b"systems"):
            assert secret not in sent.bytes
        press(page, "3")
        feedback = page.locator(".feedback")
        expect(feedback).to_contain_text(say["annotate.reveal_own"].format(grade="3 Perfeitamente relevante"))
        expect(feedback).to_contain_text(say["annotate.reveal_judge"].partition("{grade}")[0].format(name="lexical"))
        assert b"lexical" in sent.bytes
        press(page, "1")
        assert page.locator(".feedback").count() == 0
        press(page, "0")
        expect(feedback).to_be_visible()
        press(page, "g")
        question(page)
        page.keyboard.press("u")  # what was given before the judge was seen stays
        expect(page.locator(".notice")).to_contain_text(say["annotate.undo_revealed"])
        clean(record, app)
    assert [row[2:] for row in labels(app.config, name)] == [("ok", 3), ("ok", 1), ("ok", 0)]
    with AnnotationSession.open(app.config) as session:
        phases = [
            label.phase
            for doc_id in session.pool_view.doc_ids("q0")
            for label, _ in session.store.history("test", name, "q0", doc_id)
        ]
    assert sorted(phases) == ["blind", "blind", "revealed"]


def test_nothing_that_another_person_said_reaches_the_browser(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(app.config, "ana"))
        for _ in range(3):
            question(page)
            page.keyboard.press("n")
            expect(page.locator("#note")).to_be_focused()
            page.keyboard.type("what ana thinks")
            page.keyboard.press("Escape")
            press(page, "2")
            press(page, "g")
    with visitor(browser) as (_, record):
        page = record.page
        sent = Sent(page)
        sign_in(page, app, code_for(app.config, "bia"))
        for _ in range(3):
            press(page, "1")
            press(page, "g")
        expect(page.locator(".end")).to_be_visible()
        for name in ("review", "dashboard", "questions"):
            page.goto(f"{app.address}/{name}")
            page.wait_for_selector("[role=tab], .end")
        assert b"bia" in sent.bytes
        assert b"ana thinks" not in sent.bytes
        assert b">ana<" not in sent.bytes
    assert len(labels(app.config, "bia")) == 3
    with AnnotationSession.open(app.config) as session:
        notes = [
            label.rationale
            for doc_id in session.pool_view.doc_ids("q0")
            for label, _ in session.store.history("test", "ana", "q0", doc_id)
        ]
    assert notes == ["what ana thinks"] * 3
