"""From a doubt on the first screen of a report to the passages behind it: ten questions, each answered in at most three
clicks, on the demo as anybody builds it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.page import report
from tests.browser.pages import opened

pytestmark = pytest.mark.browser

MOST = 3


@pytest.fixture(scope="module")
def written(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("journeys") / "demo"))
    return report(folder / "pool.yaml", Listener(), Settings(draws=50))


class Journey:
    """A reader at the first screen of the report, whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, place: Locator) -> None:
        self.clicks += 1
        assert self.clicks <= MOST
        place.first.click()

    def choose(self, label: str, option: str) -> None:
        self.clicks += 1
        assert self.clicks <= MOST
        self.page.get_by_role("combobox", name=label, exact=True).first.select_option(label=option)

    def distrust(self, words: str) -> Locator:
        return self.page.locator(".opening .listing a", has_text=words)

    @property
    def said(self) -> Locator:
        return self.page.locator("main")

    @property
    def passages(self) -> Locator:
        return self.page.locator("article.passage")


@pytest.fixture
def journey(browser: Browser, written: Path) -> Iterator[Journey]:
    with opened(browser, written) as record:
        yield Journey(record.page)
        folder = written.parent.as_uri()
        assert [url for url in record.requests if not url.startswith((folder, "data:"))] == []
        assert [*record.console, *record.errors, *record.dialogs] == []


def test_why_is_bm25s_ahead_of_the_best_system_under_lexical(journey: Journey) -> None:
    journey.click(journey.distrust("Under lexical, bm25s is ahead of bm25s-lsa"))
    expect(journey.said).to_contain_text("bm25s is ahead of bm25s-lsa on")
    expect(journey.said).to_contain_text("under lexical")
    journey.click(journey.page.locator("table a[href^='#/query/']"))
    # Both rankings next to each other, with lexical's grades.
    expect(journey.page.get_by_role("combobox", name="Grades of")).to_have_value("1")
    assert "system=bm25s&system=bm25s-lsa&by=lexical" in journey.page.url
    expect(journey.passages.first).to_be_attached()


def test_which_passages_do_gold_and_lexical_differ_most_on(journey: Journey) -> None:
    journey.click(journey.distrust("agree little"))
    expect(journey.said).to_contain_text("the widest difference comes first")
    five = journey.passages.locator(".chips")
    expect(five.nth(4)).to_be_attached()
    for place in range(5):
        expect(five.nth(place)).to_contain_text("grades differ by 3")


def test_why_is_the_first_system_not_significantly_better_than_the_next(journey: Journey) -> None:
    journey.click(journey.distrust("is not significantly better than"))
    expect(journey.said).to_contain_text(re.compile(r"bm25s-lsa is ahead of rrf on \d+ of 24 queries"))


def test_where_is_the_judge_more_lenient(journey: Journey) -> None:
    journey.click(journey.distrust("lexical grades higher than sample-gold"))
    journey.choose("as", "3 Perfectly relevant")
    expect(journey.said).to_contain_text(re.compile(r"\d+ pairs? graded 3 .*by lexical"))
    expect(journey.passages.first).to_be_attached()


def test_on_which_query_is_a_system_worst_against_another(journey: Journey) -> None:
    journey.click(journey.page.locator(".opening .standings a", has_text="combmnz"))
    expect(journey.said).to_contain_text("Rank 4 of 7")
    journey.click(journey.page.locator("table a[href^='#/query/']").last)
    expect(journey.page.locator("h1")).to_be_visible()
    expect(journey.passages.first).to_be_attached()


def test_what_is_in_a_cell_of_the_confusion_matrix(journey: Journey) -> None:
    cell = journey.page.locator(".matrices td a[href*='grade_a=0'][href*='grade_b=2']")
    count = cell.first.inner_text()
    journey.click(cell)
    expect(journey.said).to_contain_text(f"{count} pairs")


def test_which_passages_would_be_unjudged_without_a_system(journey: Journey) -> None:
    journey.click(journey.page.locator(".opening .standings a", has_text="bm25s-words"))
    alone = journey.page.locator("a[href*='alone=bm25s-words']").first
    count = re.findall(r"\d+", alone.inner_text())[0]
    journey.click(alone)
    expect(journey.said).to_contain_text(f"{count} pairs")
    expect(journey.passages.first).to_contain_text("bm25s-words")


def test_which_query_do_labelers_disagree_on_most_and_why(journey: Journey) -> None:
    hardest = journey.page.locator("nav a", has_text="Queries hardest for the labelers")
    journey.click(hardest)
    journey.click(journey.page.locator("figure.table a[href*='#/query/'][href*='disputed']"))
    expect(journey.passages.first).to_contain_text("grades differ by")
    journey.click(journey.passages.locator("summary"))
    expect(journey.passages.first.locator("dd").first).not_to_be_empty()


def test_how_does_a_labeler_use_the_scale(journey: Journey) -> None:
    journey.click(journey.page.locator("figure.table a[href*='#/labeler/lexical']"))
    expect(journey.said).to_contain_text("365")
    expect(journey.page.locator("canvas").first).to_be_visible()


def test_what_do_the_systems_return_for_a_question_about_droughts(journey: Journey) -> None:
    journey.click(journey.page.locator(".opening .standings a").first)
    expect(journey.said).to_contain_text("Rank 1 of 7")
    journey.page.keyboard.press("/")
    search = journey.page.get_by_role("searchbox")
    expect(search).to_be_focused()
    # Without the accent, and with a typing error.
    search.fill("semiarido secsa")
    journey.click(journey.page.locator("a[href^='#/query/']", has_text="semiárido"))
    expect(journey.page.locator("h1")).to_contain_text("semiárido")
    journey.page.go_back()
    expect(search).to_have_value("semiarido secsa")
