"""Multiple choice over Pirá: the released candidate sets, and sets built as the paper describes."""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from quati_pool.errors import InputError
from quati_pool.files.problems import quoted
from quati_pool.files.tables import Field, read_table
from quati_pool.qa_benchmarks.base import SPLITS, AnswerTask, Case, Row
from quati_pool.qa_benchmarks.expectations import Expectations, Loaded
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun
from quati_pool.qa_benchmarks.pira.candidates import AnsweredQuestion, CandidateSet, K, candidate_sets, plain
from quati_pool.qa_benchmarks.pira.files import (
    ANSWER,
    LANGUAGES,
    QUESTION,
    RELEASED,
    TEXT,
    find,
    has_columns,
    missing,
    read_questions,
    released,
    require_columns,
)

LABELS = tuple(string.ascii_uppercase[:K])
# The name of the last column: the first is that in the validation file, the second that in train and test.
LABEL_COLUMNS = ("alternative", "answer_alternative")

AS_RELEASED = "released"
BUILT = "built"
WITHOUT_TEXT = "-without-text"

RANKING = "candidate ranking"
"""The name that the row of rank statistics has in place of a system's."""

_COLUMNS = ("text", "question", *LABELS, "correct")
_SHOWN = 5


class MultipleChoiceTask(AnswerTask):
    """Which of five options answers the question (Pirozelli et al., Benchmarks for Pirá 2.0, 2024: multiple choice).

    Settings: the sets of MCQA-<split>.csv, which are English, and sets built from <split>.csv in either
    language; each with the supporting text, and without it (Table 19). ``tf-idf`` has the same term weights in both,
    those of the questions with their texts, as in ``expectations``.
    """

    name = "mcqa"
    summary = "chooses among five options, released or newly built, with the text and without; accuracy"

    def settings(self) -> Mapping[str, str]:
        """Released or newly built options, with or without the supporting text."""
        return {
            AS_RELEASED: "the released options, with the supporting text",
            AS_RELEASED + WITHOUT_TEXT: "the released options alone",
            BUILT: "newly built options, with the supporting text",
            BUILT + WITHOUT_TEXT: "newly built options, alone",
        }

    def cases(self, data: Path) -> list[Case]:
        """Split by split, the released sets first."""
        cases = []
        for split in SPLITS:
            if find(data, f"MCQA-{split}.csv") is not None:
                cases += _both(split, "en", AS_RELEASED)
            path = find(data, f"{split}.csv")
            for language in LANGUAGES if path is not None else ():
                if path is not None and has_columns(path, QUESTION[language], ANSWER[language], TEXT[language]):
                    cases += _both(split, language, BUILT)
        if not cases:
            for split in SPLITS:
                if path := find(data, f"{split}.csv"):
                    require_columns(path, QUESTION["en"], ANSWER["en"], TEXT["en"])
            raise missing(data, *(f"{start}{split}.csv" for start in ("MCQA-", "") for split in SPLITS))
        return cases

    def files(self, data: Path, case: Case) -> list[Path]:
        """The file of the sets, or the one they are built from and the released sets they are compared with."""
        if case.setting.startswith(AS_RELEASED):
            return [released(data, f"MCQA-{case.split}.csv")]
        theirs = _released_sets_path(data, case)
        return [released(data, f"{case.split}.csv"), *([] if theirs is None else [theirs])]

    def questions(self, data: Path, case: Case, seed: int) -> Sequence[MultipleChoice]:
        """The questions of ``task_run``."""
        return self.task_run(data, case, seed).questions

    def task_run(self, data: Path, case: Case, seed: int) -> MultipleChoiceTaskRun:
        """The questions of a case; raises InputError, with the line, for a row that is not a question with options."""
        if case.setting.startswith(AS_RELEASED):
            questions, notes = read_sets(released(data, f"MCQA-{case.split}.csv"))
            return MultipleChoiceTaskRun(case, _shown(case, questions), seed, fitted_on=questions, notes=notes)
        return _built(data, case, seed)


class PiraExpectations(Expectations):
    """The expectations of multiple-choice answerers, over the released sets."""

    summary = "released options made easier (answerers should do no worse) or unanswerable (they should do poorly)"

    def __init__(self) -> None:
        super().__init__(_ReleasedSets())


class BuiltTaskRun(MultipleChoiceTaskRun):
    """The sets that ``candidate_sets`` builds; ``of_release`` are the released ones, where the folder has them."""

    def __init__(
        self,
        case: Case,
        questions: Sequence[MultipleChoice],
        sets: Mapping[str, CandidateSet],
        of_release: Sequence[MultipleChoice] | None,
        seed: int,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(case, _shown(case, questions), seed, fitted_on=questions, notes=notes)
        self._full = questions
        self._sets = sets
        self._of_release = of_release

    def extra_rows(self) -> list[Row]:
        """Statistics of the right answers' ranks before they were added to the sets: mean and median (1 is best), and
        the shares within the size of a set and at rank 1. ``overlap`` is the share of the built distractors (options
        that are right for no question on the text) that are also in the question's released set. There is no row in
        the settings without the text, as their sets are the same."""
        if self.case.setting.endswith(WITHOUT_TEXT):
            return []
        ranks = np.array([built.rank for built in self._sets.values()])
        overlap, why = self._overlap()
        measures = {
            "mean rank": float(ranks.mean()),
            "median rank": float(np.median(ranks)),
            f"share within {K}": float((ranks <= K).mean()),
            "share at rank 1": float((ranks == 1).mean()),
            "overlap": overlap,
        }
        return [Row(RANKING, self.case, len(ranks), measures, {"overlap": why} if why else {})]

    def files(self) -> Mapping[str, bytes]:
        """The sets as a file of the released format."""
        return {f"MCQA-{self.case.split}-{self.case.language}.csv": written(self._full)}

    def _overlap(self) -> tuple[float | None, str]:
        if self.case.language != "en":
            return None, "the released sets are English"
        if self._of_release is None:
            return None, f"the folder holds no MCQA-{self.case.split}.csv"
        right: dict[str, set[str]] = {}
        for question in self._full:
            right.setdefault(question.contexts[0], set()).add(_right(question))
        theirs = {question.id: set(question.options) for question in self._of_release}
        shared = total = 0
        for question in self._full:
            if question.id in theirs:
                distractors = set(question.options) - right[question.contexts[0]]
                shared += len(distractors & theirs[question.id])
                total += len(distractors)
        if not total:
            return None, "no question with a distractor is in both files"
        return shared / total, ""


class _ReleasedSets:
    """Reads the released sets for the expectations."""

    settings: ClassVar[Mapping[str, str]] = {}

    def cases(self, data: Path) -> list[Case]:
        cases = [Case(split, "en") for split in SPLITS if find(data, f"MCQA-{split}.csv") is not None]
        if not cases:
            raise missing(data, *(f"MCQA-{split}.csv" for split in SPLITS))
        return cases

    def files(self, data: Path, case: Case) -> list[Path]:
        return [released(data, f"MCQA-{case.split}.csv")]

    def load(self, data: Path, case: Case) -> Loaded:
        return Loaded(*read_sets(released(data, f"MCQA-{case.split}.csv")))


class Sets(NamedTuple):
    """The questions of one file, and notes on its oddities."""

    questions: list[MultipleChoice]
    notes: list[str]


def read_sets(path: Path) -> Sets:
    """Reads a file of the released format: id, text, question, A to E, correct, and the right option's label.

    Texts are stripped. Raises InputError, with the line, for a missing column, an id that is invalid or occurs twice,
    an empty question, a label that names no option, fewer than two options, and a right answer that equals another
    option but not the labelled one. Empty options are left out; notes count them, options that occur twice, and right
    answers that equal no option (their label is trusted).
    """
    require_columns(path, "id", *_COLUMNS)
    if not any(has_columns(path, name) for name in LABEL_COLUMNS):
        require_columns(path, LABEL_COLUMNS[0])
    # Called query_id here so that the reader checks it as an id.
    fields = [Field("query_id", "id"), *(Field(name, name) for name in _COLUMNS)]
    fields += [Field(name, name, required=False) for name in LABEL_COLUMNS]
    lines: dict[str, int] = {}
    odd: dict[str, list[str]] = {}
    questions = []
    for line, values in read_table(path, "csv", fields):
        question_id, text, asked, *options, correct, first, second = (value.strip() for value in values)
        if question_id in lines:
            fault = f"id {quoted(question_id)} is on line {lines[question_id]} already; expected each once"
            raise InputError(path, line, fault)
        lines[question_id] = line
        row = _Row(question_id, text, asked, dict(zip(LABELS, options, strict=True)), correct, first or second)
        try:
            question, oddities = _question(row)
        except ValueError as error:
            raise InputError(path, line, f"id {quoted(question_id)}: {error}") from None
        questions.append(question)
        for oddity in oddities:
            odd.setdefault(oddity, []).append(question_id)
    if not questions:
        raise InputError(path, None, f"holds no questions; copy it again from {RELEASED}")
    return Sets(questions, [_oddity_note(path.name, what, ids) for what, ids in odd.items()])


def written(questions: Sequence[MultipleChoice]) -> bytes:
    """The content of a file in the released format, which ``read_sets`` reads as these questions; each must have a
    text."""
    out = io.StringIO()
    # All cells are quoted, as csv.writer would not quote a lone carriage return.
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["", "id", *_COLUMNS, LABEL_COLUMNS[0]])
    for number, question in enumerate(questions):
        named = dict(zip(question.labels, question.options, strict=True))
        options = [named.get(label, "") for label in LABELS]
        right = [_right(question), question.gold]
        writer.writerow([number, question.id, *question.contexts, question.question, *options, *right])
    return out.getvalue().encode()


class _Row(NamedTuple):
    id: str
    text: str
    question: str
    options: Mapping[str, str]
    correct: str
    label: str


def _question(row: _Row) -> tuple[MultipleChoice, list[str]]:
    """The question and its oddities. Raises ValueError, with the fault and what was expected."""
    if not row.question:
        raise ValueError("its question is empty; fill it, or leave out the row")
    if row.label not in LABELS:
        names = " or ".join(LABEL_COLUMNS)
        raise ValueError(f"its label ({names}) is {quoted(row.label)}; expected one of {', '.join(LABELS)}")
    options = {label: option for label, option in row.options.items() if option}
    if row.label not in options:
        raise ValueError(f"its right option, {row.label}, is empty; fill it, or leave out the row")
    contexts = (row.text,) if row.text else ()
    question = MultipleChoice(row.id, row.question, tuple(options.values()), tuple(options), row.label, contexts)
    forms = {label: plain(option) for label, option in options.items()}
    right = [label for label, form in forms.items() if form == plain(row.correct)]
    if right and row.label not in right:
        raise ValueError(f"its label is {row.label}, but its right answer (correct) is option {right[0]}; correct one")
    found = {
        "no option is the right answer (correct), and the label is trusted": not right,
        "an empty option is left out": len(options) < len(LABELS),
        "two options are the same, and only the one of the label counts as right": len(set(forms.values()))
        < len(forms),
        "the supporting text is empty": not contexts,
    }
    return question, [oddity for oddity, there in found.items() if there]


def _oddity_note(name: str, what: str, ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return f"{name}: {len(ids)} question{'s' * (len(ids) > 1)} ({shown}): {what}"


def _both(split: str, language: str, setting: str) -> list[Case]:
    return [Case(split, language, setting), Case(split, language, setting + WITHOUT_TEXT)]


def _shown(case: Case, questions: Sequence[MultipleChoice]) -> Sequence[MultipleChoice]:
    if not case.setting.endswith(WITHOUT_TEXT):
        return questions
    return [replace(question, contexts=()) for question in questions]


def _right(question: MultipleChoice) -> str:
    assert question.gold is not None
    return question.options[question.labels.index(question.gold)]


def _released_sets_path(data: Path, case: Case) -> Path | None:
    """The file of a split's released sets, which are English; None where there is none in the case's language."""
    return find(data, f"MCQA-{case.split}.csv") if case.language == "en" else None


def _built(data: Path, case: Case, seed: int) -> BuiltTaskRun:
    path, language = released(data, f"{case.split}.csv"), case.language
    require_columns(path, QUESTION[language], ANSWER[language], TEXT[language])
    read = read_questions(path)
    kept = [row for row in read if row.question[language] and row.answer[language] and row.text[language]]
    notes = []
    if len(kept) < len(read):
        left_out = f"{len(read) - len(kept)} of {len(read)} questions are left out"
        notes.append(f"{case.split} {language}: {left_out}, as their question, answer or text is empty in {path.name}")
    distinct = len({plain(row.answer[language]) for row in kept})
    if distinct < 2:
        found = f"holds {distinct} distinct {language} answers"
        raise InputError(path, None, f"{found}; expected two or more, to build options from")
    if distinct < K:
        notes.append(
            f"{case.split} {language}: sets have {distinct} options, as {path.name} has no more distinct answers"
        )
    sets = candidate_sets(
        [AnsweredQuestion(row.query_id, row.text[language], row.answer[language]) for row in kept], K, seed
    )
    questions = []
    for row in kept:
        options = sets[row.query_id].options
        labels = LABELS[: len(options)]
        gold = labels[options.index(row.answer[language])]
        context = (row.text[language],)
        questions.append(MultipleChoice(row.query_id, row.question[language], options, labels, gold, context))
    theirs = _released_sets_path(data, case)
    of_release = None if theirs is None else read_sets(theirs).questions
    return BuiltTaskRun(case, questions, sets, of_release, seed, notes)
