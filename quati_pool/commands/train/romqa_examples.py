"""Training examples for readers from RoMQA's released files."""

from __future__ import annotations

from pathlib import Path

from quati_pool.errors import ConfigError
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.romqa import ClosedTask, GoldTask
from quati_pool.qa_benchmarks.romqa_task_run import AnswerSetTaskRun
from quati_pool.training.readers.candidates import CandidatesQuestion

_TASKS = {task.name: task for task in (ClosedTask(), GoldTask())}


def has_split(task: str, data: Path, split: str) -> bool:
    """Whether the folder has a split's file of ``closed`` or ``gold`` with answers."""
    return Case(split, "en") in _TASKS[task].cases(data)


def candidates_run(task: str, data: Path, split: str, seed: int) -> AnswerSetTaskRun:
    """The questions of a split, as a reader gets them; raises ConfigError where the folder has none with answers."""
    if not has_split(task, data, split):
        raise ConfigError(f"{data} has no {split} file of {task} with answers; copy it there")
    run = _TASKS[task].task_run(data, Case(split, "en"), seed)
    assert isinstance(run, AnswerSetTaskRun)
    return run


def candidate_questions(task: str, data: Path, split: str, seed: int) -> list[CandidatesQuestion]:
    """The questions of a split with their candidates, for ``gold`` with the candidates' evidence.

    Questions without a complete answer are left out, as in the benchmark.
    """
    run = candidates_run(task, data, split, seed)
    found = []
    for question_id, one in run.questions.items():
        question = run.reader_question(question_id)
        evidence = tuple(question.context_of(place) for place in range(len(question.options)))
        right = tuple(candidate.is_answer for candidate in one.candidates)
        found.append(
            CandidatesQuestion(question_id, one.cluster_id, question.question, question.options, evidence, right)
        )
    return found
