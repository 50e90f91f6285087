"""The HTML page in a real browser: it runs nothing, asks for nothing, and can be read on any screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from quati_pool.reporting.figures.plots import confusion_matrix, intervals, scatter
from quati_pool.reporting.formats.document import Details, Document, Paragraph, Section
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.formats.tables import Column, Table
from tests.browser.pages import Scheme, opened, too_wide
from tests.reporting.hostile import HOSTILE, hostile_document

pytestmark = pytest.mark.browser

NAMES = ["bm25", "e5-large", "multilingual-e5-large-and-a-reranker-at-depth-1000", "x" * 200]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    path.write_text(page(hostile_document()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page as reports have them, with long names and wide tables."""
    wide = Table(
        "Agreement",
        [Column("Labeler"), *(Column(f"Measure {n}", 4) for n in range(14))],
        [[name, *(n / 14 for n in range(14))] for name in NAMES],
        "A note.",
    )
    systems = intervals(
        NAMES, [0.5, 0.4, 0.3, None], [0.4, 0.3, 0.2, None], [0.6, 0.5, 0.4, None], "Systems", "nDCG@10"
    )
    grades = confusion_matrix(np.array([[41, 6], [13, 25]]), "HA1", "LLM", ["no", "yes"], "Grades")
    many = np.linspace(0, 1, 2001)
    queries = scatter(many, many**2, [f"q{n}" for n in range(2001)], "people", "judge", "Queries")
    blocks = [
        Paragraph("Twenty systems gave a hundred documents a query. " * 9),
        wide,
        systems.embed("Leaderboard", "Four systems", "systems"),
        grades.embed("Grades", "Two labelers", "grades"),
        queries.embed("Queries", "2,001 queries", "queries"),
        Details("More", [wide]),
    ]
    document = Document("A report", "50 queries", [Section(f"s{n}", f"Section {n}", blocks) for n in range(3)])
    path = tmp_path_factory.mktemp("report") / "page.html"
    path.write_text(page(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_hostile_texts_does_nothing(browser: Browser, hostile: Path, scheme: Scheme) -> None:
    with opened(browser, hostile, scheme=scheme) as record:
        for summary in record.page.locator("main summary").all():
            summary.click()
        for link in record.page.locator("nav details > ol > li > a").all():
            link.hover()
            link.click()
        record.page.locator("h1").hover()
        record.page.wait_for_timeout(200)
        record.asserts_nothing_outside()
        # The page's own, and nothing that they made of the texts.
        assert record.page.evaluate("document.scripts.length") == 2
        assert record.page.title()
        shown = [text.strip() for text in record.page.locator("section > p").all_text_contents()]
        assert shown[: len(HOSTILE) - 2] == HOSTILE[:-2]


def test_the_harness_sees_what_a_page_must_not_do(browser: Browser, tmp_path: Path) -> None:
    """An unescaped page with the same policy: refused content is on the console; without it, a dialog opens
    and a request leaves."""
    path = tmp_path / "bad.html"
    bad = page(hostile_document()).replace("<header>", "<header><script>alert(1)</script>")
    path.write_text(bad, encoding="utf-8")
    with opened(browser, path) as record, pytest.raises(AssertionError, match="Content Security Policy"):
        record.asserts_nothing_outside()
    path.write_text("<script>alert(1); nothing.here</script><img src='gone.png'>", encoding="utf-8")
    with opened(browser, path) as record:
        assert record.dialogs == ["1"]
        assert len(record.errors) == 1
        with pytest.raises(AssertionError, match=r"asked for \['file:.*gone\.png'\]"):
            record.asserts_nothing_outside()


def test_a_page_that_is_too_wide_is_noticed(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "wide.html"
    path.write_text("<p style='width: 3000px'>wide</p>", encoding="utf-8")
    with opened(browser, path) as record:
        assert too_wide(record.page) > 1000


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_the_page_never_scrolls_sideways_but_its_tables_do(browser: Browser, report: Path, width: int) -> None:
    with opened(browser, report, width) as record:
        assert too_wide(record.page) <= 0
        # The wide table scrolls within its own box, and its heading stays in the window.
        assert record.page.evaluate("document.querySelector('.scroll').scrollWidth") > width * 0.9
        edges = record.page.evaluate(
            "[...document.querySelectorAll('p, h1, h2, figcaption, img')].map(e => e.getBoundingClientRect().right)"
        )
        assert max(edges) <= width
        record.asserts_nothing_outside()


def test_every_figure_is_drawn_and_the_large_one_is_an_image_of_dots(browser: Browser, report: Path) -> None:
    with opened(browser, report) as record:
        images = record.page.evaluate("[...document.images].map(image => [image.naturalWidth, image.src.slice(0, 14)])")
        assert [kind for _, kind in images] == ["data:image/svg", "data:image/svg", "data:image/png"] * 3
        assert all(width > 100 for width, _ in images)


def test_the_colours_follow_the_reader_and_can_be_read(browser: Browser, report: Path) -> None:
    """Text against ground at 7 : 1 or better and notes at 4.5 : 1 (WCAG 2.2, 1.4.6 and 1.4.3)."""
    least = {"section > p": 7, "td": 7, "tbody th": 7, ".note": 4.5, "thead th": 4.5, "a": 4.5, "summary": 4.5}
    schemes: list[Scheme] = ["light", "dark"]
    grounds = []
    for scheme in schemes:
        with opened(browser, report, scheme=scheme) as record:

            def style(selector: str, name: str, page: Page = record.page) -> str:
                return str(page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{name}"))

            grounds.append(style("html", "backgroundColor"))
            for selector, ratio in least.items():
                assert contrast(style(selector, "color"), grounds[-1]) >= ratio, (scheme, selector)
            assert style(".drawn", "backgroundColor") == "rgb(255, 255, 255)"
    assert luminance(grounds[0]) > 0.9
    assert luminance(grounds[1]) < 0.1


def test_paper_shows_what_is_folded_away(browser: Browser, report: Path) -> None:
    with opened(browser, report) as record:
        folded = record.page.locator("details table").first
        assert not folded.is_visible()
        record.page.emulate_media(media="print")
        assert folded.is_visible()
        assert not record.page.locator("nav").is_visible()


def luminance(color: str) -> float:
    """Relative luminance of ``rgb(r, g, b)`` (WCAG 2.2)."""
    parts = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2), from 1 to 21."""
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)
