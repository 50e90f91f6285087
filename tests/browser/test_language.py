"""The document's language is the page's, and what the page says by itself while the server is away is in it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator_app import words
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme
from tests.browser.served import Served, code_for, let_in, question, served, sign_in, visitor
from tests.commands.annotate.people_at_work import assigned, collection

pytestmark = pytest.mark.browser

NAMES = {
    "en": "Perfectly relevant",
    "es": "Perfectamente relevante",
    "pt": "Perfeitamente relevante",
}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the demo's: no judge that asks a model, no language set."""
    made = collection(tmp_path_factory.mktemp("language") / "small")
    with AnnotationSession.open(made) as session:
        assigned(session, [None] * 6)
    return made


@pytest.fixture(scope="module")
def app(config: Path) -> Iterator[Served]:
    with served(config) as started:
        yield started


def language(page: Page) -> object:
    return page.evaluate("document.documentElement.lang")


def document(page: Page, app: Served) -> str:
    """Opens the app, and gives the document as the server sent it."""
    answer = page.goto(app.address)
    assert answer is not None
    return answer.text()


def test_the_document_has_the_persons_language_and_follows_it(browser: Browser, app: Served, config: Path) -> None:
    code = code_for(config, "ana")
    with visitor(browser, language="pt-BR") as (_, record):
        page = record.page
        let_in(page, app, code)
        assert '<html lang="pt">' in document(page, app)
        question(page)
        assert language(page) == "pt"
        expect(page.locator("[data-do=grade][data-value='3']")).to_contain_text(NAMES["pt"])
        page.get_by_role("button", name="ana").click()
        page.get_by_text("Español", exact=True).click()
        page.wait_for_function("() => document.documentElement.lang === 'es'")
        expect(page.get_by_role("link", name="Salir")).to_be_visible()
    # The setting is the person's, whatever the next browser speaks.
    with visitor(browser, language="en") as (_, record):
        page = record.page
        let_in(page, app, code)
        assert '<html lang="es">' in document(page, app)
        question(page)
        assert language(page) == "es"
        expect(page.locator("[data-do=grade][data-value='3']")).to_contain_text(NAMES["es"])


def test_without_a_prompt_the_scale_is_explained_in_the_pages_language(
    browser: Browser, app: Served, config: Path
) -> None:
    code = code_for(config, "bia")
    for tag, name, meaning in (
        ("en", NAMES["en"], "The passage is devoted to the query"),
        ("pt-BR", NAMES["pt"], "A passagem se dedica à pergunta"),
        ("es-AR", NAMES["es"], "El pasaje se dedica a la pregunta"),
    ):
        with visitor(browser, language=tag) as (_, record):
            page = record.page
            let_in(page, app, code)
            page.goto(app.address)
            question(page)
            found = page.locator("aside.scale .meaning").last
            expect(found).to_contain_text(meaning)
            expect(found.locator(".example").first).to_be_visible()
            assert found.inner_text().count(name) == 1, "the meaning repeats the name"


@pytest.mark.parametrize(
    ("tag", "width", "scheme"), [("en", 1280, "light"), ("pt-BR", 390, "dark"), ("es", 1280, "dark")]
)
def test_that_the_server_is_away_is_said_in_the_pages_language(
    browser: Browser, app: Served, config: Path, tmp_path: Path, tag: str, width: int, scheme: Scheme
) -> None:
    with visitor(browser, width, scheme, tag) as (_, record):
        page = record.page
        sign_in(page, app, code_for(config, f"caio-{tag}"))
        question(page)
        said = page.locator("#disconnected")
        assert said.count() == 0
        page.keyboard.press("n")
        page.keyboard.type("nota")
        app.stop(signal.SIGKILL)
        try:
            expect(said).to_be_visible()
            expect(said).to_have_text(words.message(tag[:2], "app.disconnected"))
            assert said.get_attribute("role") == "alert"
            assert said.evaluate("e => !e.closest('[aria-hidden=true], [inert]')")
            # Streamlit gives up its own patience later than ours, and says so in English.
            page.wait_for_timeout(12_000)
            record.screenshot(tmp_path / "away.png")
            for english in ("Connecting", "CONNECTING", "Connection error", "Streamlit"):
                assert page.get_by_text(english).filter(visible=True).count() == 0
            expect(said).to_be_visible()
            box = said.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            # What was being typed goes on in its field, and is no grade.
            page.keyboard.type(" 20")
            expect(page.locator("#note")).to_have_value("nota 20")
            page.keyboard.press("Escape")
            # What was being read can be read on, and what the page says of an answer is not covered.
            expect(page.locator(".passage")).to_be_visible()
            page.keyboard.press("1")
            expect(page.locator(".pending")).to_be_visible()
            record.screenshot(tmp_path / "pending.png")
            pending = page.locator(".pending").bounding_box()
            assert pending is not None
            assert pending["y"] >= box["y"] + box["height"]
        finally:
            app.start()
        expect(said).to_have_count(0)
        # The answer that waited is stored, and the page goes on.
        expect(page.locator(".pending")).to_have_count(0)
        question(page)
        assert not record.errors


def test_a_short_gap_needs_no_words(browser: Browser, app: Served, config: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        # Streamlit's page opens the socket again after a close; the server is there all the time.
        page.add_init_script(
            "const Real = window.WebSocket; window.WebSocket = class extends Real {"
            " constructor(...given) { super(...given); window.socket = this; } };"
            "new MutationObserver(() => { window.banner ||= !!document.querySelector('#disconnected'); })"
            ".observe(document, { childList: true, subtree: true });"
        )
        sign_in(page, app, code_for(config, "dora"))
        question(page)
        page.evaluate("window.first = window.socket; window.socket.close()")
        page.wait_for_function("() => window.socket !== window.first && window.socket.readyState === 1")
        page.wait_for_timeout(2_000)
        assert page.evaluate("!!window.banner") is False
