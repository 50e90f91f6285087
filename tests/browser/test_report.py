"""The report in a real browser: nothing on the console, nothing asked of the network, and what its script adds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Locator, Page, expect

from quati_pool.commands.evaluate import Settings, evaluate
from quati_pool.project.events import Listener
from quati_pool.reporting.formats.tables import to_csv, to_latex
from quati_pool.reporting.page import report
from quati_pool.reporting.tables.evaluate import board_tables
from tests.browser.large_collection import large_collection
from tests.browser.pages import Scheme, opened, too_wide

pytestmark = pytest.mark.browser

SETTINGS = Settings(draws=20)
SECTIONS = ("agreement", "systems", "pool", "labels", "quality", "methods", "appendix")


@pytest.fixture(scope="module")
def demo(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("report") / "demo"))
    return report(folder / "pool.yaml", Listener(), SETTINGS)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The report of the large collection, made by the first process of the tests that needs it; not to be changed."""
    own = tmp_path_factory.getbasetemp()
    page = (own if worker_id == "master" else own.parent) / "large-report.html"
    with FileLock(page.with_suffix(".lock")):
        if not page.exists():
            report(large_collection(tmp_path_factory.mktemp("large") / "large"), Listener(), SETTINGS).rename(page)
    return page


def leaderboard(page: Page) -> Locator:
    return page.locator("#systems figure.table").first


def names(figure: Locator) -> list[str]:
    """The systems of the leaderboard, from the top."""
    return figure.locator("tbody td:nth-child(2)").all_inner_texts()


def in_sight(figure: Locator) -> int:
    """The number of rows that are neither filtered out nor clipped."""
    box = figure.locator(".scroll").bounding_box()
    assert box is not None
    rows = [row.bounding_box() for row in figure.locator("tbody tr").all()]
    return sum(row is not None and row["y"] + row["height"] <= box["y"] + box["height"] + 1 for row in rows)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_opens_without_an_error_or_a_request(
    browser: Browser, demo: Path, width: int, scheme: Scheme
) -> None:
    with opened(browser, demo, width, scheme) as record:
        record.asserts_nothing_outside()
        assert record.page.title() == "Amostra, the sample collection of quati-pool"
        images = record.page.locator("img")
        assert images.count() == 5
        widths = images.evaluate_all("images => images.map(image => image.naturalWidth)")
        assert min(widths) > 100
        # Nothing is wider than the screen: wide tables scroll within themselves.
        assert too_wide(record.page) <= 0
        for section in SECTIONS:
            assert record.page.locator(f"#{section} h2").is_visible()


def test_six_labelers_and_twenty_systems_take_seven_screens_before_the_appendix(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        page = record.page
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(leaderboard(page).get_by_role("button")).to_have_text("show all 20 rows")
        top = "element => element.getBoundingClientRect().top + scrollY"
        height = page.locator("#appendix").evaluate(top) - page.locator(f"#{SECTIONS[0]}").evaluate(top)
        assert height <= 7 * 800
        # It holds everything else, folded.
        assert page.locator("#appendix > details:not([open])").count() == page.locator("#appendix > *").count() - 1
        record.asserts_nothing_outside()


def test_a_click_or_the_enter_key_on_a_heading_sorts_by_its_numbers(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        figure = leaderboard(record.page)
        best_first = names(figure)
        heading = figure.get_by_role("columnheader", name="nDCG@10")
        heading.click()
        expect(heading).to_have_attribute("aria-sort", "ascending")
        assert names(figure) == best_first[::-1]
        heading.press("Enter")
        expect(heading).to_have_attribute("aria-sort", "descending")
        assert names(figure) == best_first
        record.asserts_nothing_outside()


def test_totals_stay_at_the_foot_and_what_is_undefined_comes_last(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        page = record.page
        figure = page.locator("#pool figure.table").first
        feet = figure.locator("tfoot th").all_inner_texts()
        assert feet == ["Mean of the shares", "All systems together"]
        share = figure.get_by_role("columnheader", name="Share")
        share.click()
        assert figure.locator("tfoot th").all_inner_texts() == feet
        cells = figure.locator("tbody td:last-child")
        shares = [float(text.removesuffix(" %")) for text in cells.all_inner_texts()]
        assert shares == sorted(shares)
        # A value is taken away, as if it were undefined.
        cells.nth(3).evaluate(
            "cell => { cell.textContent = '–'; cell.classList.add('undefined'); delete cell.dataset.sort; }"
        )
        for _ in range(2):
            share.click()
            assert cells.last.inner_text() == "–"


def test_ten_rows_are_shown_until_all_are_asked_for_searched_or_reached(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        figure = leaderboard(record.page)
        more = figure.get_by_role("button")
        expect(more).to_have_attribute("aria-expanded", "false")
        assert in_sight(figure) == 10
        more.click()
        expect(more).to_have_text("show the first 10 rows")
        assert in_sight(figure) == 20
        more.click()
        assert in_sight(figure) == 10
        # What the browser's search or the Tab key reaches scrolls the table, which then unfolds.
        figure.locator("tbody a").nth(15).focus()
        expect(more).to_have_attribute("aria-expanded", "true")
        assert in_sight(figure) == 20


def test_a_filter_leaves_the_rows_that_hold_its_words(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        figure = leaderboard(record.page)
        field = figure.get_by_role("searchbox")
        field.fill("SYSTEM-1")
        expect(figure.locator("output")).to_have_text("10 of 20")
        assert in_sight(figure) == 10
        expect(figure.locator("tbody tr:visible")).to_have_count(10)
        field.fill("system-17")
        expect(figure.locator("tbody tr:visible td:nth-child(2)")).to_have_text(["system-17"])
        field.fill("")
        assert in_sight(figure) == 10
        # Tables of ten rows and fewer have neither.
        expect(record.page.locator("#labels").get_by_role("searchbox")).to_have_count(0)


def test_a_table_is_downloaded_as_its_csv_and_latex_unrounded(browser: Browser, large: Path, tmp_path: Path) -> None:
    evaluation = evaluate(large_collection(tmp_path / "large"), settings=SETTINGS)
    table = board_tables(evaluation, evaluation.conditions[0])[0]
    with opened(browser, large) as record:
        for label, text in (("CSV", to_csv(table)), ("LaTeX", to_latex(table))):
            with record.page.expect_download() as download:
                leaderboard(record.page).get_by_role("link", name=label).click()
            download.value.save_as(tmp_path / label)
            assert (tmp_path / label).read_bytes() == text.encode()
            assert download.value.suggested_filename.startswith("systems-leaderboard-under-")


def test_the_contents_list_marks_the_part_in_view(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        page = record.page
        current = page.locator("nav [aria-current]")
        for place in ("agreement-grades-of-two-labelers", "pool", "systems"):
            page.locator(f"#{place}").evaluate("element => scrollTo(0, element.offsetTop - 100)")
            expect(current).to_have_attribute("href", f"#{place}")
            expect(current).to_be_in_viewport()


def test_the_contents_list_is_folded_on_a_narrow_screen_and_leads_to_every_part(browser: Browser, large: Path) -> None:
    with opened(browser, large, 390) as record:
        page = record.page
        expect(page.locator("nav ol").first).to_be_hidden()
        page.locator("nav summary").click()
        page.locator("nav").get_by_role("link", name="Agreement by grade").click()
        expect(page.locator("nav ol").first).to_be_hidden()
        expect(page.locator("#appendix-agreement-by-grade")).to_be_in_viewport()
        assert too_wide(page) <= 0


def test_a_mark_of_a_figure_is_a_link_that_the_keyboard_reaches(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        drawn = record.page.locator("#systems .drawn").first
        link = drawn.locator("a").first
        link.focus()
        expect(link).to_be_focused()
        assert str(link.get_attribute("href")).startswith("./explore/index.html#/system/system-")
        image, row = drawn.locator("img").bounding_box(), link.locator("rect").bounding_box()
        assert image is not None
        assert row is not None
        # The box includes the ring of the focus.
        assert row["width"] == pytest.approx(image["width"], abs=3)
        assert image["y"] < row["y"] < row["y"] + row["height"] < image["y"] + image["height"]
        ring = link.locator("rect").evaluate("rect => getComputedStyle(rect).stroke")
        assert ring != "none"


def test_without_scripts_every_row_and_every_folded_part_is_there(browser: Browser, large: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.goto(large.as_uri())
        assert in_sight(leaderboard(page)) == 20
        expect(page.locator("nav").get_by_role("link", name="Methods", exact=True)).to_be_visible()
        part = page.locator("#appendix > details").first
        expect(part.locator("table").first).to_be_hidden()
        part.locator("summary").click()
        expect(part.locator("table").first).to_be_visible()
        expect(page.get_by_role("searchbox")).to_have_count(0)
        with page.expect_download():
            leaderboard(page).get_by_role("link", name="CSV").click()
    finally:
        context.close()


def test_paper_has_every_row_of_every_part_and_no_controls(browser: Browser, large: Path) -> None:
    with opened(browser, large) as record:
        page = record.page
        leaderboard(page).get_by_role("searchbox").fill("system-03")
        expect(leaderboard(page).locator("tbody tr:visible")).to_have_count(1)
        page.emulate_media(media="print")
        # A4 less its margins.
        page.set_viewport_size({"width": 672, "height": 986})
        assert in_sight(leaderboard(page)) == 20
        expect(page.locator("#appendix table").last).to_be_visible()
        for control in ("nav", ".tools", ".more", ".drawn svg"):
            expect(page.locator(control).first).to_be_hidden()
        # No table is cut.
        wider = page.locator("table").evaluate_all(
            "tables => tables.filter(table => table.getBoundingClientRect().right > 673).map(table => table.ariaLabel)"
        )
        assert not wider
