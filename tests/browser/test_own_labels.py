"""The page My labels in Chromium, by keyboard alone: what is changed in place is what the store holds, once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.grading import changes
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.own_labels import own_labels
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.pools import PoolPair
from quati_pool.text.sentences import Span
from tests.browser.pages import Record, Scheme, intercept, too_wide
from tests.browser.served import Served, code_for, let_in, served, visitor
from tests.browser.test_annotate import clean
from tests.browser.test_appearance import asserts_legible
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, text
from tests.commands.judged import pair, repool
from tests.reporting.hostile import HOSTILE

pytestmark = pytest.mark.browser

TOKEN = "token-of-ana"


def rows(queries: int = 2, docs: int = 4) -> list[PoolPair]:
    return [pair(f"q{q}", f"d{d}", text(100 * q + d)) for q in range(queries) for d in range(docs)]


@contextmanager
def at_work(
    browser: Browser,
    folder: Path,
    pool: Sequence[PoolPair],
    grades: Sequence[int],
    *,
    notes: Sequence[str | None] = (None,),
    width: int = 1280,
    scheme: Scheme = "light",
    language: str = "en",
    **annotation: Any,
) -> Iterator[tuple[Page, Served, AnnotationSession]]:
    """The page My labels of ana, who has given these grades, one to each pair in the order in which they came."""
    config = collection(folder / "small", pool, annotation={"prompt": "quati-pt", **annotation})
    code = code_for(config, "ana")
    with AnnotationSession.open(config) as session:
        assigned(session, ("ana",))
        session.people.sign_in("ana", token_sha(TOKEN), 3600)
        for number, grade in enumerate(grades):
            given = answer(number, grade, note=notes[number % len(notes)])
            submit(session, TOKEN, item(session, TOKEN), given)
        with served(config) as app, visitor(browser, width, scheme, language, 844) as (_, record):
            let_in(record.page, app, code)
            yield record.page, app, session
            finished(record, app)


def finished(record: Record, app: Served) -> None:
    # Requests that a test lets fail say so on the console.
    record.console[:] = [line for line in record.console if "Failed to load resource" not in line]
    clean(record, app)


def to_labels(page: Page, app: Served) -> None:
    page.goto(f"{app.address}/labels")
    page.wait_for_selector(".own .count:not(:empty), .own article.current")


def open_first(page: Page) -> None:
    """Opens the newest label."""
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.current")


def given(session: AnnotationSession) -> list[tuple[str, int | None, str | None]]:
    """The status, grade and note of each label that counts, oldest first."""
    found = own_labels(session, TOKEN).labels
    return [(label.status.value, label.relevance, label.note) for label in reversed(found)]


def stored(page: Page, said: str) -> None:
    expect(page.locator("article.current .stored")).to_contain_text(said)


def history(session: AnnotationSession) -> int:
    return sum(labeler.rows for labeler in session.store.labelers(session.config.name))


def test_a_grade_is_found_opened_and_changed_by_keys_and_changed_back(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(), [2, 2, 1, 0, 3]) as (page, app, session):
        to_labels(page, app)
        expect(page.locator(".count")).to_have_text("You have graded 5 passages; the newest come first.")
        assert page.locator(".row").count() == 5
        page.set_viewport_size({"width": 1280, "height": 300})
        for click in (False, True):  # into the list before
            if click:
                page.locator(".count").click()
            for key, top in (("PageDown", 300 - 60 - 40), ("Home", 0)):  # less the header, and a line
                page.keyboard.press(key)
                assert page.locator("[data-testid=stMain]").evaluate("element => element.scrollTop") == top
        page.set_viewport_size({"width": 1280, "height": 844})
        page.keyboard.press("/")
        expect(page.locator("[type=search]")).to_be_focused()
        page.keyboard.type("amarelo2 q0")  # letters and digits are no keys here
        expect(page.locator(".row")).to_have_count(1)
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_selector("article.current")
        # All four passages of the query, the one that was found in focus.
        assert page.locator("article").count() == 4
        expect(page.locator("article.current .passage")).to_contain_text("amarelo2 ")
        was = page.locator("article.current .badge").inner_text()
        top = page.locator("[data-testid=stMain]").evaluate("element => element.scrollTop")
        place = page.locator("article.current .grades").first.bounding_box()
        grade = "3" if not was.startswith("3") else "0"
        page.keyboard.press(grade)
        stored(page, f"Stored: {grade} ")
        stored(page, f"(was: {was})")
        assert page.locator("[data-testid=stMain]").evaluate("element => element.scrollTop") == top
        assert page.locator("article.current .grades").first.bounding_box() == place
        expect(page.locator("article.current .badge")).to_contain_text(grade)
        assert history(session) == 6
        page.keyboard.press("u")
        stored(page, f"Stored: {was}")
        assert sorted(grade for _, grade, _ in given(session)) == [0, 1, 2, 2, 3]
        assert history(session) == 7
        page.keyboard.press(was[0])  # what it is already is not stored again
        expect(page.locator("article.current .card-said")).to_contain_text("already")
        assert history(session) == 7
        # The filter survives the way back, and a reload.
        page.keyboard.press("b")
        expect(page.locator(".row")).to_be_focused()
        expect(page.locator("[type=search]")).to_have_value("amarelo2 q0")
        page.reload()
        page.wait_for_selector(".row")
        expect(page.locator("[type=search]")).to_have_value("amarelo2 q0")
        assert page.locator(".row").count() == 1


def test_one_passage_after_the_other_is_changed_noted_and_called_unjudgeable(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 3), [1, 1, 1], notes=["a\r\nb"]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        page.keyboard.press("k")
        page.keyboard.press("k")
        # Quickly: each press is for the passage in focus then, and none is lost.
        for key in "2j3j0":
            page.keyboard.press(key)
        stored(page, "Stored: 0 Irrelevante (was: 1 Relevante)")
        assert sorted(given(session)) == sorted(("ok", grade, "a\r\nb") for grade in (2, 3, 0))
        page.keyboard.press("n")
        expect(page.locator("article.current textarea")).to_be_focused()
        page.keyboard.press("Control+End")
        page.keyboard.type(" 123 jkx")
        page.keyboard.press("Escape")
        stored(page, "Stored: note")
        assert ("ok", 0, "a\nb 123 jkx") in given(session)
        page.keyboard.press("x")
        page.keyboard.press("1")
        stored(page, "Cannot be judged: broken text")
        assert ("unsure", None, "a\nb 123 jkx") in given(session)
        page.keyboard.press("n")
        page.locator("article.current textarea").fill("")
        page.keyboard.press("Escape")
        stored(page, "Stored: note")
        page.keyboard.press("x")
        page.keyboard.press("4")
        expect(page.locator("article.current .card-said")).to_contain_text("Write in the note")
        page.keyboard.type("um menu")
        page.keyboard.press("Escape")
        page.keyboard.press("x")
        page.keyboard.press("4")
        stored(page, "Cannot be judged: other reason")
        assert ("unsure", None, "um menu") in given(session)
        page.reload()  # comes back to the same passage
        expect(page.locator("article.current .badge")).to_have_text("Cannot be judged: other reason")


def test_a_note_that_is_begun_while_a_change_is_on_its_way_goes_on(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 1), [1], notes=["antes"]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        held: list[Route] = []
        intercept(page, "**/own-labels/change", lambda route: route.continue_() if held else held.append(route))
        page.keyboard.press("3")
        page.keyboard.press("n")
        page.keyboard.press("Control+End")
        page.keyboard.type(", e x1")
        page.wait_for_timeout(100)
        held[0].continue_()
        stored(page, "Stored: 3 ")
        expect(page.locator("article.current textarea")).to_be_focused()
        page.keyboard.type(" depois")
        page.keyboard.press("Escape")
        stored(page, "Stored: note")
        assert given(session) == [("ok", 3, "antes, e x1 depois")]
        assert history(session) == 3


def test_many_are_changed_after_a_confirmation_and_changed_back_one_by_one(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 4), [0, 1, 2, 3]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        page.keyboard.press("a")
        expect(page.locator(".selected")).to_have_text("4 selected: change to")
        page.keyboard.press(" ")  # the one in focus, the newest, which is 3
        expect(page.locator(".selected")).to_have_text("3 selected: change to")
        page.keyboard.press("0")
        dialog = page.locator("dialog.confirm")
        expect(dialog.locator("h2")).to_have_text("Change 2 labels to 0 Irrelevante?")
        assert sorted(dialog.locator(".badge").all_inner_texts()) == ["1 Relevante", "2 Muito relevante"]
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert history(session) == 4
        page.keyboard.press("0")
        page.keyboard.press("Enter")
        expect(page.locator(".bar-said")).to_have_text("Stored: 2 labels are now 0 Irrelevante.")
        assert sorted(grade or 0 for _, grade, _ in given(session)) == [0, 0, 0, 3]
        assert history(session) == 6
        changed = page.locator("article", has=page.locator(".stored:visible"))
        assert changed.count() == 2
        changed.first.locator("[data-do=undo]").click()
        expect(page.locator("article .badge", has_text="0 Irrelevante")).to_have_count(2)
        assert history(session) == 7
        page.keyboard.press("Escape")


def test_what_is_still_to_be_graded_is_graded_here(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 3), [2]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        names = page.locator("article .badge").all_inner_texts()
        assert names == ["2 Muito relevante", "Still to grade", "Still to grade"]
        page.keyboard.press("j")
        page.keyboard.press(" ")
        expect(page.locator("article.current .card-said")).to_contain_text("cannot be selected")
        page.keyboard.press("n")
        page.keyboard.type("primeiro")
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        stored(page, "Stored: 1 Relevante")
        assert given(session) == [("ok", 2, None), ("ok", 1, "primeiro")]
        page.keyboard.press("3")
        stored(page, "Stored: 3 Perfeitamente relevante (was: 1 Relevante)")
        assert given(session) == [("ok", 2, None), ("ok", 3, "primeiro")]


def test_evidence_is_kept_by_a_change_and_marked_by_keys(browser: Browser, tmp_path: Path) -> None:
    pool = [pair("q0", f"d{d}", "Quatis vivem em bandos. Comem frutas!") for d in range(1)]
    with at_work(browser, tmp_path, pool, [0], evidence="required") as (page, app, session):
        to_labels(page, app)
        open_first(page)
        page.keyboard.press("2")
        expect(page.locator("article.current .card-said")).to_contain_text("Mark the words that justify this grade")
        for key in ("ArrowRight", " ", "2"):
            page.keyboard.press(key)
        stored(page, "Stored: 2 Muito relevante (was: 0 Irrelevante)")
        assert page.locator("mark.evidence").all_inner_texts() == ["Comem frutas!"]
        page.keyboard.press("3")
        stored(page, "Stored: 3 ")
        [label] = own_labels(session, TOKEN).labels
        assert (label.relevance, label.evidence) == (3, (Span(24, 37),))
        for key in ("e", " ", "Escape"):
            page.keyboard.press(key)
        stored(page, "Stored: evidence")
        [label] = own_labels(session, TOKEN).labels
        assert (label.relevance, label.evidence) == (3, (Span(0, 23), Span(24, 37)))


def test_a_change_that_cannot_be_sent_waits_and_is_stored_once(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 3), [1, 1, 1]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        tried = []
        read = False

        def lost(route: Route) -> None:
            tried.append(json.loads(route.request.post_data or "{}"))
            if len(tried) == 1:
                route.fetch()  # stored, and the response lost
                route.abort()
            elif len(tried) == 2 or not read:
                route.fulfill(status=503, body="{}")
            else:
                route.continue_()

        intercept(page, "**/own-labels/change", lost)
        page.keyboard.press("0")
        said = page.locator("article.current .card-said")
        expect(said).to_contain_text("Your choice: 0 Irrelevante")
        expect(said).to_contain_text("It is not stored yet")
        read = True
        page.keyboard.press("k")
        page.keyboard.press("3")  # comes after it
        stored(page, "Stored: 3 Perfeitamente relevante (was: 1 Relevante)")
        expect(page.locator("article .stored:visible").first).to_be_visible()
        assert [one["nonce"] for one in tried[:3]] == [tried[0]["nonce"]] * 3
        assert sorted(grade or 0 for _, grade, _ in given(session)) == [0, 1, 3]
        assert history(session) == 5


def test_what_another_tab_changed_is_said_and_nothing_written_is_lost(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 2), [1, 1]) as (page, app, session):
        to_labels(page, app)
        open_first(page)
        other = page.context.new_page()
        to_labels(other, app)
        open_first(other)
        other.keyboard.press("3")
        stored(other, "Stored: 3 ")
        page.keyboard.press("n")
        page.keyboard.type("lido de novo")
        page.keyboard.press("Escape")
        said = page.locator("article.current .card-said")
        expect(said).to_contain_text("Not stored: this label or its passage has changed")
        expect(page.locator("article.current textarea")).to_have_value("lido de novo")
        page.keyboard.press("g")
        expect(page.locator("article .badge", has_text="3 Perfeitamente relevante")).to_be_visible()
        written = page.locator("textarea:visible")
        expect(written).to_have_value("lido de novo")
        assert history(session) == 3
        session.people.revoke("ana")
        written.focus()
        page.keyboard.press("Escape")
        expect(page.locator(".card-said", has_text="Your session has ended")).to_be_visible()
        expect(written).to_have_value("lido de novo")
        assert history(session) == 3


def test_after_a_conflict_keys_are_for_the_same_passage_or_for_none(browser: Browser, tmp_path: Path) -> None:
    with at_work(browser, tmp_path, rows(1, 3), [1, 1, 1]) as (page, app, session):
        to_labels(page, app)
        open_first(page)  # the last of the three on this page
        [newest, *_] = own_labels(session, TOKEN).labels
        current, said = page.locator("article.current"), page.locator("article.current .card-said")

        def change(number: int, grade: int) -> None:
            [now] = [label for label in own_labels(session, TOKEN).labels if label.doc_id == newest.doc_id]
            changes.change(session, TOKEN, now.query_id, now.content_sha, now.seq, answer(number, grade))

        # Changed in another tab, which also had the page with its list.
        change(50, 3)
        page.keyboard.press("2")
        expect(said).to_contain_text("Not stored")
        page.keyboard.press("g")
        expect(current.locator(".badge")).to_have_text("3 Perfeitamente relevante")
        expect(current.locator(".passage")).to_contain_text(newest.text_start)
        page.keyboard.press("0")
        stored(page, "Stored: 0 Irrelevante (was: 3 Perfeitamente relevante)")
        # Keys that are faster than the page: the change is for what was in focus as the key was pressed.
        change(51, 1)
        page.keyboard.press("2")
        expect(said).to_contain_text("Not stored")
        held: list[Route] = []
        intercept(page, "**/own-labels/query", lambda route: held.append(route))
        with page.expect_request("**/own-labels/query"):
            page.keyboard.press("g")
        page.keyboard.press("3")
        held[0].continue_()
        page.unroute("**/own-labels/query")
        stored(page, "Stored: 3 Perfeitamente relevante (was: 1 Relevante)")
        # Undone on the page Grade; a reload shows it too.
        undo(session, TOKEN)
        page.keyboard.press("2")
        expect(said).to_contain_text("Not stored")
        page.keyboard.press("g")
        expect(current.locator(".badge")).to_have_text("Still to grade")
        page.reload()
        expect(current.locator(".badge")).to_have_text("Still to grade")
        expect(current.locator(".passage")).to_contain_text(newest.text_start)
        page.keyboard.press("2")
        stored(page, "Stored: 2 Muito relevante")
        # The list that was loaded before a change leads to the same passage.
        page.keyboard.press("b")
        expect(page.locator(".row")).to_have_count(3)
        change(52, 0)
        page.locator(".row").first.click()
        expect(current.locator(".badge")).to_have_text("0 Irrelevante")
        assert sorted(grade or 0 for _, grade, _ in given(session)) == [0, 1, 1]
        # It is gone.
        repool(session.config.folder, [row for row in rows(1, 3) if row["doc_id"] != newest.doc_id])
        known = history(session)
        page.keyboard.press("3")
        expect(said).to_contain_text("Not stored")
        page.keyboard.press("g")
        expect(page.locator(".said")).to_contain_text("That passage is not here any more")
        for key in "3ux1":
            page.keyboard.press(key)
        expect(current).to_have_count(0)
        page.keyboard.press("a")
        page.keyboard.press("2")
        expect(page.locator("dialog.confirm h2")).to_have_text("Change 2 labels to 2 Muito relevante?")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("3")
        stored(page, "Stored: 3 ")
        assert history(session) == known + 1


def test_what_is_not_stored_yet_is_not_lost_by_a_reload_or_an_outage(browser: Browser, tmp_path: Path) -> None:
    config = collection(tmp_path / "small", rows(1, 2), annotation={"prompt": "quati-pt"})
    code = code_for(config, "ana")
    with AnnotationSession.open(config) as session:
        assigned(session, ("ana",))
        session.people.sign_in("ana", token_sha(TOKEN), 3600)
        submit(session, TOKEN, item(session, TOKEN), answer(0, 1))
        with served(config) as app, visitor(browser) as (_, record):
            page = record.page
            let_in(page, app, code)
            to_labels(page, app)
            open_first(page)

            def asked() -> None:
                before = len(record.dialogs)
                with page.expect_event("dialog"):
                    page.evaluate("() => void setTimeout(() => location.reload())")
                assert len(record.dialogs) == before + 1

            page.keyboard.press("n")
            page.keyboard.type("uma nota")
            asked()
            expect(page.locator("article.current textarea")).to_have_value("uma nota")
            page.keyboard.press("Escape")
            stored(page, "Stored: note")
            # A change that waits for the server.
            intercept(page, "**/own-labels/change", lambda route: route.abort())
            page.keyboard.press("3")
            expect(page.locator("article.current .card-said")).to_contain_text("It is not stored yet")
            asked()
            page.unroute("**/own-labels/change")
            stored(page, "Stored: 3 ")
            # Once all is stored, the page may go.
            page.reload()
            expect(page.locator("article.current .badge")).to_contain_text("3")
            assert given(session) == [("ok", 3, "uma nota")]
            assert len(record.dialogs) == 2
            # While the server is away the focus stays in the note, so that what is typed there is no grade.
            page.keyboard.press("n")
            page.keyboard.press("Control+End")
            app.stop()
            page.wait_for_selector("[role=dialog]", state="attached")
            page.keyboard.type(" 20")
            app.start()
            page.keyboard.press("Escape")
            stored(page, "Stored: note")
            assert given(session) == [("ok", 3, "uma nota 20")]
            assert not record.errors


@pytest.mark.parametrize(
    ("width", "scheme", "language", "said"),
    [
        (1280, "light", "en", "You have graded 12 passages"),
        (390, "dark", "pt-BR", "Você avaliou 12 passagens"),
        (390, "light", "es", "Has evaluado 12 pasajes"),
        (1280, "dark", "pt-BR", "Você avaliou 12 passagens"),
    ],
)
def test_hostile_texts_do_nothing_and_everything_can_be_read(
    browser: Browser, tmp_path: Path, width: int, scheme: Scheme, language: str, said: str
) -> None:
    texts = [one for one in HOSTILE if "\ud800" not in one and one.strip()][:12]
    pool = [{**pair("q0", f"d{place:02}", one * 3), "query": " ".join(texts)} for place, one in enumerate(texts)]
    looks = {"width": width, "scheme": scheme, "language": language}
    with at_work(browser, tmp_path, pool, [1] * 12, notes=texts, **looks) as (page, app, session):  # type: ignore[arg-type]
        to_labels(page, app)
        expect(page.locator(".count")).to_contain_text(said)
        asserts_legible(page)
        assert too_wide(page) <= 0
        page.screenshot(path=tmp_path / "list.png")
        open_first(page)
        for key in "0jn":
            page.keyboard.press(key)
        page.keyboard.type(texts[1])
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        expect(page.locator(".bar")).to_be_visible()
        asserts_legible(page)
        assert too_wide(page) <= 0
        page.screenshot(path=tmp_path / "query.png")
        page.keyboard.press("2")
        expect(page.locator("dialog.confirm")).to_be_visible()
        asserts_legible(page)
        page.screenshot(path=tmp_path / "confirm.png")
        page.keyboard.press("Enter")
        expect(page.locator(".bar-said .notice.good")).to_be_visible()
        assert [grade for _, grade, _ in given(session)] == [2] * 12
        assert page.locator(".own :is(script, img, iframe, svg, style, link, base, a)").count() == 0
