"""The grading page's looks and places: on a desk and on a phone, in three languages, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import clean, press
from tests.browser.test_appearance import asserts_legible
from tests.commands.annotate.people_at_work import assigned, collection
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

LONG_QUERY = (
    "quais foram os efeitos econômicos e sociais da construção da rodovia Transamazônica nas comunidades ribeirinhas "
    "do Pará durante a década de 1970, e como o governo federal respondeu às críticas dos ambientalistas daquele tempo"
)
GUIDELINES = """# Como julgar

Leia a **pergunta** primeiro.

## Casos difíceis

- Menus e listas de ligações: 0.

| caso | nota |
|---|---|
| rodapé | 0 |

<script>alert(1)</script> <img src=x onerror=alert(2)> [x](javascript:alert(3)) ![y](https://outside.example/z.png)
"""
LOOKS = [("en", 1280, "light"), ("pt-BR", 390, "dark"), ("es", 390, "light"), ("pt-BR", 1280, "dark")]
NAMES = ["ana", "bia", "caio", "dora"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One long query: a long passage and short ones for each of five people."""
    folder = tmp_path_factory.mktemp("page") / "small"
    texts = ["Uma frase que se repete muitas vezes. " * 200, "Curta.", "Duas frases. Curtas.", "Outra."]
    rows = [{**pair("q0", f"d{place}", text), "query": LONG_QUERY} for place, text in enumerate(texts)]
    config = collection(folder, rows, annotation={"prompt": "quati-pt", "guidelines": "guidelines.md"})
    (folder / "guidelines.md").write_text(GUIDELINES, encoding="utf-8")
    with AnnotationSession.open(config) as session:
        assigned(session, [None] * (len(NAMES) + 1))
    with served(config) as started:
        yield started


def places(page: Page) -> list[tuple[int, int]]:
    """Where the buttons of the grades are, to the pixel."""
    boxes = [button.bounding_box() for button in page.locator("[data-do=grade]").all()]
    return [(round(box["x"]), round(box["y"])) for box in boxes if box]


@pytest.mark.parametrize(("name", "look"), list(zip(NAMES, LOOKS, strict=True)))
def test_everything_has_its_place_and_can_be_read(
    browser: Browser, app: Served, name: str, look: tuple[str, int, Scheme], tmp_path: Path
) -> None:
    language, width, scheme = look
    with visitor(browser, width, scheme, language, 844) as (_, record):
        page = record.page
        sign_in(page, app, code_for(app.config, name))
        seen = []
        for number in range(4):
            asked = question(page)
            seen.append(places(page))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for button in page.locator(".bar button:visible").all():
                expect(button).to_be_in_viewport(ratio=1)
            assert page.locator(".pace").count() == 1
            box, bar = page.locator(".passage").bounding_box(), page.locator(".bar").bounding_box()
            assert box
            assert bar
            if width < 600:
                assert bar["height"] <= 180
                assert box["y"] < 844 / 2  # a long query leaves the passage half of the screen
            # At the end of a long passage, the query and the buttons are still there.
            page.locator("[data-testid=stMain]").evaluate("element => element.scrollTo(0, element.scrollHeight)")
            page.wait_for_timeout(100)
            assert places(page) == seen[-1]
            if width < 600:
                expect(page.locator(".query")).to_be_in_viewport()
            if number == 1:
                asserts_legible(page)
                page.keyboard.press("?")
                expect(page.locator("dialog.guide")).to_be_visible()
                asserts_legible(page)
                page.keyboard.press("Escape")
                expect(page.locator("dialog.guide")).to_be_hidden()
                record.screenshot(tmp_path / f"{name}.png")
            press(page, "1", asked)
        assert seen == [seen[0]] * 4
        clean(record, app)


def test_on_a_phone_the_query_and_the_other_buttons_unfold(browser: Browser, app: Served) -> None:
    with visitor(browser, 390, "light", "en", 844) as (_, record):
        page = record.page
        sign_in(page, app, code_for(app.config, "eva"))
        question(page)
        query = page.locator(".query")
        folded = query.evaluate("element => element.clientHeight")
        query.tap()
        assert query.evaluate("element => element.clientHeight") > folded
        assert page.get_by_role("button", name="Guide").count() == 0
        page.get_by_role("button", name="More").tap()
        expect(page.get_by_role("button", name="Guide")).to_be_visible()
        clean(record, app)


def test_on_a_phone_two_whole_lines_of_a_near_identical_passage_are_shown(browser: Browser, tmp_path: Path) -> None:
    text = "O quati é um mamífero da família dos procionídeos, que vive em bandos nas matas de todo o Brasil. " * 5
    config = collection(tmp_path / "small", [pair("q0", f"d{d}", text + "!" * d) for d in range(2)])
    with AnnotationSession.open(config) as session:
        assigned(session)
    with served(config) as app, visitor(browser, 390, "light", "pt-BR", 844) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "ana"))
        question(page)
        twin = page.locator(".twin")
        lines = twin.evaluate(
            "box => [box.clientHeight, box.scrollHeight, parseFloat(getComputedStyle(box).lineHeight)]"
        )
        record.screenshot(tmp_path / "twin.png")
        assert lines[0] == pytest.approx(2 * lines[2], abs=2)
        assert lines[1] > lines[0]
        clean(record, app)


def test_the_guide_is_searched_without_accents_and_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    config = collection(tmp_path / "small", [pair("q0", "d0", "Uma frase.")], annotation={"guidelines": "g.md"})
    (config.parent / "g.md").write_text(GUIDELINES, encoding="utf-8")
    with AnnotationSession.open(config) as session:
        assigned(session)
    with served(config) as app, visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "ana"))
        question(page)
        page.keyboard.press("?")
        guide = page.locator("dialog.guide")
        expect(guide).to_be_visible()
        page.keyboard.press("3")  # goes into the search field, and grades nothing
        field = guide.get_by_role("searchbox")
        field.fill("RODAPE")
        expect(guide.locator(".hit")).to_have_text(re.compile("rodapé"))
        field.fill("no such words")
        expect(guide.locator(".found")).to_have_text("Nothing found")
        assert guide.locator("script, img, a[href^=javascript]").count() == 0
        assert "<script>alert(1)</script>" in guide.inner_text()
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()
        press(page, "3")
        clean(record, app)
