"""The requests of the grading page as people could send them who mean no good, or a page that is broken."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from annotator_app import grading_api
from annotator_app.steps import item_of
from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.access import set_preference, sign_out
from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.remarks import answer_remark
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.schema import metadata
from quati_pool.text.fencing import sendable
from tests.annotator_app.opened import GradingPage, client, post
from tests.commands.annotate.people_at_work import assigned, collection, item, labels, pairs, text, token
from tests.commands.annotate.revealing import judged
from tests.commands.judged import pair

STEPS = ("open", "next", "answer", "second", "undo", "highlight", "ask", "read")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Two queries of three pairs, each for two people; ana is signed in."""
    with AnnotationSession.open(collection(tmp_path / "small")) as opened:
        assigned(opened, (None, None))
        token(opened, "ana")
        yield opened


def rows(session: AnnotationSession) -> dict[str, list[Any]]:
    """All that the store holds, but for when somebody was active last."""
    tables = [table for table in metadata.sorted_tables if table.name != "sessions"]
    with session.store.reading() as connection:
        return {table.name: [tuple(row) for row in connection.execute(table.select())] for table in tables}


def request(page: GradingPage, **fields: Any) -> dict[str, Any]:
    """What each step understands, about the pair on the page."""
    usual = {"status": "ok", "relevance": 1, "active": 1.0, "elapsed": 2.0, "evidence": [[0, 4]]}
    return {**page.asked, **usual, "text": "a question", "on": True, "seen": 1, **fields}


def test_the_steps_are_those_that_are_tried_here(session: AnnotationSession, page: GradingPage) -> None:
    paths = {route.path.removeprefix("/grading/") for route in grading_api.routes(session)}
    assert {path for path in paths if "{" not in path} == {*STEPS}
    assert post(page.client, "nowhere", {}).status_code == 404


# Who is let in


@pytest.mark.parametrize("sign_in", [None, "", "made-up", "token-of-ANA", "x" * 5000, "ended", "revoked", "expired"])
def test_without_a_sign_in_each_step_gives_the_way_in_and_nothing_else(
    session: AnnotationSession, page: GradingPage, sign_in: str | None
) -> None:
    if sign_in == "ended":
        sign_out(session, "token-of-ana")
    elif sign_in == "revoked":
        session.people.revoke("ana")
    elif sign_in == "expired":
        session.people.sign_in("ana", token_sha("expired"), -1)
    known = rows(session)
    visitor = client(session, "token-of-ana" if sign_in in ("ended", "revoked") else sign_in)
    for step in STEPS:
        for body in (request(page), {}):
            response = post(visitor, step, body)
            assert response.status_code == 401
            found = response.json()
            assert found.keys() == {"stage", "pair"}
            assert found["stage"] == "signed-out"
            assert re.sub("<[^>]*>", "", found["pair"]) == (
                "Your session has ended. Everything that this page called stored is stored.Sign in again"
            )
    assert rows(session) == known


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver:8501"},
        {"Origin": "http://testserver.evil.example"},
        {"Origin": "http://evil.example/http://testserver"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_does_nothing_with_ones_sign_in(
    session: AnnotationSession, page: GradingPage, headers: dict[str, str]
) -> None:
    known = rows(session)
    for step in STEPS:
        # A form of another site can send text/plain without asking.
        for kind in ("application/json", "text/plain"):
            body = json.dumps(request(page))
            response = page.client.post(f"/grading/{step}", content=body, headers={**headers, "Content-Type": kind})
            assert (response.status_code, response.json()) == (403, {})
    assert rows(session) == known


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_is_read_or_done_by_another_method(session: AnnotationSession, page: GradingPage, method: str) -> None:
    known = rows(session)
    for step in STEPS:
        response = page.client.request(method, f"/grading/{step}")
        assert response.status_code == 405
        assert page.passage not in response.text
    assert rows(session) == known


# Bodies that are no request


NO_REQUEST = [b"", b" ", b"[]", b"null", b"1", b'"item"', b"true", b"{", b'{"item": "s1"', b"\xff\xfe", b"{'item': 1}"]
NO_REQUEST += [b'{"item": NaN,}', b"{}{}", b"\x00", b'{"relevance": ' + b"1" * 5000 + b"}", "{}".encode("utf-16")[:-1]]
NO_REQUEST += [b'{"note": "' + b"x" * 300_000 + b'"}', b" " * 300_000 + b"{}"]


@pytest.mark.parametrize("body", NO_REQUEST, ids=lambda body: repr(body[:20]))
def test_what_is_no_json_object_or_too_long_is_a_fault_of_who_sends_it(
    session: AnnotationSession, page: GradingPage, body: bytes
) -> None:
    known = rows(session)
    for step in STEPS:
        response = page.client.post(f"/grading/{step}", content=body)
        assert (response.status_code, response.json()) == (400, {})
    assert rows(session) == known


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"item": ' + b"[" * 2000 + b"]" * 2000 + b"}"], ids=["[", "{"])
def test_a_body_that_is_nested_too_deeply_is_one_too(page: GradingPage, body: bytes) -> None:
    assert page.client.post("/grading/answer", content=body).status_code == 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


@quick
@given(
    step=st.sampled_from(STEPS),
    body=st.dictionaries(st.sampled_from(["a", "item", "nonce", "offset", "late"]), json_values),
)
def test_no_json_is_a_fault_of_the_server_or_stores_anything(
    session: AnnotationSession, page: GradingPage, step: str, body: dict[str, Any]
) -> None:
    assume(step != "highlight")  # anything but true puts it out
    known = rows(session)
    assert post(page.client, step, body).status_code == 200
    assert rows(session) == known


def right(field: str, value: Any, length: int) -> bool:
    """Whether a field of an answer, relevance 1, may have this value."""
    match field:
        case "status":
            return bool(value == "ok")
        case "relevance":
            return type(value) is int and 0 <= value <= 3
        case "reason":
            return value is None
        case "note":
            return value is None or (isinstance(value, str) and len(value) <= 10_000)
        case "nonce":
            return isinstance(value, str) and re.fullmatch("[A-Za-z0-9_-]{16,64}", value) is not None
        case "active" | "elapsed":
            return type(value) in (int, float) and 0 <= value <= 1e9
        case "evidence":
            return value is None or (
                isinstance(value, list)
                and all(
                    isinstance(span, list)
                    and len(span) == 2
                    and all(type(place) is int for place in span)
                    and 0 <= span[0] < span[1] <= length
                    for span in value
                )
            )
        case _:
            return False


ANSWERS = ("status", "relevance", "reason", "note", "nonce", "active", "elapsed", "evidence", "item", "sha")


@quick
@given(field=st.sampled_from(ANSWERS), value=json_values, step=st.sampled_from(["answer", "second"]))
@example(field="active", value=10**400, step="answer")
@example(field="elapsed", value=float("nan"), step="answer")
@example(field="elapsed", value=float("inf"), step="answer")
@example(field="active", value=True, step="answer")
@example(field="relevance", value=1.0, step="answer")
@example(field="relevance", value=True, step="answer")
@example(field="relevance", value=4, step="answer")
@example(field="status", value="retracted", step="answer")
@example(field="status", value=["ok"], step="answer")
@example(field="note", value="x" * 10_001, step="answer")
@example(field="nonce", value="\ud800" * 20, step="answer")
@example(field="nonce", value="１" * 20, step="answer")
@example(field="evidence", value=[[0, 10**30]], step="answer")
@example(field="evidence", value=[[-1, 4]], step="answer")
@example(field="evidence", value=[[4, 4]], step="answer")
@example(field="evidence", value=[[False, True]], step="answer")
@example(field="evidence", value=[[0, 1, 2]], step="answer")
@example(field="evidence", value={"0": 1}, step="answer")
@example(field="evidence", value="evidence", step="answer")
@example(field="evidence", value=[[place, place + 1] for place in range(0, 102, 2)], step="answer")
@example(field="item", value={"s": 1}, step="answer")
@example(field="sha", value=None, step="answer")
def test_an_answer_with_one_wrong_field_is_refused_and_stores_nothing(
    session: AnnotationSession, page: GradingPage, field: str, value: Any, step: str
) -> None:
    few = field != "evidence" or not isinstance(value, list) or len(value) <= 50
    assume(not (few and right(field, value, len(page.passage))))
    known = rows(session)
    response = post(page.client, step, request(page, **{field: value}))
    assert response.status_code == 200
    assert response.json()["notice"] != ""
    assert rows(session) == known


@quick
@given(field=st.sampled_from(["text", "nonce", "item"]), value=json_values)
def test_a_question_with_one_wrong_field_is_refused_and_stores_nothing(
    session: AnnotationSession, page: GradingPage, field: str, value: Any
) -> None:
    texts = field == "text" and isinstance(value, str) and value.strip() != ""
    assume(not texts and not (field == "nonce" and right("nonce", value, 0)))
    known = rows(session)
    response = post(page.client, "ask", request(page, **{field: value}))
    assert (response.status_code, response.json().keys()) == (200, {"notice"})
    assert response.json()["notice"] != ""
    assert rows(session) == known


@quick
@given(note=st.text(st.characters(), max_size=200))
@example(note="\ud800\x00\x1a\U0010ffff")
@example(note="\udc00\ud800")
@example(note="x" * 10_000)
@example(note="😀" * 10_000)
def test_any_note_comes_back_as_it_was_written(session: AnnotationSession, page: GradingPage, note: str) -> None:
    at = page.ids
    assert post(page.client, "answer", request(page, note=note)).status_code == 200
    # Half a surrogate pair is no character, and no file can hold it.
    assert labels(session, "ana", *at)[-1].rationale == (sendable(note) if note.strip() else None)
    page.send("undo", nonce=page.view["nonce"])
    page.send("next")
    assert page.ids == at


@pytest.mark.parametrize("nonce", [None, 5, 1.5, True, [], ["x" * 20], {}], ids=repr)
def test_an_undo_without_a_nonce_takes_nothing_back(session: AnnotationSession, page: GradingPage, nonce: Any) -> None:
    """It could be sent twice, and take two answers back."""
    page.grade(1)
    known = rows(session)
    assert page.send("undo", nonce=nonce)["notice"] != ""
    assert rows(session) == known


@pytest.mark.parametrize("nonce", ["", "short", "x" * 65, "with a space and more", "\ud800" * 20, "１" * 20], ids=repr)
def test_an_undo_with_a_wrong_nonce_takes_nothing_back(
    session: AnnotationSession, page: GradingPage, nonce: str
) -> None:
    page.grade(1)
    known = rows(session)
    assert "nonce" in page.send("undo", nonce=nonce)["notice"]
    assert rows(session) == known


def test_an_undo_of_nothing_leaves_the_pair_on_the_page_with_what_was_written_for_it(
    session: AnnotationSession, page: GradingPage
) -> None:
    found = page.send("undo", nonce=page.view["nonce"])
    assert found.keys() == {"notice"}
    assert "There is nothing to undo." in found["notice"]


def test_evidence_of_white_space_alone_is_refused_in_the_language_of_the_page(
    session: AnnotationSession, page: GradingPage
) -> None:
    set_preference(session, "token-of-ana", "language", "pt")
    at = page.passage.index(" ")
    found = page.grade(1, evidence=[[at, at + 1]])
    assert found.keys() == {"notice"}
    assert "Só há espaço em branco marcado." in found["notice"]


# References that were never given out


FORGED: list[Any] = [
    "",
    "p",
    "p0",
    "p1",
    "p-2",
    "p2.0",
    "p 2",
    " p2",
    "p2\n",
    "P2",
    "s2",
    "2",
    "slot-2",
    "p2p4",
    "p+2",
    "p2_0",
]
FORGED += [
    "p" + "9" * 18,
    "p" + "8" * 18,
    "p" + "9" * 19,
    "p" + "9" * 5000,
    "p" + "0" * 5000 + "2",
    "\u04402",
    "p\x002",
]
FORGED += [None, 2, 2.0, True, ["p2"], {"p": 2}, [], {}]
# Digits that Python's int() or str.isdigit() take for a 2 as well.
TWOS = "\u0662\u0968\uff12\xb2\u2461\U0001d7d0"


@pytest.mark.parametrize("forged", [*FORGED, *(f"p{two}" for two in TWOS)], ids=lambda forged: ascii(forged)[:20])
def test_a_made_up_reference_stores_nothing_and_shows_nothing(
    session: AnnotationSession, page: GradingPage, forged: Any
) -> None:
    assert [unicodedata.digit(two) for two in TWOS] == [2] * 6
    known = rows(session)
    for step in ("answer", "second", "ask"):
        response = post(page.client, step, request(page, item=forged))
        assert response.status_code == 200
        assert response.json()["notice"] != ""
        assert rows(session) == known
    assert post(page.client, "highlight", request(page, item=forged)).json() == {"drawn": None}


def test_a_pair_of_another_person_or_of_nobody_is_neither_graded_nor_shown_nor_asked_about(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path / "small", pairs(3, 3))) as session:
        assigned(session)
        ana, bia = (GradingPage(session, token(session, name)).open() for name in ("ana", "bia"))
        theirs = bia.asked
        nobodys = next(
            slot for number in range(1, 10) if (slot := session.assignments.slot(number)) and slot.holder is None
        )
        found = session.pair(nobodys.query_id, nobodys.doc_id)
        assert found is not None
        guessed = item_of("blind", nobodys.assignment_id, nobodys.query_id, nobodys.doc_id, label_sha(found))
        nobodys_reference = grading_api._Turn(session, "token-of-ana", "", {}).reference(guessed)
        for asked, passage, said in (
            (theirs, bia.passage, "no longer there"),  # a reference is one person's
            ({"item": nobodys_reference, "sha": label_sha(found)}, found.text, "no longer reserved for you"),
        ):
            known = rows(session)
            for step in ("answer", "second", "ask", "highlight"):
                # With every nonce that the page has, and bia's.
                for nonce in (ana.view["nonce"], bia.view["nonce"]):
                    sent = request(ana, **asked) | {"nonce": nonce, "on": None}
                    response = post(ana.client, step, sent)
                    assert response.status_code == 200
                    assert passage not in response.text
                    if step in ("answer", "second"):
                        assert said in response.json()["notice"]
            changed = {name for name, held in rows(session).items() if held != known[name]}
            assert changed <= {"assessors"}  # whether ana's words are highlighted


def test_a_pair_of_another_collection_in_the_same_database_does_not_exist(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'labels.db'}"
    with (
        AnnotationSession.open(collection(tmp_path / "one", name="one"), url) as one,
        AnnotationSession.open(collection(tmp_path / "two", name="two"), url) as two,
    ):
        assigned(one)
        assigned(two)
        theirs = GradingPage(two, token(two, "bia")).open()
        page = GradingPage(one, token(one, "ana")).open()
        known = rows(one)
        for step in ("answer", "second", "ask"):
            assert "no longer there" in post(page.client, step, request(page, **theirs.asked)).json()["notice"]
        # Nor is a person of one signed in to the other.
        assert post(client(two, "token-of-ana"), "open", {}).status_code == 401
        assert rows(one) == known


def test_a_training_pair_is_answered_once_and_not_by_the_lead_who_knows_its_grade(session: AnnotationSession) -> None:
    lia = token(session, "lia", "lead")
    number = session.training.add("q1", "d2", 3, "It does.", "lia")
    ana = GradingPage(session, "token-of-ana").open()
    asked = ana.asked
    assert item(session, "token-of-ana").training_id == number
    lead = GradingPage(session, lia).open()
    assert item(session, lia).kind == "blind"
    known = rows(session)
    assert "It does." not in json.dumps(lead.send("answer", **request(lead, **{**asked, "nonce": lead.view["nonce"]})))
    assert rows(session) == known
    # The explanation is not given for an answer that is refused, nor for one that puts the pair off.
    for fields in ({"relevance": 9}, {"nonce": "x"}, {"sha": "0" * 64}, {"status": "skipped", "relevance": None}):
        found = ana.send("answer", **{**request(ana, **asked), "evidence": [], **fields})
        assert "It does." not in json.dumps(found)
    ana.open()
    assert ana.view["item"] == asked["item"]
    ana.grade(1)
    assert ana.view["stage"] == "practice"
    given = len(labels(session, "ana", "q1", "d2"))
    ana.send("answer", **request(ana, **{**asked, "nonce": "another-nonce-of-ana"}))
    assert "graded already" in ana.text
    assert len(labels(session, "ana", "q1", "d2")) == given


# What is in a response, and what is not


def test_no_passages_id_and_no_name_of_anybody_else_or_of_a_system_is_in_a_response(tmp_path: Path) -> None:
    secret = {"doc-secreto", "consulta-secreta", "sistema-secreto", "bia-secreta", "lia-secreta", "juiz-secreto"}
    known = {"query": "Onde?", "runs": {"sistema-secreto": 1}}
    texts = [{**pair("consulta-secreta", f"doc-secreto-{d}", text(d)), **known} for d in range(4)]
    judges = {"juiz-secreto": {"judge": "lexical"}}
    with AnnotationSession.open(collection(tmp_path / "small", texts, judges=judges)) as session:
        assigned(session, (None, None))
        judged(session.store, str(session.grading.labeler("juiz-secreto").version), {}, "juiz-secreto")
        lia = token(session, "lia-secreta", "lead")
        session.training.add("consulta-secreta", "doc-secreto-3", 3, "It does.", "lia-secreta")
        for name, note in (("bia-secreta", "nota-da-primeira"), ("ana", "nota-da-segunda")):
            page = GradingPage(session, token(session, name)).open()
            received = [dict(page.view)]
            while page.view["stage"] != "end":
                sent = request(page, note=note, text=note, nonce=page.view["asking"])
                received.append(page.send("ask", **sent))
                at = page.ids
                answer_remark(session, lia, name, *at, "Read the guidelines.", f"{note}-{len(received)}")
                seen = session.remarks.of(name)[-1].seq
                received += [
                    page.send("next"),
                    page.later(),
                    page.undo(),
                    page.send("highlight", **page.asked, on=True),
                ]
                received += [page.grade(1, note=note), page.undo(), page.grade(9), page.grade(2)]
                received += [page.go_on(), page.send("read", seen=seen)]
            whole = json.dumps(received)
            assert "Read the guidelines." in whole
            for word in secret:
                assert word not in whole, word
        assert "nota-da-primeira" not in whole  # the last one's are those that ana received


def test_a_response_does_not_say_that_a_pair_is_gold_or_a_repeat(tmp_path: Path) -> None:
    rows = [pair(f"q{q}", f"d{d}", text(100 * q + d)) for q in range(2) for d in range(20)]
    rates = {"repeats": 0.2, "gold": 0.2}
    with AnnotationSession.open(collection(tmp_path / "small", rows, annotation=rates)) as session:
        assigned(session, queries=["q0"])
        token(session, "lia", "lead")
        for d in range(5):
            session.training.add("q1", f"d{d}", 2, "Known.", "lia", gold=True)
        page = GradingPage(session, token(session, "ana")).open()
        kinds = []
        shapes = set()
        while page.view["stage"] == "ask" and len(kinds) < 60:
            shapes.add((re.sub("[0-9a-f]{16}", "", page.view["item"]), frozenset(page.view)))
            kinds.append(page.ids)
            page.grade(1)
        assert len(kinds) > 25  # repeats or gold pairs were among them
        assert any(query == "q1" for query, _ in kinds)
        assert len(shapes) == 1
