"""The grading page's looks and places: on a desk and on a phone, in three languages, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme, too_wide
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import clean, press
from tests.browser.test_appearance import asserts_legible
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, text
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

LONG_QUERY = (
    "quais foram os efeitos econômicos e sociais da construção da rodovia Transamazônica nas comunidades ribeirinhas "
    "do Pará durante a década de 1970, e como o governo federal respondeu às críticas dos ambientalistas daquele tempo"
)
LONG = "Uma frase que se repete muitas vezes. " * 200
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
    """One long query: a long passage and short ones for each of seven people."""
    folder = tmp_path_factory.mktemp("page") / "small"
    texts = [LONG, "Curta.", "Duas frases. Curtas.", "Outra."]
    rows = [{**pair("q0", f"d{place}", text), "query": LONG_QUERY} for place, text in enumerate(texts)]
    config = collection(folder, rows, annotation={"prompt": "quati-pt", "guidelines": "guidelines.md"})
    (folder / "guidelines.md").write_text(GUIDELINES, encoding="utf-8")
    with AnnotationSession.open(config) as session:
        assigned(session, [None] * (len(NAMES) + 3))
    with served(config) as started:
        yield started


def places(page: Page) -> list[tuple[int, int]]:
    """Where the buttons of the grades are, to the pixel."""
    boxes = [button.bounding_box() for button in page.locator("[data-do=grade]").all()]
    return [(round(box["x"]), round(box["y"])) for box in boxes if box]


_WHOLE_LINES = """() => {
  // The first line of the passage that is seen whole, and the last.
  const words = document.createRange();
  words.selectNodeContents(document.querySelector(".passage"));
  const over = [...document.querySelectorAll(".stAppHeader, .query")];
  const top = Math.max(...over.map((part) => part.getBoundingClientRect().bottom));
  const bottom = document.querySelector(".desk .bar").getBoundingClientRect().top;
  const lines = new Map([...words.getClientRects()].map((line) => [Math.round(line.top), line]));
  const seen = [...lines.values()].map((line) => line.top >= top && line.bottom <= bottom);
  return [seen.indexOf(true), seen.lastIndexOf(true)];
}"""


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
            assert too_wide(page) <= 0
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
            # A page further, no line is left out.
            page.keyboard.press("Home")
            last = page.evaluate(_WHOLE_LINES)[1]
            page.keyboard.press("PageDown")
            assert 0 <= page.evaluate(_WHOLE_LINES)[0] <= last + 1
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


def test_keys_scroll_a_long_passage_and_the_guide_leaves_it_where_it_is(browser: Browser, app: Served) -> None:
    with visitor(browser, 1280, "light", "en", 720) as (_, record):
        page = record.page
        sign_in(page, app, code_for(app.config, "fabio"))
        while True:
            asked = question(page)
            if len(page.locator(".passage").inner_text()) > 1000:
                break
            press(page, "1", asked)
        assert page.evaluate("document.activeElement === document.body")
        at = "{ scrollTop, scrollHeight, clientHeight }"
        most, window = page.evaluate(
            f"(({at}) => [scrollHeight - clientHeight, clientHeight])(document.querySelector('[data-testid=stMain]'))"
        )

        def scrolled(top: int) -> None:
            page.wait_for_function("top => document.querySelector('[data-testid=stMain]').scrollTop === top", arg=top)

        # What is read between the header and the bar, less 40 pixels, which hold a line.
        covered = [page.locator(part).evaluate("part => part.offsetHeight") for part in (".stAppHeader", ".desk .bar")]
        step = window - sum(covered) - 40
        for key, top in (
            ("PageDown", step),
            (" ", 2 * step),
            ("Shift+ ", step),
            ("ArrowDown", step + 40),
            ("ArrowUp", step),
            ("PageUp", 0),
            ("End", most),
            ("Home", 0),
        ):
            page.keyboard.press(key)
            scrolled(top)
        for held in (1, 2):
            page.keyboard.down("PageDown")
            scrolled(held * step)
        page.keyboard.up("PageDown")
        page.keyboard.press("Shift+ArrowDown")  # is for what is selected
        # No line is left out, also after a click into the passage, which gives the focus to what scrolls.
        for focused in ("BODY", "MAIN"):
            if focused == "MAIN":
                page.locator(".passage").click()
            page.keyboard.press("Home")
            scrolled(0)
            assert page.evaluate("document.activeElement.tagName") == focused
            for held in (1, 2):
                last = page.evaluate(_WHOLE_LINES)[1]
                page.keyboard.press("PageDown")
                scrolled(held * step)
                assert 0 < page.evaluate(_WHOLE_LINES)[0] <= last + 1
        # The guide, and what is found in it.
        page.keyboard.press("?")
        field, hit = page.locator(".guide input"), page.locator(".guide .hit")
        expect(field).to_be_focused()
        field.fill("rodape")
        expect(hit).to_be_in_viewport(ratio=1)
        scrolled(2 * step)
        page.locator(".guide-text").hover()
        for _ in range(2):
            page.mouse.wheel(0, 5000)
            page.wait_for_function(
                "(text => Math.abs(text.scrollTop + text.clientHeight - text.scrollHeight) < 1)"
                "(document.querySelector('.guide-text'))"
            )
        page.keyboard.press("Escape")
        expect(page.locator("dialog.guide")).to_be_hidden()
        expect(page.locator(".bar [data-do=guide]")).to_have_attribute("aria-expanded", "false")
        scrolled(2 * step)
        # Sentences are marked by the same keys.
        page.keyboard.press("Home")
        scrolled(0)
        for key in ("e", "ArrowDown", " "):
            page.keyboard.press(key)
        expect(page.locator("mark.evidence")).to_have_count(1)
        scrolled(0)
        page.keyboard.press("Escape")
        page.keyboard.press(" ")
        scrolled(step)
        expect(page.locator("mark.evidence")).to_have_count(1)
        assert question(page) == asked
        clean(record, app)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """Two queries of four passages, which three people with these codes share; each of them has practised on two pairs,
    once right, and graded two, in 4.25 s each."""
    rows = [pair(f"q{q}", f"d{d}", text(10 * q + d)) for q in range(2) for d in range(4)]
    config = collection(tmp_path_factory.mktemp("shared") / "small", rows)
    codes = {name: code_for(config, name) for name in NAMES[:3]}
    with AnnotationSession.open(config) as session:
        for doc_id, known in (("d0", 2), ("d1", 0)):
            session.training.add("q0", doc_id, known, "porque", "lia")
        assigned(session, [None] * len(codes))
        for place, name in enumerate(codes):
            session.people.sign_in(name, token_sha(name), 3600)
            for number in range(4):
                submit(session, name, item(session, name), answer(10 * place + number))
    with served(config) as started:
        yield started, codes


@pytest.mark.parametrize(
    ("name", "look", "total", "pace"),
    [
        ("ana", ("en", 1280, "dark"), "{} of about 6", r"\d today · about 4 s per pair · practice: 1 of 2 right"),
        (
            "bia",
            ("pt-BR", 390, "light"),
            "{} de cerca de 6",
            r"\d hoje · cerca de 4 s por par · prática: 1 de 2 certos",
        ),
        ("caio", ("es", 390, "dark"), "{} de unos 6", r"\d hoy · unos 4 s por par · práctica: 1 de 2 correctos"),
    ],
)
def test_the_page_says_what_remains_how_fast_one_is_and_how_practice_went(
    browser: Browser,
    shared: tuple[Served, dict[str, str]],
    name: str,
    look: tuple[str, int, Scheme],
    total: str,
    pace: str,
) -> None:
    """The four pairs of the query that somebody holds, and a third of the four others: 4 + 2."""
    (language, width, scheme), (app, codes) = look, shared
    with visitor(browser, width, scheme, language, 844) as (_, record):
        page = record.page
        sign_in(page, app, codes[name])
        asked = question(page)
        measures, shown = page.locator(".measure b"), page.locator(".pace")
        expect(measures).to_have_text(["2 / 4", total.format(2)])
        expect(measures.last).to_be_in_viewport(ratio=1)
        if width < 600:
            expect(shown).to_be_hidden()  # there is no room for it above the passage
            page.locator("[data-do=more]").tap()
        expect(shown).to_be_in_viewport(ratio=1)
        expect(shown).to_have_text(re.compile(pace))
        press(page, "1", asked)
        expect(measures).to_have_text(["3 / 4", total.format(3)])
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


def test_the_guide_is_searched_without_accents_and_runs_nothing(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(app.config, "gil"))
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
