"""The page where people write, in Chromium over a server of its own: all rounds by keyboard, and nothing is lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from annotator_app import words
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import Entry, Item
from quati_pool.store.records import Role
from quati_pool.text.sentences import sentences
from tests.annotator_app import authored
from tests.annotator_app.authored import PARAPHRASE, VALIDATION, question_set
from tests.browser.pages import Record, Scheme, intercept, too_wide
from tests.browser.served import Served, code_for, let_in, question, served, visitor
from tests.browser.test_annotate import clean
from tests.browser.test_appearance import asserts_legible

pytestmark = pytest.mark.browser

EVIL = '<script>window.__pwned=1</script><img src=x onerror="window.__pwned=1">\'"><svg/onload=window.__pwned=1>'
LONG = "O mar guarda carbono em cada praia do litoral, e o vento leva a areia de volta. " * 60


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    """Three texts, of which nobody is asked what they are about."""
    with served(authored.workspace(tmp_path / "written")) as started:
        yield started


class Writer:
    """A person at the page, who uses the keyboard."""

    def __init__(self, record: Record, app: Served, name: str, role: Role = "assessor", language: str = "en") -> None:
        self.record, self.page, self.app = record, record.page, app
        self.say = words.messages(language[:2])
        let_in(self.page, app, code_for(app.config, name, role))
        self.page.goto(app.address)
        expect(self.page.locator(".step-title, .end h1")).to_be_visible()

    @property
    def title(self) -> str:
        return self.page.locator(".step-title, .end h1").inner_text()

    def titled(self, step: str) -> str:
        return self.say[f"authoring.step.{step}.title"]

    def press(self, key: str) -> None:
        """Presses a key that ends the step, and waits for the next one."""
        self.ends(lambda: self.page.keyboard.press(key))

    def ends(self, act: Callable[[], Any]) -> None:
        before = question(self.page)
        act()
        self.page.wait_for_function(
            "before => { const { item, stage } = document.querySelector('.desk').dataset;"
            " return stage === 'end' || (stage === 'write' && item !== before); }",
            arg=before,
            polling=50,
        )

    def look_again(self, step: str) -> None:
        """Loads the page until a step is there that waits for others, and puts off what comes before it."""
        self.page.goto(self.app.address)
        expect(self.page.locator(".step-title, .end h1")).to_be_visible()
        for _ in range(12):
            if self.title == self.titled(step):
                return
            self.press("s")
        raise AssertionError(f"{step} does not come; there is: {self.title}")

    def write(self, texts: Mapping[str, Any]) -> None:
        for name, text in texts.items():
            if "." in name:
                field(self.page, name).fill(text)
        self.page.keyboard.press("Escape")

    def give(self, texts: Mapping[str, Any], evidence: bool = False) -> None:
        self.write(texts)
        if evidence:
            for key in ("e", "ArrowRight", " ", "Escape"):
                self.page.keyboard.press(key)
            expect(self.page.locator(".quotes li")).to_have_count(1)
        self.press("g")


def send(page: Page) -> None:
    """Sends the form once it has been there for as long as reading takes; it may be refused."""
    question(page)
    page.keyboard.press("g")


def field(page: Page, name: str) -> Any:
    return page.locator(f'.field[data-field="{name}"] textarea')


def said(page: Page, name: str) -> Any:
    return page.locator(f'.field[data-field="{name}"] .field-said')


def stored(config: Path) -> tuple[list[Item], list[Entry]]:
    """All items, and all that people said, oldest first."""
    with AnnotationSession.open(config) as session:
        assert session.authoring is not None
        entries = [one for of_item in session.authoring.entries().values() for one in of_item]
        return session.authoring.items(), sorted(
            (one for one in entries if one.action != "opened"), key=lambda one: one.seq
        )


def evaluate(writer: Writer, keys: str = "ny5243") -> None:
    """By one key for each row."""
    for key in keys:
        writer.page.keyboard.press(key)
    expect(writer.page.locator("[aria-checked=true]")).to_have_count(len(keys))


# All rounds


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("pt-BR", "dark"), ("es", "light")])
def test_a_set_goes_through_all_rounds_by_keyboard(
    browser: Browser, app: Served, language: str, scheme: Scheme
) -> None:
    look = {"scheme": scheme, "language": language}
    with (
        visitor(browser, **look) as (_, of_ana),  # type: ignore[arg-type]
        visitor(browser, **look) as (_, of_bia),  # type: ignore[arg-type]
        visitor(browser, **look) as (_, of_lea),  # type: ignore[arg-type]
    ):
        ana = Writer(of_ana, app, "ana", language=language)
        assert ana.title == ana.titled("set")
        ana.give(question_set(), evidence=True)
        expect(ana.page.locator(".own-items li")).to_have_count(1)
        ana.ends(ana.page.locator("[data-do=end]").click)
        lea = Writer(of_lea, app, "lea", "lead", language)
        lea.look_again("edit")
        assert field(lea.page, "answer.en").input_value() == question_set()["answer.en"]
        field(lea.page, "answer.en").fill("It is close to the blue boat of the fisherman.")
        expect(lea.page.locator(".was:visible")).to_contain_text("near")
        lea.page.keyboard.press("Escape")
        lea.press("g")
        bia = Writer(of_bia, app, "bia", language=language)
        bia.look_again("validation")
        expect(bia.page.locator(".pair")).not_to_contain_text("close to the blue boat")
        bia.give(VALIDATION)
        assert bia.title == bia.titled("evaluation")
        expect(bia.page.locator("[data-shown=answer]")).to_contain_text("close to the blue boat")
        expect(bia.page.locator("[data-shown=validation]")).to_contain_text(VALIDATION["validation.en"])
        evaluate(bia)
        bia.press("g")
        assert bia.title == bia.titled("paraphrase")
        bia.give(PARAPHRASE)
        lea.look_again("curate")
        expect(lea.page.locator("[data-shown=evaluations]")).to_contain_text(lea.say["authoring.value.type.where"])
        field(lea.page, "paraphrase.1.en").fill("At what place can one find the boat?")
        lea.page.keyboard.press("Escape")
        lea.press("g")
        for record in (of_ana, of_bia, of_lea):
            clean(record, app)
    items, entries = stored(app.config)
    (made,) = [one for one in items if one.kind == "question"]
    assert made.state == "kept"
    source = next(one for one in items if one.item_id == made.parent_id).content["text"]["pt"]
    start, end = sentences(source)[1]
    assert made.content["evidence"] == [{"language": "pt", "start": start, "end": end, "text": source[start:end]}]
    done = [(one.by, one.round, one.action) for one in entries if one.action != "skipped"]
    assert done == [
        ("ana", "create", "given"),
        ("ana", "create", "ended"),
        ("lea", "edit", "given"),
        *[("bia", "assess", "given")] * 3,
        ("lea", "curate", "given"),
    ]
    evaluation = next(one.content for one in entries if "generic" in one.content)
    assert evaluation == {
        "generic": False, "in_text": True, "sense": 5, "hard": 2, "equivalent": 4, "type": "where",
    }  # fmt: skip
    assert all(one.active_seconds is not None for one in entries if one.action == "given")


# Keys


def test_keys_do_what_the_guide_says(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        page.keyboard.press("Enter")  # to the first field
        expect(field(page, "question.pt")).to_be_focused()
        page.keyboard.type("Onde fica o mangue?")
        page.keyboard.press("Enter")
        expect(field(page, "answer.pt")).to_be_focused()
        page.keyboard.type("gust")  # no letter is a key in a field
        page.keyboard.press("Enter")  # a line of its own
        page.keyboard.type("x")
        assert field(page, "answer.pt").input_value() == "gust\nx"
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        expect(page.locator(".source[data-language=en]")).to_be_visible()
        expect(page.locator(".source[data-language=pt]")).to_be_hidden()
        for key in ("e", " ", "Escape", "t"):
            page.keyboard.press(key)
        expect(page.locator(".quotes li")).to_have_text(
            ["The mangrove of the estuary stores carbon in its muddy soil."]
        )
        page.locator(".source[data-language=pt] .passage").select_text()
        page.keyboard.press("e")
        expect(page.locator(".quotes li")).to_have_count(2)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Guide")).to_be_visible()
        page.keyboard.press("g")  # among words to search for
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Guide")).to_be_hidden()
        field(page, "question.en").fill("Where is the mangrove?")
        field(page, "answer.en").fill("There")
        ana.ends(lambda: field(page, "answer.en").press("Control+Enter"))
        expect(page.locator(".own-items li")).to_have_count(1)
        page.keyboard.press("u")
        expect(page.locator(".said")).to_contain_text("Here it is again.")
        assert field(page, "answer.pt").input_value() == "gust\nx"
        expect(page.locator(".quotes li")).to_have_count(2)
        ana.press("g")
        question(page)
        ana.press("u")
        clean(record, app)
    _, entries = stored(app.config)
    assert [one.action for one in entries] == ["given", "undone", "given", "undone"]
    evidence = entries[0].content["evidence"]
    texts = [text for text, _ in authored.TEXTS.values()]
    assert [one["language"] for one in evidence] == ["pt", "en"]
    assert evidence[0]["text"] in texts


def test_a_row_is_answered_by_keys_wherever_the_focus_is(browser: Browser, tmp_path: Path) -> None:
    with served(authored.workspace(tmp_path / "written", edited=0.0)) as app, visitor(browser) as (_, record):
        with visitor(browser) as (_, of_ana):
            Writer(of_ana, app, "ana").give(question_set())
        bia = Writer(record, app, "bia")
        bia.look_again("validation")
        bia.give(VALIDATION)
        page = bia.page
        rows = page.get_by_role("radiogroup")
        expect(rows).to_have_count(6)
        expect(page.locator(".row.current")).to_have_attribute("data-field", "generic")
        question(page)
        page.keyboard.press("1")  # yes, as y
        expect(page.locator(".row.current")).to_have_attribute("data-field", "in_text")
        page.keyboard.press("n")
        page.get_by_role("radiogroup", name="The question is hard").get_by_role("radio", name="1").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("radiogroup", name="hard").get_by_role("radio", name="3")).to_be_checked()
        page.keyboard.press("4")
        expect(page.get_by_role("radiogroup", name="hard").get_by_role("radio", name="4")).to_be_checked()
        expect(page.get_by_role("radiogroup", name="two answers").get_by_role("radio", name="1")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("radiogroup", name="Kind").get_by_role("radio", name="Who")).to_be_focused()
        page.keyboard.press("7")
        page.get_by_role("radiogroup", name="makes sense").get_by_role("radio", name="5").click()
        send(page)  # one is missing
        expect(said(page, "equivalent")).to_have_text("Fill this in.")
        expect(page.get_by_role("radiogroup", name="two answers").get_by_role("radio", name="1")).to_be_focused()
        page.keyboard.press("2")
        expect(said(page, "equivalent")).to_be_hidden()
        bia.press("g")
        clean(record, app)
        _, entries = stored(app.config)
        assert entries[-1].content == {
            "generic": True, "in_text": False, "sense": 5, "hard": 4, "equivalent": 2, "type": "none",
        }  # fmt: skip


def test_a_lead_refuses_with_a_reason_and_a_comment(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, of_ana):
        Writer(of_ana, app, "ana").give(question_set())
    with visitor(browser) as (_, record):
        lea = Writer(record, app, "lea", "lead")
        lea.look_again("edit")
        page = lea.page
        question(page)
        page.keyboard.press("x")
        expect(page.get_by_role("button", name="Not in the text")).to_be_visible()
        page.keyboard.press("x")
        expect(page.get_by_role("button", name="Not in the text")).to_be_hidden()
        page.keyboard.press("x")
        page.keyboard.press("5")
        expect(said(page, "comment")).to_have_text("Say in the comment why, then choose again.")
        expect(page.locator("#comment")).to_be_focused()
        page.keyboard.type("two questions in one")
        page.keyboard.press("Escape")
        lea.press("5")
        expect(page.locator(".stored")).to_have_text("Stored: refused")
        clean(record, app)
    _, entries = stored(app.config)
    refused = [one for one in entries if one.action == "refused"]
    assert [(one.reason, one.content["comment"]) for one in refused] == [("other", "two questions in one")]


# What must not be lost, or stored twice


def test_a_reload_keeps_what_was_written_chosen_and_marked(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        ana.write({**question_set(), "answer.pt": "uma linha\noutra linha"})
        for key in ("e", " ", "Escape"):
            page.keyboard.press(key)
        page.reload()
        expect(field(page, "question.en")).to_have_value(question_set()["question.en"])
        assert field(page, "answer.pt").input_value() == "uma linha\noutra linha"
        expect(page.locator(".quotes li")).to_have_count(1)
        page.get_by_role("link", name="My labels").click()
        expect(page.locator("#own-labels")).to_be_attached()
        page.get_by_role("link", name="Write").click()
        expect(field(page, "question.en")).to_have_value(question_set()["question.en"])
        ana.press("g")
        expect(field(page, "question.en")).to_have_value("")
        page.reload()
        expect(page.locator(".own-items li")).to_have_count(1)
        expect(field(page, "question.en")).to_have_value("")  # what is stored is no draft
        clean(record, app)


def test_what_is_written_and_not_stored_is_not_dropped_without_a_word(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        ana.give(question_set())
        ana.write({"question.en": "What else?"})
        question(ana.page)
        ana.page.locator("[data-do=end]").click()
        expect(ana.page.locator(".said")).to_contain_text("not stored yet")
        assert ana.title == ana.titled("set")
        ana.ends(ana.page.locator("[data-do=end]").click)
        expect(ana.page.locator(".stored")).to_have_text("Stored: no more from that text")


def test_a_doubt_is_shown_at_its_field_and_confirmed_by_pressing_again(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        ana.write({**question_set(), "question.en": "What is the aim of the paper?"})
        send(page)
        expect(said(page, "question.en")).to_contain_text("“the paper”")
        expect(page.get_by_role("button", name="Store it all the same")).to_be_visible()
        field(page, "question.en").fill("What is the aim of this paper?")  # another form, to be looked at again
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Store this set")).to_be_visible()
        expect(said(page, "question.en")).to_be_hidden()
        send(page)
        expect(said(page, "question.en")).to_contain_text("“this paper”")
        assert not stored(app.config)[1]
        ana.press("g")
        assert [one.content["question.en"] for one in stored(app.config)[1]] == ["What is the aim of this paper?"]
        clean(record, app)


def test_a_form_without_a_response_stays_and_is_sent_again_as_the_same(browser: Browser, app: Served) -> None:
    """The server stores it and its response is lost; the page is loaded again meanwhile."""
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        lost: list[str] = []

        def lose(route: Route) -> None:
            route.fetch()
            lost.append(route.request.post_data or "")
            route.abort()

        ana.write(question_set())
        intercept(page, "**/authoring/send", lose)
        send(page)
        expect(page.locator(".said")).to_contain_text("It is not stored yet")
        expect(page.locator(".bar")).to_be_hidden()
        assert page.evaluate("document.querySelector('.pair-place').inert")
        page.unroute_all(behavior="wait")
        assert lost
        expect(page.locator(".said")).to_contain_text("That is stored now.")
        expect(page.locator(".own-items li")).to_have_count(1)
        assert [one.action for one in stored(app.config)[1]] == ["given"]


def test_a_page_that_is_loaded_again_before_the_response_stores_nothing_twice(browser: Browser, app: Served) -> None:
    with visitor(browser) as (context, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        ana.write(question_set())

        def lose(route: Route) -> None:
            route.fetch()
            route.abort()

        intercept(page, "**/authoring/send", lose)
        send(page)
        expect(page.locator(".said")).to_contain_text("It is not stored yet")
        kept = page.evaluate("sessionStorage.getItem('writing, unsent')")
        assert kept
        # A reload asks first whether the page may be left; after a crash, the browser restores the tab's storage.
        other = context.new_page()
        other.goto(f"{app.address}/labels")
        other.evaluate("kept => sessionStorage.setItem('writing, unsent', kept)", kept)
        other.goto(app.address)
        expect(other.locator(".said")).to_contain_text("That is stored now.")
        expect(other.locator(".own-items li")).to_have_count(1)
        assert other.evaluate("sessionStorage.getItem('writing, unsent')") is None
        assert [one.action for one in stored(app.config)[1]] == ["given"]


def test_a_server_that_is_killed_while_a_step_is_sent_loses_nothing(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        for number in (1, 2, 3):
            ana.write(question_set(number))
            question(page)
            app.stop(signal.SIGKILL)
            send(page)
            expect(page.locator(".said")).to_contain_text("It is not stored yet")
            app.start()
            expect(page.locator(".own-items li")).to_have_count(number)
        assert [one.action for one in stored(app.config)[1]] == ["given"] * 3
        texts = [one.content["question.en"] for one in stored(app.config)[1]]
        assert texts == [question_set(number)["question.en"] for number in (1, 2, 3)]


def test_two_tabs_store_a_step_once_and_the_second_says_so(browser: Browser, tmp_path: Path) -> None:
    config = authored.workspace(tmp_path / "written", edited=0.0)
    with served(config) as app, visitor(browser) as (_, of_ana), visitor(browser) as (context, record):
        Writer(of_ana, app, "ana").give(question_set())
        bia = Writer(record, app, "bia")
        bia.look_again("validation")
        tab = context.new_page()
        tab.goto(app.address)
        expect(tab.locator(".step-title")).to_have_text(bia.title)
        bia.give(VALIDATION)
        for name, text in VALIDATION.items():
            field(tab, name).fill(f"{text} Otherwise.")
        tab.keyboard.press("Escape")
        send(tab)
        expect(tab.locator(".said .notice")).to_be_visible()
        expect(tab.locator(".step-title")).to_have_text(bia.titled("evaluation"))
        given = [one for one in stored(config)[1] if one.round == "assess"]
        assert [one.content for one in given] == [VALIDATION]


def test_a_sign_in_that_ended_is_said_and_the_text_is_there_after_the_next(browser: Browser, app: Served) -> None:
    with visitor(browser) as (context, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        ana.write(question_set())
        context.clear_cookies()
        send(page)
        expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
        expect(page.locator(".form")).to_have_count(0)
        assert not stored(app.config)[1]
        again = code_for(app.config, "eva")
        let_in(page, app, again)
        page.goto(app.address)
        expect(page.locator(".form")).to_be_visible()
        expect(field(page, "question.en")).to_have_value("")  # it is somebody else's


# Hostile texts


def test_hostile_texts_run_nothing_in_any_round(browser: Browser, tmp_path: Path) -> None:
    texts = {"A1": (f"Texto {EVIL} fim.", f"Text {EVIL} end.")}
    config = authored.workspace(tmp_path / "evil", texts, subject=f"mar {EVIL}")
    with (
        served(config) as app,
        visitor(browser) as (_, of_ana),
        visitor(browser) as (_, of_bia),
        visitor(browser) as (_, of_lea),
    ):
        ana = Writer(of_ana, app, "ana")
        expect(ana.page.locator("[data-shown=subject]")).to_contain_text("<script>")
        question(ana.page)
        ana.page.keyboard.press("y")
        ana.press("g")
        names = [name for name in question_set() if "." in name]
        ana.write({name: f"{name} {EVIL}" for name in names})
        for key in ("e", " ", "Escape"):
            ana.page.keyboard.press(key)
        question(ana.page)
        ana.press("g")
        expect(ana.page.locator(".own-items")).to_contain_text("<script>")
        ana.write({**question_set(), "question.en": f"What is this paper? {EVIL}", "question.pt": f"E? {EVIL}"})
        send(ana.page)
        expect(ana.page.locator(".field-said:visible").first).to_be_visible()
        lea = Writer(of_lea, app, "lea", "lead")
        lea.look_again("edit")
        field(lea.page, "answer.en").fill(f"another {EVIL}")
        expect(lea.page.locator(".was:visible")).to_be_visible()
        lea.page.keyboard.press("Escape")
        lea.press("g")
        bia = Writer(of_bia, app, "bia")
        bia.look_again("validation")
        bia.give({name: f"{name} {EVIL}" for name in VALIDATION})
        evaluate(bia)
        bia.press("g")
        bia.give({name: f"{name} {EVIL}" for name in PARAPHRASE})
        lea.look_again("curate")
        expect(lea.page.locator("[data-shown=question]")).to_contain_text("<script>")
        lea.page.keyboard.press("x")
        lea.page.locator("#comment").fill(EVIL)
        lea.page.keyboard.press("Escape")
        lea.press("5")
        lea.page.goto(f"{app.address}/rounds")
        expect(lea.page.get_by_text("Other reason").first).to_be_visible()
        for record in (of_ana, of_bia, of_lea):
            assert record.page.evaluate("window.__pwned") is None
            assert record.page.locator("img, .pair script, .pair svg").count() == 0
            clean(record, app)


# How it looks


@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(390, "dark", "pt-BR"), (1280, "light", "es"), (820, "dark", "en")]
)
def test_every_step_can_be_read_and_fits(
    browser: Browser, tmp_path: Path, width: int, scheme: Scheme, language: str
) -> None:
    texts = {"A1": (LONG, LONG.replace("mar", "sea")), "A2": authored.TEXTS["A2"]}
    config = authored.workspace(tmp_path / "looks", texts, subject="o oceano", assessors=1)
    look: dict[str, Any] = {"width": width, "scheme": scheme, "language": language, "height": 844}
    with (
        served(config) as app,
        visitor(browser, **look) as (_, of_ana),
        visitor(browser, **look) as (_, of_bia),
        visitor(browser, **look) as (_, of_lea),
    ):
        looked_at: list[str] = []

        def look_at(writer: Writer) -> None:
            page = writer.page
            assert too_wide(page) <= 0
            for button in page.locator(".bar button:visible").all():
                expect(button).to_be_in_viewport(ratio=1)
            for name in page.locator(".form textarea:visible").all():
                assert page.locator(f'label[for="{name.get_attribute("id")}"]').inner_text().strip()
            # However long the text is, the form begins in sight.
            expect(page.locator(".step-title")).to_be_in_viewport(ratio=1)
            asserts_legible(page)
            looked_at.append(writer.title)
            writer.record.screenshot(tmp_path / f"{len(looked_at):02d}-{language}-{scheme}-{width}.png")

        ana = Writer(of_ana, app, "ana", language=language)
        look_at(ana)
        question(ana.page)
        ana.page.keyboard.press("y")
        look_at(ana)
        ana.press("g")
        send(ana.page)
        expect(said(ana.page, "question.pt")).to_be_visible()
        ana.page.keyboard.press("Escape")
        look_at(ana)
        ana.give(question_set(), evidence=True)
        ana.write({**question_set(), "question.en": "What is the aim of the paper?"})
        send(ana.page)
        expect(said(ana.page, "question.en")).to_be_visible()
        asserts_legible(ana.page)
        ana.page.keyboard.press("?")
        expect(ana.page.locator("dialog.guide")).to_be_visible()
        asserts_legible(ana.page)
        ana.page.keyboard.press("Escape")
        lea = Writer(of_lea, app, "lea", "lead", language)
        lea.look_again("edit")
        field(lea.page, "answer.en").fill("Another answer.")
        lea.page.keyboard.press("Escape")
        look_at(lea)
        lea.page.keyboard.press("x")
        asserts_legible(lea.page)
        lea.page.keyboard.press("x")
        lea.press("g")
        bia = Writer(of_bia, app, "bia", language=language)
        bia.look_again("validation")
        look_at(bia)
        bia.give(VALIDATION)
        evaluate(bia)
        bia.page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
        look_at(bia)
        bia.press("g")
        look_at(bia)
        bia.give(PARAPHRASE)
        lea.look_again("curate")
        look_at(lea)
        lea.press("g")
        lea.page.goto(f"{app.address}/rounds")
        expect(lea.page.locator("table.figures").first).to_be_visible()
        assert too_wide(lea.page) <= 0
        asserts_legible(lea.page)


def test_whoever_goes_by_the_tab_key_goes_through_text_form_and_buttons(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        ana = Writer(record, app, "ana")
        page = ana.page
        reached = []
        for _ in range(22):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                  const element = document.activeElement, style = getComputedStyle(element);
                  const name = element.dataset.do ?? element.closest(".field")?.dataset.field ?? element.className;
                  return [name, style.outlineStyle, parseFloat(style.outlineWidth), !!element.closest(".desk")];
                }"""
            )
            if found[3]:
                assert found[1] == "solid", found
                assert found[2] >= 2, found
                reached.append(found[0])
        wanted = ["language", "language", "scroller", "question.pt", "answer.pt", "question.en", "answer.en"]
        assert reached[: len(wanted) + 5] == [*wanted, "go", "end", "evidence", "later", "guide"]
