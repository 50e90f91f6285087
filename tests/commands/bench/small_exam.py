"""Exams that need no files, whose questions steer the answers of the tests' server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quati_pool.qa_benchmarks.asking import Asked, Form, listed, load_answer_prompt
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case, Row

LABELS = ("A", "B", "C")


class Choices(AnswerTaskRun):
    """Questions of three options, by id the text of each."""

    def __init__(self, questions: Mapping[str, str], case: Case = Case("test", "en")) -> None:  # noqa: B008
        self.case = case
        self.questions = questions
        self.ids: Sequence[str] = list(questions)

    def programs(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def asked(self, question_id: str) -> Asked:
        fields = {"question": self.questions[question_id], "options": listed(["x", "y", "z"], LABELS)}
        return load_answer_prompt("choose-en").asked(fields, Form("choice", LABELS))

    def prediction(self, question_id: str, value: Any) -> Any:
        return value

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        return []


class Sets(Choices):
    def asked(self, question_id: str) -> Asked:
        return load_answer_prompt("set-open-en").asked({"question": self.questions[question_id]}, Form("texts"))


def many(count: int) -> Choices:
    return Choices({f"q{number}": f"question {number}?" for number in range(count)})
