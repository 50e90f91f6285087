"""The report of the demo in a real browser: nothing on the console, nothing asked of the network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.page import report
from tests.browser.pages import Scheme, opened

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("report") / "demo"))
    return report(folder / "pool.yaml", Listener(), Settings(draws=50))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_opens_without_an_error_or_a_request(
    browser: Browser, page: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, page, width, scheme) as record:
        record.asserts_nothing_outside()
        assert record.page.title() == "Amostra, the sample collection of quati-pool"
        images = record.page.locator("img")
        assert images.count() >= 6
        widths = images.evaluate_all("images => images.map(image => image.naturalWidth)")
        assert min(widths) > 100
        # Nothing is wider than the screen: wide tables scroll within themselves.
        assert record.page.evaluate("document.documentElement.scrollWidth") <= width
        for section in ("pool", "labels", "agreement", "systems", "quality", "methods"):
            assert record.page.locator(f"#{section} h2").is_visible()
