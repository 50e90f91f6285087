"""The explorer of a collection whose names and texts would act in a page, or are wider than a window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from quati_pool.reporting.explorer import links
from tests.browser.explorer_data import filled, site
from tests.browser.explorer_pages import asserts_own, go, passages
from tests.browser.pages import opened, too_wide
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

NAMES = ["__proto__", "constructor", "%2F", "#", "?", "a/b?c=d&e#f+g h", "..", "\u2069\u202eout", *HOSTILE]


def test_hostile_texts_are_only_texts(browser: Browser, tmp_path: Path) -> None:
    collection, queries, scores = filled(len(NAMES), NAMES)
    index = site(tmp_path / "explore", collection, queries, scores)
    with opened(browser, index) as record:
        page = record.page
        expect(page.locator("#root")).to_have_attribute("data-shown", "#/")
        for query in collection["queries"]:
            # A half of a character cannot be part of an address.
            if "\ud800" in query["id"]:
                continue
            go(page, links.query(query["id"], systems=(NAMES[0], NAMES[1]), by=NAMES[0], doc_id=NAMES[0]))
            expect(page.locator(".kicker")).not_to_be_empty()
            expect(passages(page)).to_have_count(2)
        for link in [
            links.system(NAMES[2], against=NAMES[3]),
            links.labeler(NAMES[0], against=NAMES[1]),
            links.pairs(NAMES[0], NAMES[1]),
            links.alone(NAMES[0], by=NAMES[0]),
        ]:
            go(page, link)
            expect(page.locator("h1")).not_to_have_text(re.compile("cannot|found"))
            for summary in page.locator("summary").all():
                summary.click()
        go(page, links.START)
        for name in NAMES:
            page.locator("#search").fill(name.replace("\x00", "").replace("\ud800", ""))
        # What is in the page is what the scripts of the site put there.
        assert page.locator("#root :is(script, style, img, iframe, link, meta, base, svg)").count() == 0
        assert page.locator("#root :is([onerror], [onclick], [onload], [onmouseover], [onfocus])").count() == 0
        asserts_own(record, index)


@pytest.mark.parametrize("names", [None, NAMES])
def test_every_page_fits_a_small_window(browser: Browser, tmp_path: Path, names: list[str] | None) -> None:
    collection, queries, scores = filled(30, names)
    index = site(tmp_path / "explore", collection, queries, scores)
    query, system, labeler = (collection[of][0] for of in ("queries", "systems", "labelers"))
    with opened(browser, index, width=390, scheme="dark") as record:
        for link in [
            links.START,
            links.query(query["id"]),
            links.system(system["name"]),
            links.labeler(labeler["name"]),
            links.pairs(labeler["name"]),
        ]:
            go(record.page, link)
            expect(record.page.locator("h1")).to_be_visible()
            assert too_wide(record.page) <= 0, link
        asserts_own(record, index)
