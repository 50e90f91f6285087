"""The explorer in the app, in a real browser: what awaits a decision is hidden until a lead asks, or decides."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from annotator_app import words
from annotator_app.explorer import address
from quati_pool.commands.annotate.session import AnnotationSession
from tests.annotator_app.explored import explored, first_query
from tests.browser.pages import Record, Scheme, too_wide
from tests.browser.served import Served, code_for, dispute, drawn, let_in, served, visitor, watched
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

RANKINGS = "The rankings are hidden while 1 passage awaits a decision."


class Stage(NamedTuple):
    """The app over the collection of explored.py, with hostile notes and reasons; the code of the lead lia."""

    app: Served
    lia: str
    query_id: str
    docs: list[str]

    @property
    def decisions(self) -> list[tuple[Any, ...]]:
        """Grade and mark of each decision on the disputed pair."""
        database = sqlite3.connect(f"file:{self.app.config.parent / 'labels.db'}?mode=ro", uri=True)
        try:
            return database.execute(
                "SELECT relevance, json_extract(extra, '$.revealed') FROM labels WHERE labeler_id = 'adjudicated'"
                " AND query_id = ? AND doc_id = ? ORDER BY seq",
                (self.query_id, self.docs[0]),
            ).fetchall()
        finally:
            database.close()


@pytest.fixture
def stage(finished: Path, tmp_path: Path) -> Iterator[Stage]:
    config = explored(finished, tmp_path / "w", note="\n".join(HOSTILE))
    with AnnotationSession.open(config) as session:
        query_id, docs = first_query(session)
    lia = code_for(config, "lia", "lead")
    with served(config) as app:
        yield Stage(app, lia, query_id, docs)


@contextmanager
def lead(browser: Browser, stage: Stage, **settings: Any) -> Iterator[tuple[BrowserContext, Record]]:
    with visitor(browser, **settings) as (context, record):
        let_in(record.page, stage.app, stage.lia)
        yield context, record


def followed(context: BrowserContext, link: Locator) -> Record:
    """The page that a link opens."""
    with context.expect_page() as opened:
        link.click()
    return watched(opened.value)


def passage(page: Page, doc_id: str) -> Locator:
    heading = page.locator(".doc", has=page.get_by_text(doc_id, exact=True))
    return page.locator("article.passage").filter(has=heading)


def decide(page: Page, stage: Stage, name: str) -> None:
    """Decides the only dispute in the review."""
    page.goto(f"{stage.app.address}/review")
    dispute(page)
    page.get_by_role("button", name=name).click()
    expect(page.get_by_text(f"Stored: {name}")).to_be_visible()


def test_a_pair_is_hidden_until_it_is_decided(browser: Browser, stage: Stage) -> None:
    with lead(browser, stage) as (context, record):
        record.page.goto(f"{stage.app.address}/explorer")
        shown = followed(context, record.page.get_by_role("link", name="Open the explorer"))
        page = shown.page
        expect(page.locator("h1")).to_have_text("small")
        page.get_by_role("link", name=stage.query_id).first.click()
        expect(page.get_by_text(RANKINGS)).to_be_visible()
        disputed, agreed = passage(page, stage.docs[0]), passage(page, stage.docs[1])
        expect(disputed.locator(".chip")).to_have_text(["bia 3 Perfectly relevant", "ana 0 Irrelevant"])
        expect(disputed.get_by_text("hidden while this passage awaits a decision")).to_be_visible()
        expect(agreed.locator(".chip")).to_contain_text(["bia 1", "ana 1", "gpt 1"])
        assert "gpt" not in disputed.inner_text()
        assert "rrf" not in disputed.inner_text()
        decide(record.page, stage, "2 Highly relevant")
        page.reload()
        expect(disputed.locator(".chip")).to_contain_text(["bia 3", "ana 0", "gpt 0"])
        expect(page.get_by_role("table").filter(has_text="The first 8 documents")).to_be_visible()
        assert stage.decisions == [(2, None)]
        for one in (record, shown):
            assert [*one.console, *one.errors, *one.dialogs] == []
            assert all(url.startswith((stage.app.address, "data:", "blob:")) for url in one.requests)


def test_a_lead_who_asks_sees_it_and_the_decision_is_marked(browser: Browser, stage: Stage) -> None:
    with lead(browser, stage) as (context, record):
        record.page.goto(f"{stage.app.address}/explorer")
        expect(record.page.get_by_role("link", name="Open the explorer")).to_be_visible()
        record.page.goto(f"{stage.app.address}/review")
        shown = followed(context, record.page.get_by_role("link", name="This question in the explorer"))
        page = shown.page
        disputed = passage(page, stage.docs[0])
        disputed.get_by_role("button", name="Show them").press("Enter")
        expect(disputed.locator(".chip")).to_contain_text(["bia 3", "ana 0", "gpt 0"])
        expect(disputed.locator(".doc")).to_be_focused()
        expect(disputed.get_by_text("rrf")).to_be_visible()
        expect(page.get_by_text(RANKINGS)).to_have_count(0)
        disputed.get_by_text("Reasons and notes").click()
        expect(disputed.get_by_text(HOSTILE[0].splitlines()[0]).first).to_be_visible()
        decide(record.page, stage, "1 Relevant")
        expect(record.page.get_by_text("lia decided, having seen judges' grades: 1 Relevant")).to_be_visible()
        assert stage.decisions == [(1, 1)]
        for one in (record, shown):
            assert [*one.console, *one.errors, *one.dialogs] == []
            assert all(url.startswith((stage.app.address, "data:", "blob:")) for url in one.requests)


def test_a_lead_who_is_signed_out_is_shown_nothing_more(browser: Browser, stage: Stage) -> None:
    with lead(browser, stage) as (context, record):
        record.page.goto(f"{stage.app.address}/explorer")
        page = followed(context, record.page.get_by_role("link", name="Open the explorer")).page
        page.goto(f"{page.url.partition('#')[0]}{address(stage.query_id).partition('/explore/')[2]}")
        button = passage(page, stage.docs[0]).get_by_role("button", name="Show them")
        expect(button).to_be_visible()
        with AnnotationSession.open(stage.app.config) as session:
            session.people.revoke("lia")
        button.click()
        expect(page.get_by_role("alert")).to_have_text("sign in")
        assert "gpt" not in passage(page, stage.docs[0]).inner_text()


@pytest.mark.parametrize(
    ("language", "width", "scheme"), [("en", 1280, "light"), ("pt", 390, "dark"), ("es", 390, "light")]
)
def test_the_page_speaks_and_fits(
    browser: Browser, stage: Stage, tmp_path: Path, language: str, width: int, scheme: Scheme
) -> None:
    with lead(browser, stage, width=width, scheme=scheme, language=language) as (context, record):
        page = record.page
        page.goto(f"{stage.app.address}/explorer")
        link = page.get_by_role("link", name=words.messages(language)["explorer.open"])
        expect(link).to_be_visible()
        drawn(page)
        record.screenshot(tmp_path / f"explorer-{language}.png")
        assert too_wide(page) <= 0
        shown = followed(context, link).page
        expect(shown.locator("h1")).to_have_text("small")
        assert too_wide(shown) <= 0
