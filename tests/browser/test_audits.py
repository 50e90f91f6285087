"""Audits in the report and in the explorer, of passages that would act in a page, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.explorer import links
from quati_pool.reporting.page import report
from tests.audited_workspace import AUDITED, audited_demo, hostile_workspace
from tests.browser.explorer_pages import asserts_own, cells, go
from tests.browser.pages import Scheme, opened, too_wide

pytestmark = pytest.mark.browser

FEW = Settings(draws=20)
ACTING = ":is([onerror], [onclick], [onload], [onmouseover], [onfocus])"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a hostile pool."""
    return report(hostile_workspace(tmp_path_factory.mktemp("hostile") / "workspace"), Listener(), FEW)


@pytest.fixture(scope="module")
def demo(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(audited_demo(finished_demo, tmp_path_factory.mktemp("audited") / "demo"), Listener(), FEW)


def test_hostile_passages_do_nothing_in_the_report(browser: Browser, hostile: Path) -> None:
    with opened(browser, hostile) as record:
        page = record.page
        examples = page.locator("#appendix > details", has=page.locator("summary", has_text="Audit of"))
        examples.locator("summary").first.click()
        expect(examples.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
        assert page.locator(ACTING).count() == 0
        record.asserts_nothing_outside()


def test_hostile_passages_do_nothing_in_the_explorer(browser: Browser, hostile: Path) -> None:
    index = hostile.parent / "explore" / "index.html"
    with opened(browser, index) as record:
        page = record.page
        go(page, links.labeler(AUDITED))
        expect(page.get_by_role("heading", name="What fooled it most")).to_be_visible()
        for summary in page.locator(".audited summary").all():
            summary.click()
        expect(page.locator(".audited").get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
        assert page.locator("#root :is(script, style, img, iframe, link, meta, base, svg)").count() == 0
        assert page.locator(f"#root {ACTING}").count() == 0
        asserts_own(record, index)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_the_card_and_the_examples_fit(browser: Browser, demo: Path, width: int, scheme: Scheme) -> None:
    with opened(browser, demo, width, scheme) as record:
        page = record.page
        assert page.locator("#audits h2").is_visible()
        page.locator("#appendix > details summary", has_text="Audit of").click()
        assert too_wide(page) <= 0
        record.asserts_nothing_outside()
    index = demo.parent / "explore" / "index.html"
    with opened(browser, index, width, scheme) as record:
        page = record.page
        go(page, links.labeler(AUDITED))
        page.locator(".audited summary").first.click()
        expect(page.locator(".audited .shown").nth(1)).to_be_visible()
        assert too_wide(page) <= 0
        rows = {row[0]: row[1] for row in cells(page, f"What {AUDITED} was tested for (shares in %)")}
        assert rows["keyword stuffing"] == "fooled"
        asserts_own(record, index)
        page.locator(".audited .of-query a").first.click()
        expect(page.locator(".kicker")).to_contain_text("Query")


def test_a_labeler_without_an_audit_has_none_on_its_page(browser: Browser, demo: Path, tmp_path: Path) -> None:
    index = Path(shutil.copytree(demo.parent / "explore", tmp_path / "explore")) / "index.html"
    with opened(browser, index) as record:
        go(record.page, links.labeler("sample-gold"))
        expect(record.page.get_by_role("heading", name="Audit")).to_have_count(0)
