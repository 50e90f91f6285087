"""Tests expectations of multiple-choice systems on questions that were made easier or unanswerable.

Shah, Gupta and Roth, What do we expect from Multiple-choice QA Systems?, Findings of EMNLP 2020
(arXiv 2011.10647): monotonicity (a system is no worse where a wrong option is made even less likely), sanity (it is
poor where the input is trivially insufficient), reading (it is poor without the texts that contain the answer).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.qa_benchmarks.base import AnswerTask, Case, Row
from quati_pool.qa_benchmarks.loaders import CaseLoader, LoaderTask
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice, MultipleChoiceTaskRun, accuracy_row, drawn
from quati_pool.stats.bootstrap import DRAWS, interval, multiplicities, summable
from quati_pool.text.pluralize import counted

Values = npt.NDArray[np.float64]

ORIGINAL = "original"
PERTURBED = "perturbed-incorrect-option"
NO_OPTION = "no-option"
NO_QUESTION = "no-question"
NO_CONTEXT = "no-context"

NOT_BELOW = "not below original"
NOT_ABOVE = "not above chance"

COPIES = 10
"""How many times the question is repeated in the context of the option that it replaces."""
FEW = 30
"""With fewer questions than this a percentile interval is rough, and a note says so."""

# Rounding to this many digits removes the rounding errors of means over resamples.
_DIGITS = 9


class Setting(NamedTuple):
    """A perturbation, the expectation that it tests, and how accuracy should compare if that is met."""

    name: str
    expectation: str
    expected: str


SETTINGS = (
    Setting(PERTURBED, "monotonicity", NOT_BELOW),
    Setting(NO_OPTION, "sanity", NOT_ABOVE),
    Setting(NO_QUESTION, "sanity", NOT_ABOVE),
    Setting(NO_CONTEXT, "reading", NOT_ABOVE),
)
EXPECTATIONS = ("monotonicity", "sanity", "reading")


def perturbed(question: MultipleChoice, setting: str, seed: int) -> MultipleChoice | None:
    """The question in one setting, with the id ``<id>#<setting>`` (the original keeps its id); None where the setting
    does not apply to it.

    - ``perturbed-incorrect-option``: one wrong option, drawn by seed and id, becomes the question, and its
      own context ten copies of the question; a context that the options share stays as it is, except for readers
      (``ExpectationTaskRun.reader_question``).
    - ``no-option``: all options empty, their contexts kept. Only where each option has its own context: with a
      shared one nothing would distinguish the options.
    - ``no-question``: the question empty.
    - ``no-context``: all contexts empty. Only where there are contexts.
    """
    if setting == ORIGINAL:
        return question
    read = any(context.strip() for context in question.contexts)
    id_ = f"{question.id}#{setting}"
    if setting == PERTURBED and question.gold is not None and question.question.strip():
        wrong = question.labels.index(drawn_wrong(question, seed))
        options = _with(question.options, wrong, question.question)
        contexts = question.contexts
        if question.own_contexts:
            contexts = _with(contexts, wrong, copies(question.question))
        return replace(question, id=id_, options=options, contexts=contexts)
    if setting == NO_OPTION and question.own_contexts and read:
        return replace(question, id=id_, options=("",) * len(question.options))
    if setting == NO_QUESTION and question.question.strip():
        return replace(question, id=id_, question="")
    if setting == NO_CONTEXT and read:
        return replace(question, id=id_, contexts=("",) * len(question.contexts))
    return None


def copies(question: str) -> str:
    """The context of a perturbed option: the question, ten times."""
    return " ".join([question] * COPIES)


def drawn_wrong(question: MultipleChoice, seed: int) -> str:
    """The label of the wrong option that ``perturbed-incorrect-option`` replaces."""
    return drawn([label for label in question.labels if label != question.gold], seed, PERTURBED, question.id)


class ExpectationTaskRun(MultipleChoiceTaskRun):
    """The questions of one case in every setting that applies to them; answers are labels by question and setting
    (``<id>`` and ``<id>#<setting>``).

    ``random`` draws by that id, and so separately in each setting; ``tf-idf`` uses the term weights of the original
    questions in every setting, and breaks ties as it does for the original. Questions without a key are left out.
    """

    def __init__(
        self,
        case: Case,
        questions: Sequence[MultipleChoice],
        seed: int,
        *,
        notes: Sequence[str] = (),
    ) -> None:
        keyed = [question for question in questions if question.gold is not None]
        self._seed_of_draws = seed
        self._settings: dict[str, list[tuple[MultipleChoice, MultipleChoice]]] = {
            name: [(one, changed) for one in keyed if (changed := perturbed(one, name, seed)) is not None]
            for name in (ORIGINAL, *(setting.name for setting in SETTINGS))
        }
        self._shared_perturbed = {
            changed.id: drawn_wrong(one, seed) for one, changed in self._settings[PERTURBED] if len(one.contexts) == 1
        }
        """The label of the perturbed option, by the id of each question whose options share a context."""
        asked = [changed for pairs in self._settings.values() for _, changed in pairs]
        originals = {changed.id: one.id for pairs in self._settings.values() for one, changed in pairs}
        all_notes = [*notes, *_unkeyed(case, len(questions) - len(keyed)), *_inapplicable(case, keyed, self._settings)]
        super().__init__(case, asked, seed, fitted_on=keyed, originals=originals, notes=all_notes)

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question as a reader gets it. A reader scores every option with a context of its own, so in
        ``perturbed-incorrect-option`` the perturbed option's is ten copies of the question where the others share one,
        too."""
        asked = super().reader_question(question_id)
        if question_id not in self._shared_perturbed:
            return asked
        changed = self.by_id[question_id]
        wrong = changed.labels.index(self._shared_perturbed[question_id])
        contexts = changed.contexts * len(changed.options)
        return replace(asked, contexts=_with(contexts, wrong, copies(changed.question)))

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """One row per setting that applies, ``original`` first: accuracy and chance in percent.

        ``difference``, in percentage points, is that from the original over the questions answered in both, or that
        from chance over the questions answered; ``interval`` is its paired 95 % percentile bootstrap interval over
        questions (2,000 draws by seed). ``verdict`` is ``fails`` where the whole interval is on the unexpected side,
        ``holds`` where none of it is, ``undecided`` otherwise; ``undefined`` where there is nothing to compare.
        The row of ``original`` has under ``expectations`` the verdict on each of the three: an expectation fails if any
        of its settings does, holds (or is undefined) if all of them do, and is otherwise undecided.
        """
        first = self._row(system, ORIGINAL, answers)
        rows = [self._compared(system, setting, answers) for setting in SETTINGS if self._settings[setting.name]]
        extra = {**_NOTHING_EXPECTED, "expectations": _verdicts(rows)}
        return [replace(first, extra=extra), *rows]

    def files(self) -> Mapping[str, bytes]:
        """A JSONL file with each question's settings and the label of the option that was replaced, from which another
        system's inputs can be built; its predictions are to use the ids ``<id>#<setting>``."""
        settings: dict[str, list[str]] = {}
        for name, pairs in self._settings.items():
            for question, _ in pairs:
                settings.setdefault(question.id, []).append(name)
        lines = []
        for question, _ in self._settings[ORIGINAL]:
            line: dict[str, Any] = {"id": question.id, "settings": settings[question.id]}
            if PERTURBED in settings[question.id]:
                line["perturbed_option"] = drawn_wrong(question, self._seed_of_draws)
            lines.append(json.dumps(line) + "\n")
        name = "-".join(["expectations", *filter(None, self.case)])
        return {f"{name}.jsonl": "".join(lines).encode()}

    def _row(self, system: str, setting: str, answers: Mapping[str, Any]) -> Row:
        name = f"{self.case.setting}/{setting}" if self.case.setting else setting
        questions = [changed for _, changed in self._settings[setting]]
        return accuracy_row(system, self.case._replace(setting=name), questions, answers)

    def _compared(self, system: str, setting: Setting, answers: Mapping[str, Any]) -> Row:
        row = self._row(system, setting.name, answers)
        pairs = [(one, changed) for one, changed in self._settings[setting.name] if changed.id in answers]
        pairs.sort(
            key=lambda pair: pair[1].id
        )  # the bootstrap draws positions, which must not depend on the order of the file
        if setting.expected == NOT_BELOW:
            pairs = [(one, changed) for one, changed in pairs if one.id in answers]
            over = "original"
        else:
            over = "chance"
        differences = np.array(
            [
                (answers[changed.id] == one.gold) - (answers[one.id] == one.gold if over == "original" else one.chance)
                for one, changed in pairs
            ],
            dtype=np.float64,
        )
        given = any(answers[changed.id] != self.EMPTY for _, changed in pairs)
        found = compare(differences, self._seed_of_draws) if given else _nothing(pairs, over)
        extra = {
            "expectation": setting.expectation,
            "expected": setting.expected,
            "difference": found.difference,
            "interval": None if found.low is None or found.high is None else [found.low, found.high],
            "verdict": found.verdict(setting.expected),
        }
        undefined = dict(row.undefined)
        if found.reason:
            undefined["difference" if found.difference is None else "interval"] = found.reason
        notes = (f"fewer than {FEW} questions: the interval is rough",) if 1 < len(pairs) < FEW else ()
        return replace(row, extra=extra, undefined=undefined, notes=notes)


_NOTHING_EXPECTED = {"expectation": None, "expected": None, "difference": None, "interval": None, "verdict": None}


@dataclass(frozen=True)
class Compared:
    """A mean difference in percentage points and its interval; ``reason`` says why one is undefined."""

    difference: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def verdict(self, expected: str) -> str:
        """``fails``, ``holds``, ``undecided`` or ``undefined``, as ``ExpectationTaskRun.rows`` says."""
        if self.low is None or self.high is None:
            return "undefined"
        below, above = (self.low, self.high) if expected == NOT_BELOW else (-self.high, -self.low)
        if above < 0:
            return "fails"
        return "holds" if below >= 0 else "undecided"


def compare(differences: Values, seed: int) -> Compared:
    """The mean of ``differences``, shape (questions,), in percentage points with its 95 % percentile
    interval over resampled questions (Efron and Tibshirani 1993, chapter 13)."""
    count = len(differences)
    mean = _points(float(np.mean(differences)))
    if count < 2:
        return Compared(mean, reason="one question alone shows no spread")
    resampled = summable(differences)
    means = np.concatenate([block @ resampled for block in multiplicities(count, DRAWS, seed)]) / count
    found = interval(means)
    assert found.low is not None
    assert found.high is not None
    return Compared(mean, _points(found.low), _points(found.high))


def _points(share: float) -> float:
    return round(100 * share, _DIGITS) + 0.0  # no -0.0


def _nothing(pairs: Sequence[object], over: str) -> Compared:
    if pairs:
        return Compared(None, reason="every answer is empty")
    answered = "answered both here and in the original" if over == "original" else "answered"
    return Compared(None, reason=f"no question was {answered}")


def _verdicts(rows: Sequence[Row]) -> dict[str, str]:
    """The verdict on each expectation over its settings."""
    verdicts = {}
    for expectation in EXPECTATIONS:
        found = [row.extra["verdict"] for row in rows if row.extra["expectation"] == expectation]
        if not found:
            verdicts[expectation] = "does not apply"
        elif "fails" in found:
            verdicts[expectation] = "fails"
        else:
            verdicts[expectation] = found[0] if len(set(found)) == 1 else "undecided"
    return verdicts


def _named(case: Case) -> str:
    return " ".join(filter(None, [case.split, case.setting]))


def _unkeyed(case: Case, count: int) -> list[str]:
    if not count:
        return []
    return [f"{_named(case)}: {counted(count, 'question', 'questions')} without a released answer left out"]


def _inapplicable(
    case: Case,
    questions: Sequence[MultipleChoice],
    settings: Mapping[str, Sequence[tuple[MultipleChoice, MultipleChoice]]],
) -> list[str]:
    """Notes on the settings that do not apply to all questions, with the reason."""
    notes = []
    shared = sum(len(question.contexts) == 1 for question in questions)
    reasons = {
        NO_OPTION: "it needs a context of its own for each option" + (", and here they share one" if shared else ""),
        NO_QUESTION: "the question is empty",
        PERTURBED: "the question is empty",
        NO_CONTEXT: "there is no context",
    }
    for name, reason in reasons.items():
        absent = len(questions) - len(settings[name])
        if absent:
            which = "any question" if absent == len(questions) else f"{absent:,} of {len(questions):,} questions"
            notes.append(f"{_named(case)}: {name} does not apply to {which} ({reason})")
    if shared:
        notes.append(
            f"{_named(case)}: {PERTURBED} replaces the option alone where the options share one context, which stays; "
            "for a reader (--reader), which scores every option apart, its context too"
        )
    return notes


def _with(texts: Sequence[str], place: int, text: str) -> tuple[str, ...]:
    return (*texts[:place], text, *texts[place + 1 :])


class Loaded(NamedTuple):
    """The questions of one case, and notes on the files that are shown with the results."""

    questions: Sequence[MultipleChoice]
    notes: Iterable[str] = ()


class Loader(CaseLoader, Protocol):
    """Reads a benchmark's released questions; its cases are those with released answers."""

    def load(self, data: Path, case: Case) -> Loaded:
        """The questions of one case."""


class Expectations(LoaderTask[Loader], AnswerTask):
    """The three expectations, tested on the questions that ``loader`` reads.

    A row's setting is the perturbation, preceded by the case's setting if it has one: ``challenge/no-question``.
    """

    name = "expectations"
    summary = (
        "monotonicity, sanity and reading: accuracy on questions with a wrong option made less likely, "
        "and without options, question or contexts"
    )

    def questions(self, data: Path, case: Case, seed: int) -> Sequence[MultipleChoice]:
        """The case's questions as released; nothing is drawn by ``seed``."""
        return self._loader.load(data, case).questions

    def task_run(self, data: Path, case: Case, seed: int) -> ExpectationTaskRun:
        """The case's questions in every setting."""
        loaded = self._loader.load(data, case)
        return ExpectationTaskRun(case, loaded.questions, seed, notes=tuple(loaded.notes))
