"""RACE's files: an article a file, its questions over the one text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import AnswerTask, Case, MissingDataError, RetrievalTask
from quati_pool.qa_benchmarks.expectations import ExpectationTaskRun
from quati_pool.qa_benchmarks.race import Race, read_article
from tests.qa_benchmarks.small_questions import write_article

EXPECTATIONS, CONTEXTS = Race.tasks["expectations"], Race.tasks["contexts"]
FERRY = "The ferry to the island leaves at nine.\nIn winter it leaves at ten."
BAKER = "The baker rises at three, long before the town wakes."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    ferry = [
        ("When does the ferry leave in winter?", ["At eight.", "At nine.", "At ten.", "Never."], "C"),
        ("The ferry goes to _ .", ["the island", "the town", "the lake", "the north"], "A"),
    ]
    baker = [("Who rises early?", ["The town.", "The baker.", "Nobody.", ""], "B")]
    write_article(tmp_path / "test" / "high" / "12.txt", "high12.txt", FERRY, ferry)
    write_article(tmp_path / "test" / "high" / "7.txt", "high7.txt", BAKER, baker)
    write_article(tmp_path / "test" / "middle" / "7.txt", "middle7.txt", BAKER, baker)
    write_article(tmp_path / "dev" / "middle" / "1.txt", "middle1.txt", "A text of its own.", baker)
    (tmp_path / "dev" / "middle" / "._1.txt").write_bytes(b"\0\5\x16\7left by a Mac")
    return tmp_path


def task_run(data: Path, case: Case) -> ExpectationTaskRun:
    assert isinstance(EXPECTATIONS, AnswerTask)
    made = EXPECTATIONS.task_run(data, case, 0)
    assert isinstance(made, ExpectationTaskRun)
    return made


def test_cases_are_splits_and_levels(data: Path) -> None:
    expected = [Case("validation", "en", "middle"), Case("test", "en", "middle"), Case("test", "en", "high")]
    assert EXPECTATIONS.cases(data) == CONTEXTS.cases(data) == expected


def test_the_archives_own_folder_is_found(data: Path, tmp_path: Path) -> None:
    (data / "RACE").mkdir()
    (data / "test").rename(data / "RACE" / "test")
    assert Case("test", "en", "high") in EXPECTATIONS.cases(tmp_path)


def test_questions_are_numbered_within_their_article_and_share_it(data: Path) -> None:
    made = task_run(data, Case("test", "en", "high"))
    asked = [question for question in made.questions if "#" not in question.id]
    assert [question.id for question in asked] == ["high12.txt-1", "high12.txt-2", "high7.txt-1"]
    assert [question.gold for question in asked] == ["C", "A", "B"]
    assert asked[0].contexts == asked[1].contexts == (FERRY,)
    assert asked[0].labels == ("A", "B", "C", "D")


def test_no_option_does_not_apply_and_empty_options_are_told(data: Path) -> None:
    made = task_run(data, Case("test", "en", "high"))
    assert {id_.partition("#")[2] for id_ in made.ids} == {
        "", "perturbed-incorrect-option", "no-question", "no-context",
    }  # fmt: skip
    assert "test high: 1 of 3 questions have an option without text, kept as released" in made.notes


def test_tf_idf_reads_the_article(data: Path) -> None:
    picks = task_run(data, Case("test", "en", "high")).programs()["tf-idf"]
    assert picks["high12.txt-2"] == "A"
    assert picks["high7.txt-1"] == "B"


def test_contexts_are_the_distinct_articles_of_the_whole_folder(data: Path) -> None:
    assert isinstance(CONTEXTS, RetrievalTask)
    made = CONTEXTS.collection(data, Case("test", "en", "high"))
    # The baker's article stands at both levels and has the id of the case that comes first.
    assert dict(made.passages) == {
        "middle1.txt": "A text of its own.", "middle7.txt": BAKER, "high12.txt": FERRY,
    }  # fmt: skip
    assert list(made.qrels) == [
        ("high12.txt-1-C", "high12.txt", 1), ("high12.txt-2-A", "high12.txt", 1), ("high7.txt-1-B", "middle7.txt", 1),
    ]  # fmt: skip
    assert len(made.queries) == 12
    assert made.queries[0].query == "When does the ferry leave in winter? At eight."
    # An empty option leaves the question alone.
    assert made.queries[-1].query == "Who rises early?"


def test_a_folder_without_articles_says_what_is_expected_and_where_it_is_released(tmp_path: Path) -> None:
    (tmp_path / "test" / "high").mkdir(parents=True)
    for task in (EXPECTATIONS, CONTEXTS):
        with pytest.raises(MissingDataError, match=re.escape("{train,dev,test}/{middle,high}/*.txt")) as caught:
            task.cases(tmp_path)
        assert Race.source in str(caught.value)


def test_two_articles_of_one_id_are_refused(data: Path) -> None:
    write_article(data / "test" / "high" / "8.txt", "high7.txt", "Another.", [("Q?", ["a", "b"], "A")])
    with pytest.raises(InputError, match=r"8\.txt:1: id 'high7\.txt' is that of 7\.txt too; expected it once"):
        task_run(data, Case("test", "en", "high"))


def test_articles_without_questions_are_no_case_to_measure(tmp_path: Path) -> None:
    write_article(tmp_path / "test" / "high" / "1.txt", "high1.txt", "Alone.", [])
    with pytest.raises(MissingDataError, match="no article of test high has a question"):
        task_run(tmp_path, Case("test", "en", "high"))


GOOD: dict[str, Any] = {"id": "x", "article": "t", "questions": ["q"], "options": [["a", "b"]], "answers": ["A"]}


BAD: list[tuple[Any, str]] = [
    ("{", ":1: is not JSON (Expecting property name enclosed in double quotes, column 2); expected one object"),
    ({**GOOD, "id": "a b"}, ":1: id 'a b' holds white space"),
    ({key: value for key, value in GOOD.items() if key != "article"}, ":1: has no 'article'; it has 'id'"),
    ({**GOOD, "answers": []}, ":1: has 1 question, 1 list of options, 0 answers; expected as many of each"),
    ({**GOOD, "answers": ["E"]}, ":1: question 1 has the answer 'E'; expected one of A, B"),
    ({**GOOD, "answers": [None]}, ":1: answer 1 is absent or null; expected a string"),
    ({**GOOD, "options": ["ab"]}, ":1: options is a string; expected a list"),
    ({**GOOD, "options": [["a"]]}, ":1: question 1 has 1 option; expected two or more"),
    ({**GOOD, "options": [["a"] * 11]}, ":1: question 1 has 11 options; expected at most 10"),
    ({**GOOD, "options": [["a", 2]]}, ":1: an option of question 1 is the number '2'; expected a string"),
    ({**GOOD, "questions": "q"}, ":1: questions is a string; expected a list"),
    (b"\xff\xfe{", ":1: begins with a UTF-16 byte-order mark"),
    (b'{"id": "\xff"}', ": byte 9 is not UTF-8; convert to UTF-8"),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_article_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "1.txt"
    raw = (
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        read_article(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)
