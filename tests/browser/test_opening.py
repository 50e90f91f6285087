"""The first screen of a report, of 1280 by 800 pixels, holds the whole opening."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from random_runs import ranked

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import State
from quati_pool.project.events import Listener
from quati_pool.reporting.answers.report import opening
from quati_pool.reporting.formats.document import Document, Section
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.page import report
from tests.browser.pages import Scheme, opened, too_wide
from tests.reporting.answers.made_states import Made, state
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

HEIGHT = 800
LONG = "a-system-with-a-very-long-name-of-many-settings-"


def collection(systems: list[str], labelers: list[str]) -> State:
    """A random collection with much to distrust."""
    chance = random.Random(7)
    pairs = [(f"query-{query}", f"d{doc}") for query in range(8) for doc in range(40)]
    runs = [ranked(tag, {pair: chance.random() for pair in chance.sample(pairs, 200)}) for tag in systems]
    made = {
        name: Made(
            {pair: chance.choice([0, 1, 2, 3]) for pair in pairs if chance.random() < 0.7},
            "people" if place < 2 else "llm",
            {"never asked": 1234, "unparsed": 5},
        )
        for place, name in enumerate(labelers)
    }
    settings = Settings(["nDCG@10", "R(rel=2)@100"], draws=20)
    return state(runs, made, settings=settings, without_text=3, without_pairs=["query-8", "query-9"])


def written(made: State, folder: Path, title: str = "A collection with a title of some length") -> Path:
    said = "The test collection: 5,040 pooled pairs of 50 queries, 6 labelers."
    sections = [Section("systems", "Systems", []), Section("agreement", "Agreement", [])]
    document = Document(title, said, sections, opening=opening(made, "systems", "agreement"))
    path = folder / "report.html"
    path.write_text(page(document), encoding="utf-8")
    return path


def ends_at(browser: Browser, file: Path, width: int = 1280, scheme: Scheme = "light") -> float:
    """Where the opening ends, in pixels from the top; nothing of it is wider than its column or the screen."""
    with opened(browser, file, width, scheme) as record:
        record.asserts_nothing_outside()
        assert too_wide(record.page) <= 0
        for table in record.page.locator(".opening table").all():
            box, part = table.bounding_box(), table.locator("xpath=ancestor::*[@class='part']").bounding_box()
            assert box is not None
            assert part is not None
            assert box["width"] <= part["width"] + 1
        box = record.page.locator(".opening").bounding_box()
        assert box is not None
        return box["y"] + box["height"]


def test_the_opening_of_the_demo_is_on_the_first_screen(browser: Browser, finished_demo: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    file = report(folder / "pool.yaml", Listener(), Settings(draws=50))
    assert ends_at(browser, file) < HEIGHT
    with opened(browser, file) as record:
        targets = record.page.locator(".opening a[href^='#']").evaluate_all("all => all.map(one => one.hash)")
        for target in targets:
            assert record.page.locator(f"section{target}").count() == 1


@pytest.mark.parametrize(
    ("systems", "labelers"),
    [
        ([f"system-{n:02}" for n in range(20)], [f"labeler-{n}" for n in range(6)]),
        ([f"{LONG}{n:02}-{LONG}" for n in range(20)], [f"{LONG}{n}" for n in range(6)]),
        ([f"{n} {text}" for n, text in enumerate(HOSTILE) if "\ud800" not in text], HOSTILE[:6]),
        (["one", "two"], ["ana", "judge"]),
        (["one"], ["ana"]),
        (["one", "two"], []),
    ],
    ids=["20 by 6", "long names", "hostile names", "two", "one", "no labels"],
)
def test_the_opening_is_on_the_first_screen(
    browser: Browser, tmp_path: Path, systems: list[str], labelers: list[str]
) -> None:
    file = written(collection(systems, labelers), tmp_path)
    assert ends_at(browser, file) < HEIGHT
    ends_at(browser, file, 390, "dark")
