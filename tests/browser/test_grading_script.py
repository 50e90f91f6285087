"""What the grading page's script does by itself, in Chromium: presses that count and presses that do not, the time that
they took, the note, and the guide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import Label
from tests.browser.pages import Scheme, intercept, too_wide
from tests.browser.served import Served, code_for, question, served, sign_in, visitor
from tests.browser.test_annotate import another, clean, press
from tests.commands.annotate.people_at_work import assigned, collection, text
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

PEOPLE = ["ana", "bia", "caio", "dora", "eva", "fabio", "gil", "hugo", "ines", "joao", "keila", "lia", "mara"]
GUIDELINES = """# Como avaliar

Considere a *situação geográfica* da pergunta.

- Leia tudo.
- Na dúvida, escolha a nota menor; a **SITUAÇÃO** não muda.

```
um bloco de código cuja única linha é mais larga do que o guia em qualquer uma das janelas em que ele é aberto
```
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query of four pairs, for each person all."""
    rows = [pair("q0", f"d{d}", text(d)) for d in range(4)]
    folder = tmp_path_factory.mktemp("script") / "small"
    made = collection(folder, rows, annotation={"prompt": "quati-pt", "guidelines": "guidelines.md"})
    (folder / "guidelines.md").write_text(GUIDELINES, encoding="utf-8")
    with AnnotationSession.open(made) as session:
        assigned(session, [None] * len(PEOPLE))
    return made


@pytest.fixture(scope="module")
def app(config: Path) -> Iterator[Served]:
    with served(config) as started:
        yield started


def given(config: Path, name: str) -> list[Label]:
    """All that somebody ever said, oldest first."""
    with AnnotationSession.open(config) as session:
        found = [label for d in range(4) for label, _ in session.store.history("test", name, "q0", f"d{d}")]
    return sorted(found, key=lambda label: label.seq or 0)


def states(config: Path, name: str) -> list[tuple[str, int | None]]:
    return [(label.status.value, label.relevance) for label in given(config, name)]


def held(page: Page, step: str) -> list[Route]:
    """The requests of a step from now on, each on its way until it is let go on."""
    waiting: list[Route] = []
    intercept(page, f"**/grading/{step}", lambda route: waiting.append(route))
    return waiting


def sends(page: Page, key: str, waiting: list[Route]) -> None:
    """Presses a key that sends a request, again where nothing is sent: the page may be drawn once more after it was
    waited for, and takes no press so soon after that."""
    for _ in range(15):
        page.keyboard.press(key)
        for _ in range(40):
            if waiting:
                return
            page.wait_for_timeout(50)
    raise AssertionError(f"no request in half a minute of pressing {key}")


def wait_for(page: Page, waiting: list[Route], count: int) -> None:
    for _ in range(600):
        if len(waiting) >= count:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(waiting)} requests in half a minute, {count} expected")


AT_ONCE = """key => {
  // Presses a key in the very moment in which another pair is on the page.
  new MutationObserver((_, observer) => {
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }).observe(document.querySelector(".desk"), { attributes: true, attributeFilter: ["data-item"] });
}"""


TWICE = """key => {
  const focused = document.activeElement;
  for (let time = 0; time < 2; time++) focused.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""


@pytest.mark.parametrize(("name", "key"), [("ana", "2"), ("bia", "s")])
def test_a_press_before_anybody_could_read_is_not_counted_and_says_so(
    browser: Browser, app: Served, config: Path, name: str, key: str
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, name))
        question(page)
        page.evaluate(AT_ONCE, key)
        press(page, "1")
        expect(page.locator(".said .notice")).to_contain_text("was not counted. Press it again.")
        asked = question(page)
        assert states(config, name) == [("ok", 1)]
        press(page, key, asked)  # it can be read now
        assert page.locator(".said .notice").count() == 0
        clean(record, app)
    assert states(config, name) == [("ok", 1), ("skipped", None) if key == "s" else ("ok", 2)]


def test_while_an_answer_is_on_its_way_no_press_is_another(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "caio"))
        before = question(page)
        waiting = held(page, "*")
        sends(page, "2", waiting)
        for key in "230sux":
            page.keyboard.press(key)
        page.get_by_role("button", name="Irrelevante").click()
        page.get_by_role("button", name="Undo").dblclick()
        page.keyboard.press("?")  # to read on meanwhile
        expect(page.locator("dialog.guide")).to_be_visible()
        assert [route.request.url.rpartition("/")[2] for route in waiting] == ["answer"]
        waiting[0].continue_()
        page.unroute_all()
        another(page, before)
        page.keyboard.press("Escape")
        expect(page.locator("dialog.guide")).to_be_hidden()
        expect(page.get_by_role("button", name="Irrelevante")).to_be_visible()
        clean(record, app)
    assert states(config, "caio") == [("ok", 2)]


def test_an_answer_whose_response_is_lost_is_sent_again_as_the_same(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "dora"))
        before = question(page)
        waiting = held(page, "answer")
        sends(page, "3", waiting)
        first = waiting[0].request.post_data_json
        waiting[0].fetch()  # it is stored
        waiting[0].abort()
        expect(page.locator(".pending")).to_contain_text("Your choice: 3 Perfeitamente relevante")
        assert states(config, "dora") == [("ok", 3)]
        wait_for(page, waiting, 2)
        again = waiting[1].request.post_data_json
        assert (again["nonce"], again["item"], again["relevance"]) == (first["nonce"], first["item"], 3)
        waiting[1].fulfill(status=503, body="{}")
        wait_for(page, waiting, 3)
        waiting[2].continue_()
        page.unroute_all()
        another(page, before)
        expect(page.locator(".notice.good")).to_contain_text("stored now")
        press(page, "0")
    assert states(config, "dora") == [("ok", 3), ("ok", 0)]


def test_an_answer_that_waited_and_is_then_refused_can_be_given_otherwise(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "eva"))
        before = question(page)
        waiting = held(page, "answer")
        sends(page, "3", waiting)
        waiting[0].abort()
        wait_for(page, waiting, 2)
        waiting[1].fulfill(json={"notice": '<p class="notice warning">refused</p>'})
        page.unroute_all()
        expect(page.locator(".said .notice")).to_have_text("refused")
        expect(page.get_by_role("button", name="Irrelevante")).to_be_visible(timeout=3000)
        press(page, "2", before)
    assert states(config, "eva") == [("ok", 2)]


def test_time_per_label_leaves_out_idle_time(browser: Browser, app: Served, config: Path) -> None:
    """10 s until a key, then 1,000 s away, which count as the 120 s of annotation.idle."""
    with visitor(browser) as (_, record):
        page = record.page
        page.clock.install()
        sign_in(page, app, code_for(config, "fabio"))
        question(page)
        page.clock.fast_forward(10_000)
        page.keyboard.press("h")
        page.clock.fast_forward(1_000_000)
        press(page, "1")
    (label,) = given(config, "fabio")
    active, elapsed = label.extra["active_seconds"], label.extra["elapsed_seconds"]
    assert 130 <= active < 150
    assert 1010 <= elapsed < 1030
    assert elapsed - active == pytest.approx(1000 - 120, abs=1)


def test_cannot_judge_twice_goes_back_and_other_asks_for_a_note_and_keeps_it(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "gil"))
        asked = question(page)
        grade, reason = (page.get_by_role("button", name=name) for name in ("Irrelevante", "Broken text"))
        page.keyboard.press("x")
        expect(reason).to_be_visible()
        expect(grade).to_be_hidden()
        page.keyboard.press("0")  # no reason has this key, and no grade is asked for
        page.keyboard.press("s")
        page.keyboard.press("x")
        expect(grade).to_be_visible()
        expect(reason).to_be_hidden()
        page.keyboard.press("x")
        page.keyboard.press("4")
        note = page.locator("#note")
        expect(note).to_be_focused()
        expect(page.locator(".said .notice")).to_contain_text("Write in the note why")
        page.keyboard.type("  ")
        page.keyboard.press("Escape")
        page.keyboard.press("4")
        expect(note).to_be_focused()
        assert question(page) == asked
        assert states(config, "gil") == []
        page.keyboard.type("a menu")
        page.keyboard.press("Escape")
        press(page, "4", asked)
        # The note was that pair's.
        question(page)
        expect(note).to_be_hidden()
        page.keyboard.press("n")
        expect(note).to_be_focused()
        expect(note).to_have_value("")
        page.keyboard.press("Escape")
        press(page, "1")
        clean(record, app)
    assert [(label.status.value, label.rationale) for label in given(config, "gil")] == [
        ("unsure", "  a menu"),
        ("ok", None),
    ]


def test_a_draft_of_a_note_survives_whatever_leaves_the_pair_on_the_page(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "hugo"))
        asked = question(page)
        page.keyboard.press("n")
        page.keyboard.type("half a tho")
        page.keyboard.press("Escape")
        for key in ("h", "x", "x", "?", "Escape", "e", "Escape"):
            page.keyboard.press(key)
        expect(page.get_by_role("button", name="No highlight")).to_be_visible()
        page.keyboard.press("h")
        expect(page.get_by_role("button", name="Highlight words")).to_be_visible()
        expect(page.locator("#note")).to_have_value("half a tho")
        page.keyboard.press("n")
        page.keyboard.type("ught")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+1")  # the browser's
        page.keyboard.press("Alt+2")
        assert states(config, "hugo") == []
        press(page, "3", asked)
        clean(record, app)
    assert [label.rationale for label in given(config, "hugo")] == ["half a thought"]


def test_what_was_written_and_marked_for_a_pair_survives_a_reload_another_page_and_an_undo(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "keila"))
        asked = question(page)
        page.keyboard.press("u")
        expect(page.locator(".said .notice")).to_have_text("There is nothing to undo.")
        press(page, "1", asked)
        question(page)
        note, ask, marked = (page.locator(part) for part in ("#note", "#question", "mark.evidence"))
        for key, written in (("n", "half a thought"), ("q", "what is a menu?")):
            page.keyboard.press(key)
            page.keyboard.type(written)
            page.keyboard.press("Escape")
        page.keyboard.press("e")
        page.keyboard.press(" ")
        words = marked.inner_text()

        def kept() -> str:
            asked = question(page)
            expect(note).to_have_value("half a thought")
            expect(ask).to_have_value("what is a menu?")
            expect(ask).to_be_visible()
            expect(marked).to_have_text([words])
            return asked

        page.reload()
        asked = kept()
        press(page, "u", asked)
        asked = question(page)
        expect(note).to_have_value("")
        expect(ask).to_be_hidden()
        expect(marked).to_have_count(0)
        press(page, "2", asked)
        kept()
        page.get_by_role("link", name="My labels").click()
        expect(page.locator(".row").first).to_be_visible()
        page.get_by_role("link", name="Grade").click()
        asked = kept()

        # A question that was not sent is not dropped without a word.
        page.keyboard.press("3")
        expect(page.locator(".said .notice")).to_contain_text("Your question is not sent yet.")
        assert states(config, "keila")[-1] == ("ok", 2)
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".said .notice")).to_contain_text("Sent to the lead.")
        press(page, "3", asked)
        asked = question(page)
        assert [field.input_value() for field in (note, ask)] == ["", ""]
        page.keyboard.press("q")
        page.keyboard.type("never mind")
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        expect(page.locator(".said .notice")).to_contain_text("press again, and it is dropped")
        press(page, "0", asked)
        press(page, "u")
        question(page)
        expect(note).to_have_value("")  # it was stored with the answer
        expect(ask).to_have_value("")
        clean(record, app)
    given_now = [label for label in given(config, "keila") if label.relevance == 3]
    assert [(label.rationale, len(label.extra["evidence"])) for label in given_now] == [("half a thought", 1)]


def test_the_guide_is_read_and_searched_by_keys_and_nothing_is_graded_meanwhile(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "ines"))
        asked = question(page)
        guide, field, found = (page.locator(f"dialog.guide{part}") for part in ("", " input", " .found"))
        hits = page.locator("dialog.guide .hit")
        page.keyboard.press("?")
        expect(guide).to_be_visible()
        expect(field).to_be_focused()
        page.keyboard.type("situacao geo")  # without accents, over the start of emphasis
        # Of the guidelines' paragraph "Considere a situação geográfica da pergunta."
        expect(hits).to_have_text(["Considere a situação geográfica da pergunta."])
        expect(found).to_have_text("1")
        field.fill("SITUAÇÃO")
        expect(hits).to_have_count(2)
        expect(hits.last).to_contain_text("Na dúvida")
        field.fill("zebra?")
        expect(hits).to_have_count(0)
        expect(found).to_have_text("Nothing found")
        # What was opened to be read stays open, whatever is searched for.
        opened = page.locator(".guide details[open]")
        opened_by_reader = page.locator(".guide summary").first
        opened_by_reader.click()
        for words, count in (("", 1), ("a", 4), ("zebra", 1), ("", 1)):
            field.fill(words)
            expect(opened).to_have_count(count)
        opened_by_reader.click()
        expect(opened).to_have_count(0)
        expect(found).to_have_text("")
        expect(hits).to_have_count(0)
        # The key that opened the guide, held or pressed again, is no text; with it an empty field is left.
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()
        for _ in range(3):
            page.keyboard.down("?")
        expect(field).to_be_focused()
        expect(field).to_have_value("")
        page.keyboard.up("?")
        page.keyboard.press("?")
        expect(guide).to_be_hidden()
        page.keyboard.press("?")
        expect(field).to_be_focused()
        expect(field).to_have_value("")
        # Neither while the field is written in, nor while something else of the guide has the focus.
        page.keyboard.type("2su")
        for part, where in (
            (page.get_by_role("button", name="Close"), "Shift+Tab"),
            (page.locator(".guide-text"), None),
            (page.locator(".guide-head"), None),
            (page.locator(".guide summary").first, "Tab"),
        ):
            if where is None:
                part.click(position={"x": 3, "y": 3})
            else:
                field.focus()
                page.keyboard.press(where)
                if where == "Tab":
                    page.keyboard.press(where)
            expect(part).to_be_focused()
            for key in "0123suxnhe":
                page.keyboard.press(key)
        details = page.locator(".guide details").first
        page.keyboard.press(" ")
        expect(details).to_have_attribute("open", "")
        expect(page.locator(".guide .shown").first).to_be_visible()
        page.evaluate(TWICE, "?")  # closed and opened, with the focus in it both times
        expect(guide).to_be_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("?")
        expect(guide).to_be_hidden()
        page.keyboard.press("?")
        expect(guide).to_be_visible()
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()
        assert question(page) == asked
        assert states(config, "ines") == []
        press(page, "2", asked)
        clean(record, app)
    assert states(config, "ines") == [("ok", 2)]


@pytest.mark.parametrize(
    ("name", "language", "width", "scheme", "headings"),
    [
        ("lia", "en", 1280, "light", ["Guide", "What the grades mean", "Guidelines"]),
        ("mara", "es", 700, "dark", ["Guía", "Qué significan las notas", "Pautas"]),
    ],
)
def test_the_guide_is_next_to_the_passage_and_stays_while_pairs_are_graded(
    browser: Browser,
    app: Served,
    config: Path,
    name: str,
    language: str,
    width: int,
    scheme: Scheme,
    headings: list[str],
) -> None:
    with visitor(browser, width, scheme, language, height=720) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, name))
        asked = question(page)
        guide, button, note = (page.locator(part) for part in ("dialog.guide", ".bar [data-do=guide]", "#note"))
        expect(button).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("?")
        expect(guide.locator("h2")).to_have_text(headings)
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(page.locator(".scale")).to_be_hidden()  # the guide holds it
        box = guide.bounding_box()
        assert box
        for part in (".passage", ".bar", ".query"):
            other = page.locator(part).bounding_box()
            assert other
            assert other["x"] + other["width"] < box["x"], part
            expect(page.locator(part)).to_be_in_viewport(ratio=1)
        for part in ("dialog.guide", ".guide input", ".guide button"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)
        field = guide.locator("input").bounding_box()
        assert field
        assert field["x"] + field["width"] <= box["x"] + box["width"]
        assert guide.locator(".guide-text").evaluate("text => text.scrollWidth - text.clientWidth") == 0
        assert too_wide(page) <= 0

        # By keys once the focus is outside, and by the mouse.
        page.locator(".passage").click()
        press(page, "2", asked)
        asked = question(page)
        expect(guide).to_be_visible()
        page.locator("[data-do=grade]").nth(1).click()
        another(page, asked)
        asked = question(page)
        expect(guide).to_be_visible()
        page.keyboard.press("n")
        page.keyboard.type("0?")
        page.keyboard.press("Escape")  # leaves the field
        expect(note).not_to_be_focused()
        expect(guide).to_be_visible()
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()
        expect(button).to_have_attribute("aria-expanded", "false")

        # A click on the button leaves the note only until the guide is closed.
        page.keyboard.press("n")
        expect(note).to_be_focused()
        button.click()
        expect(guide.locator("input")).to_be_focused()
        page.keyboard.press("Escape")
        expect(note).to_be_focused()
        page.keyboard.type(" 3")
        expect(note).to_have_value("0? 3")
        page.keyboard.press("Escape")
        press(page, "3", asked)

        # The focus returns to where it was, also from the field, which Escape leaves.
        question(page)
        button.focus()
        for closing in ("Escape", "Enter"):
            page.keyboard.press("Enter")
            expect(guide.locator("input")).to_be_focused()
            if closing == "Enter":
                page.keyboard.press("Shift+Tab")
                expect(guide.locator("button")).to_be_focused()
            page.keyboard.press(closing)
            expect(guide).to_be_hidden()
            expect(button).to_be_focused()

        # A tablet that is turned.
        page.keyboard.press("Enter")
        page.set_viewport_size({"width": 600, "height": 720})
        expect(page.locator("dialog.guide:modal")).to_be_visible()
        page.set_viewport_size({"width": width, "height": 720})
        expect(page.locator("dialog.guide:not(:modal)")).to_be_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(guide.locator("input")).to_be_focused()
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()
        expect(button).to_be_focused()
        clean(record, app)
    assert states(config, name) == [("ok", 2), ("ok", 1), ("ok", 3)]


def test_on_a_phone_the_guide_fills_the_screen(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser, 390, "dark", "pt-BR", height=844) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "joao"))
        asked = question(page)
        page.keyboard.press("?")
        guide = page.locator("dialog.guide:modal")
        expect(guide.locator("h2")).to_have_text(["Guia", "O que as notas significam", "Diretrizes"])
        expect(guide.locator(".meaning h3")).to_have_text(
            ["0 Irrelevante", "1 Relevante", "2 Muito relevante", "3 Perfeitamente relevante"]
        )
        expect(guide.locator(".example")).to_have_count(4)
        expect(guide.locator(".guidelines h1")).to_have_text("Como avaliar")
        expect(guide.locator(".guidelines strong")).to_have_text("SITUAÇÃO")
        assert guide.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
        assert page.evaluate("[...document.querySelectorAll('.guide *')].every(one => one.scrollWidth <= 390)")
        assert guide.locator(".guide-text").evaluate("text => text.scrollWidth - text.clientWidth") == 0
        for key in "02s":
            page.keyboard.press(key)
        close = guide.get_by_role("button", name="Fechar")
        expect(close).to_be_in_viewport(ratio=1)
        # A word of an example opens it.
        expect(guide.locator(".shown").first).to_be_hidden()
        guide.get_by_role("searchbox").fill("a")
        expect(guide.locator(".shown.hit").first).to_be_visible()
        close.tap()
        expect(guide).to_be_hidden()
        press(page, "1", asked)
        clean(record, app)
    assert states(config, "joao") == [("ok", 1)]
