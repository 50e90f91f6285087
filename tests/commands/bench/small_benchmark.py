"""A benchmark of two tasks that needs no files: capitals to name, and their sentences to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from quati_pool.llm.answer_prompts import AnswerForm, AnswerRequest
from quati_pool.qa_benchmarks.base import (
    AnswerTask,
    AnswerTaskRun,
    Benchmark,
    Case,
    Collection,
    RetrievalTask,
    Row,
    Topic,
)

CAPITALS = {"fr": ("France", "Paris"), "pe": ("Peru", "Lima"), "jp": ("Japan", "Tokyo"), "gh": ("Ghana", "Accra")}
CASES = [
    Case("validation", "en"),
    Case("validation", "en", "capitals-only"),
    Case("validation", "pt"),
    Case("test", "en"),
]


class CapitalsTaskRun(AnswerTaskRun):
    def __init__(self, case: Case) -> None:
        self.case = case
        self.ids: Sequence[str] = list(CAPITALS)
        self.notes = ("four questions",)

    def programs(self) -> Mapping[str, Mapping[str, Any]]:
        return {"paris": dict.fromkeys(self.ids, "Paris")}

    def request(self, question_id: str) -> AnswerRequest:
        question = f"What is the capital of {CAPITALS[question_id][0]}?"
        return AnswerRequest([{"role": "user", "content": question}], AnswerForm("text"))

    def prediction(self, question_id: str, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string; expected the capital's name")
        return value

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        right = sum(answer == CAPITALS[question_id][1] for question_id, answer in answers.items())
        unanswered = len(self.ids) - len(answers)
        return [Row(system, self.case, len(answers), {"accuracy": 100 * right / len(answers)}, unanswered=unanswered)]


class Capitals(AnswerTask):
    name = "capitals"
    summary = "name the capital"

    def settings(self) -> Mapping[str, str]:
        return {"capitals-only": "no more than the capital"}

    def cases(self, data: Path) -> list[Case]:
        return CASES

    def files(self, data: Path, case: Case) -> list[Path]:
        return [path for path in [data / f"{case.split}.txt"] if path.exists()]

    def task_run(self, data: Path, case: Case, seed: int) -> AnswerTaskRun:
        return CapitalsTaskRun(case)


class Sentences(RetrievalTask):
    name = "sentences"
    summary = "find the sentence about the capital"
    curve = True

    def cases(self, data: Path) -> list[Case]:
        return CASES

    def collection(self, data: Path, case: Case) -> Collection:
        passages = [(key, f"{capital} is the capital of {country}.") for key, (country, capital) in CAPITALS.items()]
        queries = [Topic(f"q-{key}", f"capital of {country}") for key, (country, _) in CAPITALS.items()]
        return Collection(passages, queries, [(f"q-{key}", key, 1) for key in CAPITALS], case.language)


class Small(Benchmark):
    name = "small"
    title = "Capitals"
    summary = "two tasks for tests"
    license = "none"
    citation = "none"
    source = "https://example.org/capitals"
    tasks: ClassVar = {task.name: task for task in (Capitals(), Sentences())}
