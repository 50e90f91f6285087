"""The annotate page in Chromium over a server of its own: what a person does reaches the store, whatever happens."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.store.database import Store
from tests.browser.pages import Record, Scheme, too_wide
from tests.browser.served import Served, code_for, enter_code, question, served, sign_in, visitor, watched
from tests.commands.annotate.people_at_work import assigned, collection, text
from tests.commands.judged import pair
from tests.reporting.hostile import HOSTILE
from tests.store.cluster import Cluster

pytestmark = pytest.mark.browser

PEOPLE = ["ana", "bia", "caio", "dora", "eva", "fabio", "gil", "hugo", "ines", "joao", "keila", "lia"]
GRADES = ["Irrelevante", "Relevante", "Muito relevante", "Perfeitamente relevante"]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queries of four pairs for whoever comes: each test has a person of its own, and each person every pair."""
    rows = [pair(f"q{q}", f"d{d}", text(100 * q + d)) for q in range(2) for d in range(4)]
    made = collection(tmp_path_factory.mktemp("annotate") / "small", rows, annotation={"prompt": "quati-pt"})
    with AnnotationSession.open(made) as session:
        assigned(session, [None] * len(PEOPLE))
    return made


@pytest.fixture(scope="module")
def shared(config: Path) -> Iterator[Served]:
    with served(config) as started:
        yield started


@pytest.fixture
def app(shared: Served) -> Served:
    """The server of all tests here, again where a test failed after killing it."""
    if not shared.running():
        shared.start()
    return shared


def press(page: Page, key: str, before: str | None = None) -> None:
    """Presses a key that ends the question, and waits for the next one or the end. ``before`` is the question where
    it was just waited for."""
    before = before or question(page)
    page.keyboard.press(key)
    another(page, before)


def another(page: Page, before: str) -> None:
    """Waits for another question than ``before``, or the end."""
    page.wait_for_function(
        "before => document.querySelector('.end') || "
        "(document.querySelector('[data-item]') && document.querySelector('[data-item]').dataset.item !== before)",
        arg=before,
        polling=50,
    )


def passage(page: Page) -> str:
    question(page)
    return page.locator(".passage").inner_text()


def labels(config: Path, name: str) -> list[tuple[str, str, str, int | None]]:
    """All that somebody ever said, oldest first."""
    with AnnotationSession.open(config) as session:
        pool = session.pool_view
        found: list[Any] = []
        for query_id in pool.query_ids:
            for doc_id in pool.doc_ids(query_id):
                found += [label for label, _ in session.store.history(session.config.name, name, query_id, doc_id)]
        return [
            (label.query_id, label.doc_id, label.status.value, label.relevance)
            for label in sorted(found, key=lambda label: label.seq)
        ]


def doc_id(page: Page) -> str:
    """Which passage is shown: each has words of its own number."""
    found = re.match(r"amarelo(\d+)", passage(page))
    assert found
    return f"q{int(found[1]) // 100}/d{int(found[1]) % 100}"


def clean(record: Record, app: Served) -> None:
    """Nothing was asked of anybody else, nothing was said on the console, nothing called for attention."""
    host = app.address.removeprefix("http://")
    outside = [
        url for url in record.requests if not url.startswith((f"http://{host}", f"ws://{host}", "data:", "blob:"))
    ]
    assert not outside
    assert not record.console
    assert not record.errors
    assert not record.dialogs


def test_a_whole_query_is_graded_by_keyboard_alone(browser: Browser, app: Served, config: Path) -> None:
    code = code_for(config, "ana")
    with visitor(browser) as (_, record):
        page = record.page
        page.goto(app.address)  # leads to the sign-in page, whose field has the focus
        page.wait_for_url("**/sign-in")
        enter_code(page, code.lower().replace("-", " "))
        first = doc_id(page)
        press(page, "3")
        second = doc_id(page)
        press(page, "2")
        third = doc_id(page)
        press(page, "u")
        assert doc_id(page) == second
        press(page, "1")
        assert doc_id(page) == third
        press(page, "s")
        fourth = doc_id(page)
        press(page, "0")
        assert doc_id(page) == third  # put off, not left out
        press(page, "2")
        assert doc_id(page).split("/")[0] != first.split("/")[0]
        assert page.url == f"{app.address}/"
        clean(record, app)
    expected = [(first, "ok", 3), (second, "ok", 2), (second, "retracted", None), (second, "ok", 1)]
    expected += [(third, "skipped", None), (fourth, "ok", 0), (third, "ok", 2)]
    assert [(f"{query}/{doc}", status, grade) for query, doc, status, grade in labels(config, "ana")] == expected
    # What the person sees as done is what the qrels hold, and nothing else.
    path = export_qrels(config, "ana", allow_missing=True).path
    lines = {tuple(line.split()) for line in path.read_text().splitlines()}
    final = {first: 3, second: 1, third: 2, fourth: 0}
    assert lines == {(*pair.split("/")[:1], "0", pair.split("/")[1], str(grade)) for pair, grade in final.items()}


def test_reasons_notes_and_highlighting_by_keyboard(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "bia"))
        question(page)
        page.keyboard.press("n")
        field = page.locator("#note")
        expect(field).to_be_focused()
        page.keyboard.type("3 x s u: <b>keys</b> are letters here")
        page.keyboard.press("Escape")
        question(page)
        page.keyboard.press("h")
        expect(page.get_by_role("button", name="No highlight")).to_be_visible()
        page.keyboard.press("x")
        expect(page.get_by_role("button", name="Other language")).to_be_visible()
        press(page, "2")
        clean(record, app)
    assert [row[2:] for row in labels(config, "bia")] == [("unsure", None)]
    with AnnotationSession.open(config) as session:
        query, doc, _, _ = labels(config, "bia")[0]
        (label, _) = session.store.history("test", "bia", query, doc)[0]
    assert label.rationale == "3 x s u: <b>keys</b> are letters here"
    assert (label.extra["reason"], label.extra["highlighted"]) == ("other_language", True)
    assert label.extra["active_seconds"] > 0


def test_a_key_pressed_twice_or_held_down_grades_one_pair(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "caio"))
        before = question(page)
        page.keyboard.press("2")
        page.keyboard.press("2")
        for _ in range(40):
            page.keyboard.down("2")  # repeats, as a key that is held does
        another(page, before)
        question(page)  # it could be graded now
        for _ in range(40):
            page.keyboard.down("2")
        page.keyboard.up("2")
        page.keyboard.press("h")  # answered once all before it is
        expect(page.get_by_role("button", name="No highlight")).to_be_visible()
        assert question(page) != before
        assert [row[2:] for row in labels(config, "caio")] == [("ok", 2)]


def test_hostile_passages_do_nothing(browser: Browser, tmp_path: Path) -> None:
    # No pool file can hold half a surrogate pair.
    texts = [text for text in HOSTILE if "\ud800" not in text] + ["\x00\x1b", "x" * 100_000, "<b>" * 30_000]
    rows = [{**pair("q0", f"d{place:02}", text), "query": " ".join(HOSTILE[:8])} for place, text in enumerate(texts)]
    config = collection(tmp_path / "hostile", rows, name="hostile", grades={0: "**no** :red[x]", 1: "<b>yes</b>"})
    with AnnotationSession.open(config) as session:
        assigned(session)
    with served(config) as app, visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, ":red[<i>]"))
        shown = []
        for _ in texts:
            asked = question(page)
            shown.append(page.locator(".passage").evaluate("element => element.textContent"))
            assert page.locator(".passage *:not(mark):not(.hidden-character)").count() == 0
            assert too_wide(page) <= 0
            page.locator(".passage").hover()
            press(page, "1", asked)
        assert page.get_by_role("button", name=":red[<i>]").is_visible()
        clean(record, app)
    plain = {text for text in texts if text.isascii() and text.isprintable()}
    assert plain <= set(shown)
    assert {"⟨U+202E⟩right to left", "⟨U+0000⟩⟨U+001B⟩"} <= set(shown)
    assert len(labels(config, ":red[<i>]")) == len(texts)


def test_after_a_reload_and_after_a_restart_one_is_where_one_was(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "dora"))
        press(page, "1")
        second = doc_id(page)
        page.reload()
        assert doc_id(page) == second
        press(page, "2")
        third = doc_id(page)
        app.stop(signal.SIGKILL)
        app.start()
        page.reload()
        assert doc_id(page) == third  # without typing the code again
        press(page, "3")
        assert [row[2:] for row in labels(config, "dora")] == [("ok", 1), ("ok", 2), ("ok", 3)]


def test_the_page_itself_survives_a_restart_of_the_server(browser: Browser, app: Served, config: Path) -> None:
    """No reload, and a grade that is pressed while nobody answers is stored once somebody does."""
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "eva"))
        press(page, "1")
        second, before = doc_id(page), question(page)
        app.stop(signal.SIGKILL)
        page.keyboard.press("2")
        expect(page.locator(".pending")).to_contain_text("Your choice: 2 Muito relevante")
        page.keyboard.press("3")  # what was chosen is being sent
        app.start()
        another(page, before)
        expect(page.locator(".notice.good")).to_contain_text("stored now")
        assert doc_id(page) != second
        press(page, "3")
        assert [row[2:] for row in labels(config, "eva")] == [("ok", 1), ("ok", 2), ("ok", 3)]


def test_a_session_that_ended_while_the_server_was_away_leads_to_the_sign_in_page(
    browser: Browser, app: Served, config: Path
) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "fabio"))
        question(page)
        app.stop(signal.SIGKILL)
        with AnnotationSession.open(config) as session:
            session.people.revoke("fabio")
        app.start()
        page.wait_for_url("**/sign-in")
        assert page.locator(".passage").count() == 0


def test_a_wrong_code_says_so_and_then_how_long_to_wait(browser: Browser, app: Served, config: Path) -> None:
    code = code_for(config, "lia")
    try:
        with visitor(browser, width=390, scheme="dark", language="pt-BR") as (_, record):
            page = record.page
            page.goto(app.address)
            for _ in range(5):
                enter_code(page, "ABCD-EFGH-JKMN-PQRS")
                page.wait_for_selector(".problem")
                page.wait_for_selector("#code:focus")
            assert "Espere" in page.locator(".problem").inner_text()
            enter_code(page, code)  # too soon: not even the right one
            page.wait_for_selector(".problem")
            assert "Espere" in page.locator(".problem").inner_text()
            assert "code" not in page.url
    finally:
        with AnnotationSession.open(config) as session:
            session.people.forget(["address 127.0.0.1"])  # the other tests' people come from there too


def test_a_session_that_ended_meanwhile_says_so_and_shows_nothing(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "gil"))
        question(page)
        with AnnotationSession.open(config) as session:
            session.people.revoke("gil")
        page.keyboard.press("2")
        page.wait_for_selector(".signed-out")
        assert page.locator(".passage").count() == 0
        assert labels(config, "gil") == []
        page.get_by_role("link", name="Sign in again").click()
        page.wait_for_url("**/sign-in")


def test_an_assessor_reaches_no_page_of_a_lead_by_its_address(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, "hugo"))
        for name in ("review", "dashboard"):
            page.goto(f"{app.address}/{name}")
            question(page)  # the annotate page
            assert page.get_by_role("link", name=re.compile("review|dashboard", re.IGNORECASE)).count() == 0
            assert page.locator(".bar").is_visible()


def test_two_tabs_of_one_person_store_one_label_a_pair(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (context, record):
        first = record.page
        sign_in(first, app, code_for(config, "ines"))
        shown = doc_id(first)
        second = watched(context.new_page()).page
        second.goto(app.address)
        assert doc_id(second) == shown
        press(first, "3")
        second.bring_to_front()
        press(second, "0")
        expect(second.locator(".notice")).to_contain_text("graded already")
        assert doc_id(second) == doc_id(first)
        assert [(f"{q}/{d}", status, grade) for q, d, status, grade in labels(config, "ines")] == [(shown, "ok", 3)]


def test_signing_out_in_one_tab_ends_the_other(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (context, record):
        first = record.page
        sign_in(first, app, code_for(config, "joao"))
        question(first)
        second = watched(context.new_page()).page
        second.goto(f"{app.address}/sign-out")
        second.wait_for_selector("button:focus")
        second.keyboard.press("Enter")
        second.wait_for_url("**/sign-in")
        first.bring_to_front()
        first.keyboard.press("1")
        first.wait_for_selector(".signed-out")
        assert first.locator(".passage").count() == 0
        assert labels(config, "joao") == []


def test_the_language_is_changed_and_kept(browser: Browser, app: Served, config: Path) -> None:
    code = code_for(config, "keila")
    with visitor(browser, language="pt-BR") as (_, record):
        page = record.page
        sign_in(page, app, code)
        question(page)
        expect(page.get_by_role("button", name="Desfazer")).to_be_visible()
        page.get_by_role("button", name="keila").click()
        page.get_by_role("radio", name="Español").or_(page.get_by_role("button", name="Español")).first.click()
        expect(page.get_by_role("button", name="Deshacer")).to_be_visible()
        clean(record, app)
    with visitor(browser, language="en") as (_, record):
        sign_in(record.page, app, code)
        expect(record.page.get_by_role("button", name="Deshacer")).to_be_visible()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A long passage and a short one, for each of two people."""
    config = collection(
        tmp_path_factory.mktemp("annotate") / "long",
        [pair("q0", "d0", "Uma frase que se repete. " * 2000), pair("q0", "d1", "Curta.")],
        annotation={"prompt": "quati-pt"},
    )
    with AnnotationSession.open(config) as session:
        assigned(session, (None, None))
    with served(config) as app:
        yield app


@pytest.mark.parametrize(("name", "width", "scheme"), [("ana", 1280, "light"), ("bia", 390, "dark")])
def test_passage_scale_and_buttons_are_in_sight_whatever_the_length(
    browser: Browser, long: Served, name: str, width: int, scheme: Scheme
) -> None:
    with visitor(browser, width, scheme, height=844) as (_, record):
        page = record.page
        sign_in(page, long, code_for(long.config, name))
        question(page)
        assert too_wide(page) <= 0
        for _ in range(2):
            for grade in GRADES:
                button = page.get_by_role("button", name=re.compile(f"^{grade}"))
                expect(button).to_be_in_viewport(ratio=1)
            if width < 600:
                page.keyboard.press("?")
            scale = page.locator(".scale, .guide-text section").locator("visible=true")
            assert scale.count() == 1
            for meaning in scale.locator(".meaning").all():
                expect(meaning).to_be_in_viewport(ratio=1)
            if width < 600:
                page.get_by_role("button", name="Close").click()
            page.locator("[data-testid=stMain]").evaluate("element => element.scrollTo(0, element.scrollHeight / 2)")
            page.wait_for_timeout(200)
        press(page, "1")
        question(page)
        assert page.locator("[data-testid=stMain]").evaluate("element => element.scrollTop") == 0
        clean(record, long)


@pytest.mark.postgres
def test_a_database_that_goes_and_comes_back_loses_nothing(browser: Browser, tmp_path: Path) -> None:
    """PostgreSQL is stopped in the middle of work: the grade stays on screen, the page says that it is not
    stored, and stores it by itself once the server is back."""
    cluster = Cluster()
    try:
        config = collection(tmp_path / "small", [pair("q0", f"d{d}", text(d)) for d in range(3)])
        url = cluster.url(cluster.create())
        with AnnotationSession.open(config, url) as session:
            assigned(session)
        with served(config, url) as app, visitor(browser) as (_, record):
            page = record.page
            sign_in(page, app, code_for(config, "ana", database=url))
            shown = passage(page)
            cluster._run("pg_ctl", "stop", "--mode=immediate", "--silent")
            page.keyboard.press("2")
            pending = page.locator(".pending")
            expect(pending).to_contain_text("Your choice: 2 Highly relevant")
            expect(pending).to_contain_text("not stored yet")
            assert page.locator(".passage").inner_text() == shown
            page.wait_for_timeout(5000)
            expect(pending).to_be_visible()
            options = f"-c listen_addresses= -c unix_socket_directories={cluster.folder} -c fsync=off"
            cluster._run("pg_ctl", "start", "--wait", f"--log={cluster.folder / 'log'}", f"--options={options}")
            expect(page.locator(".notice.good")).to_contain_text("stored now")
            assert passage(page) != shown
            press(page, "1")
        with Store.open(url, config.parent) as store:
            found = [row for d in range(3) for row in store.history("test", "ana", "q0", f"d{d}")]
        assert sorted((label.status.value, label.relevance) for label, _ in found) == [("ok", 1), ("ok", 2)]
    finally:
        cluster.stop()
