"""ARC's files: easy and challenge sets, labels of letters and of digits."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.qa_benchmarks.arc import Arc
from quati_pool.qa_benchmarks.base import AnswerTask, AnswerTaskRun, Case, MissingDataError
from tests.qa_benchmarks.small_questions import question, write_jsonl

EXPECTATIONS = Arc.tasks["expectations"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    digits = question("TIMSS_2003_8", "What melts ice?", ["heat", "cold", "salt", "dark"], "1", labels="1234")
    three = question("Mercury_7", "Which one flies?", ["a kite", "a stone", "a well"], "A")
    five = question("NYSED_9", "Which one swims?", ["a cat", "a fish", "a hen", "a bee", "an ox"], "B")
    write_jsonl(tmp_path / "ARC-Easy" / "ARC-Easy-Test.jsonl", [three, digits])
    write_jsonl(tmp_path / "ARC-Challenge" / "ARC-Challenge-Test.jsonl", [five])
    write_jsonl(tmp_path / "ARC-Challenge" / "ARC-Challenge-Dev.jsonl", [five])
    return tmp_path


def task_run(data: Path, case: Case) -> AnswerTaskRun:
    assert isinstance(EXPECTATIONS, AnswerTask)
    return EXPECTATIONS.task_run(data, case, 0)


def test_the_two_sets_are_settings_and_dev_is_validation(data: Path) -> None:
    assert EXPECTATIONS.cases(data) == [
        Case("validation", "en", "challenge"), Case("test", "en", "easy"), Case("test", "en", "challenge"),
    ]  # fmt: skip


@pytest.mark.parametrize("root", ["ARC-V1-Feb2018-2", "ARC-V1-Feb2018"])
def test_the_archives_own_folder_is_found(data: Path, tmp_path: Path, root: str) -> None:
    (data / root).mkdir()
    for folder in ("ARC-Easy", "ARC-Challenge"):
        (data / folder).rename(data / root / folder)
    assert EXPECTATIONS.cases(tmp_path) == EXPECTATIONS.cases(tmp_path / root)
    assert EXPECTATIONS.cases(tmp_path / root / "ARC-Easy") == [Case("test", "en", "easy")]


def test_labels_are_those_of_the_file_letters_or_digits(data: Path) -> None:
    made = task_run(data, Case("test", "en", "easy"))
    assert made.request("TIMSS_2003_8").form.labels == ("1", "2", "3", "4")
    assert "1) heat\n2) cold" in made.request("TIMSS_2003_8").messages[-1]["content"]
    assert made.prediction("TIMSS_2003_8", "1") == "1"
    with pytest.raises(ValueError, match="expected one of 1, 2, 3, 4 in quotes"):
        made.prediction("TIMSS_2003_8", 1)
    with pytest.raises(ValueError, match="is 'A'; expected one of 1, 2, 3, 4"):
        made.prediction("TIMSS_2003_8", "A")


def test_chance_is_that_of_three_four_and_five_options(data: Path) -> None:
    for setting, chance in (("easy", 100 * (1 / 3 + 1 / 4) / 2), ("challenge", 20)):
        made = task_run(data, Case("test", "en", setting))
        first = made.rows("random", made.programs()["random"])[0]
        assert first.case == Case("test", "en", f"{setting}/original")
        assert first.measures["chance"] == pytest.approx(chance)


def test_right_answers_are_those_of_the_file(data: Path) -> None:
    made = task_run(data, Case("test", "en", "easy"))
    (row, *_) = made.rows("right", {"Mercury_7": "A", "TIMSS_2003_8": "1"})
    assert row.measures["accuracy"] == 100


def test_without_facts_there_is_no_task_contexts() -> None:
    assert list(Arc.tasks) == ["expectations"]


def test_a_folder_without_the_files_names_them_and_where_they_are_released(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        EXPECTATIONS.cases(tmp_path)
    told = f"no file of ARC (ARC-Easy/ARC-Easy-Train.jsonl or 5 others); get them from {Arc.source} "
    assert told in str(caught.value)


def test_a_split_that_is_not_there_is_named(data: Path) -> None:
    with pytest.raises(MissingDataError, match=r"has no ARC-Easy/ARC-Easy-Train\.jsonl; get it from https"):
        task_run(data, Case("train", "en", "easy"))
