"""Pirá's tasks with free-text answers: without a text (cgqa) and over the question's own text (mrc).

Answers are compared with the original answer in the file, in the question's language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from quati_pool.llm.answer_prompts import (
    AnswerForm,
    AnswerPrompt,
    AnswerRequest,
    labelled_lines,
    load_answer_prompt,
)
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.qa_benchmarks.base import AnswerTask, AnswerTaskRun, Case, Row
from quati_pool.qa_benchmarks.pira.files import ANSWER, released
from quati_pool.qa_benchmarks.pira.routes import Route, case_rows, cases_of, route_of
from quati_pool.text.token_overlap import exact_match, token_f1, tokens

ENGLISH_TEXT = "english-text"


class WordsQuestion(NamedTuple):
    """A question with a free-text answer, from ``texts`` where there are any; ``expected`` is the right answer and
    ``human`` that of a second person, empty where there is none."""

    question_id: str
    question: str
    expected: str
    texts: tuple[str, ...] = ()
    human: str = ""


class WordsTaskRun(AnswerTaskRun):
    """Questions with free-text answers, measured by token F1 and exact match, in percent.

    A question whose expected answer has no words cannot be measured: it is left out and counted in a note.
    """

    def __init__(
        self,
        case: Case,
        questions: Sequence[WordsQuestion],
        notes: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.case = case
        self._questions = {one.question_id: one for one in questions if tokens(one.expected)}
        self.ids = list(self._questions)
        self._reads = any(one.texts for one in questions)
        self.dropped = {one.question_id for one in questions} - set(self.ids)
        self.notes = [*notes, *_dropped_note(case, len(self.dropped), len(questions))]
        self._extra = extra or {}

    @cached_property
    def _prompt(self) -> AnswerPrompt:
        return load_answer_prompt(f"answer-{self.case.language}")

    @property
    def expected(self) -> Mapping[str, str]:
        """The right answer to each question, by its id."""
        return {question_id: one.expected for question_id, one in self._questions.items()}

    def programs(self) -> Mapping[str, Mapping[str, str]]:
        human = {question_id: one.human for question_id, one in self._questions.items() if one.human}
        return {"human": human} if human else {}

    def request(self, question_id: str) -> AnswerRequest:
        one = self._questions[question_id]
        return self._prompt.request({"question": one.question, "text": _shown(one.texts)}, AnswerForm(kind="text"))

    def prediction(self, question_id: str, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"its answer is {_kind(value)}; expected a string")
        return value

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question with its texts as one, in their order: an empty one where it has none and others have some,
        no context where none has."""
        one = self._questions[question_id]
        return ReaderQuestion(one.question, (" ".join(one.texts),) if self._reads else ())

    def from_reader(self, question_id: str, answer: ReaderAnswer) -> str:
        if answer.text is None:
            raise ValueError("does not answer in words, which this task is about")
        return answer.text

    def rows(self, system: str, answers: Mapping[str, str]) -> list[Row]:
        pairs = [(answers[name], one.expected) for name, one in self._questions.items() if name in answers]
        totals = {
            "F1": fsum(token_f1(answer, expected) for answer, expected in pairs),
            "EM": 100.0 * sum(exact_match(answer, expected) for answer, expected in pairs),
        }
        every, unanswered = len(self.ids), len(self.ids) - len(pairs)
        bounds = {
            name: (total / every, (total + 100.0 * unanswered) / every) for name, total in totals.items() if unanswered
        }
        measures = {name: total / len(pairs) if pairs else None for name, total in totals.items()}
        undefined = {} if pairs else dict.fromkeys(totals, "no question has an answer")
        return [Row(system, self.case, len(pairs), measures, undefined, unanswered, bounds, extra=self._extra)]


def _dropped_note(case: Case, dropped: int, total: int) -> list[str]:
    if not dropped:
        return []
    which = " ".join(filter(None, case))
    return [f"{which}: {dropped:,} of {total:,} questions have no expected answer in the file and are left out"]


def _shown(texts: Sequence[str]) -> str:
    """The texts as a model is shown them: a single one unchanged, several numbered."""
    return texts[0] if len(texts) == 1 else labelled_lines(texts)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), type(value).__name__)


class _Answering(AnswerTask):
    """The base of both tasks, which differ in the texts to read and in whether there are human answers."""

    routes: ClassVar[tuple[Route, ...]]
    has_human: ClassVar[bool] = False

    def cases(self, data: Path) -> list[Case]:
        return cases_of(data, self.routes, [(ANSWER[route.language],) for route in self.routes])

    def files(self, data: Path, case: Case) -> list[Path]:
        return [released(data, f"{case.split}.csv")]

    def task_run(self, data: Path, case: Case, seed: int) -> WordsTaskRun:
        """The split's questions, except those that are empty or, where texts are read, have no text."""
        route = route_of(self.routes, case)
        language = route.language
        rows, notes = case_rows(data, case, route, ANSWER[language])
        return WordsTaskRun(
            case,
            [
                WordsQuestion(
                    row.query_id,
                    route.question(row),
                    row.answer[language],
                    () if route.text is None else (row.text[route.text],),
                    row.validated[language] if self.has_human else "",
                )
                for row in rows
            ],
            notes,
        )


class ClosedAnswering(_Answering):
    """Closed generative QA: the question alone."""

    name = "cgqa"
    summary = "answers in words, without a text; token F1 and exact match"
    routes = (Route("en", "", None), Route("pt", "", None))


class MachineReading(_Answering):
    """Machine reading: the question with its own text; in Portuguese also over the English text (Table 10).

    ``human`` are the answers of the people who validated the questions.
    """

    name = "mrc"
    summary = "answers in words, over the question's own text; token F1 and exact match"
    routes = (Route("en", "", "en"), Route("pt", "", "pt"), Route("pt", ENGLISH_TEXT, "en"))
    has_human = True

    def settings(self) -> Mapping[str, str]:
        """The setting of Table 10."""
        return {ENGLISH_TEXT: "the Portuguese question over the English text"}
