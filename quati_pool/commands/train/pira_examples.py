"""Training examples for readers from Pirá's released files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoiceTaskRun
from quati_pool.qa_benchmarks.pira.answering import ClosedAnswering, MachineReading, WordsTaskRun
from quati_pool.qa_benchmarks.pira.files import released
from quati_pool.qa_benchmarks.pira.multiple import MultipleChoiceTask
from quati_pool.qa_benchmarks.pira.retrieval import PassageRetrieval
from quati_pool.qa_benchmarks.pira.triggering import YES, labelled
from quati_pool.training.readers.classifier import LabelledText
from quati_pool.training.readers.extractive import FoundAnswer
from quati_pool.training.readers.generative import WrittenAnswer

_TASKS: Mapping[str, ClosedAnswering | MachineReading] = {
    task.name: task for task in (ClosedAnswering(), MachineReading())
}


def words_run(task: str, data: Path, case: Case, seed: int) -> WordsTaskRun:
    """The questions of ``cgqa`` or ``mrc`` in a case."""
    return _TASKS[task].task_run(data, case, seed)


def reading_run(data: Path, case: Case, k: int, passages: Mapping[str, Sequence[str]]) -> WordsTaskRun:
    """The questions of ``oqa`` in a case, each with the texts of its best ``k`` passages (by query_id, best first)."""
    return PassageRetrieval().reading(data, case, k, passages)


def written_answers(run: WordsTaskRun) -> list[WrittenAnswer]:
    """The questions with their answers, to write."""
    expected = run.expected
    return [
        WrittenAnswer(question_id, run.reader_question(question_id), expected[question_id]) for question_id in run.ids
    ]


def found_answers(run: WordsTaskRun) -> list[FoundAnswer]:
    """The questions with their texts and answers, to mark; the text is empty where there is none."""
    found = []
    for question_id, answer in run.expected.items():
        question = run.reader_question(question_id)
        found.append(FoundAnswer(question_id, question.question, question.context_of(0), answer))
    return found


def choice_run(data: Path, case: Case, seed: int) -> MultipleChoiceTaskRun:
    """The questions of ``mcqa`` in a case."""
    return MultipleChoiceTask().task_run(data, case, seed)


def written_options(run: MultipleChoiceTaskRun) -> list[WrittenAnswer]:
    """The questions with their options, and the right one to write."""
    return [
        WrittenAnswer(one.id, run.reader_question(one.id), one.options[one.labels.index(one.gold)])
        for one in run.questions
        if one.gold is not None
    ]


def labelled_texts(data: Path, case: Case, paraphrases: bool) -> list[LabelledText]:
    """The labelled questions of ``at`` in a case with their texts; with ``paraphrases``, those of the case's setting
    follow each question as examples of their own, which training data may have and held-out data may not."""
    questions, _ = labelled(released(data, f"{case.split}.csv"), case)
    found = []
    for one in questions:
        asked = (one.question, *(one.paraphrases if paraphrases else ()))
        for number, question in enumerate(asked):
            example_id = one.query_id if not number else f"{one.query_id}#paraphrase-{number}"
            found.append(LabelledText(example_id, question, one.text, one.label == YES))
    return found
