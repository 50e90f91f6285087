"""The lead's pages in a real browser: decided, marked and downloaded there; shut for everybody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.people import People
from quati_pool.store.records import Attempt
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, drawn, let_in, question, served, visitor
from tests.commands.annotate.disputes import GRADES, add_label
from tests.commands.annotate.people_at_work import assigned, collection
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> **bold** "
    "[link](javascript:document.title='owned') \u202egnol\u202c $x^2$ :red[x]"
)
LONG = "palavra" * 700
PASSAGES = {
    ("q0", "d0"): "A capital do Brasil foi Salvador até 1763, depois o Rio de Janeiro e, desde 1960, Brasília.",
    ("q0", "d1"): "Brasília foi inaugurada em 21 de abril de 1960.\n\nO projeto é de Lúcio Costa e Oscar Niemeyer.",
    ("q0", "d2"): "O Rio de Janeiro tem praias conhecidas no mundo todo.",
    ("q1", "d0"): f"{HOSTILE}\n{LONG}",
    ("q1", "d1"): "O quati anda em bandos; as fêmeas cuidam dos filhotes juntas.",
    ("q1", "d2"): "O quati come frutas, insetos e pequenos vertebrados.",
}
QUERIES = {"q0": "quando Brasília virou a capital?", "q1": f"como vivem os quatis? {HOSTILE}"}


class Stage:
    """The app over six pairs on which ana and bia disagree, and the codes of ana and of the lead lia."""

    def __init__(self, app: Served, folder: Path, ana: str, lia: str) -> None:
        self.app, self.folder, self.ana, self.lia = app, folder, ana, lia

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(f"file:{self.folder / 'labels.db'}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    @property
    def decisions(self) -> list[tuple[Any, ...]]:
        return self.rows(
            "SELECT query_id, doc_id, status, relevance, rationale FROM labels"
            " WHERE labeler_id = 'adjudicated' ORDER BY seq"
        )


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    rows = [{**pair(*ids, text), "query": QUERIES[ids[0]]} for ids, text in PASSAGES.items()]
    config = collection(folder, rows)
    thought = Attempt(number=1, status=State.ok, answer=f"<think>3?\n{HOSTILE}</think> 2")
    with AnnotationSession.open(config) as session:
        for name, grades in GRADES.items():
            attempts = (thought,) if name == "gpt" else ()
            for ids, relevance in grades.items():
                add_label(session, name, *ids, relevance, rationale=f"{name}: {HOSTILE}", attempts=attempts)
        assigned(session, ("ana", "bia"))
    ana, lia = code_for(config, "ana"), code_for(config, "lia", "lead")
    with served(config) as app:
        yield Stage(app, folder, ana, lia)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """For tests that change nothing."""
    with staged(tmp_path_factory.mktemp("lead")) as shown:
        yield shown


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Stage]:
    """For a test that changes what is there."""
    with staged(tmp_path) as shown:
        yield shown


def dispute(page: Page, text: str) -> Any:
    """The box of the pair whose passage holds the text."""
    return page.locator("[class*='st-key-dispute-']").filter(has_text=text)


def test_a_lead_decides_changes_her_mind_and_marks_for_practice(browser: Browser, own_stage: Stage) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, own_stage.app, own_stage.lia)
        page.goto(f"{own_stage.app.address}/review")
        box = dispute(page, "inaugurada")
        expect(box.get_by_text("ana", exact=True)).to_be_visible()
        box.get_by_label("Comment, stored with the decision").fill("the date is there")
        box.get_by_role("button", name="3 Perfectly relevant").click()
        expect(page.get_by_text("Stored: 3 Perfectly relevant")).to_be_visible()
        expect(box.get_by_text("lia decided: 3 Perfectly relevant")).to_be_visible()
        box.get_by_role("button", name="1 Relevant").click()
        expect(box.get_by_text("lia decided: 1 Relevant")).to_be_visible()
        box.get_by_role("button", name="Take the decision back").click()
        expect(box.get_by_text("lia decided")).to_have_count(0)
        assert own_stage.decisions == [
            ("q0", "d1", "ok", 3, "the date is there"),
            ("q0", "d1", "ok", 1, "the date is there"),
            ("q0", "d1", "retracted", None, None),
        ]
        box.get_by_role("button", name="Use for practice").click()
        page.get_by_role("combobox", name="Known grade").click()
        page.get_by_role("option", name="3 Perfectly relevant").click()
        page.get_by_label("Explanation, shown after the answer").fill("It names the day.")
        page.get_by_role("button", name="Mark for practice").click()
        expect(page.get_by_text("Assessors practise on this pair first.")).to_be_visible()
        assert own_stage.rows("SELECT query_id, doc_id, relevance, explanation, by FROM training") == [
            ("q0", "d1", 3, "It names the day.", "lia")
        ]
        assert record.errors == []


def test_what_others_wrote_is_shown_as_text(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        for path in ("review", "dashboard"):
            page.goto(f"{stage.app.address}/{path}")
            expect(page.get_by_text("<script>document.title='owned'</script>").first).to_be_visible()
            drawn(page)
            page.wait_for_timeout(200)  # what is there could have done something
            assert page.title() != "owned"
            assert page.locator(".stHtml script, .stHtml img, .stHtml a[href^='javascript']").count() == 0
        assert record.dialogs == []
        assert all(url.startswith((stage.app.address, "data:", "blob:")) for url in record.requests)


def test_the_dashboard_shows_agreement_and_its_links_download(browser: Browser, stage: Stage, tmp_path: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        page.goto(f"{stage.app.address}/dashboard")
        # κ of ana and bia by hand, in tests/commands/annotate/review/test_dashboard.py: 1/3.
        table = page.locator("table").filter(has_text="Agreement of people with each other")
        expect(table.locator("tbody tr")).to_have_count(1)
        expect(table.locator("tbody td").nth(3)).to_contain_text("0.33")
        with page.expect_download() as download:
            page.locator("tr").filter(has_text="ana").get_by_role("link", name="qrels").click()
        assert download.value.suggested_filename == "ana.qrels"
        assert Path(download.value.path()).read_text(encoding="utf-8") == (
            "q0 0 d0 0\nq0 0 d1 1\nq0 0 d2 2\nq1 0 d0 0\n"
        )


def test_an_assessor_reaches_no_page_of_leads_by_address(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (context, record):
        page = record.page
        let_in(page, stage.app, stage.ana)
        for path in ("review", "dashboard"):
            page.goto(f"{stage.app.address}/{path}")
            question(page)  # the annotate page
            drawn(page)
            shown = page.locator("body").inner_text()
            for secret in ("bia", "gpt", "Reasoning", "Agreement of people", "qrels"):
                assert secret not in shown, f"{path} shows {secret}"
        answer = context.request.get(f"{stage.app.address}/download/qrels?labeler=bia")
        assert (answer.status, "q0" in answer.text()) == (403, False)


def test_a_session_revoked_a_moment_ago_shows_and_changes_nothing(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (context, record):
        page = record.page
        let_in(page, stage.app, code_for(stage.app.config, "lea", "lead"))
        page.goto(f"{stage.app.address}/review")
        box = dispute(page, "inaugurada")
        expect(box.get_by_role("button", name="3 Perfectly relevant")).to_be_enabled()
        with AnnotationSession.open(stage.app.config) as session:
            People(session.store, session.config.name).revoke("lea")
        # The page is still drawn; a press on it writes nothing, and takes it away.
        box.get_by_role("button", name="3 Perfectly relevant").click()
        expect(page.get_by_text("Your session has ended")).to_be_visible()
        expect(page.get_by_text("inaugurada")).to_have_count(0)
        assert stage.decisions == []
        answer = context.request.get(f"{stage.app.address}/download/qrels?labeler=bia")
        assert (answer.status, "q0" in answer.text()) == (401, False)
        page.goto(f"{stage.app.address}/dashboard")
        page.wait_for_url(f"{stage.app.address}/sign-in")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_pages_fit_the_screen(browser: Browser, stage: Stage, tmp_path: Path, width: int, scheme: Scheme) -> None:
    # As high as the pages are long: Streamlit scrolls within the page.
    with visitor(browser, width, scheme, height=2600) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        for path, text, last in (
            ("review", "inaugurada", "3 Perfectly relevant"),
            ("dashboard", "Agreement of people with each other", "Compute now"),
        ):
            page.goto(f"{stage.app.address}/{path}")
            expect(page.get_by_text(text).first).to_be_visible()
            expect(page.get_by_role("button", name=last).last).to_be_visible()
            drawn(page)
            scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            record.screenshot(tmp_path / f"{path}-{width}-{scheme}.png")
            assert scroll <= 0, f"{path} is {scroll} pixels too wide"
        assert record.errors == []
