"""The lead's page of people and designs in a real browser: a code is shown once, a design is made once, and an assessor
sees nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from annotator_app import words
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.access import sign_in
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.people import People
from tests.browser.pages import Record, Scheme, too_wide
from tests.browser.served import Served, code_for, drawn, let_in, question, served, visitor
from tests.browser.test_appearance import asserts_legible
from tests.commands.annotate.people_at_work import collection, text
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}")
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> **bold** [a](javascript:1) \u202egnol\u202c :red[x] $x^2$"
LOOKS: list[tuple[str, int, Scheme]] = [
    ("en", 1280, "light"), ("pt", 390, "dark"), ("es", 390, "light"), ("pt", 1280, "dark"),
]  # fmt: skip


def workspace(folder: Path) -> Path:
    """Two queries of five passages; nobody has a code yet."""
    rows = [
        {**pair(f"q{q}", f"d{d}", text(10 * q + d)), "query": f"quem foi? {HOSTILE}"}
        for q in range(2)
        for d in range(5)
    ]
    return collection(folder, rows)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(workspace(tmp_path)) as started:
        yield started


@contextmanager
def as_lead(browser: Browser, app: Served, name: str = "lia", **look: object) -> Iterator[Record]:
    """The team page of a new lead."""
    with visitor(browser, **look) as (_, record):  # type: ignore[arg-type]
        let_in(record.page, app, code_for(app.config, name, "lead"))
        shows(record.page, app)
        yield record


def shows(page: Page, app: Served) -> None:
    page.goto(f"{app.address}/team")
    expect(page.locator(".st-key-known-pairs")).to_be_visible()
    drawn(page)


def people(page: Page) -> Locator:
    """The names in the table of people."""
    return page.locator("table.figures").first.locator("tbody tr td:first-child")


def adds(page: Page, name: str, language: str = "en") -> str:
    """Adds a person by a double click; the code that is shown."""
    page.get_by_label(words.message(language, "team.name"), exact=True).fill(name)
    page.get_by_role("button", name=words.message(language, "team.add_button")).dblclick()
    shown = page.locator(".st-key-new-code code")
    expect(shown).to_be_visible()
    drawn(page)
    code = shown.inner_text()
    assert CODE.fullmatch(code)
    return code


@pytest.mark.parametrize(("language", "width", "scheme"), LOOKS)
def test_a_lead_gives_a_code_makes_a_design_and_adds_pairs(
    browser: Browser, app: Served, language: str, width: int, scheme: Scheme
) -> None:
    def said(key: str, **values: object) -> str:
        return words.message(language, f"team.{key}", **values)

    with as_lead(browser, app, language=language, width=width, scheme=scheme, height=844) as record:
        page = record.page
        code = adds(page, "ana", language)
        expect(page.get_by_text(said("only_now"))).to_be_visible()
        asserts_legible(page)
        page.get_by_role("button", name=said("noted")).click()
        expect(page.locator(".st-key-new-code")).to_have_count(0)
        expect(people(page)).to_have_text(["ana", "lia"])
        page.get_by_text(said("method.random"), exact=True).click()
        drawn(page)
        # Nothing between typing and pressing.
        page.get_by_label(said("size", pairs=10), exact=True).fill("4")
        page.get_by_role("button", name=said("preview"), exact=True).click()
        shown = page.locator(".st-key-design-preview")
        expect(shown).to_contain_text(said("would", chosen=4, pairs=10, count=1))
        expect(shown).to_contain_text(words.number(language, 0.4, 4))
        asserts_legible(page)
        page.get_by_role("button", name=said("create"), exact=True).dblclick()
        made = said("created", design="1", count=4) + " " + said("slots", count=4)
        expect(page.get_by_text(made)).to_be_visible()
        drawn(page)
        page.wait_for_timeout(500)  # the second click of two
        expect(page.get_by_text(made)).to_be_visible()
        for table in ("people", "designs"):
            done = page.locator(f".st-key-{table}-table").get_by_text(said("column.done"), exact=True).bounding_box()
            assert done is not None
            assert done["x"] + done["width"] <= width
        page.locator(".st-key-known-pairs textarea").fill(f"q0\td0\t3\t{HOSTILE}\nq1\td1\t0\tnão")
        page.get_by_role("button", name=said("rows_add")).dblclick()
        expect(page.get_by_text(said("rows_added", added=2, count=2, total=2))).to_be_visible()
        drawn(page)
        asserts_legible(page)
        assert too_wide(page) <= 0
        assert page.title() != "owned"
        assert not record.errors
        assert not record.dialogs
        assert all(code not in url for url in record.requests)
    assert code not in app.said()
    with AnnotationSession.open(app.config) as session:
        assert [(one.method, one.seed) for one in session.designs.all()] == [("random", 0)]
        assert {one.explanation for one in session.training.all()} == {HOSTILE, "não"}
        assert sign_in(session, code, "here")[1].name == "ana"


def test_a_code_is_copied_and_gone_with_the_page(browser: Browser, app: Served) -> None:
    with as_lead(browser, app) as record:
        page = record.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        code = adds(page, "ana")
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == code
        for leave in (lambda: page.reload(), lambda: visits(page, "Dashboard")):
            leave()
            if "/team" not in page.url:
                visits(page, "Team")
            expect(page.locator(".st-key-known-pairs")).to_be_visible()
            drawn(page)
            assert code not in page.content()
            code = adds(page, f"bia{code[:4]}")
        page.context.clear_permissions()
        # Over plain HTTP a browser has no clipboard for scripts.
        page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("getSelection().toString()") == code


def visits(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name)).to_be_attached()
    drawn(page)


def test_codes_are_replaced_and_revoked_after_a_question(browser: Browser, app: Served) -> None:
    old = code_for(app.config, "ana")
    with as_lead(browser, app) as record:
        page = record.page
        choose(page, "ana")
        page.get_by_role("button", name="New code").click()
        page.get_by_role("button", name="Make a new code").dblclick()
        shown = page.locator(".st-key-new-code code")
        expect(shown).to_be_visible()
        drawn(page)
        new = shown.inner_text()
        assert new != old
        page.get_by_role("button", name="Revoke", exact=True).click()
        page.get_by_role("button", name="Revoke the code").dblclick()
        expect(page.get_by_text("The code of ana no longer works.")).to_be_visible()
        drawn(page)
        page.wait_for_timeout(500)
        expect(page.get_by_text("The code of ana no longer works.")).to_be_visible()
        expect(shown).to_have_count(0)
        choose(page, "lia")
        page.get_by_role("button", name="Revoke", exact=True).click()
        page.get_by_role("button", name="Revoke the code").click()
        expect(page.get_by_text("You are the only lead. Make somebody else a lead first.")).to_be_visible()
        expect(page.get_by_role("button", name="New code")).to_have_count(0)
    with AnnotationSession.open(app.config) as session:
        assert {one.name: one.revoked_at is None for one in session.people.all()} == {"ana": False, "lia": True}


def choose(page: Page, name: str) -> None:
    page.get_by_role("combobox", name="Person").click()
    page.get_by_role("option", name=name, exact=True).click()
    drawn(page)


def test_a_design_is_what_was_previewed_and_is_taken_back(browser: Browser, app: Served) -> None:
    with as_lead(browser, app, height=1400) as record:
        page = record.page
        page.get_by_text("Random sample", exact=True).click()
        size = page.get_by_label("Number of pairs (of 10)", exact=True)
        size.fill("4")
        page.get_by_role("button", name="Preview", exact=True).click()
        shown = page.locator(".st-key-design-preview")
        expect(shown).to_contain_text("4 of 10 pairs")
        size.fill("7")
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_text("so nothing was created. Here is the preview")).to_be_visible()
        expect(shown).to_contain_text("7 of 10 pairs")
        with AnnotationSession.open(app.config) as session:
            assert session.designs.all() == []
        page.get_by_role("button", name="Create", exact=True).dblclick()
        expect(page.get_by_text("Design 1 is created, with 7 pairs. 7 new assignments.")).to_be_visible()
        drawn(page)
        page.get_by_role("combobox", name="Take back what is left of a design").click()
        page.get_by_role("option", name="1 · Random sample").click()
        page.get_by_role("button", name="Take back", exact=True).click()
        page.get_by_role("button", name="Take them back").dblclick()
        expect(page.get_by_text("7 open assignments of design 1 are taken back.")).to_be_visible()
        expect(page.get_by_role("combobox", name="Take back what is left of a design")).to_have_count(0)
        assert not record.errors
    with AnnotationSession.open(app.config) as session:
        assert len(session.designs.all()) == 1


def test_what_another_lead_did_is_there_with_the_next_draw(browser: Browser, app: Served) -> None:
    with as_lead(browser, app) as record:
        page = record.page
        with AnnotationSession.open(app.config) as session:
            token, _ = sign_in(session, code_for(app.config, "leo", "lead"), "elsewhere")
            team.add_person(session, token, "<b>zoe", "assessor")
        adds(page, "ana")
        expect(people(page)).to_have_text(["<b>zoe", "ana", "leo", "lia"])
        assert page.locator("table b").count() == 0
        page.get_by_text("Chosen questions", exact=True).click()
        page.get_by_role("combobox", name="Questions").click()
        expect(page.get_by_role("option").first).to_contain_text("q0 · quem foi? <img src=x")
        assert page.title() != "owned"
        with AnnotationSession.open(app.config) as session:
            People(session.store, session.config.name).revoke("lia")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(".signed-out").first).to_be_visible()


def test_faults_are_said_in_the_pages_language_and_nothing_is_written(browser: Browser, app: Served) -> None:
    with as_lead(browser, app, language="pt") as record:
        page = record.page
        page.get_by_role("button", name="Dar um código").click()
        expect(page.get_by_text("Escreva um nome primeiro.")).to_be_visible()
        page.get_by_label("Nome", exact=True).fill("lia")
        page.get_by_role("button", name="Dar um código").click()
        expect(page.get_by_text("Alguém com este nome já tem um código.")).to_be_visible()
        for name, said in (("Ana Silva", "Escreva, por exemplo, Ana-Silva."), ("x" * 70, "no máximo 64 caracteres")):
            page.get_by_label("Nome", exact=True).fill(name)
            page.get_by_role("button", name="Dar um código").click()
            expect(page.get_by_text(said)).to_be_visible()
        page.get_by_text("Perguntas escolhidas", exact=True).click()
        drawn(page)
        page.get_by_role("button", name="Prévia").click()
        expect(page.get_by_text("Escolha ao menos uma pergunta.")).to_be_visible()
        page.locator(".st-key-known-pairs textarea").fill("q0\td0\t3\tsim\nq0\td1\t9\tnão")
        page.get_by_role("button", name="Adicionar os pares").click()
        expect(page.get_by_text("Linha 2: a nota 9 não está na escala (0, 1, 2, 3)")).to_be_visible()
        # What was pasted is still there to be put right.
        expect(page.locator(".st-key-known-pairs textarea")).to_have_value("q0\td0\t3\tsim\nq0\td1\t9\tnão")
    with AnnotationSession.open(app.config) as session:
        assert session.training.all() == []
        assert session.designs.all() == []


def test_an_assessor_reaches_nothing_of_it(browser: Browser, app: Served) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, app, code_for(app.config, "ana"))
        with AnnotationSession.open(app.config) as session:
            token, _ = sign_in(session, code_for(app.config, "lia", "lead"), "elsewhere")
            team.create_design(session, token, team.AssignOptions(everything=True))
        page.goto(f"{app.address}/team")
        question(page)  # the annotate page
        drawn(page)
        assert page.get_by_role("link", name="Team").count() == 0
        shown = page.locator("body").inner_text()
        assert "lia" not in shown
        assert "Give a code" not in shown
