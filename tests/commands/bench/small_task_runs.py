"""Exams that need no files, whose questions steer the answers of the tests' server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quati_pool.llm.answer_prompts import AnswerForm, AnswerRequest, labelled_lines, load_answer_prompt
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

    def request(self, question_id: str) -> AnswerRequest:
        fields = {"question": self.questions[question_id], "options": labelled_lines(["x", "y", "z"], LABELS)}
        return load_answer_prompt("choose-en").request(fields, AnswerForm("choice", LABELS))

    def prediction(self, question_id: str, value: Any) -> Any:
        return value

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        return []


class Sets(Choices):
    def request(self, question_id: str) -> AnswerRequest:
        return load_answer_prompt("set-open-en").request({"question": self.questions[question_id]}, AnswerForm("texts"))


def many(count: int) -> Choices:
    return Choices({f"q{number}": f"question {number}?" for number in range(count)})
