"""Which pair people get next, in Chromium: one of their own again or a gold pair, both unannounced, and the queries of
a design in its order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator_app import words
from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.qrels import export_qrels
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, drawn, let_in, question, served, sign_in, visitor
from tests.browser.test_annotate import another, clean
from tests.browser.test_team import shows
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, labels, pairs, text
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

LOOKS: list[tuple[str, str, int, Scheme]] = [
    ("ana", "pt", 1280, "light"), ("bia", "es", 390, "dark"), ("caio", "en", 1280, "dark"),
]  # fmt: skip

LOOK = """[...document.querySelectorAll(".left *")].map(
  one => `${one.tagName} ${one.className} ${one.hidden} ${getComputedStyle(one).borderColor}`
)"""
"""All elements around the pair that is shown: what could make a pair look unlike the others."""


@contextmanager
def working(browser: Browser, app: Served, code: str, language: str, width: int, scheme: Scheme) -> Iterator[Page]:
    """The grading page of the person with this code."""
    with visitor(browser, width, scheme, language, 844) as (_, record):
        sign_in(record.page, app, code)
        yield record.page
        clean(record, app)


def grades_all(page: Page, grade: Callable[[int], int]) -> list[int]:
    """Gives each passage the grade that its number has, by key, on a phone by touch; the numbers in order. Every pair
    looks like the first one that came after an answer."""
    touch = page.evaluate("navigator.maxTouchPoints") > 0
    numbers, looks = [], []
    while not page.locator(".end").count():
        asked = question(page)
        found = re.match(r"amarelo(\d+)", page.locator(".passage").inner_text())
        assert found
        numbers.append(int(found[1]))
        looks.append(page.evaluate(LOOK))
        value = grade(numbers[-1])
        if touch:
            page.locator(f"[data-do=grade][data-value='{value}']").tap()
        else:
            page.keyboard.press(str(value))
        another(page, asked)
    assert all(look == looks[1] for look in looks[2:])
    return numbers


def qrels(config: Path, name: str) -> dict[tuple[str, str], int]:
    lines = export_qrels(config, name, allow_missing=True).path.read_text(encoding="utf-8").splitlines()
    return {(query_id, doc_id): int(grade) for query_id, _, doc_id, grade in map(str.split, lines)}


# Repeats

GRADED = 10
"""How many pairs each person has graded before: none of them may come again yet."""


@pytest.fixture(scope="module")
def repeating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = collection(tmp_path_factory.mktemp("repeats"), pairs(7, 2), annotation={"repeats": 0.5})
    with AnnotationSession.open(config) as session:
        assigned(session, [None] * len(LOOKS))
    with served(config) as app:
        yield app


@pytest.mark.parametrize(("name", "language", "width", "scheme"), LOOKS)
def test_a_pair_comes_again_unannounced_and_the_first_grade_counts(
    browser: Browser, repeating: Served, name: str, language: str, width: int, scheme: Scheme
) -> None:
    config, given = repeating.config, dict[int, list[int]]()

    def grade(number: int) -> int:
        """Another one each time."""
        before = given.setdefault(number, [])
        before.append((number + len(before)) % 4)
        return before[-1]

    code = code_for(config, name)
    with AnnotationSession.open(config) as session:
        mine = f"token-of-{name}"
        session.people.sign_in(name, token_sha(mine), 3600)
        for place in range(GRADED):
            shown = item(session, mine)
            submit(session, mine, shown, answer(place, grade(_number(shown.query_id, shown.doc_id))))
    with working(browser, repeating, code, language, width, scheme) as page:
        numbers = grades_all(page, grade)
        again = {number: both for number, both in given.items() if len(both) > 1}
        assert again
        assert numbers[-1] not in again, "it came last, not among the others"
        page.goto(f"{repeating.address}/labels")
        expect(page.locator(".count")).to_have_text(words.message(language, "own_labels.given", count=14))
    assert qrels(config, name) == {_ids(number): both[0] for number, both in given.items()}
    with AnnotationSession.open(config) as session:
        for number, both in again.items():
            first, second = labels(session, name, *_ids(number))
            assert [(one.phase, one.relevance) for one in (first, second)] == [("blind", both[0]), ("repeat", both[1])]
            assert second.extra["repeats"] == first.seq


def _number(query_id: str, doc_id: str) -> int:
    return 100 * int(query_id[1:]) + int(doc_id[1:])


def _ids(number: int) -> tuple[str, str]:
    return f"q{number // 100}", f"d{number % 100}"


# Gold pairs

GOLD = range(1000, 1005)


def test_gold_pairs_come_unannounced_and_poor_grades_of_them_are_reported_to_the_lead(
    browser: Browser, tmp_path: Path
) -> None:
    gold = [pair(f"g{number}", "d0", text(number)) for number in GOLD]
    config = collection(tmp_path / "gold", [*pairs(5, 2), *gold], annotation={"gold": 0.5})
    with AnnotationSession.open(config) as session:
        assigned(session, queries=[f"q{q}" for q in range(5)])
    eva, lia = code_for(config, "eva"), code_for(config, "lia", "lead")
    with served(config) as app, visitor(browser, 1280, "light", "pt") as (_, lead):
        let_in(lead.page, app, lia)
        adds_gold(lead.page, app)
        with working(browser, app, eva, "es", 390, "dark") as page:
            numbers = grades_all(page, lambda number: 0 if number in GOLD else number % 4)
        reads_the_warning(lead.page, app)
        lead.screenshot(tmp_path / "dashboard.png")
    assert {number for number in numbers if number in GOLD} == set(GOLD)
    assert numbers[-1] not in GOLD
    assert len(numbers) == 15
    assert qrels(config, "eva") == {(f"q{q}", f"d{d}"): (100 * q + d) % 4 for q in range(5) for d in range(2)}
    with AnnotationSession.open(config) as session:
        of_gold = [one for number in GOLD for one in labels(session, "eva", f"g{number}", "d0")]
    assert [(one.phase, one.relevance) for one in of_gold] == [("training", 0)] * len(GOLD)


def said(key: str, **values: object) -> str:
    return words.message("pt", key, **values)


def adds_gold(page: Page, app: Served) -> None:
    """On Team: the gold pairs, all of the grade 3."""
    shows(page, app)
    page.get_by_text(said("team.kind_name.gold"), exact=True).click()
    drawn(page)
    page.locator(".st-key-known-pairs textarea").fill("\n".join(f"g{number}\td0\t3" for number in GOLD))
    page.get_by_role("button", name=said("team.rows_add")).click()
    count = len(GOLD)
    expect(page.get_by_text(said("team.rows_added", added=count, count=count, total=count))).to_be_visible()


def reads_the_warning(page: Page, app: Served) -> None:
    """On Dashboard: that eva graded none of the gold pairs as known."""
    page.goto(f"{app.address}/dashboard")
    warning = said("dashboard.pattern.gold_equal", figure="0", labels=len(GOLD), threshold="60")
    expect(page.locator(".notice.warning .findings li")).to_have_text([f"eva: {warning}"])
    results = page.locator("table").filter(has_text=said("dashboard.title.gold")).locator("tbody td")
    expect(results.nth(0)).to_have_text("eva")
    expect(results.nth(1)).to_have_text(str(len(GOLD)))


# The order of queries

DRAWN = [3, 0, 4]
OTHERS = [1, 2, 5]


def test_a_stored_order_of_queries_is_everybodys_and_other_designs_begin_elsewhere_for_each(
    browser: Browser, tmp_path: Path
) -> None:
    config = collection(tmp_path / "order", [pair(f"q{q}", "d0", text(q)) for q in range(6)])
    everybody = [None, None]
    with AnnotationSession.open(config) as session:
        assigned(session, everybody, queries=[f"q{q}" for q in OTHERS], order=None)
        assigned(session, everybody, queries=[f"q{q}" for q in DRAWN])
    begun = set()
    with served(config) as app:
        for name, language, width, scheme in LOOKS[:2]:
            with working(browser, app, code_for(config, name), language, width, scheme) as page:
                numbers = grades_all(page, lambda number: number % 4)
            assert numbers[: len(DRAWN)] == DRAWN
            rest = numbers[len(DRAWN) :]
            first = OTHERS.index(rest[0])
            assert rest == OTHERS[first:] + OTHERS[:first]
            begun.add(first)
    assert len(begun) == 2
