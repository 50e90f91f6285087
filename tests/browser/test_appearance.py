"""What can be read and reached: contrast of text and buttons in both themes, and a focus that shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import press
from tests.browser.test_pages import contrast
from tests.commands.annotate.people_at_work import assigned, collection
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

LOW = """() => {
  // Every text in sight with its own colour and that of the ground under it, opacity counted.
  const read = (css) => { const [r, g, b, a] = css.match(/[\\d.]+/g).map(Number); return [r, g, b, a ?? 1]; };
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3])).concat(1);
  const paper = matchMedia("(prefers-color-scheme: dark)").matches ? [21, 23, 27, 1] : [253, 252, 250, 1];
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, text = texts.currentNode.textContent.trim();
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (!text || !box.width || style.visibility !== "visible" || element.closest("style, script, noscript")) continue;
    const grounds = [];
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) {
      opacity *= Number(getComputedStyle(at).opacity);
      grounds.push(read(getComputedStyle(at).backgroundColor));
    }
    if (opacity < 0.1) continue;
    const ground = grounds.reverse().reduce((under, top) => over(top, under), paper);
    const ink = read(style.color);
    const seen = over([...ink.slice(0, 3), ink[3] * opacity], ground);
    const rgb = (color) => `rgb(${color.slice(0, 3).map(Math.round).join(", ")})`;
    found.push([text.slice(0, 40), rgb(seen), rgb(ground)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two passages of a hundred words, for each of four people."""
    texts = ("Uma frase de cinco palavras. " * 20, "Outra linha: quatro termos próprios. " * 20)
    rows = [{**pair("q0", f"d{place}", text), "query": "Quantas palavras?"} for place, text in enumerate(texts)]
    made = collection(tmp_path_factory.mktemp("looks") / "small", rows, annotation={"prompt": "quati-pt"})
    with AnnotationSession.open(made) as session:
        assigned(session, (None, None, None, None))
    return made


@pytest.fixture(scope="module")
def app(config: Path) -> Iterator[Served]:
    with served(config) as started:
        yield started


def asserts_legible(page: Page) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1, of every text."""
    page.wait_for_timeout(800)  # what is replaced fades out
    found = page.evaluate(LOW)
    assert found
    low = [(text, ink, ground) for text, ink, ground in found if contrast(ink, ground) < 4.5]
    assert not low


@pytest.mark.parametrize(("name", "width", "scheme"), [("ana", 1280, "light"), ("bia", 390, "dark")])
def test_every_text_and_button_can_be_read(
    browser: Browser, app: Served, config: Path, name: str, width: int, scheme: Scheme
) -> None:
    with visitor(browser, width, scheme, height=844) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, name))
        question(page)
        asserts_legible(page)
        for key in ("h", "e", " ", "ArrowRight"):
            page.keyboard.press(key)
        expect(page.locator("mark.evidence, mark.sentence")).to_have_count(2)
        asserts_legible(page)
        for key in ("Escape", "n"):
            page.keyboard.press(key)
        page.keyboard.type("A note")
        asserts_legible(page)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.locator(".guide input").fill("relevante")
        expect(page.locator(".guide .hit").first).to_be_visible()
        asserts_legible(page)
        page.keyboard.press("Escape")
        page.keyboard.press("x")
        expect(page.get_by_role("button", name="Broken text")).to_be_visible()
        asserts_legible(page)
        press(page, "1")
        press(page, "0")
        expect(page.get_by_role("button", name="Look again")).to_be_visible()
        asserts_legible(page)
        page.goto(f"{app.address}/questions")
        expect(page.get_by_role("button", name=re.compile("^Propose"))).to_be_visible()
        page.wait_for_timeout(500)
        asserts_legible(page)


def test_whoever_goes_by_the_tab_key_sees_where_they_are(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser, height=800) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "caio"))
        question(page)
        reached = []
        for _ in range(30):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                  const element = document.activeElement, style = getComputedStyle(element);
                  return [element.innerText.split("\\n")[0].trim(), style.outlineStyle, parseFloat(style.outlineWidth)];
                }"""
            )
            # The way past the menu is Streamlit's, and shows by being there.
            if not found[0].startswith("Skip"):
                assert found[1] == "solid", found
                assert found[2] >= 2, found
            reached.append(found[0])
        wanted = ["Irrelevant", "Undo", "Cannot judge", "In full, and why", "Grade", "Questions", "caio"]
        assert not [name for name in wanted if not any(text.startswith(name) for text in reached)]


def test_on_a_small_laptop_nothing_needs_to_be_scrolled(browser: Browser, app: Served, config: Path) -> None:
    """A passage of a hundred words, at 1280 × 800: it, the four grades' meanings and examples, and all buttons."""
    with visitor(browser, height=800) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "dora"))
        question(page)
        whole = """selector => {
          const element = document.querySelector(selector);
          return [element.scrollHeight, element.clientHeight];
        }"""
        for selector in ("[data-testid=stMain]", ".scale.wide"):
            content, window = page.evaluate(whole, selector)
            assert content <= window, selector
        for shown in (".passage", ".moves", ".scale.wide .meaning:last-child"):
            expect(page.locator(shown)).to_be_in_viewport(ratio=1)
