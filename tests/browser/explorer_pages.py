"""What tests do and look for in the explorer's pages."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import Record


def asserts_own(record: Record, index: Path) -> None:
    """The explorer asked for its own files alone and had no reason to complain."""
    own = index.parent.as_uri()
    assert [url for url in record.requests if not url.startswith((own, "data:"))] == []
    assert [*record.console, *record.errors, *record.dialogs] == []


def go(page: Page, link: str) -> None:
    """To one of the report's links, within the page that is open."""
    address = link.partition("#")[2]
    page.evaluate("hash => { location.hash = hash; }", f"#{address}")
    expect(page.locator("#root")).to_have_attribute("data-shown", f"#{address}")


def said(page: Page, number: int = 0) -> Locator:
    return page.locator(".said").nth(number)


def passages(page: Page) -> Locator:
    return page.locator("article.passage .doc")


def cells(page: Page, caption: str) -> list[list[str]]:
    """The rows in sight of the table of this caption."""
    table = page.locator("table", has=page.locator("caption", has_text=caption))
    rows = table.locator("tbody tr:visible")
    return [[text.strip() for text in row.locator("th, td").all_inner_texts()] for row in rows.all()]
