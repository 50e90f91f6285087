"""QASC's files: questions, facts, and what is wrong with a file; the format that ARC and OpenBookQA share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import AnswerTask, Case, MissingDataError, RetrievalTask
from quati_pool.qa_benchmarks.expectations import NO_CONTEXT, NO_OPTION, ExpectationTaskRun
from quati_pool.qa_benchmarks.qasc import Qasc
from quati_pool.qa_benchmarks.question_files import read_questions
from quati_pool.records import id_problem
from tests.qa_benchmarks.small_questions import question, write_jsonl

EXPECTATIONS, CONTEXTS = Qasc.tasks["expectations"], Qasc.tasks["contexts"]
OPTIONS = ("rain", "sand", "a coin", "wool", "light", "glass", "a shoe", "fire")
RIVERS = question(
    "3E7TUJ2EGCL", "What fills rivers?", OPTIONS, "A",
    fact1="rain runs into streams", fact2="streams fill rivers", combinedfact="rain fills rivers",
)  # fmt: skip
WARMTH = question("3NGI5ARFTT4", "What keeps sheep warm?", OPTIONS, "D", fact1="wool holds air", fact2="air insulates")
STREAMS = question("3AAJC4I4FGS", "What ends in rivers?", OPTIONS, "A", fact1="streams fill rivers", fact2="x is y")
HIDDEN = question("3C44YUNSI1O", "What is cut?", OPTIONS, None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "train.jsonl", [RIVERS, WARMTH])
    write_jsonl(tmp_path / "dev.jsonl", [STREAMS])
    write_jsonl(tmp_path / "test.jsonl", [HIDDEN])
    return tmp_path


def task_run(data: Path, case: Case) -> ExpectationTaskRun:
    assert isinstance(EXPECTATIONS, AnswerTask)
    made = EXPECTATIONS.task_run(data, case, 0)
    assert isinstance(made, ExpectationTaskRun)
    return made


def read(tmp_path: Path, record: Any) -> None:
    text = record if isinstance(record, str) else json.dumps(record)
    path = tmp_path / "dev.jsonl"
    path.write_text(json.dumps(WARMTH) + "\n\n" + text + "\n")
    read_questions(path)


def test_cases_are_the_splits_with_answers_and_the_rest_is_told(data: Path) -> None:
    assert EXPECTATIONS.cases(data) == CONTEXTS.cases(data) == [Case("train", "en"), Case("validation", "en")]
    assert task_run(data, Case("train", "en")).notes[0] == "test.jsonl is released without answers, so it is not a case"


def test_questions_are_read_as_they_stand_in_the_file(data: Path) -> None:
    first = task_run(data, Case("train", "en")).questions[0]
    assert (first.id, first.question, first.options) == ("3E7TUJ2EGCL", "What fills rivers?", OPTIONS)
    assert (first.labels, first.gold, first.contexts) == (tuple("ABCDEFGH"), "A", ())


def test_the_archives_own_folder_is_found_and_the_files_where_they_lie_come_first(data: Path) -> None:
    inner = data / "QASC_Dataset"
    write_jsonl(inner / "dev.jsonl", [RIVERS, STREAMS])
    assert len(task_run(inner, Case("validation", "en")).questions) > len(
        task_run(data, Case("validation", "en")).questions
    )
    (data / "dev.jsonl").unlink()
    assert Case("validation", "en") in EXPECTATIONS.cases(data)


def test_without_contexts_neither_no_option_nor_no_context_applies(data: Path) -> None:
    made = task_run(data, Case("train", "en"))
    assert not any(id_.endswith((f"#{NO_OPTION}", f"#{NO_CONTEXT}")) for id_ in made.ids)
    assert any("no-context does not apply to any question" in note for note in made.notes)


def test_a_choices_para_is_its_own_context(tmp_path: Path) -> None:
    paras = ["it rains", None, "", "sheep", "x", "y", "z", "w"]
    write_jsonl(tmp_path / "dev.jsonl", [question("q", "What?", OPTIONS, "A", paras=paras)])
    made = task_run(tmp_path, Case("validation", "en"))
    assert made.questions[0].contexts == ("it rains", "", "", "sheep", "x", "y", "z", "w")
    assert {f"q#{NO_OPTION}", f"q#{NO_CONTEXT}"} <= set(made.ids)


def test_empty_options_are_kept_and_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "dev.jsonl", [question("q", "What?", ["a", " "], "A"), WARMTH])
    made = task_run(tmp_path, Case("validation", "en"))
    assert "dev.jsonl: 1 of 2 questions have an option without text, kept as released" in made.notes


# Contexts


def test_contexts_are_one_query_an_option_and_the_facts_of_all_splits(data: Path) -> None:
    assert isinstance(CONTEXTS, RetrievalTask)
    made = CONTEXTS.collection(data, Case("train", "en"))
    texts = dict(made.passages)
    # "streams fill rivers" stands in two splits and is one passage.
    assert sorted(texts.values()) == [
        "air insulates", "rain runs into streams", "streams fill rivers", "wool holds air", "x is y",
    ]  # fmt: skip
    assert [topic.query_id for topic in made.queries[:3]] == ["3E7TUJ2EGCL-A", "3E7TUJ2EGCL-B", "3E7TUJ2EGCL-C"]
    assert len(made.queries) == 16
    assert made.queries[1].query == "What fills rivers? sand"
    # One query of a question is judged: its cluster would have one.
    assert {topic.cluster_id for topic in made.queries} == {""}
    assert {(query_id, texts[doc_id], relevance) for query_id, doc_id, relevance in made.qrels} == {
        ("3E7TUJ2EGCL-A", "rain runs into streams", 1), ("3E7TUJ2EGCL-A", "streams fill rivers", 1),
        ("3NGI5ARFTT4-D", "wool holds air", 1), ("3NGI5ARFTT4-D", "air insulates", 1),
    }  # fmt: skip
    assert not any(id_problem(value) for value in [*texts, *(topic.query_id for topic in made.queries)])
    assert any("unjudged" in note for note in made.notes)


def test_a_facts_doc_id_is_the_same_in_every_split(data: Path) -> None:
    assert isinstance(CONTEXTS, RetrievalTask)
    ids = {
        text: doc_id for doc_id, text in CONTEXTS.collection(data, Case("train", "en")).passages
    }  # fmt: skip
    (data / "train.jsonl").unlink()
    alone = {text: doc_id for doc_id, text in CONTEXTS.collection(data, Case("validation", "en")).passages}
    assert alone.items() < ids.items()


def test_questions_without_facts_are_counted(tmp_path: Path) -> None:
    assert isinstance(CONTEXTS, RetrievalTask)
    write_jsonl(tmp_path / "dev.jsonl", [WARMTH, question("bare", "What?", OPTIONS, "A", fact1="", fact2=None)])
    made = CONTEXTS.collection(tmp_path, Case("validation", "en"))
    assert "validation: 1 question has no text or no released answer, and no judged query" in made.notes
    assert {query_id for query_id, _, _ in made.qrels} == {"3NGI5ARFTT4-D"}


# Bad input


def test_a_folder_without_the_files_names_them_and_where_they_are_released(tmp_path: Path) -> None:
    for task in (EXPECTATIONS, CONTEXTS):
        with pytest.raises(MissingDataError, match=re.escape("no file of QASC (train.jsonl or 2 others)")) as caught:
            task.cases(tmp_path)
        assert Qasc.source in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_folder_of_the_test_file_alone_says_why_nothing_can_be_measured(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", [HIDDEN])
    with pytest.raises(MissingDataError, match="released without answers"):
        EXPECTATIONS.cases(tmp_path)
    with pytest.raises(MissingDataError, match="no question with both fact1 and answerKey"):
        CONTEXTS.cases(tmp_path)


BAD: list[tuple[Any, str]] = [
    ("{", "is not JSON (Expecting property name enclosed in double quotes, column 2)"),
    ("[]", "is not a JSON object; expected one object per line"),
    ("[" * 100_000, "holds a number too long, or nests too deeply"),
    ({"question": {}}, "has no 'id'; it has 'question': add it"),
    ({"id": 7}, "id is the number '7'; expected a string"),
    ({"id": "a b"}, "id 'a b' holds white space"),
    ({"id": "x"}, "question is absent or null; expected an object with stem and choices"),
    ({"id": "x", "question": {"stem": "s"}}, "choices is absent or null; expected a list"),
    ({"id": "x", "question": {"stem": "s", "choices": ["a"]}}, "choice 1 is a string; expected an object"),
    ({"id": "x", "question": {"stem": "s", "choices": [{"label": "A"}]}}, "has no 'text'"),
    (
        {"id": "x", "question": {"stem": "s", "choices": [{"text": "t", "label": "A 1"}]}},
        "the label of choice 1 'A 1' holds white space",
    ),
    (question("x", "s", ["only"], "A"), "has 1 option; expected two or more"),
    (question("x", "s", ["a", "b"], "A", labels="AA"), "has two options labelled 'A'"),
    (question("x", "s", ["a", "b"], "E"), "has the answer 'E'; expected one of A, B"),
    ({**question("x", "s", ["a", "b"], None), "answerKey": 1}, "answerKey is the number '1'; expected a string"),
    (question("x", "s", ["a", "b"], "A", paras=[["p"]]), "para is a list; expected a string"),
    (question("x", "\ud800", ["a", "b"], "A"), "stem holds half a surrogate pair"),
    ({**question("x", "s", ["a", "b"], "A"), "question": True}, "question is true or false"),
    (WARMTH, "id '3NGI5ARFTT4' is on line 1 too; expected it once"),
]


@pytest.mark.parametrize(("record", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_question_is_refused_with_its_line(tmp_path: Path, record: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, record)
    assert str(caught.value).startswith(f"{tmp_path / 'dev.jsonl'}:3: {message}")
    assert "\n" not in str(caught.value)


def test_a_fact_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "dev.jsonl", [question("x", "s", ["a", "b"], "A", fact1=["f"])])
    with pytest.raises(InputError, match=r"dev\.jsonl:1: fact1 is a list; expected a string"):
        read_questions(path, ("fact1",))


def test_an_empty_file_and_a_wrong_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_bytes(b"\n")
    for found in (read_questions, lambda path: EXPECTATIONS.cases(path.parent)):
        with pytest.raises(InputError, match="holds no question; expected one object per line"):
            found(path)
    path.write_bytes(json.dumps(WARMTH).encode() + b"\n\xff\n")
    with pytest.raises(InputError, match=r"dev\.jsonl:2: byte 1 \(0xFF\) is not UTF-8"):
        read_questions(path)


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(WARMTH).encode())
    assert read_questions(path)[0].question.id == "3NGI5ARFTT4"
