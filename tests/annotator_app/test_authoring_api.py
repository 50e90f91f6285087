"""The requests of the page where people write: who is let in, what is stored, what is said, and what nobody sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from annotator_app import authoring_api, words
from quati_pool.commands.annotate.access import set_preference, sign_out
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from tests.annotator_app import authored
from tests.annotator_app.authored import EVALUATION, PARAPHRASE, VALIDATION, WritingPage, question_set
from tests.annotator_app.opened import client, post
from tests.annotator_app.test_grading_api import NO_REQUEST, json_values, quick, rows

STEPS = ("open", "next", "send", "end", "refuse", "later", "undo", "translate")
CREATE = "A question and its answer"
EDIT = "Check spelling and grammar"
VALIDATE = "Answer from the text alone"
EVALUATE = "Evaluate the question"
PARAPHRASE_STEP = "Ask it in other words"
CURATE = "Check what assessors wrote"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Three texts to write from; ana and bia write and assess, lea leads."""
    with authored.opened(authored.workspace(tmp_path / "written")) as opened:
        for name in ("ana", "bia"):
            authored.token(opened, name)
        authored.token(opened, "lea", "lead")
        yield opened


@pytest.fixture
def ana(session: AnnotationSession) -> WritingPage:
    return WritingPage(session, "token-of-ana").open()


@pytest.fixture
def bia(session: AnnotationSession) -> WritingPage:
    return WritingPage(session, "token-of-bia")


@pytest.fixture
def lea(session: AnnotationSession) -> WritingPage:
    return WritingPage(session, "token-of-lea")


def whole(page: WritingPage, step: str, **fields: Any) -> dict[str, Any]:
    """What each step understands, about what is on the page."""
    usual = page.form(question_set(), reason="other", comment="a comment", seq=1)
    return {**usual, **fields}


def edited(lea: WritingPage, **changes: str) -> dict[str, Any]:
    """The form of an edit as it is filled at first, with some texts changed."""
    return {**lea.view["prefilled"], **changes}


# Who is let in


def test_the_steps_are_those_that_are_tried_here(session: AnnotationSession, ana: WritingPage) -> None:
    paths = {route.path.removeprefix("/authoring/") for route in authoring_api.routes(session)}
    assert paths == {*STEPS}
    assert post(ana.client, "nowhere", {}, "authoring").status_code == 404


@pytest.mark.parametrize("sign_in", [None, "", "made-up", "token-of-ANA", "ended", "revoked"])
def test_without_a_sign_in_each_step_gives_the_way_in_and_nothing_else(
    session: AnnotationSession, ana: WritingPage, sign_in: str | None
) -> None:
    if sign_in == "ended":
        sign_out(session, "token-of-ana")
    elif sign_in == "revoked":
        session.people.revoke("ana")
    known = rows(session)
    visitor = client(session, "token-of-ana" if sign_in in ("ended", "revoked") else sign_in)
    for step in STEPS:
        for body in (whole(ana, step), {}):
            response = post(visitor, step, body, "authoring")
            assert response.status_code == 401
            assert response.json().keys() == {"stage", "pair"}
            assert response.json()["stage"] == "signed-out"
    assert rows(session) == known


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_does_nothing_with_ones_sign_in(
    session: AnnotationSession, ana: WritingPage, headers: dict[str, str]
) -> None:
    known = rows(session)
    for step in STEPS:
        for kind in ("application/json", "text/plain"):
            sent = {"content": json.dumps(whole(ana, step)), "headers": {**headers, "Content-Type": kind}}
            response = ana.client.post(f"/authoring/{step}", **sent)
            assert (response.status_code, response.json()) == (403, {})
    assert rows(session) == known


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_nothing_is_read_or_done_by_another_method(session: AnnotationSession, ana: WritingPage, method: str) -> None:
    known = rows(session)
    for step in STEPS:
        assert ana.client.request(method, f"/authoring/{step}").status_code == 405
    assert rows(session) == known


def test_a_collection_without_rounds_says_so(tmp_path: Path) -> None:
    from tests.commands.annotate.people_at_work import collection
    from tests.commands.annotate.people_at_work import token as signed_in

    with AnnotationSession.open(collection(tmp_path / "small")) as session:
        page = WritingPage(session, signed_in(session, "ana"))
        for step in STEPS:
            found = page.send(step)
            assert found["stage"] == "fault" or "conflict" in str(found) or found["notice"]
            assert "authoring" in str(found)


# Bodies that are no request


@pytest.mark.parametrize("body", NO_REQUEST, ids=lambda body: repr(body[:20]))
def test_what_is_no_json_object_or_too_long_is_a_fault_of_who_sends_it(
    session: AnnotationSession, ana: WritingPage, body: bytes
) -> None:
    known = rows(session)
    for step in STEPS:
        response = ana.client.post(f"/authoring/{step}", content=body)
        assert (response.status_code, response.json()) == (400, {})
    assert rows(session) == known


def right(step: str, field: str, value: Any) -> bool:
    """Whether a field of a request may have this value too."""
    if field == "nonce":
        return isinstance(value, str) and len(value) >= 16
    if field == "comment":
        return value is None or (isinstance(value, str) and step != "refuse")
    return field in ("active", "elapsed", "confirmed") or (field in ("number", "content") and step in ("end", "later"))


@quick
@given(
    step=st.sampled_from(["send", "end", "later", "refuse", "undo"]),
    field=st.sampled_from(["item", "number", "sha", "nonce", "content", "comment", "reason", "seq"]),
    value=json_values,
)
@example(step="send", field="content", value=None)
@example(step="send", field="content", value=[["question.pt", "x"]])
@example(step="send", field="content", value="question.pt")
@example(step="send", field="number", value=True)
@example(step="send", field="number", value=0.5)
@example(step="send", field="nonce", value=["x" * 20])
@example(step="send", field="nonce", value={"x": 1})
@example(step="end", field="nonce", value=None)
@example(step="later", field="nonce", value=5)
@example(step="refuse", field="reason", value=["other"])
@example(step="refuse", field="reason", value={})
@example(step="refuse", field="comment", value=[1])
@example(step="undo", field="nonce", value={})
@example(step="undo", field="seq", value=10**30)
@example(step="undo", field="seq", value="1")
@example(step="undo", field="seq", value=True)
@example(step="send", field="item", value="w" + "f" * 16)
@example(step="send", field="sha", value="\ud800" * 64)
def test_a_request_with_one_wrong_field_is_no_fault_of_the_server_and_stores_nothing(
    session: AnnotationSession, ana: WritingPage, step: str, field: str, value: Any
) -> None:
    read = {
        "send": {"item", "number", "sha", "nonce", "content"},
        "end": {"item", "sha", "nonce"},
        "later": {"item", "sha", "nonce"},
        "refuse": {"item", "number", "sha", "nonce", "reason", "comment"},
        "undo": {"nonce", "seq"},
    }
    assume(field in read[step] and not right(step, field, value))
    known = entries(session)
    response = post(ana.client, step, whole(ana, step, **{field: value}), "authoring")
    assert response.status_code == 200
    assert response.json().get("refused") or response.json()["notice"]
    assert entries(session) == known


def entries(session: AnnotationSession) -> list[Any]:
    """All that people said; what they were shown is not said."""
    return [one for one in rows(session)["authoring_entries"] if "opened" not in one]


@pytest.mark.parametrize("seconds", [None, "5", -1, float("nan"), float("inf"), 1e30, [], True], ids=repr)
def test_a_form_with_impossible_times_is_stored_all_the_same(
    session: AnnotationSession, ana: WritingPage, seconds: Any
) -> None:
    assert ana.give(question_set(), active=seconds, elapsed=seconds)["stored"] == "given"


def test_a_form_whose_content_has_any_json_is_never_a_fault(session: AnnotationSession, ana: WritingPage) -> None:
    known = entries(session)
    for value in (1, 1.5, True, [], {}, [[]], "x" * 600, "\x00", "\ud800", "a\nb", "‮abc", {"a": "b"}):
        for field in question_set():
            if field == "evidence" and value == []:
                continue
            if field.startswith("answer") and value in ("x" * 600, "a\nb"):
                continue
            found = ana.give({**question_set(), field: value})
            assert ana.status == 200
            assert found["refused"]["field"] == field
    assert entries(session) == known


@pytest.mark.parametrize("value", [[[0, 5]], [{"language": "fr", "start": 0, "end": 5}], [{"start": 0, "end": 5}]])
@pytest.mark.parametrize("field", ["evidence"])
def test_evidence_outside_of_the_text_is_refused(ana: WritingPage, field: str, value: Any) -> None:
    assert ana.give({**question_set(), field: value})["refused"]["field"] == field
    far = [{"language": "pt", "start": 0, "end": 10_000}]
    assert ana.give({**question_set(), field: far})["refused"]["field"] == field


# What is stored


def test_a_form_is_stored_once_however_often_it_is_sent(session: AnnotationSession, ana: WritingPage) -> None:
    form = ana.form(question_set())
    first = ana.send("send", **form)
    assert (first["stage"], first["stored"]) == ("write", "given")
    again = ana.send("send", **{**form, "late": True})
    assert again["stored"] == "given"
    assert "That is stored now." in again["notice"]
    assert len(entries(session)) == 1
    assert session.authoring is not None
    assert len(session.authoring.items("question")) == 1
    assert session.authoring.items("question")[0].content["question.en"] == question_set()["question.en"]


def test_one_nonce_is_not_two_forms(session: AnnotationSession, ana: WritingPage) -> None:
    form = ana.form(question_set())
    ana.send("send", **form)
    post(ana.client, "send", {**form, "content": question_set(2)}, "authoring")
    assert len(entries(session)) == 1
    (made,) = session.authoring.items("question")  # type: ignore[union-attr]
    assert made.content["question.en"] == question_set(1)["question.en"]


def test_sets_of_a_text_are_listed_and_each_can_be_taken_back(session: AnnotationSession, ana: WritingPage) -> None:
    for number in (1, 2, 3):
        ana.confirm(question_set(number))
    assert ana.view["pair"].count('data-do="take_back"') == 3
    seqs = [one.made_by for one in session.authoring.items("question")]  # type: ignore[union-attr]
    found = ana.send("undo", seq=seqs[1], nonce=ana.view["nonce"])
    assert "That is taken back. Here it is again." in ana.text
    assert found["filled"]["question.en"] == question_set(2)["question.en"]
    assert ana.view["pair"].count('data-do="take_back"') == 2
    out = session.authoring.items("question", "out")  # type: ignore[union-attr]
    assert [one.reason for one in out] == ["withdrawn_by_author"]


def test_the_end_of_a_text_leads_to_the_next_and_can_be_undone(ana: WritingPage) -> None:
    ana.give(question_set())
    before = ana.view["pair"]
    found = ana.send("end", **ana.task)
    assert found["stored"] == "ended"
    assert "no more from that text" in found["where"]
    assert ana.title == CREATE
    assert ana.view["pair"] != before
    ana.send("undo", seq=ana.view["undoable"], nonce=ana.view["nonce"])
    assert "take_back" in ana.view["pair"]


def test_what_is_doubtful_is_stored_when_it_is_confirmed_and_not_before(
    session: AnnotationSession, ana: WritingPage
) -> None:
    content = {**question_set(), "question.en": "What is the aim of the paper?"}
    found = ana.give(content)
    assert [(one["field"], one["reason"]) for one in found["doubts"]] == [("question.en", "decontextualised")]
    assert "“the paper”" in found["doubts"][0]["text"]
    assert "press again" in found["notice"]
    assert "stage" not in found
    assert not entries(session)
    assert ana.give(content, confirmed=["similar"])["doubts"]
    assert ana.give(content, confirmed=["decontextualised"])["stored"] == "given"
    repeated = ana.give(question_set(2) | {"question.pt": question_set()["question.pt"]})
    assert [one["reason"] for one in repeated["doubts"]] == ["similar"]
    assert question_set()["question.pt"] in repeated["doubts"][0]["text"]


@pytest.mark.parametrize("language", list(words.LANGUAGES))
def test_a_refusal_is_said_at_its_field_in_the_language_of_the_page(session: AnnotationSession, language: str) -> None:
    set_preference(session, "token-of-ana", "language", language)
    page = WritingPage(session, "token-of-ana", language).open()
    say = words.messages(language)
    found = page.give({**question_set(), "answer.en": " "})
    assert found == {"refused": {"field": "answer.en", "text": say["authoring.refused.empty"]}}
    found = page.give({**question_set(), "question.en": question_set()["question.pt"].upper()})
    assert found["refused"]["field"] == "question.en"
    assert found["refused"]["text"] == say["authoring.refused.languages_equal"].format(one="pt", other="en")
    found = page.give({**question_set(), "question.pt": "x" * 501})
    counted = say["authoring.refused.long"].format(count=501, most=500)
    assert found["refused"] == {"field": "question.pt", "text": counted}


def test_another_persons_reference_stores_nothing(
    session: AnnotationSession, ana: WritingPage, bia: WritingPage
) -> None:
    bia.open()
    assert bia.view["item"] != ana.view["item"]
    known = entries(session)
    for step in ("send", "end", "later"):
        found = bia.send(step, **{**bia.form(question_set()), **ana.task})
        assert "no longer there" in found["notice"]
    assert entries(session) == known


def test_another_persons_entry_is_not_taken_back(
    session: AnnotationSession, ana: WritingPage, bia: WritingPage
) -> None:
    ana.give(question_set())
    bia.open()
    known = entries(session)
    found = bia.send("undo", seq=ana.view["undoable"], nonce=bia.view["nonce"])
    assert "no longer there" in found["notice"]
    assert entries(session) == known


def test_a_second_tab_has_the_same_task_and_is_told_what_the_first_stored(
    session: AnnotationSession, ana: WritingPage, lea: WritingPage
) -> None:
    """A form of a step that is stored already, in words, then the step that comes now."""
    ana.give(question_set())
    ana.send("end", **ana.task)
    lea.open().until(EDIT)
    other = WritingPage(session, "token-of-lea").open()
    assert other.title == EDIT
    assert other.view["item"] == lea.view["item"]
    lea.give(edited(lea))
    found = other.give(edited(other, **{"question.pt": "Outra?"}))
    assert "Here is what to do now." in found["notice"]
    assert found["stage"] == "write"
    assert other.title != EDIT
    assert len([one for one in entries(session) if "edit" in one]) == 1


def test_refusing_needs_a_reason_of_the_round_and_other_needs_a_comment(
    session: AnnotationSession, ana: WritingPage, lea: WritingPage
) -> None:
    assert "refused" in ana.send("refuse", **ana.task, reason="other", comment="x")  # nothing is refused when created
    ana.give(question_set())
    ana.send("end", **ana.task)
    lea.open().until(EDIT)
    assert lea.view["bar"].count('data-do="because"') == 5
    found = lea.send("refuse", **lea.task, reason="other", comment="  ")
    assert found["refused"]["field"] == "comment"
    assert "Say in the comment why" in found["refused"]["text"]
    assert lea.send("refuse", **lea.task, reason="ugly", comment=None)["refused"]["field"] is None
    assert lea.send("refuse", **lea.task, reason="not_in_text", comment=None)["stored"] == "refused"
    (out,) = session.authoring.items("question", "out")  # type: ignore[union-attr]
    assert out.reason == "not_in_text"


def test_while_the_database_cannot_be_reached_the_same_is_to_be_sent_again(
    ana: WritingPage, monkeypatch: pytest.MonkeyPatch, session: AnnotationSession
) -> None:
    form = ana.form(question_set())

    def unreachable(*_: object, **__: object) -> None:
        raise StoreError("the label database cannot be reached")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "writing", unreachable)
        patch.setattr(Store, "reading", unreachable)
        for step in STEPS:
            response = post(ana.client, step, whole(ana, step), "authoring")
            assert (response.status_code, response.json()) == (503, {})
    assert ana.send("send", **form)["stored"] == "given"
    assert len(entries(session)) == 1


# All rounds, and what nobody sees


def test_a_set_goes_through_all_rounds_and_the_answer_is_hidden_until_ones_own_is_stored(
    session: AnnotationSession, ana: WritingPage, bia: WritingPage, lea: WritingPage
) -> None:
    canary = "Perto da garrafa esquecida."
    given = {**question_set(), "answer.pt": canary, "answer.en": "Near the forgotten bottle."}
    ana.give(given)
    ana.send("end", **ana.task)
    assert "Answer from" not in ana.html  # nobody assesses what they wrote
    lea.open().until(EDIT)
    assert lea.view["prefilled"]["answer.pt"] == canary
    lea.give(edited(lea, **{"question.pt": "Onde fica o barco azul do pescador quando a maré está cheia?"}))
    assert VALIDATE not in lea.html  # leads see everything, and assess nothing
    seen: list[str] = []
    bia.open()
    seen.append(json.dumps(bia.view))
    bia.until(VALIDATE)
    assert "maré está cheia" in bia.text
    bia.give({**VALIDATION, "validation.en": ""})
    seen.append(json.dumps(bia.view))
    for one in seen:
        assert "garrafa" not in one
        assert "forgotten" not in one
    bia.give(VALIDATION)
    assert bia.title == EVALUATE
    assert canary in bia.text
    assert VALIDATION["validation.pt"] in bia.text
    assert bia.view["undoable"] is None
    assert 'data-do="undo"' not in bia.view["bar"]
    bia.give(EVALUATION)
    assert bia.title == PARAPHRASE_STEP
    repeated = {**PARAPHRASE, "paraphrase.en": question_set()["question.en"]}
    assert bia.give(repeated)["refused"]["field"] == "paraphrase.en"
    bia.give(PARAPHRASE)
    bia.send("undo", seq=bia.view["undoable"], nonce=bia.view["nonce"])
    assert bia.title == PARAPHRASE_STEP
    assert bia.view["filled"] == PARAPHRASE
    bia.give(PARAPHRASE)
    lea.open().until(CURATE)
    assert lea.view["prefilled"]["paraphrase.1.en"] == PARAPHRASE["paraphrase.en"]
    assert "makes sense" in lea.text
    lea.give(lea.view["prefilled"])
    (kept,) = session.authoring.items("question")  # type: ignore[union-attr]
    assert kept.state == "kept"


def test_a_step_that_reveals_is_not_undone_by_a_forged_request(
    session: AnnotationSession, ana: WritingPage, bia: WritingPage, lea: WritingPage
) -> None:
    ana.give(question_set())
    lea.open().until(EDIT).give(edited(lea))
    bia.open().until(VALIDATE).give(VALIDATION)
    validated = max(one[0] for one in rows(session)["authoring_entries"])
    known = entries(session)
    found = bia.send("undo", seq=validated, nonce=bia.view["nonce"])
    assert "You have seen what was hidden" in found["notice"]
    assert entries(session) == known
    assert bia.title == EVALUATE


def test_nothing_of_leads_is_given_to_others(session: AnnotationSession, ana: WritingPage, bia: WritingPage) -> None:
    ana.give(question_set())
    bia.open()
    for page in (ana, bia):
        for _ in range(8):
            assert EDIT not in page.html
            if page.view["stage"] == "end":
                break
            page.send("later", **page.task)


EVIL = "<script>window.__pwned=1</script><img src=x onerror=alert(1)>{raw}\"'><svg/onload=alert(2)>&lt;b&gt; %s {0}"


def test_hostile_texts_are_shown_as_texts(
    session: AnnotationSession, ana: WritingPage, lea: WritingPage, bia: WritingPage
) -> None:
    """In every field of every round: the page has the elements that it has with harmless texts, and no others."""
    seen = []

    def look(page: WritingPage) -> None:
        elements = Elements(page.html)
        assert not elements.names & {"script", "img", "svg", "b", "iframe"}
        assert not [name for name in elements.attributes if name.startswith("on")]
        seen.append(page.text)

    names = [name for name in question_set() if name != "evidence"]
    ana.confirm({**question_set(), **{name: f"{name} {EVIL}" for name in names}})
    look(ana)
    found = ana.give({**question_set(), "question.en": f"What is this paper? {EVIL}", "question.pt": f"E? {EVIL}"})
    assert found["doubts"]
    ana.send("end", **ana.task)
    lea.open().until(EDIT)
    look(lea)
    lea.confirm(edited(lea, **{"answer.en": f"other {EVIL}"}))
    bia.open().until(VALIDATE)
    look(bia)
    bia.give({name: f"{name} {EVIL}" for name in VALIDATION})
    look(bia)
    bia.give(EVALUATION)
    look(bia)
    bia.confirm({name: f"{name} {EVIL}" for name in PARAPHRASE})
    lea.open().until(CURATE)
    look(lea)
    for text in (seen[0], seen[2], seen[3], seen[-1]):
        assert "<script>window.__pwned=1</script>" in text
    lea.send("refuse", **lea.task, reason="other", comment=EVIL)
    look(lea)


class Elements(HTMLParser):
    """The names of a page's elements, and of their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_hostile_source_is_shown_as_a_text(tmp_path: Path) -> None:
    evil = "<script>window.__pwned=1</script><img src=x onerror=alert(1)> ‮abc‬ & &amp; fim."
    path = authored.workspace(tmp_path / "evil", {"A1": (evil, evil)}, subject=evil)
    with authored.opened(path) as session:
        page = WritingPage(session, authored.token(session, "ana")).open()
        assert "<script" not in page.html
        assert "<img" not in page.html
        assert "&lt;script&gt;" in page.html
        assert "⟨U+202E⟩" in page.html
        page.give({"related": True})
        assert page.title == CREATE
        assert "<script" not in page.html
