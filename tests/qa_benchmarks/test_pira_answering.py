from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import ConfigError, InputError
from quati_pool.qa_benchmarks.base import Case, MissingDataError
from quati_pool.qa_benchmarks.pira.answering import ClosedAnswering, MachineReading, WordsQuestion, WordsTaskRun
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.shared_data import shared

EN, PT = Case("test", "en"), Case("test", "pt")
ENGLISH_TEXT = Case("test", "pt", "english-text")


def task_run(*expected: str) -> WordsTaskRun:
    return WordsTaskRun(EN, [WordsQuestion(f"q{number}", "Why?", one) for number, one in enumerate(expected, 1)])


@pytest.mark.parametrize(
    # F1: the figures; EM: 29 and 18 of 215 pairs are equal, counted apart from this code.
    ("language", "setting", "f1", "em"),
    [
        ("en", "", 56.76, 100 * 29 / 215),
        ("pt", "", 51.78, 100 * 18 / 215),
        ("pt", "english-text", 51.78, 100 * 18 / 215),
    ],
    ids=["en", "pt", "english-text"],
)
def test_people_agree_on_the_validation_file_as_the_paper_s_measure_has_it(
    language: str, setting: str, f1: float, em: float
) -> None:
    data = shared("pira/validation.csv").parent
    task_run = MachineReading().task_run(data, Case("validation", language, setting), 0)
    programs = task_run.programs()
    assert list(programs) == ["human"]
    (found,) = task_run.rows("human", programs["human"])
    assert (found.n, found.unanswered, len(task_run.ids), task_run.notes) == (215, 10, 225, [])
    assert round(found.measures["F1"] or 0, 2) == f1
    assert found.measures["EM"] == pytest.approx(em)
    # With the other ten all wrong, and all right.
    exact = found.measures["F1"]
    assert exact is not None
    assert found.bounds["F1"] == pytest.approx((exact * 215 / 225, (exact * 215 + 1000) / 225))


def test_the_cases_are_those_whose_columns_the_files_have(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1")])
    write_split(tmp_path / "Data", "train", [row("A2")], without=("abstract_translated_pt",))
    assert MachineReading().cases(tmp_path) == [
        Case("train", "en"), Case("train", "pt", "english-text"), EN, PT, ENGLISH_TEXT,
    ]  # fmt: skip
    assert ClosedAnswering().cases(tmp_path) == [Case("train", "en"), Case("train", "pt"), EN, PT]
    with pytest.raises(InputError, match=r"train\.csv:1: no column 'abstract_translated_pt'; .*C4AI/Pira"):
        MachineReading().task_run(tmp_path, Case("train", "pt"), 0)
    with pytest.raises(MissingDataError, match=r"no validation\.csv; .*C4AI/Pira"):
        MachineReading().task_run(tmp_path, Case("validation", "pt"), 0)
    with pytest.raises(ConfigError, match="no case 'pt other' of this task; there are: en; pt; pt english-text"):
        MachineReading().task_run(tmp_path, Case("test", "pt", "other"), 0)


def test_a_folder_whose_files_have_no_case_says_which_column_is_missing(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1")], without=("answer_en_origin", "answer_pt_origin"))
    with pytest.raises(InputError, match=r"test\.csv:1: no column 'answer_en_origin'; .*C4AI/Pira"):
        ClosedAnswering().cases(tmp_path)
    with pytest.raises(InputError, match=r"test\.csv:1: no column 'answer_pt_origin'; .*C4AI/Pira"):
        ClosedAnswering().task_run(tmp_path, PT, 0)


def test_a_model_is_asked_in_the_question_s_language_over_the_text_of_the_setting(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1", "Tides rise.")])

    def sent(task: MachineReading | ClosedAnswering, case: Case) -> tuple[str, str]:
        system, user = task.task_run(tmp_path, case, 0).request("A1").messages
        return system["content"], user["content"]

    english, over_english = sent(MachineReading(), EN)
    portuguese, over_portuguese = sent(MachineReading(), PT)
    assert english != portuguese
    assert "What of A1?" in over_english
    assert "\nTides rise.\n" in over_english
    assert "pt: " not in over_english
    assert "O que de A1?" in over_portuguese
    assert "pt: Tides rise." in over_portuguese
    system, mixed = sent(MachineReading(), ENGLISH_TEXT)
    assert system == portuguese
    assert "O que de A1?" in mixed
    assert "Tides rise." in mixed
    assert "pt: " not in mixed
    system, closed = sent(ClosedAnswering(), PT)
    assert "O que de A1?" in closed
    assert "Tides" not in closed
    assert MachineReading().task_run(tmp_path, EN, 0).request("A1").form.read('{"answer": " the moon "}') == "the moon"


def test_only_machine_reading_has_people_s_answers(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1"), row("A2", answer_en_validate="")])
    assert MachineReading().task_run(tmp_path, EN, 0).programs() == {"human": {"A1": "tide"}}
    assert ClosedAnswering().task_run(tmp_path, EN, 0).programs() == {}
    write_split(tmp_path, "test", [row("A1")], without=("answer_en_validate",))
    assert MachineReading().task_run(tmp_path, EN, 0).programs() == {}


def test_a_row_without_question_text_or_answer_is_left_out_and_counted(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1"), row("A2", abstract=" \t"), row("A3", answer_en_origin=" ")])
    reading = MachineReading().task_run(tmp_path, EN, 0)
    assert reading.ids == ["A1"]
    assert reading.notes == [
        "test en: 1 of 3 questions are left out, as their question or text is empty in test.csv",
        "test en: 1 of 2 questions have no expected answer in the file and are left out",
    ]
    closed = ClosedAnswering().task_run(tmp_path, EN, 0)
    assert closed.ids == ["A1", "A2"]
    assert closed.notes == ["test en: 1 of 3 questions have no expected answer in the file and are left out"]
    write_split(tmp_path, "test", [row("A1", question_en_origin="")])
    with pytest.raises(InputError, match=r"test\.csv: the question of every row is empty; .*C4AI/Pira"):
        ClosedAnswering().task_run(tmp_path, EN, 0)
    assert ClosedAnswering().task_run(tmp_path, PT, 0).ids == ["A1"]


def test_the_measures_are_over_the_answered_and_the_bounds_over_all() -> None:
    # q1 shares one token of one and two, 2/3; q2 is equal; q3 has no answer; q4 expects nothing that can be measured.
    found = task_run("the tide", "moon", "sun", "?!")
    (row,) = found.rows("theirs", {"q1": "tide", "q2": "Moon.", "q9": "sun"})
    assert (row.system, row.case, row.n, row.unanswered) == ("theirs", EN, 2, 1)
    assert row.measures == pytest.approx({"F1": 100 * (2 / 3 + 1) / 2, "EM": 50})
    assert row.bounds["F1"] == pytest.approx((100 * (2 / 3 + 1) / 3, 100 * (2 / 3 + 2) / 3))
    assert row.bounds["EM"] == pytest.approx((100 / 3, 200 / 3))
    (full,) = found.rows("theirs", {"q1": "", "q2": "", "q3": WordsTaskRun.EMPTY})
    assert (full.measures, full.unanswered, full.bounds) == ({"F1": 0, "EM": 0}, 0, {})


def test_measures_of_no_answer_are_undefined_with_a_reason() -> None:
    (row,) = task_run("tide").rows("nobody", {})
    assert row.measures == {"F1": None, "EM": None}
    assert row.undefined == {"F1": "no question has an answer", "EM": "no question has an answer"}
    assert row.bounds == {"F1": (0, 100), "EM": (0, 100)}
    (empty,) = task_run("?").rows("nobody", {})
    assert (empty.n, empty.unanswered, empty.bounds, empty.measures["F1"]) == (0, 0, {}, None)


@pytest.mark.parametrize(
    ("value", "kind"), [(None, "null"), (True, "true or false"), (2.9, "a number"), (["tide"], "a list")], ids=str
)
def test_a_prediction_that_is_no_string_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(ValueError, match=f"its answer is {kind}; expected a string"):
        task_run("tide").prediction("q1", value)
    assert task_run("tide").prediction("q1", " tide") == " tide"
