"""Aristo: ARC, OpenBookQA and Regents as one set."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.qa_benchmarks.aristo import Aristo
from quati_pool.qa_benchmarks.base import Case, MissingDataError
from quati_pool.qa_benchmarks.expectations import Expectations
from tests.qa_benchmarks.small_questions import question, write_jsonl

TASK = Aristo.tasks["expectations"]
assert isinstance(TASK, Expectations)


def one(id_: str) -> dict[str, object]:
    return question(id_, f"asks {id_}", ["a", "b", "c"], "B")


def write(folder: Path, split: str = "Train", *, arc: str = "arc", book: str = "openbookqa") -> None:
    write_jsonl(folder / arc / "ARC-Easy" / f"ARC-Easy-{split}.jsonl", [one("easy-1"), one("easy-2")])
    write_jsonl(folder / arc / "ARC-Challenge" / f"ARC-Challenge-{split}.jsonl", [one("hard-1")])
    write_jsonl(folder / book / "Data" / "Main" / f"{split.lower()}.jsonl", [one("book-1")])


def test_the_sets_are_one_case_per_split(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "Dev")
    assert TASK.cases(tmp_path) == [Case("train", "en"), Case("validation", "en")]
    questions = TASK.questions(tmp_path, Case("train", "en"), 0)
    assert [asked.id for asked in questions] == ["easy-1", "easy-2", "hard-1", "book-1"]
    read = [path.relative_to(tmp_path).as_posix() for path in TASK.files(tmp_path, Case("train", "en"))]
    assert read == [
        "arc/ARC-Easy/ARC-Easy-Train.jsonl", "arc/ARC-Challenge/ARC-Challenge-Train.jsonl",
        "openbookqa/Data/Main/train.jsonl",
    ]  # fmt: skip


def test_they_may_all_be_in_the_folder_itself(tmp_path: Path) -> None:
    write(tmp_path, arc=".", book=".")
    assert len(TASK.questions(tmp_path, Case("train", "en"), 0)) == 4


def test_regents_are_read_where_they_are_without_those_of_any_split_of_arc(tmp_path: Path) -> None:
    write(tmp_path)
    write_jsonl(tmp_path / "arc" / "ARC-Easy" / "ARC-Easy-Test.jsonl", [one("easy-3")])
    regents = [one("regents-1"), one("easy-1"), one("regents-2"), one("easy-3")]
    write_jsonl(tmp_path / "regents" / "train.jsonl", regents)
    ids = [asked.id for asked in TASK.questions(tmp_path, Case("train", "en"), 0)]
    assert ids == ["easy-1", "easy-2", "hard-1", "book-1", "regents-1", "regents-2"]
    notes = TASK.task_run(tmp_path, Case("train", "en"), 0).notes
    assert "train: 2 of ARC easy, 1 of ARC challenge, 1 of OpenBookQA, 2 of Regents" in notes
    assert "train: 2 questions of Regents left out, as another set has them too" in notes


def test_without_regents_a_note_says_so(tmp_path: Path) -> None:
    write(tmp_path)
    notes = TASK.task_run(tmp_path, Case("train", "en"), 0).notes
    assert "train: 2 of ARC easy, 1 of ARC challenge, 1 of OpenBookQA, no Regents" in notes


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "openbookqa" / "Data" / "Main" / "train.jsonl").unlink()
    with pytest.raises(MissingDataError, match="lacks OpenBookQA; put the files of ARC"):
        TASK.cases(tmp_path)
    write(tmp_path / "other", "Dev")
    write_jsonl(tmp_path / "openbookqa" / "test.jsonl", [one("book-9")])
    with pytest.raises(MissingDataError, match="lacks a split that ARC easy, ARC challenge and OpenBookQA all have"):
        TASK.cases(tmp_path)
