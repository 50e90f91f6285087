"""Answer triggering over Pirá: can the text answer the question?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from quati_pool.errors import InputError
from quati_pool.files.problems import quoted
from quati_pool.llm.answer_prompts import AnswerForm, AnswerPrompt, AnswerRequest, load_answer_prompt
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.qa_benchmarks.base import AnswerTask, AnswerTaskRun, Case, Row
from quati_pool.qa_benchmarks.pira.files import (
    AT_LABEL,
    AUTOMATIC,
    LANGUAGES,
    MEANINGFUL,
    PARAPHRASE,
    QUESTION,
    RELEASED,
    TEXT,
    PiraQuestion,
    find,
    has_columns,
    read_questions,
    released,
    require_columns,
    split_files,
)

HUMAN = "human-paraphrases"
AUTOMATIC_TOO = "automatic-paraphrases"
FOLDS = 10

YES, NO = "yes", "no"
_WRITTEN = {"1": YES, "1.0": YES, "0": NO, "0.0": NO}
_WEIGHTED = "F1 is the mean of both classes' F1, weighted by how many questions are of each"
_GRADES = {"1": NO, "2": NO, "3": "", "4": YES, "5": YES}


@dataclass(frozen=True, eq=False)
class LabelledQuestion:
    """A question with a label: ``yes`` where its text can answer it, else ``no``. ``paraphrases`` of the question are
    further training examples for a classifier."""

    query_id: str
    question: str
    text: str
    label: str
    paraphrases: tuple[str, ...]


class AnswerTriggering(AnswerTask):
    """Yes or no for each labelled question (Pirozelli et al., Benchmarks for Pirá 2.0, 2024: answer triggering).

    The settings say what Naive Bayes is trained on: the original questions, with people's paraphrases of
    them, and with a program's paraphrases on top (Table 13). A setting exists where the training
    file has its columns.
    """

    name = "at"
    summary = "says whether the text can answer the question; weighted F1 and accuracy"

    def settings(self) -> Mapping[str, str]:
        """The further training examples of Naive Bayes, besides the original questions."""
        return {
            HUMAN: "Naive Bayes learns from people's paraphrases too",
            AUTOMATIC_TOO: "Naive Bayes learns from people's and a program's paraphrases too",
        }

    def cases(self, data: Path) -> list[Case]:
        """Split by split, English before Portuguese."""
        cases = []
        for split, path in split_files(data).items():
            languages = [language for language in LANGUAGES if has_columns(path, QUESTION[language], TEXT[language])]
            if not languages:
                require_columns(path, QUESTION["en"], TEXT["en"])
            if not has_columns(path, MEANINGFUL):
                require_columns(path, AT_LABEL)
            trained_on = _train_file(data, split) or path
            cases += [
                Case(split, language, setting) for language in languages for setting in _settings(trained_on, language)
            ]
        return cases

    def files(self, data: Path, case: Case) -> list[Path]:
        """The split's file and, where there is one, the file that programs are trained on."""
        train = _train_file(data, case.split)
        return [released(data, f"{case.split}.csv"), *([] if train is None else [train])]

    def task_run(self, data: Path, case: Case, seed: int) -> TriggeringTaskRun:
        """The labelled questions of a case; raises InputError, with the line, for a label that is invalid or that
        contradicts the assessment."""
        path = released(data, f"{case.split}.csv")
        questions, notes = labelled(path, case)
        train_path = _train_file(data, case.split)
        train = None if train_path is None else labelled(train_path, case)[0]
        return TriggeringTaskRun(case, questions, train, seed, notes)


class TriggeringTaskRun(AnswerTaskRun):
    """Labelled questions; an answer is ``yes`` or ``no``, or the word for it in the prompt of the language.

    Programs: ``majority`` gives every question the class that most training questions have (yes in a tie).
    ``naive-bayes`` is multinomial Naive Bayes on TF-IDF of the question alone, with scikit-learn's defaults. Both are
    trained on ``train``; where that is None, the majority is that of the questions themselves, and Naive Bayes is
    cross-validated, where each fold uses only the paraphrases of the other folds' questions.
    """

    EMPTY: ClassVar[Any] = ""

    def __init__(
        self,
        case: Case,
        questions: Sequence[LabelledQuestion],
        train: Sequence[LabelledQuestion] | None,
        seed: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.case = case
        self._by_id = {question.query_id: question for question in questions}
        self.ids = tuple(self._by_id)
        self._train = train
        self._seed = seed
        self._folds = _folds(questions)
        # Paraphrases only serve training: the requests to a model are the same in every setting.
        self.for_models = not case.setting
        self.notes = [*notes, *self._training_notes()]

    def programs(self) -> Mapping[str, Mapping[str, str]]:
        """The answers of ``majority`` and, unless it has nothing to learn from, of ``naive-bayes``."""
        questions = list(self._by_id.values())
        trained_on = questions if self._train is None else self._train
        programs = {"majority": dict.fromkeys(self.ids, _majority(trained_on))}
        if self._train is not None:
            programs["naive-bayes"] = _naive_bayes(self._train, questions)
        elif self._folds > 1:
            programs["naive-bayes"] = _cross_validated(questions, self._folds, self._seed)
        return programs

    def request(self, question_id: str) -> AnswerRequest:
        """The question and its text, through the prompt ``trigger-<language>``."""
        question = self._by_id[question_id]
        form = AnswerForm("choice", self._prompt.labels)
        return self._prompt.request({"question": question.question, "text": question.text}, form)

    def prediction(self, question_id: str, value: Any) -> str:
        """Yes or no, true or false, or the released 1 or 0; an empty string is no answer and counts as wrong."""
        if value in (YES, NO, ""):
            return str(value)
        if isinstance(value, (bool, int, float)) and value in (0, 1):
            return YES if value else NO
        raise ValueError(f'is {quoted(json.dumps(value, ensure_ascii=False))}; expected "yes" or "no", or 1 or 0')

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question with its text."""
        question = self._by_id[question_id]
        return ReaderQuestion(question.question, (question.text,))

    def from_reader(self, question_id: str, answer: ReaderAnswer) -> str:
        if answer.answerable is None:
            raise ValueError("does not say whether a text answers a question; train one with  train reader --task at")
        return YES if answer.answerable else NO

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """``F1``, the mean of both classes' F1 weighted by their numbers of questions, and ``accuracy``, in percent."""
        answers = {query_id: self._class(answer) for query_id, answer in answers.items()}
        answered = [question for question in self._by_id.values() if question.query_id in answers]
        absent = len(self._by_id) - len(answered)
        gold = [question.label for question in self._by_id.values()]
        bounds: dict[str, tuple[float, float]] = {}
        if absent:
            wrong = {YES: NO, NO: YES}
            worst = [answers.get(q.query_id, wrong[q.label]) for q in self._by_id.values()]
            best = [answers.get(q.query_id, q.label) for q in self._by_id.values()]
            low, high = _measures(gold, worst), _measures(gold, best)
            bounds = {measure: (low[measure], high[measure]) for measure in low}
        if not answered:
            undefined = dict.fromkeys(("F1", "accuracy"), "no question was answered")
            return [Row(system, self.case, 0, dict.fromkeys(undefined), undefined, absent, bounds)]
        measures = _measures([q.label for q in answered], [answers[q.query_id] for q in answered])
        notes = [_WEIGHTED]
        given = {answers[q.query_id] for q in answered}
        if len(given) == 1:
            notes.append(f"every answer is {given.pop() or 'empty'}")
        return [Row(system, self.case, len(answered), measures, unanswered=absent, bounds=bounds, notes=tuple(notes))]

    @cached_property
    def _prompt(self) -> AnswerPrompt:
        return load_answer_prompt(f"trigger-{self.case.language}")

    def _class(self, answer: str) -> str:
        if answer in (YES, NO, self.EMPTY):
            return answer
        return dict(zip(self._prompt.labels, (YES, NO), strict=True))[answer]

    def _training_notes(self) -> list[str]:
        trained_on = list(self._by_id.values()) if self._train is None else self._train
        paraphrases = sum(len(question.paraphrases) for question in trained_on)
        added = f", with {paraphrases} paraphrases of them" if self.case.setting else ""
        split = self.case.split
        if self._train is not None:
            return [f"{split}: programs are trained on the {len(trained_on)} labelled questions of train.csv{added}"]
        notes = [f"{split}: without a train.csv, the majority class is that of these questions themselves"]
        if split == "train":
            notes = []
        if self._folds < 2:
            return [*notes, f"{split}: no row naive-bayes, as a class has too few questions to be cross-validated"]
        how = (
            f"cross-validated on these questions{added} ({self._folds} stratified folds, shuffled by seed {self._seed})"
        )
        return [*notes, f"{split}: naive-bayes is {how}"]


def labelled(path: Path, case: Case) -> tuple[list[LabelledQuestion], list[str]]:
    """The file's questions that have a label, in its order, and notes on those left out."""
    read = read_questions(path)
    has_labels = has_columns(path, AT_LABEL)
    language = case.language
    kept: list[LabelledQuestion] = []
    unlabelled = empty = 0
    for row in read:
        label = _label(row, has_labels)
        if not label:
            unlabelled += 1
        elif not (row.question[language] and row.text[language]):
            empty += 1
        else:
            paraphrases = _paraphrases(row, case)
            kept.append(LabelledQuestion(row.query_id, row.question[language], row.text[language], label, paraphrases))
    if not kept:
        raise InputError(
            path, None, f"no question has a label, a question and a text; take the file of Pirá 2.0 from {RELEASED}"
        )
    notes = [f"{case.split}: {unlabelled} of {len(read)} questions have no label"] if unlabelled else []
    if empty:
        left_out = "left out of the labelled questions, for want of a question or a text"
        notes.append(f"{case.split} {language}: {left_out}: {empty}")
    return kept, notes


def _label(row: PiraQuestion, has_labels: bool) -> str:
    grade = row.meaningful.removesuffix(".0")
    if grade and grade not in _GRADES:
        raise InputError(row.path, row.line, f"{MEANINGFUL} is {quoted(row.meaningful)}; expected 1 to 5, or nothing")
    if not has_labels:
        return _GRADES.get(grade, "")
    if not row.at_label:
        return ""
    label = _WRITTEN.get(row.at_label)
    if label is None:
        raise InputError(row.path, row.line, f"{AT_LABEL} is {quoted(row.at_label)}; expected 1.0, 0.0 or nothing")
    if grade and _GRADES[grade] != label:
        fault = f"{AT_LABEL} is {row.at_label}, but {MEANINGFUL} is {row.meaningful}"
        raise InputError(row.path, row.line, f"{fault}; expected 1.0 for 4 and 5, 0.0 for 1 and 2, nothing for 3")
    return label


def _paraphrases(row: PiraQuestion, case: Case) -> tuple[str, ...]:
    human = row.paraphrase[case.language] if case.setting in (HUMAN, AUTOMATIC_TOO) else ""
    automatic = row.automatic[case.language] if case.setting == AUTOMATIC_TOO else ()
    return (*([human] if human else []), *automatic)


def _train_file(data: Path, split: str) -> Path | None:
    """The file that classifiers of this split are trained on; None where they would also be tested on it."""
    return None if split == "train" else find(data, "train.csv")


def _settings(trained_on: Path, language: str) -> list[str]:
    settings = [""]
    if has_columns(trained_on, PARAPHRASE[language]):
        settings.append(HUMAN)
        if has_columns(trained_on, *AUTOMATIC[language]):
            settings.append(AUTOMATIC_TOO)
    return settings


def _majority(questions: Sequence[LabelledQuestion]) -> str:
    counts = Counter(question.label for question in questions)
    return YES if counts[YES] >= counts[NO] else NO


def _folds(questions: Sequence[LabelledQuestion]) -> int:
    return min(FOLDS, *Counter(question.label for question in questions).values())


def _naive_bayes(train: Sequence[LabelledQuestion], questions: Sequence[LabelledQuestion]) -> dict[str, str]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB

    texts = [text for question in train for text in (question.question, *question.paraphrases)]
    labels = [question.label for question in train for _ in (question.question, *question.paraphrases)]
    vectorizer = TfidfVectorizer()
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError:  # there are no words at all: only the frequencies of the classes are known
        return dict.fromkeys((question.query_id for question in questions), _majority(train))
    model = MultinomialNB().fit(weights, labels)
    found = model.predict(vectorizer.transform([question.question for question in questions]))
    return {question.query_id: str(label) for question, label in zip(questions, found, strict=True)}


def _cross_validated(questions: Sequence[LabelledQuestion], folds: int, seed: int) -> dict[str, str]:
    from sklearn.model_selection import StratifiedKFold

    ordered = sorted(questions, key=lambda question: question.query_id)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
    answers: dict[str, str] = {}
    for train, held_out in split.split(ordered, [question.label for question in ordered]):
        answers |= _naive_bayes([ordered[place] for place in train], [ordered[place] for place in held_out])
    return answers


def _measures(gold: Sequence[str], answers: Sequence[str]) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, f1_score

    # An answer that is neither class is wrong and belongs to neither.
    weighted = f1_score(gold, answers, labels=[NO, YES], average="weighted", zero_division=0.0)
    return {"F1": 100 * float(weighted), "accuracy": 100 * float(accuracy_score(gold, answers))}
