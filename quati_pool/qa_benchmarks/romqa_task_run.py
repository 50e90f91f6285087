"""A run of RoMQA's tasks: the request for each question, with its examples, and the measures of answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from quati_pool.errors import ConfigError
from quati_pool.llm.answer_prompts import (
    AnswerForm,
    AnswerPrompt,
    AnswerRequest,
    labelled_lines,
    load_answer_prompt,
)
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.qa_benchmarks.answer_sets import Key, distinct, set_row
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case, Row
from quati_pool.qa_benchmarks.romqa_files import Candidate, Question
from quati_pool.text.fencing import shortened

FEW_SHOT = "few-shot"
EXAMPLES = 3
"""The number of examples before a question in the few-shot setting."""

LONGEST_DESCRIPTION, LONGEST_TEXT = 300, 1000
"""The maximum numbers of characters that a model is shown: of a candidate's description; of all of a candidate's
evidence, or of a retrieved text."""
_EASY = 30
"""Examples with at most this many candidates or answers are preferred."""
_LEFT_OUT = (
    "the means of F1, precision and recall leave them out, accuracy and cluster minima keep them, "
    "as in the released script"
)
_ONCE = "they count once, as right where one of them is"
_EXACT = "answers match by the exact name, as in the released script; aliases are not accepted"
_PERCENT = "figures are in percent; the released script gives shares from 0 to 1"


@dataclass(frozen=True)
class CandidateForm(AnswerForm):
    """The form of an answer that lists candidates by number; it is read as their distinct names."""

    names: tuple[str, ...] = ()

    def read(self, answer_text: str) -> tuple[str, ...]:
        by_number = dict(zip(self.labels, self.names, strict=True))
        return tuple(dict.fromkeys(by_number[number] for number in super().read(answer_text)))


@dataclass(frozen=True)
class QuestionView:
    """The parts of a question that a model is shown: candidates (with or without evidence), retrieved texts, or no
    more than the question."""

    candidates: bool
    evidence: bool = False
    retrieved: bool = False

    @property
    def prompt(self) -> AnswerPrompt:
        return load_answer_prompt("set-closed-en" if self.candidates else "set-open-en")

    def fields(self, question: Question) -> dict[str, str]:
        fields = {"question": question.question}
        if self.candidates:
            fields["candidates"] = labelled_lines([self._candidate(candidate) for candidate in question.candidates])
        elif self.retrieved:
            fields["text"] = labelled_lines([shortened(text, LONGEST_TEXT) for text in question.retrieved])
        return fields

    def _candidate(self, candidate: Candidate) -> str:
        """Name, description and evidence on one line; a name is never cut, as it is the answer."""
        parts = [candidate.text, shortened(candidate.description, LONGEST_DESCRIPTION)]
        if self.evidence:
            parts.append(shortened(" | ".join(candidate.evidence), LONGEST_TEXT))
        return " — ".join(part for part in parts if part)

    def evidence_texts(self, question: Question) -> tuple[str, ...]:
        """Each candidate's evidence as one text; empty where the view has none, or no candidate has any."""
        texts = tuple(" ".join(candidate.evidence) for candidate in question.candidates) if self.evidence else ()
        return texts if any(text.strip() for text in texts) else ()

    def form(self, question: Question) -> AnswerForm:
        if not self.candidates or not question.candidates:
            return AnswerForm("texts")
        numbers = tuple(str(number) for number in range(1, len(question.candidates) + 1))
        return CandidateForm("choices", numbers, tuple(candidate.text for candidate in question.candidates))

    def answer(self, question: Question) -> list[str]:
        """The right answer as a model would write it."""
        if not self.candidates:
            return list(question.complete)
        return [str(number) for number, candidate in enumerate(question.candidates, 1) if candidate.is_answer]

    def size(self, question: Question) -> int:
        return len(question.candidates if self.candidates else question.complete)

    def cut(self, questions: Iterable[Question]) -> int:
        """The number of descriptions, evidences and retrieved texts that are shortened for a model."""
        return sum(
            len(" ".join(text.split())) > most for question in questions for text, most in self._limited(question)
        )

    def _limited(self, question: Question) -> Iterator[tuple[str, int]]:
        if self.retrieved:
            yield from ((text, LONGEST_TEXT) for text in question.retrieved)
        for candidate in question.candidates if self.candidates else ():
            yield candidate.description, LONGEST_DESCRIPTION
            if self.evidence:
                yield " | ".join(candidate.evidence), LONGEST_TEXT


class AnswerSetTaskRun(AnswerTaskRun):
    """The questions of a file that have complete answers. An answer is a list of names, best first.

    ``dropped`` are the ids of its other questions, which are neither asked nor measured, but may be in predictions.
    """

    EMPTY: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        case: Case,
        questions: Sequence[Question],
        shown: QuestionView,
        first: Sequence[str],
        examples: Sequence[Question] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.case = case
        # Examples are only for prompts.
        self.for_readers = case.setting != FEW_SHOT
        self.questions = {question.id: question for question in questions if question.complete}
        self.dropped = frozenset(question.id for question in questions if not question.complete)
        self.ids = tuple(self.questions)
        self.keys = {
            question.id: Key(question.cluster_id, right_candidates(question), frozenset(question.complete))
            for question in self.questions.values()
        }
        self._shown, self._first, self._examples = shown, first, examples
        self.notes = (*self._notes(), *notes)

    def programs(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """``predict-all``: every candidate, in the order of the file. It reads neither examples nor texts, so it has
        a row only in the first setting."""
        if self.case.setting:
            return {}
        everything = {
            question.id: tuple(dict.fromkeys(candidate.text for candidate in question.candidates))
            for question in self.questions.values()
        }
        return {"predict-all": everything}

    def request(self, question_id: str) -> AnswerRequest:
        """The request for a question; raises ConfigError in the few-shot setting where there is no example."""
        if self.case.setting == FEW_SHOT and not self._examples:
            message = "the training file has no question to show as an example that is not asked itself"
            raise ConfigError(f"{message}; take the file away, or put the released one there")
        question = self.questions[question_id]
        return self._prompt.request(self._shown.fields(question), self._shown.form(question), self._turns)

    def prediction(self, question_id: str, value: Any) -> tuple[str, ...]:
        """The distinct names of a list. Raises ValueError for anything else."""
        return distinct(value)

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question with its candidates as options and, where the task gives it, each one's evidence as its context;
        nothing is shortened here. Raises ConfigError for a task without candidates."""
        if not self._shown.candidates:
            raise ConfigError("readers choose among candidates, which this task does not give; drop --reader")
        question = self.questions[question_id]
        return ReaderQuestion(
            question.question, self._shown.evidence_texts(question), tuple(one.text for one in question.candidates)
        )

    def from_reader(self, question_id: str, answer: ReaderAnswer) -> tuple[str, ...]:
        """The distinct names of the chosen candidates, the one with the highest score first."""
        if answer.chosen is None:
            raise ValueError("does not decide of each candidate; train one with  train reader --task closed  or gold")
        candidates = self.questions[question_id].candidates
        best_first = sorted(answer.chosen, key=lambda place: -answer.scores[place] if answer.scores else 0.0)
        return tuple(dict.fromkeys(candidates[place].text for place in best_first))

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """One row with all measures over the questions that are answered."""
        return [
            set_row(system, self.case, self.keys, {key: distinct(value) for key, value in answers.items()}, self._first)
        ]

    @cached_property
    def _prompt(self) -> AnswerPrompt:
        return self._shown.prompt

    @cached_property
    def _turns(self) -> list[tuple[dict[str, str], list[str]]]:
        return [(self._shown.fields(example), self._shown.answer(example)) for example in self._examples]

    def _notes(self) -> list[str]:
        split, total = self.case.split, len(self.ids)
        sizes: dict[str, int] = {}
        for key in self.keys.values():
            sizes[key.cluster_id] = sizes.get(key.cluster_id, 0) + 1
        alone = sum(size == 1 for size in sizes.values())
        empty = sum(key.candidates <= {""} for key in self.keys.values())
        twice = sum(
            len({candidate.text for candidate in question.candidates}) < len(question.candidates)
            for question in self.questions.values()
        )
        everything = total + len(self.dropped)
        facts = [
            (len(self.dropped), f"of {everything:,} questions have no complete answer and are left out"),
            (alone, f"of {len(sizes):,} clusters have one question, whose figures are the cluster's minimum"),
            (empty, f"of {total:,} questions have no right candidate: {_LEFT_OUT}"),
            (twice, f"of {total:,} questions have several candidates of one name: {_ONCE}"),
        ]
        return [f"{split}: {count:,} {note}" for count, note in facts if count] + [_EXACT, _PERCENT]


def right_candidates(question: Question) -> frozenset[str]:
    return frozenset(candidate.text for candidate in question.candidates if candidate.is_answer)


def drawn(questions: Iterable[Question], asked: Sequence[Question], shown: QuestionView, seed: int) -> list[Question]:
    """Draws at most EXAMPLES questions to show as examples, by seed and id alone: they have an answer to show and are
    not among those asked; short ones are preferred."""
    ids, texts = {question.id for question in asked}, {question.question for question in asked}
    usable = [
        question
        for question in questions
        if question.complete and shown.answer(question) and question.id not in ids and question.question not in texts
    ]
    usable.sort(key=lambda question: (max(_EASY, shown.size(question)), _hash(seed, question.id)))
    return usable[:EXAMPLES]


def _hash(*parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()
