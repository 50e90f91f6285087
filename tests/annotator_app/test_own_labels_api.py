"""The requests of the page with a person's own labels: what they change, and what nobody gets by them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from annotator_app import own_labels_api
from annotator_app.app import pages_of
from quati_pool.commands.annotate.grading import changes
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.own_labels import LISTED, own_labels
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError
from quati_pool.text.fencing import sendable
from quati_pool.text.sentences import Span
from tests.annotator_app.opened import client, post
from tests.annotator_app.test_annotate import harmless
from tests.commands.annotate.people_at_work import answer, assigned, collection, everything, item, labels, pairs, token
from tests.commands.annotate.revealing import revealing
from tests.commands.judged import pair, repool
from tests.reporting.hostile import HOSTILE

STEPS = ("open", "list", "query", "change", "change-many", "grade")
NONCE = "nonce-of-the-page-0001"


class Page:
    """The page without a browser: sends what ``assets/own_labels.js`` sends."""

    def __init__(self, session: AnnotationSession, mine: str | None, language: str = "en") -> None:
        self.client = client(session, mine, language)
        self.status = 0

    def send(self, step: str, **fields: Any) -> dict[str, Any]:
        response = post(self.client, step, fields, "own-labels")
        self.status = response.status_code
        found = response.json()
        assert isinstance(found, dict)
        return found

    def list(self, start: int = 0, **wanted: Any) -> dict[str, Any]:
        return self.send("list", filter=wanted, start=start)

    def cards(self, query_id: str = "q0") -> list[dict[str, Any]]:
        """What is known of each card, in order, and its HTML."""
        return cards(self.send("query", query=query_id)["cards_of_query"])

    def change(self, card: dict[str, Any], query_id: str = "q0", **fields: Any) -> dict[str, Any]:
        """Sends a change of a card's label as the script does: with all that it says so far."""
        asked = {name: card[name] for name in ("ref", "sha", "nonce")}
        step = "grade" if card["answer"] is None else "change"
        said = card["answer"] or {"status": "ok"}
        return self.send(step, query=query_id, **{**asked, **said, "active": 1.5, "elapsed": 2.0, **fields})


def cards(html: str) -> list[dict[str, Any]]:
    found = []
    for piece in re.split("(?=<article)", html)[1:]:
        data = dict(re.findall(r'data-(ref|sha|nonce|name|answer|sentences)="([^"]*)"', piece.partition(">")[0]))
        read = {name: unescape(value) for name, value in data.items()}
        found.append({**read, "answer": json.loads(read["answer"]), "html": piece})
    return found


def texts(html: str) -> str:
    return unescape(re.sub("<[^>]*>", " ", html))


# What differs between two labels of the same grade without anything having happened to either.
SHAPE = re.compile(r'data-(ref|slot|sha|nonce|sentences)="[^"]*"|[0-9]+')


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """Two queries of three pairs, each for two people; ana has graded those of q0 with 2, 2 and 1."""
    with AnnotationSession.open(collection(tmp_path / "small")) as opened:
        assigned(opened, (None, None))
        ana = token(opened, "ana")
        for number, (grade, note) in enumerate([(2, "curta"), (2, "média"), (1, "longa")]):
            submit(opened, ana, item(opened, ana), answer(number, grade, note=note))
        yield opened


@pytest.fixture
def page(session: AnnotationSession) -> Page:
    return Page(session, "token-of-ana")


def grades(session: AnnotationSession, name: str = "ana") -> list[int | None]:
    """The grades that count, newest first."""
    return [label.relevance for label in own_labels(session, f"token-of-{name}").labels]


def test_the_steps_are_those_that_are_tried_here(session: AnnotationSession) -> None:
    assert {route.path for route in own_labels_api.routes(session)} == {f"/own-labels/{step}" for step in STEPS}


def test_everybody_has_the_page_after_the_one_where_they_grade(session: AnnotationSession) -> None:
    for mine in ("token-of-ana", token(session, "lia", "lead")):
        assert pages_of(session.person(mine), session)[:2] == ["annotate", "labels"]


# The list


def test_the_list_says_how_many_there_are_and_shows_the_newest_first(page: Page, session: AnnotationSession) -> None:
    found = page.send("open", filter={}, start=0)
    assert found["stage"] == "list"
    assert found["count"] == "You have graded 3 passages; the newest come first."
    slots = [label.assignment_id for label in own_labels(session, "token-of-ana").labels]
    assert re.findall('data-value="([^"]*)"', found["rows"]) == [f"s{slot}" for slot in slots]
    assert len(slots) == 3
    assert re.findall('<span class="badge">([^<]*)<', found["rows"]) == [
        "1 Relevant", "2 Highly relevant", "2 Highly relevant",
    ]  # fmt: skip
    assert "longa" in texts(found["rows"])
    assert found["pages"] == ""
    assert 'value="q0"' in found["queries"]
    assert "pergunta q0 (3)" in texts(found["queries"])
    assert 'value="q1"' not in found["queries"]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"grade": "2"}, "2 of your labels match; the newest come first."),
        ({"grade": "1"}, "1 of your labels matches."),
        ({"grade": "unsure"}, "None of your labels matches."),
        ({"text": "MEDIA pergunta"}, "1 of your labels matches."),
        ({"query": "q0", "text": ""}, "3 of your labels match; the newest come first."),
        ({"query": "q1"}, "None of your labels matches."),
        ({"day": "1999-12-31"}, "None of your labels matches."),
        ({"query": "", "grade": "", "day": "", "text": ""}, "You have graded 3 passages; the newest come first."),
    ],
)
def test_the_list_is_filtered(page: Page, wanted: dict[str, str], count: str) -> None:
    assert page.list(**wanted)["count"] == count


def test_the_list_has_pages(tmp_path: Path) -> None:
    # 120 labels: pages of 50, 50 and 20.
    rows = [pair("q0", f"d{place:03}") for place in range(120)]
    with AnnotationSession.open(collection(tmp_path / "small", rows)) as session:
        assigned(session)
        ana = token(session, "ana")
        for number in range(120):
            submit(session, ana, item(session, ana), answer(number))
        page = Page(session, ana)
        assert LISTED == 50
        found = [page.list(start) for start in (0, 50, 100, 5000)]
        assert [one["start"] for one in found] == [0, 50, 100, 100]
        assert [one["rows"].count("<li>") for one in found] == [50, 50, 20, 20]
        assert [re.findall('data-value="([0-9]+)"', one["pages"]) for one in found[:3]] == [
            ["50"],
            ["0", "100"],
            ["50"],
        ]
        assert "51 to 100 of 120" in found[1]["pages"]


def test_a_search_that_is_too_long_or_a_day_that_is_none_is_refused_in_words(page: Page) -> None:
    assert "The search is too long." in page.list(text="x" * 201)["notice"]
    assert "a day is written as" in page.list(day="2026-13-01")["notice"]


# A query's passages, and changes


def test_all_passages_of_a_query_come_with_what_was_said_and_those_to_grade_last(session: AnnotationSession) -> None:
    page = Page(session, "token-of-ana")
    bia = token(session, "bia")
    submit(session, bia, item(session, bia), answer(50, 0, evidence=[Span(0, 7)]))
    found = Page(session, bia).send("query", query="q0")
    assert (found["stage"], found["query"]) == ("query", "q0")
    assert "You have graded 1 passage of this question. 2 are still to be graded" in texts(found["head"])
    mine = cards(found["cards_of_query"])
    assert [one["name"] for one in mine] == ["0 Irrelevant", "Still to grade", "Still to grade"]
    assert mine[0]["answer"] == {
        "status": "ok", "relevance": 0, "reason": None, "note": None, "evidence": [[0, 7]],
    }  # fmt: skip
    assert [one["ref"][0] for one in mine] == ["l", "s", "s"]
    assert [one["name"] for one in page.cards()] != [one["name"] for one in mine]


def test_a_change_keeps_all_but_what_it_changes_and_comes_back_as_a_card(
    page: Page, session: AnnotationSession
) -> None:
    [card, *others] = page.cards()
    before = card["answer"]
    found = page.change(card, relevance=0)
    [(ref, html)] = found["cards"].items()
    assert ref == card["ref"]
    [now] = cards(html)
    assert now["answer"] == {**before, "relevance": 0}
    assert now["ref"] != card["ref"]
    assert now["nonce"] != card["nonce"]
    again = {one["ref"]: one for one in page.cards()}
    assert again.keys() == {now["ref"], *(one["ref"] for one in others)}
    # Changed back, and once more under the new reference alone.
    back = cards(page.change(now, relevance=before["relevance"])["cards"][now["ref"]])[0]
    assert back["answer"] == before
    assert "has changed since" in page.change(now, relevance=3, nonce=NONCE)["notice"]
    assert len(own_labels(session, "token-of-ana").labels) == 3
    assert everything(session) == 5


def test_a_label_becomes_one_without_a_grade_and_a_note_is_changed_alone(
    page: Page, session: AnnotationSession
) -> None:
    [card, *_] = page.cards()
    found = page.change(card, status="unsure", relevance=None, reason="other", note="um menu")
    [now] = cards(found["cards"][card["ref"]])
    assert (now["name"], now["answer"]["note"]) == ("Cannot be judged: other reason", "um menu")
    # The reason needs its note.
    assert "needs a note" in page.change(now, note=None)["notice"]
    [noted] = cards(page.change(now, note="um rodapé")["cards"][now["ref"]])
    assert (noted["answer"]["reason"], noted["answer"]["note"]) == ("other", "um rodapé")
    assert everything(session) == 5


def test_a_change_whose_response_was_lost_is_stored_once(
    page: Page, session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    [card, other, _] = page.cards()
    real = changes.change

    def lost(*given: Any) -> int:
        real(*given)
        raise StoreError("the connection to postgresql://secret is gone")

    with monkeypatch.context() as here:
        here.setattr(changes, "change", lost)
        assert page.change(card, relevance=0) == {}
        assert page.status == 503
    for _ in range(2):
        found = page.change(card, relevance=0, late=True)
        assert cards(found["cards"][card["ref"]])[0]["answer"]["relevance"] == 0
    assert everything(session) == 4
    # The nonce was for that label and that grade.
    assert "notice" in page.change(card, relevance=3)
    assert cards(page.change(other, relevance=0, nonce=card["nonce"])["cards"][other["ref"]])
    assert everything(session) == 5


def test_many_are_changed_together_and_none_if_one_was_changed_meanwhile(
    page: Page, session: AnnotationSession
) -> None:
    before = page.cards()
    sent = {"query": "q0", "labels": [[one["ref"], one["sha"]] for one in before], "status": "ok", "relevance": 0}
    for _ in range(2):
        found = page.send("change-many", **sent, nonce=NONCE)
        assert [*found["cards"]] == [one["ref"] for one in before]
        assert re.fullmatch("[0-9a-f]{32}", found["nonce"])
        for one in before:
            [now] = cards(found["cards"][one["ref"]])
            assert now["answer"] == {**one["answer"], "relevance": 0}
    assert everything(session) == 6
    now = page.cards()
    page.change(now[0], relevance=3)
    page.change(now[2], relevance=3)
    sent["labels"] = [[one["ref"], one["sha"]] for one in now]
    notice = page.send("change-many", **sent, nonce=NONCE + "-2")["notice"]
    assert "Nothing was stored: 2 of the labels" in notice
    assert 'data-do="reload"' in notice
    assert sorted(one["answer"]["relevance"] for one in page.cards()) == [0, 3, 3]
    assert everything(session) == 8


def test_where_evidence_is_required_what_lacks_it_is_said(tmp_path: Path) -> None:
    with AnnotationSession.open(collection(tmp_path / "small", annotation={"evidence": "required"})) as session:
        assigned(session)
        ana = token(session, "ana")
        for number in range(3):
            submit(session, ana, item(session, ana), answer(number, 0))
        page = Page(session, ana, "pt")
        all_of_them = page.cards()
        assert "Marque antes" in page.change(all_of_them[0], relevance=2)["notice"]
        labels_seen = [[one["ref"], one["sha"]] for one in all_of_them]
        sent = {"query": "q0", "labels": labels_seen, "status": "ok", "relevance": 2, "nonce": NONCE}
        assert "Mude essas uma a uma" in page.send("change-many", **sent)["notice"]
        assert everything(session) == 3
        found = page.change(all_of_them[0], relevance=2, evidence=[[0, 4]])
        assert cards(found["cards"][all_of_them[0]["ref"]])[0]["answer"]["evidence"] == [[0, 4]]


@contextmanager
def graded_before(folder: Path, setting: str, **given: Any) -> Iterator[tuple[AnnotationSession, str]]:
    """A session with this setting for evidence, and the token of ana, who graded three passages while it was
    optional."""
    path = collection(folder / "small", annotation={"evidence": "optional"})
    with AnnotationSession.open(path) as session:
        assigned(session)
        ana = token(session, "ana")
        for number in range(3):
            submit(session, ana, item(session, ana), answer(number, 1, **given))
    path.write_text(path.read_text().replace("evidence: optional", f"evidence: {setting}"))
    with AnnotationSession.open(path) as session:
        yield session, ana


def test_evidence_that_was_switched_off_since_stays_with_the_label_before_and_stops_no_change(tmp_path: Path) -> None:
    with graded_before(tmp_path, "'off'", evidence=[Span(0, 4)]) as (session, ana):
        before = own_labels(session, ana).labels
        page = Page(session, ana)
        [first, *others] = page.cards()
        assert [one["answer"]["evidence"] for one in (first, *others)] == [[], [], []]
        [now] = cards(page.change(first, relevance=3)["cards"][first["ref"]])
        assert (now["answer"]["relevance"], now["answer"]["evidence"]) == (3, [])
        sent = [[one["ref"], one["sha"]] for one in others]
        found = page.send("change-many", query="q0", labels=sent, status="ok", relevance=0, nonce=NONCE)
        assert found["cards"].keys() == {one["ref"] for one in others}
        for one in before:
            old, new = labels(session, "ana", "q0", one.doc_id)
            assert ("evidence" in old.extra, "evidence" in new.extra) == (True, False)


def test_evidence_that_is_required_since_is_asked_for_by_a_change_and_by_a_note_alone(tmp_path: Path) -> None:
    with graded_before(tmp_path, "required") as (session, ana):
        page = Page(session, ana)
        all_of_them = [first, second, third] = page.cards()
        for fields in ({"relevance": 2}, {"note": "só isto"}):
            assert "Mark the words" in page.change(first, **fields)["notice"]
        sent = [[one["ref"], one["sha"]] for one in all_of_them]
        many = {"query": "q0", "labels": sent, "status": "ok", "nonce": NONCE}
        assert "some of these labels have no evidence" in page.send("change-many", relevance=2, **many)["notice"]
        assert everything(session) == 3
        assert page.change(first, relevance=2, evidence=[[0, 4]])["cards"]
        assert page.change(second, status="unsure", relevance=None, reason="broken_text")["cards"]
        assert page.change(third, relevance=0)["cards"]
        assert everything(session) == 6


def test_a_passage_that_is_held_is_graded_here_and_only_once(session: AnnotationSession) -> None:
    bia = token(session, "bia")
    submit(session, bia, item(session, bia), answer(50, 0))
    page = Page(session, bia)
    [_, first, second] = page.cards()
    found = page.change(first, relevance=3, note="aqui")
    [now] = cards(found["cards"][first["ref"]])
    assert (now["name"], now["answer"]["note"]) == ("3 Perfectly relevant", "aqui")
    assert now["ref"].startswith("l")
    assert cards(page.change(first, relevance=3, note="aqui")["cards"][first["ref"]])
    assert "has changed since" in page.change(first, relevance=1, nonce=NONCE)["notice"]
    assert everything(session) == 5
    undo(session, bia)
    assert [one["answer"] is None for one in page.cards()] == [False, True, True]
    assert page.change(second, relevance=1, status="skipped")["notice"]


def test_what_is_to_be_practised_or_revealed_is_graded_where_people_grade(tmp_path: Path) -> None:
    with revealing(tmp_path / "judged") as session:
        ana = token(session, "ana")
        submit(session, ana, item(session, ana), answer(1, 2))
        page = Page(session, ana)
        [given, to_grade, _] = page.cards()
        assert "You have seen the judge" in given["html"]
        assert "Grade this passage on the page Grade" in to_grade["html"]
        assert not re.search("data-do=.(grade|because|note|evidence)", given["html"] + to_grade["html"])
        assert "lexical" not in json.dumps(page.cards())
        assert "You have seen the judge" in unescape(page.change(given, relevance=0)["notice"])
        assert "on the page Grade" in page.change(to_grade, relevance=0)["notice"]
        assert everything(session) == 4  # the judge's three, and ana's
    with AnnotationSession.open(collection(tmp_path / "small")) as session:
        assigned(session)
        ana = token(session, "ana")
        submit(session, ana, item(session, ana), answer(1, 2))
        session.training.add("q1", "d0", 3, "It does.", token(session, "lia", "lead"))
        page = Page(session, ana)
        to_grade = page.cards()[-1]
        assert "Practise first" in to_grade["html"]
        assert "Practise first" in page.change(to_grade, relevance=0)["notice"]
        assert everything(session) == 1


def test_a_passage_that_changed_or_left_meanwhile_is_said_to_have_and_nothing_is_stored(
    page: Page, session: AnnotationSession
) -> None:
    before = page.cards()
    kept = pair("q0", "d0", "outro texto")
    repool(session.config.folder, [kept, *pairs()[3:]])
    for card in before:
        assert "has changed since" in page.change(card, relevance=0)["notice"]
    assert everything(session) == 3
    gone = page.send("query", query="q0")
    assert (gone["stage"], "no passages of that question" in gone["notice"]) == ("list", True)


def test_pairs_that_came_again_and_gold_pairs_are_not_listed_and_look_like_the_rest(tmp_path: Path) -> None:
    path = collection(tmp_path / "small", pairs(4, 10), annotation={"repeats": 0.2, "gold": 0.2})
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",), queries=["q0", "q1", "q2"])
        for place in range(10):
            session.training.add("q3", f"d{place}", 1, "", "assign", gold=True)
        seen: dict[str, list[tuple[str, str]]] = {"blind": [], "repeat": [], "gold": []}
        while not (seen["repeat"] and seen["gold"]):
            shown = item(session, ana)
            submit(session, ana, shown, answer(everything(session), 1))
            seen[shown.kind].append((shown.query_id, shown.doc_id))
        page = Page(session, ana)
        found = page.list()
        assert f"You have graded {len(seen['blind'])} passages" in found["count"]
        listed = [(label.query_id, label.doc_id) for label in own_labels(session, ana).labels]
        assert listed == seen["blind"][::-1]
        assert len({SHAPE.sub("", row) for row in found["rows"].split("<li>")[1:]}) == 1
        assert page.send("query", query="q3")["stage"] == "list"
        all_of_them = {query_id: page.cards(query_id) for query_id, _ in seen["blind"]}
        graded = [card for some in all_of_them.values() for card in some if card["answer"]]
        assert len(graded) == len(seen["blind"])
        assert len({SHAPE.sub("", card["html"]) for card in graded}) == 1
        # A change of the label leaves that of the repeat alone, which is not to be changed itself.
        [(query_id, doc_id)] = seen["repeat"]
        blind, repeat = labels(session, "ana", query_id, doc_id)
        [card] = [one for one in all_of_them[query_id] if one["ref"] == f"l{blind.seq}"]
        [gold] = labels(session, "ana", *seen["gold"][0])
        for forged, of in ((repeat, query_id), (gold, "q3")):
            sent = {"ref": f"l{forged.seq}", "sha": forged.content_sha, "nonce": NONCE}
            assert "has changed since" in page.change(card, of, **sent, relevance=3)["notice"]
        assert page.change(card, query_id, relevance=3)["cards"]
        first, again, now = labels(session, "ana", query_id, doc_id)
        assert (first, again) == (blind, repeat)
        assert (now.phase, now.relevance, now.extra["changes"]) == ("blind", 3, blind.seq)
        assert page.list()["count"] == found["count"]


# Who is let in, and what is forged


@pytest.mark.parametrize("sign_in", [None, "", "made-up", "token-of-ANA", "revoked"])
def test_without_a_sign_in_each_step_gives_the_way_in_and_nothing_else(
    session: AnnotationSession, page: Page, sign_in: str | None
) -> None:
    sent = request(page)
    if sign_in == "revoked":
        session.people.revoke("ana")
    visitor = Page(session, "token-of-ana" if sign_in == "revoked" else sign_in)
    for step in STEPS:
        found = visitor.send(step, **sent)
        assert visitor.status == 401
        assert found.keys() == {"stage", "pair"}
        assert 'href="/sign-in"' in found["pair"]
    assert everything(session) == 3


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_page_of_another_site_does_nothing_with_ones_sign_in(
    session: AnnotationSession, page: Page, headers: dict[str, str]
) -> None:
    for step in STEPS:
        body = json.dumps(request(page))
        response = page.client.post(f"/own-labels/{step}", content=body, headers=headers)
        assert (response.status_code, response.json()) == (403, {})
    assert everything(session) == 3


def request(page: Page, **fields: Any) -> dict[str, Any]:
    """What each step understands, about ana's first passage."""
    [card, *_] = page.cards()
    usual = {"query": "q0", "status": "ok", "relevance": 0, "labels": [[card["ref"], card["sha"]]], "filter": {}}
    return {**usual, "ref": card["ref"], "sha": card["sha"], "nonce": NONCE, **fields}


def test_nobody_changes_or_sees_labels_or_slots_of_another_person(session: AnnotationSession, page: Page) -> None:
    bia = token(session, "bia")
    submit(session, bia, item(session, bia), answer(50, 0, note="segredo de bia"))
    theirs = Page(session, bia).cards()
    known = everything(session)
    for card in theirs:
        found = page.change(card, relevance=3)
        assert "has changed since" in found["notice"]
        assert "segredo" not in json.dumps(found)
    found = page.send("change-many", **request(page, labels=[[theirs[0]["ref"], theirs[0]["sha"]]]))
    assert "Nothing was stored" in found["notice"]
    assert everything(session) == known
    assert "segredo" not in json.dumps([page.send(step, **request(page, nonce=f"{NONCE}-{step}")) for step in STEPS])


FORGED = ["", "l", "l0", "l-1", "l1.0", " l1", "l1\n", "L1", "x1", "l" + "9" * 18, "l" + "9" * 19, "l١", "ӏ1", "s1"]
FORGED += [None, 1, True, ["l1"], {"l": 1}]  # type: ignore[list-item]


@pytest.mark.parametrize("ref", FORGED, ids=ascii)
def test_a_made_up_reference_changes_nothing(session: AnnotationSession, page: Page, ref: Any) -> None:
    sent = request(page, ref=ref)
    for step in ("change", "change-many"):
        found = page.send(step, **{**sent, "labels": [[ref, sent["sha"]]]})
        assert page.status == 200
        assert found["notice"]
    for slot in ("s0", "s" + "9" * 18, ref):
        assert page.send("grade", **{**sent, "ref": slot})["notice"]
    assert everything(session) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
FIELDS = (
    "query",
    "ref",
    "sha",
    "nonce",
    "status",
    "relevance",
    "reason",
    "note",
    "evidence",
    "labels",
    "filter",
    "start",
)


@quick
@given(step=st.sampled_from(STEPS), body=st.dictionaries(st.sampled_from(FIELDS), json_values))
@example(step="list", body={"filter": {"day": "x", "grade": [], "query": {}, "text": 5}, "start": 10**400})
@example(step="list", body={"filter": {"query": "\ud800", "text": "\ud800"}, "start": -5})
@example(step="change-many", body={"query": "q0", "labels": [[]], "nonce": NONCE})
def test_no_json_is_a_fault_of_the_server_or_stores_anything(
    session: AnnotationSession, page: Page, step: str, body: dict[str, Any]
) -> None:
    page.send(step, **body)
    assert page.status == 200
    assert everything(session) == 3


@quick
@given(
    field=st.sampled_from(["query", "ref", "sha", "status", "reason", "labels"]),
    value=json_values,
    step=st.sampled_from(["change", "change-many", "grade"]),
)
def test_a_change_with_one_wrong_field_is_refused_and_stores_nothing(
    session: AnnotationSession, page: Page, field: str, value: Any, step: str
) -> None:
    sent = request(page)
    ignored = {"change": {"labels"}, "change-many": {"ref", "sha"}, "grade": {"labels"}}[step]
    if field in ignored or value in (None, sent.get(field)):
        return
    assert page.send(step, **{**sent, field: value})["notice"]
    assert everything(session) == 3


@pytest.mark.parametrize(
    "fields",
    [
        *({"evidence": [span]} for span in ([0, 10**6], [0, 10**30], [-1, 4], [5, 2], [0, 1.5], [False, True])),
        *({"evidence": spans} for spans in ([["0", "4"]], [[0, 1, 2]], {"start": 0}, "0-4", [None], [[0, 4]] * 10_000)),
        {"evidence": [{"start": 0, "end": 4, "text": "of another passage"}]},
        *({name: value} for name in ("active", "elapsed") for value in (-1, nan, inf, -inf, 1e10, 10**400, "5", True)),
    ],
    ids=lambda fields: str(fields)[:40],
)  # fmt: skip
def test_forged_evidence_and_times_are_refused_and_nothing_is_stored(
    session: AnnotationSession, page: Page, fields: dict[str, Any]
) -> None:
    [card, *_] = page.cards()
    assert page.change(card, relevance=0, **fields)["notice"]
    held = Page(session, token(session, "bia"))
    submit(session, "token-of-bia", item(session, "token-of-bia"), answer(50, 0))
    assert held.change(held.cards()[-1], relevance=0, **fields)["notice"]
    assert everything(session) == 4


def test_overlapping_evidence_is_merged_with_the_words_of_the_passage_itself(
    session: AnnotationSession, page: Page
) -> None:
    [card, *_] = page.cards()
    assert page.change(card, relevance=0, evidence=[[6, 9], [0, 4], [2, 5]])["cards"]
    [now, *_] = own_labels(session, "token-of-ana").labels
    [*_, label] = labels(session, "ana", "q0", now.doc_id)
    begin = now.text_start
    assert label.extra["evidence"] == [
        {"start": 0, "end": 5, "text": begin[:5]},
        {"start": 6, "end": 9, "text": begin[6:9]},
    ]


# What is in a response, and what is not


# What the script reads, and a browser does not: within quotes, without any of its own.
STORED = re.compile('data-(answer|name)="[^"<>]*"')


def test_texts_of_others_are_escaped_and_notes_come_back_as_they_were_written(tmp_path: Path) -> None:
    kept = [text for text in HOSTILE if "\ud800" not in text]
    rows = [{**pair("q0", f"d{place:02}", text), "query": " ".join(kept)} for place, text in enumerate(kept)]
    with AnnotationSession.open(collection(tmp_path / "hostile", rows, grades=dict(enumerate(kept[:3])))) as session:
        assigned(session)
        ana = token(session, "ana")
        notes = [text for text in HOSTILE if text.strip()]
        for number, note in enumerate(notes[: len(rows)]):
            submit(session, ana, item(session, ana), answer(number, 1, note=note))
        page = Page(session, ana)
        opened = page.send("open", filter={}, start=0)
        query = page.send("query", query="q0")
        for piece in ("frame", "rows", "queries"):
            harmless(opened[piece])
        for piece in ("head", "cards_of_query"):
            harmless(STORED.sub("", query[piece]))
        found = cards(query["cards_of_query"])
        # Half a surrogate pair is replaced as a note arrives.
        assert {one["answer"]["note"] for one in found if one["answer"]} == set(map(sendable, notes[: len(rows)]))
        changed = page.change(found[0], relevance=2)
        harmless(STORED.sub("", changed["cards"][found[0]["ref"]]))
        assert labels(session, "ana", "q0", "d00")


def test_no_passages_id_and_no_name_of_anybody_else_or_of_a_system_is_in_a_response(tmp_path: Path) -> None:
    secret = ("doc-secreto", "sistema-secreto", "bia-secreta", "juiz-secreto")
    rows = [{**pair("q0", f"doc-secreto-{d}", f"texto {d}"), "runs": {"sistema-secreto": 1}} for d in range(4)]
    judges = {"juiz-secreto": {"judge": "lexical"}}
    with AnnotationSession.open(collection(tmp_path / "small", rows, judges=judges)) as session:
        assigned(session, (None, None))
        for name in ("bia-secreta", "ana"):
            mine = token(session, name)
            for number in range(3):
                submit(session, mine, item(session, mine), answer(number, 1))
        page = Page(session, "token-of-ana")
        received = [page.send(step, **request(page, nonce=f"{NONCE}-{step}")) for step in STEPS]
        [card, *_] = page.cards()
        received += [
            page.change(card, relevance=3),
            page.change(card, relevance=2, nonce=NONCE),
            {"cards": page.cards()},
        ]
        whole = json.dumps(received)
        assert "texto 1" in whole
        assert not [word for word in secret if word in whole]


@pytest.mark.parametrize(
    ("language", "said"),
    [("pt", ["Você avaliou 3 passagens", "Voltar à lista"]), ("es", ["Has evaluado 3 pasajes", "Volver a la lista"])],
)
def test_the_page_speaks_the_persons_language(session: AnnotationSession, language: str, said: list[str]) -> None:
    page = Page(session, "token-of-ana", language)
    whole = json.dumps([page.send("open", filter={}), page.send("query", query="q0")], ensure_ascii=False)
    assert [words for words in said if words in whole] == said
