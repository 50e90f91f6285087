"""docs/estimates-tutorial.md in a browser: a lead draws queries, three people grade them, the dashboard says how wide
the intervals are, and ``estimate`` and the report say who wins."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.evaluate import Settings
from quati_pool.project.events import Listener
from quati_pool.reporting.page import report
from tests.browser.pages import opened
from tests.browser.served import Served, drawn, question, served, sign_in, visitor
from tests.browser.test_annotate import press
from tests.browser.test_team import CODE, adds, shows
from tests.cli.test_estimates_tutorial import OFF, grade, grade_of, known_grades, width, with_panel

pytestmark = pytest.mark.browser

DRAWN, QUERIES = 12, 24
BY_KEYS = 3
"""How many pairs each person grades in the browser."""


@pytest.fixture(scope="module")
def demo(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(finished_demo, tmp_path_factory.mktemp("estimates") / "demo"))
    with_panel(folder)
    return folder


@pytest.fixture(scope="module")
def app(demo: Path) -> Iterator[Served]:
    with served(demo / "pool.yaml", None, "--lead", "lia") as started:
        yield started


def draws(page: Page, app: Served) -> dict[str, str]:
    """On Team: the codes of three people, and a design of random queries."""
    shows(page, app)
    codes = {}
    for name in OFF:
        codes[name] = adds(page, name)
        page.get_by_role("button", name="I have noted it").click()
        expect(page.locator(".st-key-new-code")).to_have_count(0)
        drawn(page)
    page.get_by_text("Random questions", exact=True).click()
    field = page.get_by_label(f"Number of questions (of {QUERIES})", exact=True)
    expect(field).to_be_visible()
    drawn(page)
    field.fill(str(DRAWN))
    page.keyboard.press("Tab")
    drawn(page)
    expect(field).to_have_value(str(DRAWN))
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.locator(".st-key-design-preview")).to_contain_text(f"{DRAWN} of {QUERIES} questions.")
    drawn(page)
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_text("Design 1 is created")).to_be_visible()
    return codes


def grades(page: Page, name: str, relevance: dict[tuple[str, str], int]) -> None:
    """On Grade: a few pairs by keys."""
    for _ in range(BY_KEYS):
        asked = question(page)
        shown = (squeezed(page.locator(".query").inner_text()), squeezed(page.locator(".passage").inner_text()))
        press(page, str(relevance[shown]), asked)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def by_text(demo: Path, name: str) -> dict[tuple[str, str], int]:
    """What a person says of each pair, by its query and passage."""
    known = known_grades(demo)
    with AnnotationSession.open(demo / "pool.yaml") as session:
        pairs = [one for chunk in session.grading.pairs() for one in chunk]
    ids = [(one.query_id, one.doc_id) for one in pairs]
    return {
        (squeezed(one.query), squeezed(one.text or "")): grade_of(name, pair, known[pair])
        for one, pair in zip(pairs, ids, strict=True)
    }


def test_a_lead_draws_three_people_grade_and_the_report_says_who_wins(
    browser: Browser, app: Served, demo: Path
) -> None:
    code = CODE.search(app.said())
    assert code
    with visitor(browser) as (_, lead):
        sign_in(lead.page, app, code[0])
        codes = draws(lead.page, app)
        for name in OFF:
            with visitor(browser) as (_, record):
                sign_in(record.page, app, codes[name])
                grades(record.page, name, by_text(demo, name))
                assert not record.errors
        rest = grade(demo, codes)
        with AnnotationSession.open(demo / "pool.yaml") as session:
            [design] = session.designs.all()
            chosen = session.designs.selections(design.design_id or 0)
        assert design.method == "random-queries"
        assert len({one.query_id for one in chosen}) == DRAWN
        assert len(OFF) * BY_KEYS + rest == len(chosen)
        lead.page.goto(f"{app.address}/dashboard")
        line = lead.page.locator("p.width")
        found = width(demo)
        expect(line).to_contain_text(f"{DRAWN} questions are graded in full")
        expect(line).to_contain_text(
            f"With {found.more} more questions the half-width falls from {found.half_width:.3f} to {found.later:.3f}."
        )
        assert not lead.errors
    config = demo / "pool.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "quati_pool", "estimate", "-c", str(config)], capture_output=True, check=True
    )
    best, *others = estimate(config, EstimateSettings()).estimates[0].systems
    winner = f"{best.run_tag} has the highest nDCG@10 under the grades of 3 people"
    assert winner in squeezed(done.stdout.decode())
    with opened(browser, report(config, Listener(), Settings(draws=50))) as record:
        short = record.page.locator(".opening")
        expect(short).to_contain_text(winner)
        rows = short.get_by_role("table", name="Estimates under people's grades").locator("tbody tr")
        for place, one in enumerate((best, *others)):
            expect(rows.nth(place).get_by_role("rowheader")).to_have_text(one.run_tag)
            expect(rows.nth(place)).to_contain_text(f"{one.estimate:.3f}")
            expect(rows.nth(place)).to_contain_text(f"{one.low:.3f} to {one.high:.3f}")
        record.asserts_nothing_outside()
