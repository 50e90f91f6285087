"""The explorer's pages in a real browser, opened from the disk, on collections whose figures are derived by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.reporting.explorer import links
from tests.browser.explorer_data import site, small
from tests.browser.explorer_pages import asserts_own, cells, go, passages, said
from tests.browser.pages import opened

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site(tmp_path_factory.mktemp("explorer") / "explore", *small())


@pytest.fixture
def page(browser: Browser, index: Path) -> Iterator[Page]:
    with opened(browser, index) as record:
        yield record.page
        asserts_own(record, index)


def test_the_start_counts_pairs_disputes_and_agreement(page: Page) -> None:
    expect(said(page)).to_have_text(
        re.compile(
            r"3 queries, 3 systems, 8 pooled pairs, 3 labelers\. rrf is first with a mean nDCG@10 of 0\.583 under ana"
        )
    )
    # q1: d1 equal, d2 and d3 differ by 1, d4 has one grade: mean 2/3. q2: 0 and 1. q3: 3.
    assert [row[1:] for row in cells(page, "disagreement by query")] == [
        ["4", "3", "2", "0.67", "0"],
        ["3", "2", "1", "0.50", "1"],
        ["1", "1", "1", "3.00", "0"],
    ]
    assert [row[1] for row in cells(page, "by system")] == ["rrf", "bm25", "dense"]
    assert cells(page, "by system")[1][2:] == ["0.500", "0.300 to 0.600", "a", "0.200", "40\u00a0%", "1"]
    # ana: 3 + 1 + 0 + 0 + 1 + 3 of six grades.
    assert cells(page, "by labeler")[0] == ["ana (main)", "person", "6", "1.33", "–", "–"]
    assert cells(page, "by labeler")[1][4:] == ["0.125", "−0.100 to 0.500"]


def test_search_folds_diacritics_forgives_a_slip_and_is_restored(page: Page) -> None:
    found = page.locator(".found li")
    page.keyboard.press("/")
    page.keyboard.type("corac")
    expect(found).to_have_text([re.compile("q1 Quantos corações")])
    page.locator("#search").fill("irigacao")
    expect(found).to_have_text([re.compile("q3 Como se rega")])
    expect(page.get_by_role("status")).to_have_text("1 query found.")
    found.locator("a").click()
    expect(page.locator("h1")).to_have_text("Como se rega um jardim?")
    expect(page.locator("h1")).to_be_focused()
    expect(page).to_have_title("Como se rega um jardim? – A small collection")
    page.go_back()
    expect(page.locator("#search")).to_have_value("irigacao")
    expect(found).to_have_count(1)


def test_a_query_is_filtered_and_ordered_and_the_way_back_restores_each_step(page: Page) -> None:
    go(page, links.query("q1"))
    expect(said(page)).to_have_text(
        "4 passages in the pool, 3 graded by ana, 2 disputed. rrf scores highest, 1.000 nDCG@10."
    )
    filters = page.get_by_label("Passages shown").locator("a")
    expect(filters).to_have_text(["All 4", "Judged 3", "Disputed 2", "Unjudged 1", "By one system alone 2"])
    # Best ranks: d1 1 (rrf), d3 1 (bm25), d4 1 (dense), d2 2.
    expect(passages(page)).to_have_text(["d1", "d3", "d4", "d2"])
    filters.nth(2).click()
    expect(passages(page)).to_have_text(["d3", "d2"])
    filters.nth(4).click()
    expect(passages(page)).to_have_text(["d3", "d4"])
    page.get_by_label("Order by").select_option(label="grade")
    page.get_by_label("Passages shown").locator("a").nth(0).click()
    expect(passages(page)).to_have_text(["d1", "d2", "d3", "d4"])
    page.go_back()
    page.go_back()
    expect(passages(page)).to_have_text(["d3", "d4"])
    expect(filters.nth(4)).to_have_attribute("aria-current", "true")
    page.go_back()
    expect(passages(page)).to_have_text(["d3", "d2"])
    page.go_forward()
    expect(passages(page)).to_have_text(["d3", "d4"])


def test_a_passage_has_every_grade_its_ranks_and_the_reasons(page: Page) -> None:
    go(page, links.query("q1", by="gpt", show="disputed"))
    second = page.locator("article.passage").nth(1)
    expect(second.locator(".chip")).to_have_text([re.compile("^ana 1"), re.compile("^gpt 0"), re.compile("^eva –")])
    expect(second.locator(".disputed")).to_have_text("grades differ by 1")
    expect(second.locator(".ranks")).to_have_text("rrf 2 · dense 2")
    second.locator("summary").click()
    expect(second.locator("details dt")).to_have_text(["gpt · samples 0, 0, 1", "ana"])
    expect(second.locator("details dd")).to_have_text(["It names octopuses only.", "Note: See d1."])
    go(page, links.query("q1", by="eva"))
    first = page.locator("article.passage").first
    expect(first.locator(".chip").nth(2)).to_have_text("eva ? hidden")
    expect(said(page)).to_contain_text("1 hidden")
    expect(page.get_by_label("Passages shown").locator("a").nth(3)).to_have_text("Unjudged 3")
    go(page, links.query("q2"))
    expect(page.get_by_text("The text of this passage is not stored.")).to_have_count(1)


def test_rankings_show_grades_to_a_depth_and_lead_to_passages(page: Page) -> None:
    go(page, links.query("q1", systems=("dense", "rrf")))
    expect(said(page)).to_contain_text(
        "dense scores 0.000, rrf 1.000: a difference of −1.000 nDCG@10. "
        "Among its first 10 documents, dense has 2 graded above 0, rrf 2."
    )
    headings = page.locator(".rankings thead th a")
    expect(headings).to_have_text(["dense", "rrf", "bm25"])
    assert cells(page, "The first 6")[:3] == [
        ["1", "–d4", "3d1", "0d3"],
        ["2", "1d2", "1d2", "3d1"],
        ["3", "3d1", "", "○x1"],
    ]
    assert len(cells(page, "The first 6")) == 6
    page.get_by_label("Depth").select_option(label="5")
    expect(page.locator(".rankings tbody tr")).to_have_count(5)
    page.get_by_role("link", name="Only these 2 systems").click()
    expect(headings).to_have_text(["dense", "rrf"])
    page.get_by_role("link", name="All 3 systems").click()
    expect(headings).to_have_count(3)
    documents = page.locator(".rankings [data-doc]")
    documents.filter(has_text="d1").first.hover()
    expect(page.locator(".rankings .same")).to_have_text(["3d1", "3d1", "3d1"])
    documents.filter(has_text="d2").first.focus()
    expect(page.locator(".rankings .same")).to_have_count(2)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".rankings :focus")).to_have_text("○x1")
    page.get_by_label("Passages shown").locator("a").nth(3).click()
    documents.filter(has_text="d2").first.click()
    marked = page.locator("article.marked .doc")
    expect(marked).to_have_text("d2")
    expect(marked).to_be_focused()
    expect(marked).to_be_in_viewport()


def test_a_system_wins_loses_and_equals_and_each_query_is_a_click_away(page: Page) -> None:
    go(page, links.system("rrf"))
    expect(said(page)).to_contain_text(
        "Rank 1 of 3 under ana: nDCG@10 0.583 (95\u00a0% interval 0.400 to 0.700), P@10 0.200."
    )
    # Against the next on the board: q1 +0.5, q2 0, q3 −0.25; their mean is 0.25/3.
    expect(said(page, 1)).to_have_text(
        "rrf is ahead of bm25 on 1 of 3 queries, behind on 1, equal on 1; mean difference +0.083 nDCG@10 under ana."
    )
    assert [row[1:] for row in cells(page, "Differences by query")] == [
        ["1.000", "0.500", "+0.500"],
        ["0.250", "0.250", "0.000"],
        ["0.500", "0.750", "−0.250"],
    ]
    page.get_by_label("Measure").select_option(label="P@10")
    expect(said(page, 1)).to_contain_text("equal on 3; mean difference 0.000 P@10")
    page.go_back()
    page.get_by_label("Against").select_option(label="dense")
    # dense has no score on q2.
    expect(said(page, 1)).to_contain_text(
        "ahead of dense on 1 of 2 queries, behind on 0, equal on 1; mean difference +0.500"
    )
    page.go_back()
    expect(said(page, 1)).to_contain_text("ahead of bm25")
    canvas = page.locator("canvas")
    box = canvas.bounding_box()
    assert box
    canvas.click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.4})
    expect(page.locator("h1")).to_have_text("Quantos corações tem um polvo?")
    assert page.url.endswith("#/query/q1?system=rrf&system=bm25&by=ana")
    expect(page.locator(".rankings thead th a")).to_have_text(["rrf", "bm25", "dense"])


def test_unjudged_documents_are_counted_by_query(page: Page) -> None:
    go(page, links.system("bm25"))
    page.get_by_role("button", name="Count them by query").click()
    # Of bm25's documents on q1 four are outside the pool; on q2 e3 has no grade.
    expect(page.get_by_text("2 queries of 3 have unjudged documents")).to_be_visible()
    assert [row[1:] for row in cells(page, "Unjudged documents")] == [["4", "6"], ["1", "2"], ["0", "1"]]


def test_a_confusion_cell_leads_to_its_pairs(page: Page) -> None:
    go(page, links.labeler("ana"))
    expect(said(page)).to_have_text("ana graded 6 of 8 pairs; the mean grade is 1.33. Kind: person.")
    expect(said(page, 1)).to_have_text(
        "ana and gpt give the same grade to 2 of the 6 pairs that both graded (33\u00a0%); ana grades 3 higher and "
        "1 lower. The mean difference is +0.67; Cohen’s κ is 0.125 (95\u00a0% interval −0.100 to 0.500)."
    )
    assert [row[1:] for row in cells(page, "Pairs by grade")] == [["1", "1", "0"], ["2", "0", "0"], ["1", "0", "1"]]
    assert [row[1:] for row in cells(page, "Agreement by query")] == [
        ["1", "0\u00a0%", "+3.00"],
        ["2", "50\u00a0%", "+0.50"],
        ["3", "33\u00a0%", "0.00"],
    ]
    page.locator(".confusion").get_by_role("link", name="2", exact=True).click()
    expect(page.locator("h1")).to_have_text("Pairs")
    expect(said(page)).to_have_text("2 pairs graded 1 by ana and 0 by gpt; the widest difference comes first.")
    expect(passages(page)).to_have_text(["d2", "e2"])
    page.get_by_label("as").nth(0).select_option(label="any")
    expect(said(page)).to_contain_text("4 pairs graded by ana and 0 by gpt")
    expect(passages(page)).to_have_text(["f1", "d2", "e2", "e1"])


def test_pairs_are_listed_by_difference_query_or_system(page: Page) -> None:
    go(page, links.pairs("ana", "gpt"))
    expect(passages(page)).to_have_text(["f1", "d2", "d3", "e2", "d1", "e1"])
    go(page, links.pairs("ana", "gpt", query_id="q1"))
    expect(passages(page)).to_have_text(["d2", "d3", "d1"])
    go(page, links.pairs("gpt", grade_a=3))
    expect(said(page)).to_have_text("2 pairs graded 3 by gpt.")
    go(page, links.alone("bm25"))
    expect(said(page)).to_have_text("1 pair that only bm25 brought into the pool.")
    go(page, links.alone("bm25", by="ana", relevant=True))
    expect(said(page)).to_have_text("0 pairs that only bm25 brought into the pool, graded above 0 by ana.")
    page.get_by_label("Grades of").select_option(label="gpt")
    expect(passages(page)).to_have_text(["d3"])
    page.get_by_role("link", name="q1 Quantos").click()
    expect(page.locator("article.marked .doc")).to_have_text("d3")


def test_keys_lead_from_query_to_query_and_leave_fields_alone(page: Page) -> None:
    go(page, links.query("q1", by="gpt"))
    heading = page.locator("h1")
    page.keyboard.press("j")
    expect(heading).to_have_text(re.compile("seca"))
    expect(page.get_by_label("Grades of")).to_have_value("1")
    page.keyboard.press("ArrowRight")
    expect(heading).to_have_text(re.compile("jardim"))
    page.keyboard.press("k")
    expect(heading).to_have_text(re.compile("seca"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("u")
    expect(heading).to_have_text("A small collection")
    page.keyboard.press("/")
    page.keyboard.type("ju?")
    expect(page.locator("#search")).to_have_value("ju?")
    page.keyboard.press("Escape")
    go(page, links.query("q1"))
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_what_is_not_there_is_said_with_a_way_back(page: Page) -> None:
    for link, message in (
        (links.query("q9"), "There is no query “q9” in this collection."),
        (links.system("__proto__"), "There is no system “__proto__” in this collection."),
        (links.labeler("constructor"), "There is no labeler “constructor” in this collection."),
        (links.query("q1", by="nobody"), "There is no labeler “nobody” in this collection."),
        ("#/nowhere", "This address leads nowhere."),
        ("#/query/%E0%A4%A", "There is no query “%E0%A4%A” in this collection."),
    ):
        go(page, link)
        expect(page.get_by_text(message)).to_be_visible()
    page.get_by_role("link", name="All queries, systems and labelers").click()
    expect(page.locator("h1")).to_have_text("A small collection")
    go(page, links.query("q1", doc_id="x1"))
    expect(page.get_by_text("The document x1 is not in the pool of this query.")).to_be_visible()


def test_a_file_that_cannot_be_read_is_named_and_read_once_it_is_there(browser: Browser, tmp_path: Path) -> None:
    index = site(tmp_path / "explore", *small())
    away = (index.parent / "data/query-1.js").rename(tmp_path / "away.js")
    with opened(browser, index) as record:
        go(record.page, links.query("q2"))
        expect(record.page.get_by_text("The file data/query-1.js cannot be read.")).to_be_visible()
        go(record.page, links.START)
        away.rename(index.parent / "data/query-1.js")
        go(record.page, links.query("q2"))
        expect(passages(record.page)).to_have_count(3)


def test_texts_can_be_withheld(browser: Browser, tmp_path: Path) -> None:
    collection, queries, scores = small()
    collection["texts"] = False
    for query in queries:
        del query["texts"]
    index = site(tmp_path / "explore", collection, queries, scores)
    with opened(browser, index) as record:
        go(record.page, links.query("q1"))
        expect(record.page.get_by_text("The texts of this collection are withheld.")).to_have_count(4)
        asserts_own(record, index)


def test_estimates_are_shown_and_boards_of_a_judge_alone_marked(browser: Browser, tmp_path: Path) -> None:
    collection, queries, scores = small()
    statement = "Estimate of nDCG@10 under the grades of <i>ana</i>."
    names = [one["name"] for one in collection["systems"]]
    estimates = [[0.5, 0.4, 0.61], [0.25, 0.2, 0.3], None]
    collection["estimates"] = {
        "measure": "nDCG@10", "interval": "95 % interval", "statement": statement, "systems": estimates,
    }  # fmt: skip
    collection["boards"][0]["alone"] = True
    index = site(tmp_path / "explore", collection, queries, scores)
    with opened(browser, index) as record:
        page = record.page
        expect(said(page)).to_have_text(re.compile(r"under ana’s grades alone\.$"))
        expect(page.get_by_text(statement)).to_be_visible()
        expect(page.get_by_text("are under the grades of ana alone, no estimates of people’s.")).to_be_visible()
        shown = {row[1]: row[2] for row in cells(page, "by system")}
        assert [shown[name] for name in names] == ["0.500 (0.400 to 0.610)", "0.250 (0.200 to 0.300)", "–"]
        go(page, links.system(names[1]))
        expect(said(page)).to_have_text(
            "Estimated nDCG@10 under people’s grades: 0.250 (95 % interval 0.200 to 0.300)."
        )
        expect(said(page, 1)).to_have_text(re.compile("under ana’s grades alone:"))
        expect(page.get_by_text(statement)).to_be_visible()
        go(page, links.system(names[2]))
        expect(page.get_by_text("Estimated")).to_have_count(0)
        asserts_own(record, index)
