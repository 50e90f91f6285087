"""What readers are asked by tasks with answers in words, yes or no, and sets, and how their answers are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.errors import ConfigError
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.answering import ClosedAnswering, MachineReading
from quati_pool.qa_benchmarks.pira.retrieval import PassageRetrieval
from quati_pool.qa_benchmarks.pira.triggering import AnswerTriggering
from quati_pool.qa_benchmarks.romqa import ClosedTask, GoldTask, OpenTask
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.qa_benchmarks.test_romqa import QUESTIONS, candidate, question, released

ENGLISH = Case("validation", "en")


@pytest.fixture
def pira(tmp_path: Path) -> Path:
    write_split(tmp_path, "validation", [row("A1", "The sea."), row("A2", at_labels="0.0", question_meaningful="1.0")])
    return tmp_path


def test_words_are_asked_with_the_text_or_without(pira: Path) -> None:
    reading = MachineReading().task_run(pira, ENGLISH, 0)
    assert reading.reader_question("A1") == ReaderQuestion("What of A1?", ("The sea.",))
    assert ClosedAnswering().task_run(pira, ENGLISH, 0).reader_question("A1") == ReaderQuestion("What of A1?")
    assert reading.expected == {"A1": "the tide", "A2": "the tide"}
    crossed = MachineReading().task_run(pira, Case("validation", "pt", "english-text"), 0)
    assert crossed.reader_question("A1") == ReaderQuestion("O que de A1?", ("The sea.",))


def test_passages_are_read_as_one_text_and_without_any_it_is_empty(pira: Path) -> None:
    run = PassageRetrieval().reading(pira, ENGLISH, 2, {"A1": ["a", "b", "c"]})
    assert run.reader_question("A1").contexts == ("a b",)
    assert run.reader_question("A2").contexts == ("",)


def test_answers_in_words_are_measured_and_others_refused(pira: Path) -> None:
    run = MachineReading().task_run(pira, ENGLISH, 0)
    assert run.from_reader("A1", ReaderAnswer(text="tide")) == "tide"
    with pytest.raises(ValueError, match="does not answer in words"):
        run.from_reader("A1", ReaderAnswer(option=1))


def test_triggering_is_yes_or_no_in_both_languages(pira: Path) -> None:
    for language in ("en", "pt"):
        run = AnswerTriggering().task_run(pira, Case("validation", language), 0)
        assert len(run.reader_question("A1").contexts) == 1
        answers = {"A1": run.from_reader("A1", ReaderAnswer(answerable=True))}
        answers["A2"] = run.from_reader("A2", ReaderAnswer(answerable=False))
        assert run.rows("mine", answers)[0].measures == {"F1": 100, "accuracy": 100}
    with pytest.raises(ValueError, match="does not say whether a text answers a question"):
        run.from_reader("A1", ReaderAnswer(text="yes"))


def test_candidates_are_options_and_their_evidence_whole_contexts(tmp_path: Path) -> None:
    long = question(9, 10, [candidate("Ibis", True, "x" * 2000, "y"), candidate("Carp", False)], ["Ibis"])
    released(tmp_path, "gold", "dev.json", [*QUESTIONS, long])
    released(tmp_path, "closed", "dev.json", QUESTIONS)
    gold = GoldTask().task_run(tmp_path, ENGLISH, 0)
    assert gold.reader_question("1") == ReaderQuestion(
        "Which birds of 1?",
        (
            "The jabiru is a stork. It nests high.",
            "The toco has a large bill.",
            "It nests high. The piranha is a fish.",
        ),
        ("Jabiru", "Toco toucan", "Piranha"),
    )
    # A model that is asked by a prompt sees 1,000 characters; a reader shortens by its own tokens.
    assert gold.reader_question("9").contexts == ("x" * 2000 + " y", "")
    closed = ClosedTask().task_run(tmp_path, ENGLISH, 0)
    assert closed.reader_question("1").contexts == ()


def test_chosen_candidates_are_names_with_the_highest_score_first(tmp_path: Path) -> None:
    released(tmp_path, "gold", "dev.json", QUESTIONS)
    run = GoldTask().task_run(tmp_path, ENGLISH, 0)
    answer = ReaderAnswer(chosen=(0, 2), scores=(0.5, -1.0, 2.0))
    assert run.from_reader("1", answer) == ("Piranha", "Jabiru")
    assert run.from_reader("1", ReaderAnswer(chosen=())) == ()
    with pytest.raises(ValueError, match="does not decide of each candidate"):
        run.from_reader("1", ReaderAnswer(text="Jabiru"))


def test_examples_for_prompts_give_readers_no_row_of_their_own(tmp_path: Path) -> None:
    released(tmp_path, "closed", "dev.json", QUESTIONS)
    released(tmp_path, "closed", "train.json", [{**QUESTIONS[0], "id": "t"}])
    asked = [ClosedTask().task_run(tmp_path, case, 0) for case in ClosedTask().cases(tmp_path)]
    assert {(run.case.split, run.case.setting): run.for_readers for run in asked} == {
        ("train", ""): True,
        ("validation", ""): True,
        ("validation", "few-shot"): False,
    }


def test_a_task_without_candidates_has_no_question_for_readers(tmp_path: Path) -> None:
    released(tmp_path, "open", "dev.json", QUESTIONS)
    with pytest.raises(ConfigError, match="this task does not give; drop --reader"):
        OpenTask().task_run(tmp_path, ENGLISH, 0).reader_question("1")
