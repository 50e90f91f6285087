"""Evidence in Chromium: the words that people mark, by keys, mouse and touch, are those that the store holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Record
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import another, clean, press
from tests.commands.annotate.people_at_work import assigned, collection
from tests.commands.judged import pair
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

SELECT = """([start, end]) => {
  // From the start-th to the end-th UTF-16 unit of the text in sight.
  const walk = document.createTreeWalker(document.querySelector(".passage"), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let at = 0, node;
  while ((node = walk.nextNode())) {
    if (start >= at && start <= at + node.length) range.setStart(node, start - at);
    if (end >= at && end <= at + node.length) { range.setEnd(node, end - at); break; }
    at += node.length;
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


def evidence(config: Path, name: str) -> list[tuple[int | None, list[dict[str, Any]]]]:
    """The grade and the evidence of each label that somebody gave, oldest first."""
    with AnnotationSession.open(config) as session:
        pool = session.pool_view
        found = [
            label
            for query_id in pool.query_ids
            for doc_id in pool.doc_ids(query_id)
            for label, _ in session.store.history(session.config.name, name, query_id, doc_id)
        ]
    return [(label.relevance, label.extra.get("evidence", [])) for label in sorted(found, key=lambda one: one.seq or 0)]


def of(text: str, words: str) -> dict[str, Any]:
    start = text.index(words)
    return {"start": start, "end": start + len(words), "text": words}


def select(page: Page, start: int, end: int) -> None:
    """Selects what is between two places of the text in sight, as a mouse does."""
    page.evaluate(SELECT, [start, end])


@contextmanager
def at_work(browser: Browser, config: Path, **looks: Any) -> Iterator[tuple[Served, Record]]:
    """The grading page of ana, who is given all of the pool."""
    with AnnotationSession.open(config) as session:
        assigned(session)
    with served(config) as app, visitor(browser, **looks) as (_, record):
        sign_in(record.page, app, code_for(config, "ana"))
        yield app, record


def marked(page: Page) -> list[str]:
    return page.locator(".passage mark.evidence").all_inner_texts()


def test_sentences_are_marked_by_keys_and_words_by_mouse(browser: Browser, tmp_path: Path) -> None:
    text = "Quatis vivem em bandos. Comem frutas e insetos! Dormem em árvores?"
    config = collection(tmp_path / "small", [pair("q0", f"d{d}", text) for d in range(4)])
    with at_work(browser, config, scheme="dark", language="es") as (app, record):
        page = record.page
        question(page)
        for key in ("e", "ArrowRight", " ", "ArrowDown", "Enter", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
        assert page.locator("mark.sentence").inner_text() == "Quatis vivem em bandos."
        assert marked(page) == ["Comem frutas e insetos!", "Dormem em árvores?"]
        page.keyboard.press("ArrowRight")
        page.keyboard.press(" ")  # takes the mark away
        page.keyboard.press("Escape")
        assert page.locator("mark.sentence").count() == 0
        press(page, "3")

        question(page)
        select(page, 0, 6)
        page.keyboard.press("e")
        select(page, text.index("frutas"), text.index("frutas") + 6)
        page.get_by_role("button", name="Evidencia").click()
        select(page, text.index("utas e"), text.index("insetos") + 7)  # overlaps the one before
        page.keyboard.press("e")
        assert marked(page) == ["Quatis", "frutas e insetos"]
        page.locator("mark.evidence").first.click()  # takes it away
        assert marked(page) == ["frutas e insetos"]
        page.keyboard.press("h")  # the passage is drawn again
        expect(page.get_by_role("button", name="Sin resaltar")).to_be_visible()
        assert marked(page) == ["frutas e insetos"]
        press(page, "2")

        question(page)
        assert marked(page) == []
        page.keyboard.press("e")
        page.keyboard.press(" ")
        press(page, "s")  # put off: nothing justifies that
        press(page, "0")
        clean(record, app)
    sentence, words = of(text, "Dormem em árvores?"), of(text, "frutas e insetos")
    assert evidence(config, "ana") == [(3, [sentence]), (2, [words]), (None, []), (0, [])]


def test_the_space_bar_marks_and_does_not_press_what_the_mouse_pressed(browser: Browser, tmp_path: Path) -> None:
    text = "Quatis vivem em bandos. Comem frutas e insetos!"
    config = collection(tmp_path / "small", [pair("q0", f"d{d}", text) for d in range(5)])
    with at_work(browser, config) as (app, record):
        page = record.page
        asked = question(page)
        grade = page.locator("[data-do=grade][data-value='1']")
        grade.click()
        another(page, asked)
        asked = question(page)
        for key in ("e", "ArrowRight", " "):
            page.keyboard.press(key)
        assert marked(page) == ["Comem frutas e insetos!"]
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Evidence").click()
        page.keyboard.press("Enter")
        page.keyboard.press("e")
        assert marked(page) == ["Quatis vivem em bandos.", "Comem frutas e insetos!"]
        grade.hover()
        page.mouse.down()
        page.mouse.move(5, 5)
        page.mouse.up()
        page.keyboard.press(" ")  # scrolls
        page.keyboard.press("h")
        expect(page.get_by_role("button", name="No highlight")).to_be_visible()
        assert question(page) == asked
        assert len(evidence(config, "ana")) == 1
        press(page, "3", asked)

        # Who goes to a button by keys presses it by the space bar, on the next pair too; Enter held down presses once.
        question(page)
        page.keyboard.press("e")
        while not grade.evaluate("button => button === document.activeElement"):
            page.keyboard.press("Tab")
        press(page, " ")
        press(page, " ")
        asked = question(page)
        for _ in range(2):
            page.keyboard.down("Enter")
        another(page, asked)
        page.keyboard.down("Enter")
        page.keyboard.up("Enter")
        page.wait_for_selector(".end")
        clean(record, app)
    spans = [of(text, "Quatis vivem em bandos."), of(text, "Comem frutas e insetos!")]
    assert evidence(config, "ana") == [(1, []), (3, spans), (1, []), (1, []), (1, [])]


def test_what_is_selected_of_the_passage_is_marked_and_white_space_and_what_is_no_longer_selected_are_not(
    browser: Browser, tmp_path: Path
) -> None:
    text = "Quatis vivem em bandos. Comem frutas e insetos!"
    config = collection(tmp_path / "small", [pair("q0", "d0", text)])
    with at_work(browser, config) as (app, record):
        page = record.page
        question(page)
        begun = page.locator("mark.sentence")
        choosing = page.locator("[data-do=evidence].primary")
        page.locator(".passage").click(click_count=3, position={"x": 60, "y": 30})
        page.get_by_role("button", name="Evidence").click()
        assert marked(page) == [text]
        page.locator("mark.evidence").click()
        assert marked(page) == []

        select(page, 6, 7)  # a space
        page.keyboard.press("e")
        expect(begun).to_have_count(1)
        page.keyboard.press("e")
        expect(begun).to_have_count(0)
        select(page, 0, 6)
        expect(choosing).to_have_count(1)
        page.locator(".query").click()
        expect(choosing).to_have_count(0)
        page.keyboard.press("e")
        expect(begun).to_have_count(1)
        assert marked(page) == []
        clean(record, app)


def test_sentences_are_marked_by_touch(browser: Browser, tmp_path: Path) -> None:
    text = "Primeira frase, bem curta. Segunda frase, também curta."
    config = collection(tmp_path / "small", [pair("q0", "d0", text)])
    with at_work(browser, config, width=390, height=844, scheme="dark", language="pt-BR") as (app, record):
        page = record.page
        question(page)
        page.get_by_role("button", name="Mais").tap()
        page.get_by_role("button", name="Evidência").tap()
        box = page.locator(".passage").bounding_box()
        assert box is not None
        page.touchscreen.tap(box["x"] + 60, box["y"] + 25)
        assert marked(page) == ["Primeira frase, bem curta."]
        page.get_by_role("button", name="Muito relevante").tap()
        page.wait_for_selector(".end")
        clean(record, app)
    assert evidence(config, "ana") == [(2, [of(text, "Primeira frase, bem curta.")])]


def test_evidence_that_is_needed_is_given_by_touch(browser: Browser, tmp_path: Path) -> None:
    text = "Primeira frase, bem curta. Segunda frase, também curta."
    config = collection(
        tmp_path / "small", [pair("q0", f"d{d}", text) for d in range(2)], annotation={"evidence": "required"}
    )
    with at_work(browser, config, width=390, height=844, scheme="light", language="es-MX") as (app, record):
        page = record.page
        asked = question(page)
        grade = page.get_by_role("button", name="Muy relevante")
        grade.tap()
        notice = page.locator(".said .notice")
        expect(notice).to_contain_text("toca una frase")
        grade.tap()  # sentences are marked by touch all the same
        record.screenshot(tmp_path / "needed.png")
        page.locator(".passage").tap(position={"x": 60, "y": 25})
        assert marked(page) == ["Primeira frase, bem curta."]
        grade.tap()
        another(page, asked)

        asked = question(page)
        select(page, 0, 8)
        grade.tap()
        page.wait_for_selector(".end")
        clean(record, app)
    assert evidence(config, "ana") == [(2, [of(text, "Primeira frase, bem curta.")]), (2, [of(text, "Primeira")])]


def test_a_grade_above_the_lowest_needs_evidence_where_the_collection_asks_for_it(
    browser: Browser, tmp_path: Path
) -> None:
    config = collection(
        tmp_path / "small",
        [pair("q0", f"d{d}", "Uma frase. Outra frase.") for d in range(3)],
        annotation={"evidence": "required"},
    )
    with at_work(browser, config) as (app, record):
        page = record.page
        press(page, "0")  # nothing can justify it
        question(page)
        page.keyboard.press("3")
        expect(page.locator(".notice")).to_contain_text("Mark the words that justify this grade first")
        assert [grade for grade, _ in evidence(config, "ana")] == [0]
        page.keyboard.press(" ")
        press(page, "3")
        asked = question(page)
        select(page, 11, 16)
        page.locator("[data-do=grade][data-value='2']").click()  # marks the words that are selected
        another(page, asked)
        clean(record, app)
    sentence, words = (of("Uma frase. Outra frase.", words) for words in ("Uma frase.", "Outra"))
    assert evidence(config, "ana") == [(0, []), (3, [sentence]), (2, [words])]


def test_a_collection_without_evidence_has_no_button_for_it(browser: Browser, tmp_path: Path) -> None:
    config = collection(tmp_path / "small", [pair("q0", "d0", "Uma frase.")], annotation={"evidence": "off"})
    with at_work(browser, config) as (app, record):
        page = record.page
        question(page)
        assert page.locator("[data-do=evidence]").count() == 0
        page.keyboard.press("e")
        select(page, 0, 3)
        press(page, "1")
        clean(record, app)
    assert evidence(config, "ana") == [(1, [])]


def test_what_is_marked_in_hostile_texts_is_what_is_stored(browser: Browser, tmp_path: Path) -> None:
    """Whole texts, and the word "here" behind characters that browsers count otherwise than Python does."""
    behind = ["\r\n", "a\r\nb\r\n", "👩‍👩‍👧 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ", "e\u0301 ", "\u202eleft ", "<b>&amp;</b> ", "\u200b\x00 ", "𝒳𝒴 "]
    texts = [text for text in HOSTILE if "\ud800" not in text and text.strip()]
    texts += [f"{start}here" for start in behind]
    rows = [pair("q0", f"d{place:02}", text) for place, text in enumerate(texts)]
    config = collection(tmp_path / "hostile", rows)
    with at_work(browser, config) as (app, record):
        page = record.page
        for _ in texts:
            asked = question(page)
            seen = page.locator(".passage").evaluate("element => element.textContent")
            here = seen.rfind("here")
            units = len(seen[:here].encode("utf-16-le", "surrogatepass")) // 2
            if seen.endswith("here"):
                select(page, units, units + 4)
            else:
                page.evaluate("getSelection().selectAllChildren(document.querySelector('.passage'))")
            page.keyboard.press("e")
            press(page, "1", asked)
        clean(record, app)
    stored = evidence(config, "ana")
    assert len(stored) == len(texts)
    whole = [text for text in texts if not text.endswith("here")]
    assert sorted(one["text"] for _, (one,) in stored) == sorted([*whole, *["here"] * len(behind)])
