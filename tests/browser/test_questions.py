"""Two people write questions in Chromium: one proposes, is told of a near-duplicate, the other accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.questions.export import export_questions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.queries import read_queries
from tests.browser.served import Served, code_for, let_in, served, visitor
from tests.commands.annotate import writers
from tests.commands.small_collection import built

pytestmark = pytest.mark.browser

FIRST = "Where do sailors find the old lighthouse?"
NEAR = "Where does a sailor find an old lighthouse?"
EVIL = '<script>alert(1)</script> <img src=x onerror="alert(2)"> [link](javascript:alert(3))'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = writers.workspace(tmp_path_factory.mktemp("questions") / "small", read=False)
    built(config)
    with served(config) as running:
        yield running


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=value, exact=True).click()


def write(page: Page, query: str) -> None:
    """Fills the form, and waits until the page has looked for what resembles the question."""
    choose(page, "Theme", "Geography")
    choose(page, "Scope", "Local")
    choose(page, "Type", "Fact")
    page.get_by_role("textbox", name="Question").fill(query)
    page.keyboard.press("Tab")
    expect(page.get_by_role("tabpanel").first.locator(".alike")).to_have_count(0)


def test_a_question_is_written_warned_of_accepted_by_another_and_exported(
    browser: Browser, app: Served, tmp_path: Path
) -> None:
    ana, bia = code_for(app.config, "ana"), code_for(app.config, "bia")
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, app, ana)
        page.goto(f"{app.address}/questions")
        write(page, FIRST)
        page.get_by_role("button", name="Propose", exact=True).click()
        expect(page.get_by_text(f"Proposed: {FIRST}")).to_be_visible()
        page.get_by_role("textbox", name="Question").fill(NEAR)
        page.keyboard.press("Tab")
        expect(page.get_by_text("Similar questions are there already:")).to_be_visible()
        expect(page.locator(".alike")).to_contain_text(FIRST)
        write(page, EVIL)
        page.get_by_role("button", name="Propose", exact=True).click()
        expect(page.get_by_text("Proposed: <script>")).to_be_visible()
        page.get_by_role("tab", name="Questions").click()
        expect(page.locator("article.question")).to_have_count(2)
        expect(page.get_by_role("button", name="Accept", exact=True)).to_have_count(0)
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, app, bia)
        page.goto(f"{app.address}/questions")
        page.get_by_role("tab", name="Questions").click()
        first = page.locator("article.question", has_text=FIRST)
        expect(first).to_be_visible()
        expect(page.locator("article.question", has_text="<script>alert(1)</script>")).to_be_visible()
        # The oldest question comes last, once all are drawn.
        accept = page.get_by_role("button", name="Accept", exact=True)
        expect(accept).to_have_count(2)
        expect(page.locator("article.question").last).to_contain_text(FIRST)
        accept.last.click()
        expect(page.get_by_text("Accepted as q0001.")).to_be_visible()
        assert not record.dialogs
        assert not record.errors
    out = tmp_path / "queries.tsv"
    export_questions(app.config, out)
    assert [(query.query_id, query.query) for query in read_queries(out)] == [("q0001", FIRST)]


def test_a_lead_alone_downloads_the_accepted_questions(browser: Browser, app: Served, tmp_path: Path) -> None:
    with AnnotationSession.open(app.config) as session:
        eva, dora = (writers.sign_in(session, name) for name in ("eva", "dora"))
        writers.accepted(session, eva, writers.proposed(session, dora, "Who tunes the violin?"))
    out = tmp_path / "queries.tsv"
    export_questions(app.config, out)
    lia, caio = code_for(app.config, "lia", "lead"), code_for(app.config, "caio")
    with visitor(browser) as (context, record):
        let_in(record.page, app, lia)
        record.page.goto(f"{app.address}/questions")
        record.page.get_by_role("tab", name="Questions").click()
        link = record.page.get_by_role("link", name="TSV")
        answer = context.request.get(f"{app.address}{link.get_attribute('href')}")
        assert (answer.status, answer.body()) == (200, out.read_bytes())
        assert context.request.get(f"{app.address}/download/questions?format=x").status == 400
    with visitor(browser) as (context, record):
        let_in(record.page, app, caio)
        assert context.request.get(f"{app.address}/download/questions?format=tsv").status == 403
