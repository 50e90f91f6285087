"""What does not fit into an explorer's first screen: long tables and lists of pairs, and the way back to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.reporting.explorer import links
from tests.browser.explorer_data import filled, site
from tests.browser.explorer_pages import asserts_own, go, passages, said
from tests.browser.pages import opened

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site(tmp_path_factory.mktemp("explorer") / "explore", *filled(45))


@pytest.fixture
def long_page(browser: Browser, long: Path) -> Iterator[Page]:
    with opened(browser, long) as record:
        yield record.page
        asserts_own(record, long)


def test_long_tables_fold_and_sort_by_pointer_and_key(long_page: Page) -> None:
    queries = long_page.locator("table", has_text="Pairs and disagreement by query")
    rows = queries.locator("tbody tr:visible")
    expect(rows).to_have_count(10)
    queries.get_by_role("columnheader", name="Mean difference").click()
    # The last query alone has a pair that is disputed by 2.
    expect(rows.first.locator("th")).to_have_text(re.compile("^q44"))
    expect(rows).to_have_count(10)
    long_page.get_by_role("button", name="Show all 45 queries").click()
    expect(rows).to_have_count(45)
    queries.get_by_role("columnheader", name="Query").focus()
    long_page.keyboard.press("Enter")
    expect(rows.first.locator("th")).to_have_text(re.compile("^q0"))
    rows.nth(30).locator("a").click()
    expect(long_page.locator("h1")).to_have_text("text31")
    long_page.go_back()
    expect(rows).to_have_count(45)
    expect(queries.get_by_role("columnheader", name="Query")).to_have_attribute("aria-sort", "ascending")
    expect(rows.nth(30)).to_be_in_viewport()


def test_pairs_come_twenty_at_a_time_and_the_way_back_leads_to_the_same(long_page: Page) -> None:
    go(long_page, links.pairs("labeler0", "labeler1"))
    expect(said(long_page)).to_have_text(re.compile("^90 pairs"))
    expect(passages(long_page)).to_have_count(20)
    # Of the last query, whose second pair has the widest difference.
    expect(long_page.locator(".of-query").first).to_have_text(re.compile("^q44"))
    long_page.get_by_role("button", name="Show 20 more").click()
    expect(passages(long_page)).to_have_count(40)
    link = long_page.locator(".of-query a").nth(33)
    text = link.text_content() or ""
    link.click()
    expect(long_page.locator("article.marked")).to_have_count(1)
    long_page.go_back()
    expect(passages(long_page)).to_have_count(40)
    again = long_page.locator(".of-query a").nth(33)
    expect(again).to_have_text(text)
    expect(again).to_be_in_viewport()
