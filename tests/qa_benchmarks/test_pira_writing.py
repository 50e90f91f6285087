"""Question sets in Pirá's columns: the released file is written as it was read, and any texts are read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.authoring.pira import at_label
from quati_pool.qa_benchmarks.pira.benchmark import Pira
from quati_pool.qa_benchmarks.pira.files import read_questions
from quati_pool.qa_benchmarks.pira.writing import TYPES, QuestionSet, filled_columns, written
from tests.qa_benchmarks.pira_rows import COLUMNS
from tests.shared_data import shared

_TYPE_NAMES = {shown: name for name, shown in TYPES.items()}


def _from_row(row: Mapping[str, str]) -> QuestionSet:
    """A released row as a set; the label of answer triggering is left to be derived."""

    def number(column: str) -> int | None:
        return int(float(row[column])) if row[column] else None

    def yes(column: str) -> bool | None:
        return None if not row[column] else row[column] == "1.0"

    return QuestionSet(
        question_id=row["id_qa"],
        corpus=row["corpus"],
        question={"en": row["question_en_origin"], "pt": row["question_pt_origin"]},
        paraphrase={"en": row["question_en_paraphase"], "pt": row["question_pt_paraphase"]},
        answer={"en": row["answer_en_origin"], "pt": row["answer_pt_origin"]},
        validated={"en": row["answer_en_validate"], "pt": row["answer_pt_validate"]},
        text={"en": row["abstract"], "pt": row["abstract_translated_pt"]},
        source=row["eid_article_scopus"],
        generic=yes("question_generic"),
        in_text=yes("answer_in_text"),
        hard=number("answer_difficulty"),
        meaningful=number("question_meaningful"),
        equivalent=number("answer_equivalent"),
        type=_TYPE_NAMES[row["question_type"]] if row["question_type"] else None,
        at_label=at_label(number("question_meaningful")),
        translated_question=row["pt_question_translated_to_en"],
    )


def _rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_the_released_file_is_written_as_it_was_read() -> None:
    path = shared("pira/validation.csv")
    with path.open(encoding="utf-8", newline="") as file:
        released = list(csv.DictReader(file))
    again = _rows(written([_from_row(row) for row in released]))
    assert again[0] == COLUMNS == list(released[0])
    assert len(again) == 226
    # Column by column, with the labels of answer triggering, which are derived, among them.
    for place, column in enumerate(COLUMNS):
        assert [row[place] for row in again[1:]] == [row[column] for row in released], column


def test_every_task_runs_on_what_is_written(tmp_path: Path) -> None:
    with shared("pira/validation.csv").open(encoding="utf-8", newline="") as file:
        (tmp_path / "validation.csv").write_bytes(written([_from_row(row) for row in csv.DictReader(file)]))
    theirs = shared("pira/validation.csv").parent
    for name in ("cgqa", "mrc", "at", "ir"):
        task = Pira.tasks[name]
        assert task.cases(tmp_path) == task.cases(theirs), name


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
_BOTH = st.fixed_dictionaries({"en": _TEXTS, "pt": _TEXTS})
_NUMBERED = st.fixed_dictionaries({"en": st.dictionaries(st.sampled_from([1, 2]), _TEXTS), "pt": st.just({})})
_GRADE = st.none() | st.integers(1, 5)
_SETS = st.lists(
    st.builds(
        QuestionSet,
        question_id=st.from_regex(r"[AB][1-9][0-9]{0,3}", fullmatch=True),
        corpus=st.sampled_from(["", "1", "2"]),
        question=_BOTH,
        paraphrase=_BOTH,
        answer=_BOTH,
        validated=_BOTH,
        text=_BOTH,
        generic=st.none() | st.booleans(),
        in_text=st.none() | st.booleans(),
        hard=_GRADE,
        meaningful=_GRADE,
        equivalent=_GRADE,
        type=st.none() | st.sampled_from(list(TYPES)),
        at_label=st.sampled_from([None, 0, 1]),
        translated_question=_TEXTS,
        automatic=_NUMBERED,
        automatic_answers=_NUMBERED,
        drafted_by=_TEXTS,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one.question_id,
)


@given(_SETS)
def test_any_set_is_read_back(tmp_path_factory: pytest.TempPathFactory, sets: list[QuestionSet]) -> None:
    path = tmp_path_factory.mktemp("split") / "train.csv"
    path.write_bytes(written(sets))
    read = read_questions(path)
    assert [one.query_id for one in read] == [one.question_id for one in sets]
    for was, found in zip(sets, read, strict=True):
        for kept, back in (
            (was.question, found.question),
            (was.paraphrase, found.paraphrase),
            (was.answer, found.answer),
            (was.validated, found.validated),
            (was.text, found.text),
        ):
            assert {language: text.strip() for language, text in kept.items()} == back
        assert found.translated_question == was.translated_question.strip()
        automatic = [was.automatic["en"].get(number, "").strip() for number in (1, 2)]
        assert found.automatic["en"] == tuple(filter(None, automatic))
        assert found.drafted_by == was.drafted_by.strip()
        assert found.meaningful == ("" if was.meaningful is None else f"{was.meaningful}.0")
        assert found.at_label == {None: "", 0: "0.0", 1: "1.0"}[was.at_label]


def test_a_column_without_a_value_is_left_out_of_all_splits() -> None:
    plain = QuestionSet(question_id="A1", question={"en": "Why?"}, answer={"en": "So."}, text={"en": "It is so."})
    other = QuestionSet(question_id="A2", question={"en": "How?"}, automatic={"en": {2: "In which way?"}})
    columns = filled_columns([plain, other])
    assert columns == ["id_qa", "question_en_origin", "answer_en_origin", "abstract", "question_AUT_EN_2"]
    assert _rows(written([plain], columns)) == [["", *columns], ["0", "A1", "Why?", "So.", "It is so.", ""]]
