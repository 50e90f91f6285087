"""docs/annotating.md as it is told there: a lead and three people do a collection in the app; starting it is the only
command.

    python -m tests.browser.test_tutorial FOLDER

writes the tutorial's pictures into FOLDER.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator_app.downloads import address
from quati_pool.files.qrels import read_qrels
from tests.browser.served import Served, dispute, drawn, question, served, sign_in, visitor
from tests.browser.test_team import CODE, adds

pytestmark = pytest.mark.browser

PEOPLE = ("ana", "bia", "caio")
PAIRS = 12
Picture = Callable[[Page, str], None]


def collection(folder: Path) -> Path:
    """The built sample, with a panel of people."""
    subprocess.run([sys.executable, "-m", "quati_pool", "demo", str(folder)], check=True, capture_output=True)
    config = folder / "pool.yaml"
    text = config.read_text(encoding="utf-8")
    text = text.replace("judges:\n", "judges:\n  final: {people: majority}\n", 1)
    config.write_text(f"{text}annotation: {{prompt: quati-pt}}\n", encoding="utf-8")
    return config


def grade_of(name: str, passage: str) -> int:
    """What a person says of a passage: they agree on two of three, and on each third all differ."""
    kind, base = len(passage) % 3, len(passage) % 4
    return base if kind else (base + PEOPLE.index(name)) % 4


def makes_a_design(page: Page, app: Served, picture: Picture) -> dict[str, str]:
    """On Team: three people's codes, and a random sample that each of them grades."""
    page.goto(f"{app.address}/team")
    expect(page.locator(".st-key-known-pairs")).to_be_visible()
    drawn(page)
    codes = {}
    for name in PEOPLE:
        codes[name] = adds(page, name)
        page.get_by_role("button", name="I have noted it").click()
        expect(page.locator(".st-key-new-code")).to_have_count(0)
        drawn(page)
    page.get_by_text("Random sample", exact=True).click()
    drawn(page)
    for label, value in ((re.compile("^Number of pairs"), PAIRS), (re.compile("^People per pair"), len(PEOPLE))):
        page.get_by_label(label).fill(str(value))
        page.keyboard.press("Tab")
        drawn(page)
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.locator(".st-key-design-preview")).to_be_visible()
    drawn(page)
    picture(page, "team")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_text(f"Design 1 is created, with {PAIRS} pairs.")).to_be_visible()
    return codes


def grades(page: Page, app: Served, name: str, code: str, picture: Picture) -> None:
    """On Grade: all pairs by keys, the first with evidence."""
    sign_in(page, app, code)
    for number in range(PAIRS):
        asked = question(page)
        passage = page.locator(".passage").inner_text()
        if number == 0:
            page.keyboard.press("e")
            page.keyboard.press(" ")
            if name == PEOPLE[0]:
                picture(page, "annotate")
        page.keyboard.press(str(grade_of(name, passage)))
        page.wait_for_function("asked => document.querySelector('.desk').dataset.item !== asked", arg=asked)
    expect(page.locator(".end")).to_contain_text("All done")


def decides(page: Page, app: Served, picture: Picture) -> int:
    """On Review: every dispute by keys; how many there were."""
    page.goto(f"{app.address}/review")
    page.get_by_role("heading", name="Review").wait_for()
    main = page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("not decided")
    last, decided = None, 0
    while "not decided" in main.inner_text():
        last = dispute(page, last)
        if decided == 0:
            picture(page, "review")
        page.keyboard.press("2")
        decided += 1
        expect(main).to_contain_text(re.compile(rf"of \d+, all decided|{decided + 1} of \d+, "))
    return decided


def story(browser: Browser, folder: Path, picture: Picture) -> None:
    config = collection(folder)
    with served(config, None, "--lead", "lia") as app:
        found = CODE.search(app.said())
        assert found
        with visitor(browser) as (_, lead):
            sign_in(lead.page, app, found[0])
            codes = makes_a_design(lead.page, app, picture)
            for name, code in codes.items():
                with visitor(browser) as (_, record):
                    grades(record.page, app, name, code, picture)
            # Before the decisions, no download of the panel hides that ties have no grade.
            before = lead.page.request.get(f"{app.address}{address('qrels', 'final')}")
            decided = decides(lead.page, app, picture)
            assert decided > 0
            assert int(before.headers["x-left-out"]) > 0
            lead.page.goto(f"{app.address}/dashboard")
            expect(lead.page.get_by_text("Downloads").first).to_be_visible()
            drawn(lead.page)
            picture(lead.page, "dashboard")
            file = lead.page.request.get(f"{app.address}{address('qrels', 'final')}")
            assert not lead.errors
        path = folder / "final.qrels"
        path.write_bytes(file.body())
        assert len(read_qrels(path)) == PAIRS


def test_a_lead_and_three_people_do_a_collection_in_the_app(browser: Browser, tmp_path: Path) -> None:
    story(browser, tmp_path / "demo", lambda page, name: None)


def main() -> None:
    from tempfile import TemporaryDirectory

    from playwright.sync_api import sync_playwright

    def picture(page: Page, shown: str) -> None:
        page.wait_for_timeout(500)  # what appears is drawn to its end
        page.screenshot(path=Path(sys.argv[1]) / f"{shown}.png")

    with sync_playwright() as playwright, TemporaryDirectory() as name:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        story(browser, Path(name) / "demo", picture)
        browser.close()


if __name__ == "__main__":
    main()
