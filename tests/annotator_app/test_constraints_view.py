"""The pages of questions on constraints: what they say, what is escaped, and what nobody gets to know from them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator_app import words
from annotator_app.constraints_view import drawn, shows
from annotator_app.words import Voice
from quati_pool.commands.annotate.authoring.derive import derive
from quati_pool.commands.annotate.authoring.sources import open_rounds
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import NewItem
from tests.annotator_app import authored
from tests.annotator_app.authored import WritingPage
from tests.commands.annotate.authoring.romqa_people import TEXTS, made_cluster, romqa_workspace
from tests.commands.annotate.authoring.rounds import rounds

EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e'


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    """One cluster with two queries: all three constraints, and two of which one is negated."""
    path = romqa_workspace(
        tmp_path / "logic",
        [made_cluster(0, 2)],
        least_questions=1,
        verifiers=1,
        compare={"path": "other.tsv", "name": "Zebraset"},
    )
    with AnnotationSession.open(path) as opened:
        open_rounds(opened)
        yield opened


def named(label: str, description: str = "", *aliases: str) -> dict[str, Any]:
    return {"id": "Q1", "label": label, "description": description, "aliases": list(aliases)}


def constraint(side: str = "subj", negated: bool = False, **changes: Any) -> dict[str, Any]:
    usual = {"property": named("occupation"), "entity": named("pianist"), "side": side, "negated": negated}
    return {**usual, **changes}


def text_of(markup: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup)).split())


def lines(markup: str) -> list[str]:
    return [text_of(one) for one in re.findall('<p class="says">(.*?)</p>', markup)]


@pytest.mark.parametrize(("language", "word"), [("en", "not"), ("pt", "não"), ("es", "no")])
def test_a_constraint_is_a_line_with_x_at_its_side(language: str, word: str) -> None:
    shown = {"constraints": [constraint(), constraint("obj"), constraint(negated=True), constraint("obj", True)]}
    markup = drawn(shown, Voice(language))
    assert lines(markup) == [
        "X — occupation → pianist",
        "pianist — occupation → X",
        f"{word} X — occupation → pianist",
        f"{word} pianist — occupation → X",
    ]
    # By a word and by a class, not by a colour alone.
    assert markup.count(f'<strong class="not">{word}</strong>') == markup.count("constraint negated") == 2
    assert 'data-shown="answers"' not in markup


def test_descriptions_are_under_a_line_and_aliases_are_folded() -> None:
    one = constraint(entity=named("pianist", "person who plays", "piano player", "keyboardist"))
    markup = drawn({"constraints": [one]}, Voice("en"))
    assert "pianist : person who plays" in text_of(markup)
    [folded] = re.findall("<details>.*?</details>", markup)
    assert text_of(folded) == "Also called pianist : piano player · keyboardist"
    # What has neither is not mentioned.
    assert markup.count("described") == 1
    assert "<details>" not in drawn({"constraints": [constraint()]}, Voice("en"))


@pytest.mark.parametrize(
    ("answers", "count", "said"),
    [
        (["Ana"], 1, "1: Ana"),
        (["Ana", "Bia"], 2, "2: Ana · Bia"),
        (["Ana", "Bia"], 1200, "1,200, such as Ana · Bia"),
    ],
)
def test_answers_are_said_with_their_number(answers: list[str], count: int, said: str) -> None:
    markup = drawn({"constraints": [constraint()], "answers": answers, "count": count}, Voice("en"))
    assert text_of(markup.partition('data-shown="answers">')[2]) == f"Answers {said}"


def test_everything_is_escaped() -> None:
    evil = named(EVIL, EVIL, EVIL)
    shown = {"constraints": [constraint("obj", True, property=evil, entity=evil)], "answers": [EVIL], "count": 2}
    markup = drawn(shown, Voice("pt"))
    assert "<script" not in markup
    assert "<img" not in markup
    assert markup.count("&lt;script&gt;") == 11  # 2 in the line, 4 in descriptions, 4 in aliases, 1 in answers
    assert "U+202E" in markup


def test_only_logical_queries_are_drawn_so() -> None:
    assert shows({"constraints": [constraint()]})
    # Of a design of somebody else, under the same name.
    assert not shows({"constraints": ["free of charge"]})
    assert not shows({"constraints": 3})
    assert not shows({"constraints": [], "answers": ["Ana"]})
    assert not shows({"constraints": "", "count": "many"})
    assert not shows({"constraints": [{"side": "left", "text": "free of charge"}]})
    assert not shows({"answers": ["Ana"], "count": 1})


def page(session: AnnotationSession, name: str, language: str = "en") -> WritingPage:
    return WritingPage(session, authored.token(session, name), language).open()


def write_all(one: WritingPage, start: str = "Who is number") -> int:
    done = 0
    while one.view["stage"] == "write" and one.title == words.message("en", "authoring.step.write.title"):
        one.confirm({"question.en": f"{start} {'x' * (5 * done + 1)} {done}?"})
        done += 1
    return done


def test_the_three_rounds_by_requests(session: AnnotationSession) -> None:
    ana = page(session, "ana")
    assert ana.title == "Ask for X"
    assert "X — occupation → pianist" in ana.text
    assert ">Store<" in re.sub("</?bdi[^>]*>", "", ana.view["bar"])
    found = ana.give({"question.en": " "})
    assert found["refused"] == {"field": "question.en", "text": "Fill this in."}
    assert write_all(ana) == 2
    assert ana.view["stage"] == "end"
    bia = page(session, "bia", "pt")
    assert bia.title == "A pergunta pede exatamente isto?"
    assert "Pede exatamente isto" in bia.text
    assert "Who is number" in bia.text
    reasons = re.findall('data-do="because" data-value="(.*?)"', bia.view["bar"])
    assert reasons == ["says_more", "says_less", "other_meaning", "language", "other"]
    assert "Diz menos do que isto" in bia.text
    assert bia.give({})["stored"] == "given"
    assert bia.give({})["stored"] == "given"
    assert bia.view["stage"] == "end"
    derive(session.config.path)
    caio = page(session, "caio")
    assert caio.title == "How likely is a person to ask this?"
    assert re.findall('data-field="(.*?)" data-kind="scale"', caio.view["pair"]) == ["natural.a", "natural.b"]
    assert caio.give({"natural.a": 6, "natural.b": 1})["refused"]["field"] == "natural.a"
    assert caio.give({"natural.a": 5, "natural.b": 1})["stored"] == "given"
    # An undone rating is there to be given again.
    undone = caio.send("undo", nonce=caio.view["nonce"], seq=caio.view["undoable"])
    assert undone["filled"] == {"natural.a": 5, "natural.b": 1}


def test_a_verification_that_is_taken_back_is_there_again(session: AnnotationSession) -> None:
    write_all(page(session, "ana"))
    bia = page(session, "bia")
    first = bia.view["pair"]
    bia.send("refuse", **bia.task, reason="says_less", comment=None)
    assert bia.view["pair"] != first
    bia.send("undo", nonce=bia.view["nonce"], seq=bia.view["undoable"])
    assert bia.view["pair"] == first


def test_no_response_says_which_question_is_whose(session: AnnotationSession) -> None:
    """Not the set, its ids and file, nor ours, which would be seen in what pages get."""
    path = session.config.folder / "other.tsv"
    path.write_text("query_id\tquery\ncanary17\tzeta one\ncanary18\tzeta two\n", encoding="utf-8")
    write_all(page(session, "ana"))
    bia = page(session, "bia")
    while bia.view["stage"] == "write":
        bia.give({})
    derive(session.config.path)
    caio = page(session, "caio")
    responses = [json.dumps(caio.view)]
    while caio.view["stage"] == "write":
        assert "zeta" in caio.text
        responses.append(json.dumps(caio.give({"natural.a": 1, "natural.b": 2})))
        responses.append(json.dumps(caio.send("undo", nonce=caio.view["nonce"], seq=caio.view["undoable"])))
        responses.append(json.dumps(caio.give({"natural.a": 1, "natural.b": 2})))
    assert len(responses) == 1 + 3 * 2
    for one in responses:
        assert not re.search(r'canary|Zebraset|other\.tsv|other_id|\bours\b|c0-|"c0"', one)


def test_the_name_of_a_drafting_program_is_on_no_page(session: AnnotationSession) -> None:
    authoring = rounds(session)
    session.store.register("m" * 16, "judge", {"name": "smart-model-9"})
    made = next(one for one in authoring.items("query"))
    item = NewItem("query", "drafted", made.content, made.place, made.parent_id, "m" * 16)
    authoring.add([item])
    ana = page(session, "ana")
    seen = [json.dumps(ana.view)]
    while ana.view["stage"] == "write":
        seen.append(json.dumps(ana.confirm({"question.en": f"Who is number {len(seen)}?"})))
    assert len(seen) == 4
    assert not any("smart-model" in one or "m" * 16 in one for one in seen)


def test_labels_from_files_are_as_hostile_as_any_text(tmp_path: Path) -> None:
    texts = [{**one, "label": f"{one['label']} {EVIL}", "aliases": [EVIL]} for one in TEXTS]
    path = romqa_workspace(tmp_path / "evil", [made_cluster(0, 1)], texts)
    with AnnotationSession.open(path) as opened:
        open_rounds(opened)
        ana = page(opened, "ana")
        assert "occupation" in ana.text
        assert "<script" not in ana.html
        assert "<img" not in ana.html
