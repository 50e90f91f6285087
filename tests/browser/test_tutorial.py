"""What docs/annotating.md describes: a lead and three people do a collection in the app. Outside it, the lead makes the
demo, edits its pool.yaml, and starts the app, nothing else.

    python -m tests.browser.test_tutorial FOLDER

writes the tutorial's pictures into FOLDER.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from annotator_app import words
from quati_pool.files.qrels import read_qrels
from tests.browser.pages import Scheme
from tests.browser.served import Served, dispute, drawn, question, served, sign_in, visitor
from tests.browser.test_team import CODE, adds
from tests.patience import PAGE_PATIENCE

pytestmark = pytest.mark.browser

LOOKS: dict[str, tuple[str, int, Scheme]] = {
    "ana": ("en", 1280, "light"), "bia": ("pt", 390, "dark"), "caio": ("es", 1280, "dark"),
}  # fmt: skip
PEOPLE = tuple(LOOKS)
PAIRS = 12
JUSTIFIED = "Carioca falando"
"""How the passage begins whose first sentence is marked as evidence; people disagree on its grade."""
MARGIN = 32  # pixels below what is pictured
Picture = Callable[[Page, str, Locator | None], None]
"""Takes a picture of a page under a name: of the window, or of all from the page's top to the end of a place in it."""


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
    picture(page, "team", page.locator(".st-key-design"))
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_text(f"Design 1 is created, with {PAIRS} pairs.")).to_be_visible()
    return codes


def grades(page: Page, app: Served, name: str, code: str, picture: Picture) -> None:
    """On Grade: all pairs by keys, one with evidence."""
    done = words.message(LOOKS[name][0], "annotate.end_title")
    sign_in(page, app, code)
    for _ in range(PAIRS):
        asked = question(page)
        passage = page.locator(".passage").inner_text()
        if passage.startswith(JUSTIFIED):
            page.keyboard.press("e")
            page.keyboard.press(" ")
            if name == PEOPLE[0]:
                picture(page, "annotate", None)
        page.keyboard.press(str(grade_of(name, passage)))
        page.wait_for_function("asked => document.querySelector('.desk').dataset.item !== asked", arg=asked)
    expect(page.locator(".end")).to_contain_text(done)


def decides(page: Page, app: Served, picture: Picture) -> int:
    """On Review: every dispute by keys; how many there were."""
    page.goto(f"{app.address}/review")
    page.get_by_role("heading", name="Review").wait_for()
    main = page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("not decided")
    last, decided = None, 0
    while "not decided" in main.inner_text():
        last = dispute(page, last)
        if page.locator(".passage").first.inner_text().startswith(JUSTIFIED):
            expect(page.locator(".passage mark").first).to_be_visible()
            picture(page, "review", None)
        page.keyboard.press("2")
        decided += 1
        expect(main).to_contain_text(re.compile(rf"of \d+, all decided|(?<!\d){decided + 1} of \d+, "))
    return decided


def downloads(page: Page, app: Served, path: Path) -> int:
    """On Dashboard: the panel's qrels, into this file; of how many pairs they hold a grade."""
    page.goto(f"{app.address}/dashboard")
    final = page.locator("tr").filter(has=page.get_by_role("cell", name="final", exact=True))
    with page.expect_download() as download:
        final.get_by_role("link", name="qrels").click()
    download.value.save_as(path)
    return len(read_qrels(path))


def story(browser: Browser, folder: Path, picture: Picture) -> None:
    config = collection(folder)
    with served(config, None, "--lead", "lia") as app:
        found = CODE.search(app.said())
        assert found
        with visitor(browser) as (_, lead):
            sign_in(lead.page, app, found[0])
            codes = makes_a_design(lead.page, app, picture)
            for name, code in codes.items():
                language, width, scheme = LOOKS[name]
                with visitor(browser, width, scheme, language) as (_, record):
                    grades(record.page, app, name, code, picture)
                    assert not record.errors
            # Before the decisions, the panel has no grade of a tie.
            ties = PAIRS - downloads(lead.page, app, folder / "before.qrels")
            decided = decides(lead.page, app, picture)
            assert decided >= ties > 0
            assert downloads(lead.page, app, folder / "final.qrels") == PAIRS
            lead.page.get_by_role("button", name="Compute now").click()
            expect(lead.page.get_by_text(words.message("en", "dashboard.decisions", count=decided))).to_be_visible()
            drawn(lead.page)
            picture(lead.page, "dashboard", lead.page.locator("[data-testid=stMain] table").last)
            assert not lead.errors


def test_a_lead_and_three_people_do_a_collection_in_the_app(browser: Browser, tmp_path: Path) -> None:
    story(browser, tmp_path / "demo", lambda *_: None)


def main() -> None:
    from io import BytesIO
    from tempfile import TemporaryDirectory

    from PIL import Image
    from playwright.sync_api import sync_playwright

    def picture(page: Page, name: str, last: Locator | None) -> None:
        size = page.viewport_size
        assert size is not None
        main = page.locator("[data-testid=stMain]")
        main.evaluate("main => main.scrollTo(0, 0)")
        page.mouse.move(0, 0)  # no button looks hovered over
        if last is not None:
            box = last.bounding_box()
            assert box is not None
            # Streamlit scrolls within the page, so that a picture of it is as high as its window.
            page.set_viewport_size({**size, "height": math.ceil(box["y"] + box["height"]) + MARGIN})
        page.wait_for_timeout(500)  # what appears is drawn to its end
        shown = Image.open(BytesIO(page.screenshot())).quantize(dither=Image.Dither.NONE)
        shown.save(Path(sys.argv[1]) / f"{name}.png", optimize=True)
        page.set_viewport_size(size)

    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        expect.set_options(timeout=PAGE_PATIENCE)
        story(browser, Path(folder) / "demo", picture)
        browser.close()


if __name__ == "__main__":
    main()
