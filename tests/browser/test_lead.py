"""The lead's pages in a real browser: decided, marked and downloaded there; shut for everybody else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator_app import words
from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.people import People
from quati_pool.store.records import Attempt
from tests.browser.pages import Record, Scheme, too_wide
from tests.browser.served import Served, code_for, dispute, drawn, let_in, question, served, visitor
from tests.browser.test_reveal import Sent
from tests.commands.annotate.disputes import GRADES, add_label
from tests.commands.annotate.people_at_work import assigned, collection
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> **bold** "
    "[link](javascript:document.title='owned') \u202egnol\u202c $x^2$ :red[x]"
)
LONG = "palavra" * 700
PASSAGES = {
    ("q0", "d0"): "A capital do Brasil foi Salvador até 1763, depois o Rio de Janeiro e, desde 1960, Brasília.",
    ("q0", "d1"): "Brasília foi inaugurada em 21 de abril de 1960.\n\nO projeto é de Lúcio Costa e Oscar Niemeyer.",
    ("q0", "d2"): "O Rio de Janeiro tem praias conhecidas no mundo todo.",
    ("q1", "d0"): f"{HOSTILE}\n{LONG}",
    ("q1", "d1"): "O quati anda em bandos; as fêmeas cuidam dos filhotes juntas.",
    ("q1", "d2"): "O quati come frutas, insetos e pequenos vertebrados.",
}
QUERIES = {"q0": "quando Brasília virou a capital?", "q1": f"como vivem os quatis? {HOSTILE}"}
USUAL = (
    "Brasília foi inaugurada em 21 de abril de 1960, no governo de Juscelino Kubitschek, depois de três anos de obras "
    "no Planalto Central. Antes dela, a capital do país foi Salvador, até 1763, e o Rio de Janeiro, por quase dois "
    "séculos. O plano da cidade é de Lúcio Costa, e os edifícios principais são de Oscar Niemeyer; o conjunto é "
    "patrimônio mundial desde 1987. A mudança para o interior já estava na Constituição de 1891, que reservou para ela "
    "uma área de 14.400 quilômetros quadrados. Trabalhadores de todo o país vieram para construir a cidade em ritmo "
    "acelerado, e muitos ficaram depois nas cidades ao redor, que hoje"
)
"""A passage of 100 words."""


class Stage:
    """The app over pairs on which people disagree, and the codes of ana and of the lead lia."""

    def __init__(self, app: Served, folder: Path, ana: str, lia: str) -> None:
        self.app, self.folder, self.ana, self.lia = app, folder, ana, lia

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(f"file:{self.folder / 'labels.db'}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    @property
    def decisions(self) -> list[tuple[Any, ...]]:
        return self.rows(
            "SELECT query_id, doc_id, status, relevance, rationale FROM labels"
            " WHERE labeler_id = 'adjudicated' ORDER BY seq"
        )


@contextmanager
def staged(
    folder: Path,
    passages: Mapping[Ids, str] = PASSAGES,
    labels: Mapping[str, Mapping[Ids, int | None]] = GRADES,
    note: str = HOSTILE,
) -> Iterator[Stage]:
    rows = [{**pair(*ids, text), "query": QUERIES[ids[0]]} for ids, text in passages.items()]
    config = collection(folder, rows)
    thought = Attempt(number=1, status=State.ok, answer=f"<think>3?\n{note}</think> 2")
    with AnnotationSession.open(config) as session:
        for name, grades in labels.items():
            attempts = (thought,) if name == "gpt" else ()
            for ids, relevance in grades.items():
                add_label(session, name, *ids, relevance, rationale=f"{name}: {note}", attempts=attempts)
        assigned(session, [name for name in labels if name != "gpt"])
    ana, lia = code_for(config, "ana"), code_for(config, "lia", "lead")
    with served(config) as app:
        yield Stage(app, folder, ana, lia)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """For tests that change nothing."""
    with staged(tmp_path_factory.mktemp("lead")) as shown:
        yield shown


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Stage]:
    """For a test that changes what is there."""
    with staged(tmp_path) as shown:
        yield shown


@pytest.fixture
def usual_stage(tmp_path: Path) -> Iterator[Stage]:
    """Passages, notes and panel as most are."""
    passages = {("q0", f"d{d}"): f"{USUAL} {d}." for d in range(4)}
    grades = {"ana": 0, "bia": 3, "caio": 1, "gpt": 2}
    labels = {name: dict.fromkeys(passages, grade) for name, grade in grades.items()}
    with staged(tmp_path, passages, labels, "diz o dia e o ano da inauguração") as shown:
        yield shown


FIELD = ".st-key-bar textarea"
Look = tuple[str, int, Scheme]
LOOKS: list[Look] = [("en", 1280, "light"), ("pt", 390, "dark"), ("es", 1280, "light")]
"""Languages, widths and schemes."""


@contextmanager
def reviewing(browser: Browser, stage: Stage, code: str | None = None, **settings: Any) -> Iterator[Record]:
    """The review page, with the first dispute read."""
    with visitor(browser, **settings) as (_, record):
        let_in(record.page, stage.app, code or stage.lia)
        record.page.goto(f"{stage.app.address}/review")
        dispute(record.page)
        yield record


def grades_in(stage: Stage, language: str) -> list[str]:
    """The grades with their names."""
    with AnnotationSession.open(stage.app.config) as session:
        return [f"{one.grade} {one.name}" for one in session.scale_in(language)]


def asks(stage: Stage, query_id: str, doc_id: str, text: str) -> None:
    """ana asks about a pair."""
    with AnnotationSession.open(stage.app.config) as session:
        session.people.sign_in("ana", token_sha("token-of-ana"), 3600)
        remarks.ask(session, "token-of-ana", query_id, doc_id, text, "nonce" * 5)


def goes_on(page: Page, key: str) -> None:
    """Presses a key that leads to another dispute, and reads that."""
    last = dispute(page)
    page.keyboard.press(key)
    dispute(page, last)


def comments(page: Page, text: str) -> None:
    """Replaces the comment by keyboard, leaves the field, and waits until the comment is stored."""
    page.keyboard.press("n")
    expect(page.locator(FIELD)).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
    last = drawing(page)
    page.keyboard.press("Escape")
    drawn_again(page, last)
    expect(page.locator(FIELD)).not_to_be_focused()


def drawing(page: Page) -> str | None:
    return page.locator("[data-dispute]").get_attribute("data-drawn")


def drawn_again(page: Page, last: str | None) -> None:
    expect(page.locator(f"[data-dispute]:not([data-drawn='{last}'])")).to_be_visible()


@pytest.mark.parametrize(("language", "width", "scheme"), LOOKS)
def test_a_lead_decides_all_by_keyboard_alone(
    browser: Browser, own_stage: Stage, language: str, width: int, scheme: Scheme
) -> None:
    with reviewing(browser, own_stage, width=width, scheme=scheme, language=language) as record:
        page = record.page
        grades = grades_in(own_stage, language)

        def says(key: str, **values: object) -> None:
            expect(page.get_by_text(words.message(language, f"review.{key}", **values))).to_be_visible()

        stored, decided = page.locator(".stored"), page.locator(".decided")
        says("progress", place=1, total=3, undecided=3)
        expect(page.locator(".scale:visible")).to_contain_text(grades[3].partition(" ")[2])
        goes_on(page, "j")
        says("progress", place=2, total=3, undecided=3)
        goes_on(page, "k")
        comments(page, "3 is right, x is not")  # no key of these decides
        goes_on(page, "3")
        comment = {"grade": grades[3], "comment": "3 is right, x is not"}
        expect(stored).to_have_text(words.message(language, "review.stored_comment", **comment))
        says("progress", place=2, total=3, undecided=2)
        goes_on(page, "x")
        nobody = words.message(language, "review.state.unsure")
        expect(stored).to_have_text(words.message(language, "review.stored", grade=nobody))
        goes_on(page, "b")
        says("decided", by="lia", grade=nobody)
        page.keyboard.press("u")
        expect(decided).to_have_count(0)
        goes_on(page, "1")
        goes_on(page, "u")  # the last one, from the next dispute
        says("progress", place=2, total=3, undecided=2)
        goes_on(page, "0")
        page.keyboard.press("2")
        says("all_decided", place=3, total=3)
        says("decided", by="lia", grade=grades[2])
        assert own_stage.decisions == [
            ("q1", "d0", "ok", 3, "3 is right, x is not"),
            ("q1", "d1", "unsure", None, None),
            ("q1", "d1", "retracted", None, None),
            ("q1", "d1", "ok", 1, None),
            ("q1", "d1", "retracted", None, None),
            ("q1", "d1", "ok", 0, None),
            ("q0", "d1", "ok", 2, None),
        ]
        assert [*record.errors, *record.dialogs] == []


def top(page: Page) -> float:
    return float(page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop"))


def test_keys_scroll_a_dispute_before_anything_has_the_focus(browser: Browser, stage: Stage) -> None:
    with reviewing(browser, stage, height=720) as record:
        page = record.page
        for down, up in (("ArrowDown", "ArrowUp"), ("PageDown", "PageUp"), (" ", "Shift+ "), ("End", "Home")):
            page.keyboard.press(down)
            assert top(page) > 0, down
            page.keyboard.press(up)
            assert top(page) == 0, up
        # A page is no more than what is to be seen of the passage, between the header and the bar.
        page.keyboard.press("PageDown")
        header, bar = page.locator(".stAppHeader").bounding_box(), page.locator(".st-key-bar").bounding_box()
        assert header is not None
        assert bar is not None
        assert top(page) <= bar["y"] - header["height"]
        page.keyboard.press("End")
        # The passage's last words are not under the bar.
        passage = page.locator(".pair .passage").bounding_box()
        assert passage is not None
        assert passage["y"] + passage["height"] <= bar["y"]
        page.keyboard.press("Home")
        page.get_by_role("button", name="Next").focus()
        goes_on(page, " ")


def test_a_comment_is_stored_with_its_own_pair_whatever_is_pressed(browser: Browser, own_stage: Stage) -> None:
    with reviewing(browser, own_stage) as record:
        page = record.page
        comments(page, "for q1 d0")
        goes_on(page, "j")
        expect(page.locator(FIELD)).to_have_value("")
        goes_on(page, "j")
        comments(page, "for q0 d1")
        page.reload()
        dispute(page)
        expect(page.locator(FIELD)).to_have_value("for q1 d0")
        # The mouse: a press takes the focus from the field, which is sent first.
        page.locator(FIELD).fill(f"for q1 d0 {HOSTILE}")
        last = dispute(page)
        page.get_by_role("button", name="2 Highly relevant").click()
        dispute(page, last)
        expect(page.locator(FIELD)).to_have_value("")
        goes_on(page, "x")
        expect(page.locator(FIELD)).to_have_value("for q0 d1")
        page.keyboard.press("1")
        expect(page.get_by_text("lia decided: 1 Relevant")).to_be_visible()
        # Typed after the press: stored as the decision's, with the same grade.
        comments(page, "after all")
        expect(page.locator(".stored")).to_have_text("Stored: 1 Relevant — after all")
        page.reload()
        dispute(page)
        expect(page.locator(FIELD)).to_have_value(f"for q1 d0 {HOSTILE}")
        assert page.title() != "owned"
        assert record.errors == []
    assert own_stage.decisions == [
        ("q1", "d0", "ok", 2, f"for q1 d0 {HOSTILE}"),
        ("q1", "d1", "unsure", None, None),
        ("q0", "d1", "ok", 1, "for q0 d1"),
        ("q0", "d1", "ok", 1, "after all"),
    ]


def test_a_page_is_not_left_without_a_question_while_a_comment_is_being_typed(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        page.goto(f"{stage.app.address}/review")
        dispute(page)
        page.keyboard.press("n")
        page.keyboard.type("half a")
        with page.expect_event("dialog"):
            page.evaluate("() => void setTimeout(() => location.reload())")
        assert len(record.dialogs) == 1
        expect(page.locator(FIELD)).to_have_value("half a")
        # Nor before the comment is stored; then the page may go.
        last = drawing(page)
        with stage.app.paused():
            page.keyboard.press("Escape")
            with page.expect_event("dialog"):
                page.evaluate("() => void setTimeout(() => location.reload())")
        drawn_again(page, last)
        page.reload()
        dispute(page)
        expect(page.locator(FIELD)).to_have_value("half a")
        assert len(record.dialogs) == 2


_AT_ONCE = """key => new MutationObserver((_, observer) => {
  const shown = document.querySelector("[data-dispute]")?.dataset.dispute;
  window.before ??= shown;
  if (!shown || shown === window.before) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}).observe(document, { childList: true, subtree: true, attributes: true })"""


def test_a_press_before_the_next_dispute_can_be_read_does_not_count(browser: Browser, own_stage: Stage) -> None:
    with reviewing(browser, own_stage) as record:
        page = record.page
        early = page.get_by_text("was not counted. Press it again.")
        expect(early).not_to_be_visible()
        page.evaluate("window.before = document.querySelector('[data-dispute]').dataset.dispute")
        page.evaluate(_AT_ONCE, "0")
        goes_on(page, "3")
        expect(early).to_be_visible()
        assert own_stage.decisions == [("q1", "d0", "ok", 3, None)]
        goes_on(page, "0")
        expect(early).not_to_be_visible()
        assert len(own_stage.decisions) == 2


def test_a_comment_begun_before_its_field_is_there_is_not_the_next_pairs(browser: Browser, own_stage: Stage) -> None:
    with reviewing(browser, own_stage) as record:
        page = record.page
        last = dispute(page)
        with own_stage.app.paused():
            page.keyboard.press("1")
            page.keyboard.press(" ")  # begins no text
        last = dispute(page, last)
        early = page.get_by_text("was not counted. Press it again.")
        expect(early).not_to_be_visible()
        with own_stage.app.paused():
            page.keyboard.press("1")
        page.keyboard.type("n3 is not right, n2 is", delay=60)  # longer than the next dispute takes to come
        expect(early).to_be_visible()
        dispute(page, last)
        expect(page.locator(FIELD)).to_have_value("")
        expect(page.locator(FIELD)).not_to_be_focused()
        assert own_stage.decisions == [("q1", "d0", "ok", 1, None), ("q1", "d1", "ok", 1, None)]
        page.wait_for_timeout(700)  # a pause ends what was typed
        comments(page, "of this pair")
        expect(page.locator(FIELD)).to_have_value("of this pair")


# Together, for the next dispute may be there in no time: then the "u" would take the decision back.
_PRESS_ALL = """keys => keys.forEach(
  key => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))"""


def test_a_key_pressed_twice_or_held_and_a_double_click_decide_one_pair(browser: Browser, own_stage: Stage) -> None:
    with reviewing(browser, own_stage) as record:
        page = record.page
        last = dispute(page)
        page.evaluate(_PRESS_ALL, ["2", "2", "3", "u"])
        last = dispute(page, last)
        assert own_stage.decisions == [("q1", "d0", "ok", 2, None)]
        page.wait_for_timeout(700)  # "u", which was no button's key, was taken for a text
        for _ in range(30):
            page.keyboard.down("1")
        last = dispute(page, last)
        page.keyboard.up("1")
        assert own_stage.decisions[1:] == [("q1", "d1", "ok", 1, None)]
        goes_on(page, "k")
        page.get_by_role("button", name="0 Irrelevant").dblclick()
        expect(page.get_by_text("3 of 3, 1 not decided")).to_be_visible()
        dispute(page)
        assert own_stage.decisions[2:] == [("q1", "d1", "ok", 0, None)]


@pytest.mark.parametrize(("language", "width", "scheme"), [("en", 1280, "light"), ("pt", 390, "dark")])
def test_nothing_of_judges_reaches_the_browser_before_a_lead_asks(
    browser: Browser, own_stage: Stage, language: str, width: int, scheme: Scheme
) -> None:
    with visitor(browser, width, scheme, language) as (_, record):
        page = record.page
        say = words.messages(language)
        sent = Sent(page)
        let_in(page, own_stage.app, own_stage.lia)
        page.goto(f"{own_stage.app.address}/review")
        dispute(page)
        goes_on(page, "j")
        goes_on(page, "k")
        goes_on(page, "3")
        goes_on(page, "b")
        assert b"bia: " in sent.bytes
        for secret in (b"gpt", b"Reasoning", b"Thoughts", b"lexical", b"run_a"):
            assert secret not in sent.bytes
        page.get_by_role("button", name=say["review.reveal"]).press("Enter")
        expect(page.get_by_text(say["review.revealed"])).to_be_visible()
        assert b"gpt" in sent.bytes
        goes_on(page, "1")
        goes_on(page, "b")
        decided = say["review.decided_revealed"].format(by="lia", grade=grades_in(own_stage, language)[1])
        expect(page.get_by_text(decided)).to_be_visible()
        extras = own_stage.rows("SELECT extra FROM labels WHERE labeler_id = 'adjudicated' ORDER BY seq")
        assert [json.loads(extra) for (extra,) in extras] == [{"by": "lia"}, {"by": "lia", "revealed": True}]


def test_the_second_of_two_leads_is_told_and_keeps_their_comment(browser: Browser, own_stage: Stage) -> None:
    eva = code_for(own_stage.app.config, "eva", "lead")
    with reviewing(browser, own_stage) as lia, reviewing(browser, own_stage, eva) as other:
        comments(lia.page, "lia's view")
        goes_on(other.page, "0")
        goes_on(lia.page, "3")  # to the same pair as it is now, which is to be read before a press counts
        expect(lia.page.get_by_text("was decided meanwhile")).to_be_visible()
        expect(lia.page.get_by_text("eva decided: 0 Irrelevant")).to_be_visible()
        expect(lia.page.locator(FIELD)).to_have_value("lia's view")
        assert own_stage.decisions == [("q1", "d0", "ok", 0, None)]
        goes_on(lia.page, "3")
        assert own_stage.decisions[1:] == [("q1", "d0", "ok", 3, "lia's view")]


def test_a_key_decides_no_dispute_that_is_covered_or_out_of_sight(browser: Browser, own_stage: Stage) -> None:
    asks(own_stage, "q1", "d0", "about a passage that is longer than the window")
    with reviewing(browser, own_stage, height=720) as record:
        page = record.page
        for name, key in (("Use for practice", "2"), ("Filter", "1")):
            button = page.get_by_role("button", name=name)
            button.click()
            expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
            expect(button).to_be_focused()
            page.keyboard.press(key)
            page.keyboard.press("Escape")
            expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
        page.locator("summary").filter(has_text="Questions from people").press("Enter")
        bar, passage = page.locator(".st-key-bar"), page.locator("[data-dispute]")
        expect(page.get_by_label("Answer", exact=True).first).to_be_visible()
        expect(bar).not_to_be_in_viewport()
        page.keyboard.press("2")
        expect(passage).to_be_in_viewport()
        drawn(page)
        assert own_stage.decisions == []
        goes_on(page, "3")
        assert own_stage.decisions == [("q1", "d0", "ok", 3, None)]


def test_the_filter_is_folded_and_reached_by_keyboard(browser: Browser, stage: Stage) -> None:
    with reviewing(browser, stage) as record:
        page = record.page
        expect(page.get_by_text("Not decided yet")).to_have_count(0)
        page.get_by_role("button", name="Filter").focus()
        page.keyboard.press("Enter")
        query = page.get_by_role("combobox", name="Question")
        query.focus()
        query.press("ArrowDown")
        query.press("End")
        query.press("Enter")
        expect(page.get_by_text("1 of 1, 1 not decided")).to_be_visible()
        page.keyboard.press("Escape")
        expect(query).to_have_count(0)
        expect(page.locator(".place")).to_contain_text("q0")
        expect(page.locator(".passage").first).to_contain_text("inaugurada")


def test_a_pair_is_marked_for_practice(browser: Browser, own_stage: Stage) -> None:
    with reviewing(browser, own_stage) as record:
        page = record.page
        page.get_by_role("button", name="Use for practice").click()
        page.get_by_role("combobox", name="Known grade").click()
        page.get_by_role("option", name="3 Perfectly relevant").click()
        page.get_by_label("Explanation, shown after the answer").fill("It names the day.")
        page.get_by_role("button", name="Mark for practice").press("Enter")
        expect(page.get_by_text("Assessors practise on this pair first.")).to_be_visible()
        assert own_stage.rows("SELECT query_id, doc_id, relevance, explanation, by FROM training") == [
            ("q1", "d0", 3, "It names the day.", "lia")
        ]
        assert own_stage.decisions == []
        assert record.errors == []


def test_a_question_from_people_is_answered(browser: Browser, own_stage: Stage) -> None:
    asks(own_stage, "q1", "d1", f"What is this? {HOSTILE}")
    with reviewing(browser, own_stage) as record:
        page = record.page
        page.locator("summary").filter(has_text="Questions from people (1)").press("Enter")
        asked = page.locator(".asked-about")
        expect(asked).to_contain_text("as fêmeas cuidam")
        expect(asked.locator(".message")).to_contain_text("What is this? <script>document.title='owned'</script>")
        answer = page.get_by_label("Answer", exact=True)
        answer.fill("1, 2 or 3: x")
        expect(answer).to_have_css("outline-offset", "-2px")  # Streamlit cuts what is outside of the field
        page.get_by_role("button", name="Send the answer").press("Enter")
        expect(page.get_by_text("The answer is sent.")).to_be_visible()
        expect(asked).to_have_count(0)
        assert own_stage.rows("SELECT text FROM remarks WHERE action = 'answered'") == [("1, 2 or 3: x",)]
        assert own_stage.decisions == []
        assert page.title() != "owned"


def test_what_others_wrote_is_shown_as_text(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        for path in ("review", "dashboard"):
            page.goto(f"{stage.app.address}/{path}")
            expect(page.get_by_text("<script>document.title='owned'</script>").first).to_be_visible()
            drawn(page)
            page.wait_for_timeout(200)  # what is there could have done something
            assert page.title() != "owned"
            assert page.locator(".stHtml script, .stHtml img, .stHtml a[href^='javascript']").count() == 0
        assert record.dialogs == []
        assert all(url.startswith((stage.app.address, "data:", "blob:")) for url in record.requests)


def test_the_dashboard_shows_agreement_and_its_links_download(browser: Browser, stage: Stage, tmp_path: Path) -> None:
    with visitor(browser) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        page.goto(f"{stage.app.address}/dashboard")
        # κ of ana and bia by hand, in tests/commands/annotate/review/test_dashboard.py: 1/3.
        table = page.locator("table").filter(has_text="Agreement of people with each other")
        expect(table.locator("tbody tr")).to_have_count(1)
        expect(table.locator("tbody td").nth(3)).to_contain_text("0.33")
        with page.expect_download() as download:
            page.locator("tr").filter(has_text="ana").get_by_role("link", name="qrels").click()
        assert download.value.suggested_filename == "ana.qrels"
        assert Path(download.value.path()).read_text(encoding="utf-8") == (
            "q0 0 d0 0\nq0 0 d1 1\nq0 0 d2 2\nq1 0 d0 0\n"
        )


def test_an_assessor_reaches_no_page_of_leads_by_address(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (context, record):
        page = record.page
        let_in(page, stage.app, stage.ana)
        for path in ("review", "dashboard"):
            page.goto(f"{stage.app.address}/{path}")
            question(page)  # the annotate page
            drawn(page)
            shown = page.locator("body").inner_text()
            for secret in ("bia", "gpt", "Reasoning", "Agreement of people", "qrels"):
                assert secret not in shown, f"{path} shows {secret}"
        answer = context.request.get(f"{stage.app.address}/download/qrels?labeler=bia")
        assert (answer.status, "q0" in answer.text()) == (403, False)


def test_a_session_revoked_a_moment_ago_shows_and_changes_nothing(browser: Browser, stage: Stage) -> None:
    with visitor(browser) as (context, record):
        page = record.page
        let_in(page, stage.app, code_for(stage.app.config, "lea", "lead"))
        page.goto(f"{stage.app.address}/review")
        dispute(page)
        expect(page.get_by_text("palavra").first).to_be_visible()
        with AnnotationSession.open(stage.app.config) as session:
            People(session.store, session.config.name).revoke("lea")
        # The page is still drawn; a press on it writes nothing, and takes it away.
        page.get_by_role("button", name="3 Perfectly relevant").click()
        expect(page.get_by_text("Your session has ended")).to_be_visible()
        expect(page.get_by_text("palavra")).to_have_count(0)
        assert stage.decisions == []
        answer = context.request.get(f"{stage.app.address}/download/qrels?labeler=bia")
        assert (answer.status, "q0" in answer.text()) == (401, False)
        page.goto(f"{stage.app.address}/dashboard")
        page.wait_for_url(f"{stage.app.address}/sign-in")


@pytest.mark.parametrize(("language", "width", "scheme"), [*LOOKS, ("pt", 820, "dark"), ("es", 390, "light")])
def test_the_review_fits_the_screen(
    browser: Browser, stage: Stage, tmp_path: Path, language: str, width: int, scheme: Scheme
) -> None:
    with reviewing(browser, stage, width=width, scheme=scheme, language=language, height=844) as record:
        page = record.page
        say = words.messages(language)
        expect(page.get_by_role("button", name=say["review.cannot"])).to_be_attached()
        meanings = page.locator(".scale:visible")
        expect(meanings).to_have_count(1)
        expect(meanings).to_contain_text(say["annotate.scale"])
        drawn(page)
        # A note of four lines scrolls in a wide window; it can be reached by keyboard.
        note = page.locator(".labels .note").first
        scrolls = note.evaluate("note => note.scrollHeight > note.clientHeight")
        assert scrolls is (width == 1280)
        if scrolls:
            page.locator(".st-key-about button").last.focus()
            page.keyboard.press("Tab")
            expect(note).to_be_focused()
        if width == 820:
            for part in (FIELD, ".labels td:nth-child(3)"):
                box = page.locator(part).first.bounding_box()
                assert box is not None
                assert box["width"] >= 300, part
        passage = page.locator(".pair .passage").bounding_box()
        assert passage is not None
        assert passage["width"] <= 46 * 16 + 1  # the grading page's, 46rem
        cut = page.locator(".pair .query").evaluate("query => query.scrollHeight - query.clientHeight")
        assert cut <= 1, "a long query is cut, and nothing here unfolds it"
        bar = page.locator(".st-key-bar").bounding_box()
        assert bar is not None
        # A long passage does not push the decision out of a wide window, nor does the decision hide it on a phone.
        assert (bar["y"] + bar["height"] <= 844) is (width > 640)
        scroll = too_wide(page)
        record.screenshot(tmp_path / f"review-{width}-{scheme}-{language}.png")
        assert scroll <= 0, f"the page is {scroll} pixels too wide"
        assert record.errors == []


_COVERED = """names => [...document.querySelectorAll(names)].filter((part) => {
  const box = part.getBoundingClientRect();
  if (!box.width) return false;
  const at = (y) => part.contains(document.elementFromPoint(box.left + box.width / 2, y));
  return !at(box.top + 1) || !at(box.bottom - 2);
}).map((part) => part.outerHTML.slice(0, 200))"""
_SCROLLS = "(main => main.scrollHeight - main.clientHeight)(document.querySelector('[data-testid=stMain]'))"
GRADES_AND_BUTTONS = (
    ".st-key-pair .query, .labels tr, .st-key-about button, .decided, .st-key-bar textarea, .st-key-bar button"
)


def test_all_that_a_decision_needs_is_seen_without_scrolling(
    browser: Browser, usual_stage: Stage, tmp_path: Path
) -> None:
    for asked in (False, True):
        if asked:
            asks(usual_stage, "q0", "d1", "o que é isto?")
        for language, scheme in (("en", "light"), ("pt", "dark"), ("es", "light")):
            with reviewing(browser, usual_stage, scheme=scheme, language=language, height=720) as record:
                page = record.page
                expect(page.locator(".st-key-questions-from-people")).to_have_count(int(asked))
                expect(page.locator(".labels tr.person")).to_have_count(3)
                for height in (720, 800):
                    page.set_viewport_size({"width": 1280, "height": height})
                    seen = f"{GRADES_AND_BUTTONS}, [class*=st-key-reveal-] button, .st-key-pair .passage"
                    record.screenshot(tmp_path / f"{language}-{scheme}-{height}-{asked}.png")
                    assert page.evaluate(_COVERED, seen) == [], (language, height, asked)
                page.set_viewport_size({"width": 1280, "height": 1000})
                assert page.evaluate(_SCROLLS) <= 0, "a dispute that fits scrolls"
                if not asked:
                    continue
                page.set_viewport_size({"width": 1280, "height": 720})
                goes_on(page, "3")
                goes_on(page, "b")
                page.get_by_role("button", name=words.message(language, "review.reveal")).press("Enter")
                expect(page.locator(".labels tr")).to_have_count(4)
                expect(page.locator(".decided")).to_be_visible()
                drawn(page)
                record.screenshot(tmp_path / f"{language}-{scheme}-decided.png")
                assert page.evaluate(_COVERED, GRADES_AND_BUTTONS) == [], language
                assert record.errors == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_dashboard_fits_the_screen(
    browser: Browser, stage: Stage, tmp_path: Path, width: int, scheme: Scheme
) -> None:
    # As high as the page is long: Streamlit scrolls within the page.
    with visitor(browser, width, scheme, height=2600) as (_, record):
        page = record.page
        let_in(page, stage.app, stage.lia)
        page.goto(f"{stage.app.address}/dashboard")
        expect(page.get_by_text("Agreement of people with each other").first).to_be_visible()
        expect(page.get_by_role("button", name="Compute now").last).to_be_visible()
        drawn(page)
        scroll = too_wide(page)
        record.screenshot(tmp_path / f"dashboard-{width}-{scheme}.png")
        assert scroll <= 0, f"the dashboard is {scroll} pixels too wide"
        assert record.errors == []
