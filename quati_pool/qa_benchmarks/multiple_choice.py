"""Multiple choice: questions with labelled options, programs that pick one, requests to a model, and accuracy."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.files.problems import quoted
from quati_pool.llm.answer_prompts import AnswerForm, AnswerRequest, labelled_lines, load_answer_prompt
from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion
from quati_pool.qa_benchmarks.base import AnswerTaskRun, Case, Row

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Values = npt.NDArray[np.float64]

NO_KEY = "none of its questions has a released answer"
NONE_ANSWERED = "no question was answered"

# How many options are compared at a time: with RACE articles of 300 words, 16,384 rows take 40 MB.
_BLOCK = 16_384
# Cosines are compared after rounding to this many digits, as the order of summation changes the last ones.
_DIGITS = 12
# The scores of a neural model depend on the batch in the sixth digit.
_NEURAL_DIGITS = 5


@dataclass(frozen=True)
class MultipleChoice:
    """One multiple-choice question; ``labels`` are the file's labels of its options, ``gold`` is the label of the right
    one (None where it is not released).

    ``contexts`` is empty (no context), one text (shared by the options) or one text per option. Raises ValueError, with
    the fault and what was expected, where these are inconsistent.
    """

    id: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    gold: str | None
    contexts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.options)
        if count < 2:
            raise ValueError(f"has {count or 'no'} option{'s' * (count != 1)}; expected two or more")
        if len(self.labels) != count:
            raise ValueError(f"has {len(self.labels)} labels for {count} options; expected one for each")
        twice = sorted({label for label in self.labels if self.labels.count(label) > 1})
        if twice:
            raise ValueError(f"has two options labelled {quoted(twice[0])}; expected a label for each")
        if self.gold is not None and self.gold not in self.labels:
            raise ValueError(f"has the answer {quoted(self.gold)}; expected one of {', '.join(self.labels)}")
        if len(self.contexts) not in (0, 1, count):
            given = len(self.contexts)
            raise ValueError(f"has {given} contexts for {count} options; expected none, one, or one for each")

    @property
    def own_contexts(self) -> bool:
        """Whether each option has its own context."""
        return len(self.contexts) > 1

    @property
    def chance(self) -> float:
        """The probability of guessing the right answer."""
        return 1 / len(self.options)


class MultipleChoiceTaskRun(AnswerTaskRun):
    """Multiple-choice questions of one case. An answer is a label; the empty string is not a label.

    Programs: ``random`` picks by a hash of seed, id and label, so that a question's pick depends neither on other
    questions nor on any order. ``tf-idf`` picks the option with the highest TF-IDF cosine between question and option
    together and the option's context (or the shared one); where no context holds text, between option and question.
    Document frequencies are those of the distinct texts of ``fitted_on`` (default: these questions). Ties, including
    those where all cosines are zero, go to the lowest hash of id and label, which favours no position; where
    ``originals`` maps the question's id to that of an original question, the latter is used. The prompt is in the
    case's language.
    """

    EMPTY: ClassVar[Any] = ""

    def __init__(
        self,
        case: Case,
        questions: Sequence[MultipleChoice],
        seed: int,
        *,
        fitted_on: Sequence[MultipleChoice] | None = None,
        originals: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.case = case
        self.questions = questions
        self.notes = notes
        self.by_id: Mapping[str, MultipleChoice] = {question.id: question for question in questions}
        if len(self.by_id) < len(questions):
            counts = Counter(question.id for question in questions)
            raise QuatiPoolError(f"two questions have the id {quoted(counts.most_common(1)[0][0])}; rename one of them")
        self.ids = tuple(self.by_id)
        self._seed = seed
        self._fitted_on = questions if fitted_on is None else fitted_on
        self._originals = originals or {}

    def programs(self) -> Mapping[str, Mapping[str, str]]:
        """The answers of ``random`` and ``tf-idf``."""
        return {"random": self._random(), "tf-idf": self._tf_idf()}

    def request(self, question_id: str) -> AnswerRequest:
        """The question, its options by label and its context, through the prompt ``choose-<language>``."""
        question = self.by_id[question_id]
        options = labelled_lines(question.options, question.labels)
        fields = {"question": question.question, "text": _text(question), "options": options}
        return load_answer_prompt(f"choose-{self.case.language}").request(fields, AnswerForm("choice", question.labels))

    def prediction(self, question_id: str, value: Any) -> str:
        """The label of one of the question's options, or an empty string, which is no answer and counts as wrong."""
        labels = self.by_id[question_id].labels
        if not isinstance(value, str):
            written = json.dumps(value, ensure_ascii=False)
            raise ValueError(f"is {quoted(written)}, not a string; expected one of {', '.join(labels)} in quotes")
        label = value.strip()
        if label and label not in labels:
            raise ValueError(f"is {quoted(label)}; expected one of {', '.join(labels)}")
        return label

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question, with its options and contexts."""
        question = self.by_id[question_id]
        return ReaderQuestion(question.question, question.contexts, question.options)

    def from_reader(self, question_id: str, answer: ReaderAnswer) -> str:
        """The label of the option with the highest score, to five decimals; ties go to the lowest hash of id and label,
        as those of ``tf-idf`` do."""
        question = self.by_id[question_id]
        if answer.option is None:
            raise ValueError("is none of the options")
        if len(answer.scores) != len(question.labels):
            return question.labels[answer.option]
        scores = np.array(answer.scores, dtype=np.float64)
        return _highest(question, scores, self._originals.get(question_id, question_id), _NEURAL_DIGITS)

    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """Accuracy and ``chance`` (the mean of 1 / options), in percent, over the questions that have an
        answer and a key."""
        return [accuracy_row(system, self.case, self.questions, answers)]

    def _random(self) -> dict[str, str]:
        return {question.id: drawn(question.labels, self._seed, question.id) for question in self.questions}

    def _tf_idf(self) -> dict[str, str]:
        similar = similarities(self.questions, self._fitted_on)
        return {
            one.id: _highest(one, cosines, self._originals.get(one.id, one.id), _DIGITS)
            for one, cosines in zip(self.questions, similar, strict=True)
        }


def accuracy_row(
    system: str,
    case: Case,
    questions: Sequence[MultipleChoice],
    answers: Mapping[str, Any],
    extra: Mapping[str, Any] | None = None,
) -> Row:
    """Accuracy and chance of the questions with a key, in percent; ``answers`` holds labels by id."""
    keyed = [question for question in questions if question.gold is not None]
    answered = [question for question in keyed if question.id in answers]
    right = sum(answers[question.id] == question.gold for question in answered)
    absent = len(keyed) - len(answered)
    extra = extra or {}
    if not answered:
        why = NONE_ANSWERED if keyed else NO_KEY
        undefined = {"accuracy": why, "chance": why}
        bounds = {"accuracy": (0.0, 100.0)} if keyed else {}
        return Row(system, case, 0, dict.fromkeys(undefined), undefined, absent, bounds, extra=extra)
    measures = {
        "accuracy": 100 * right / len(answered),
        "chance": 100 * math.fsum(question.chance for question in answered) / len(answered),
    }
    bounds = {"accuracy": (100 * right / len(keyed), 100 * (right + absent) / len(keyed))} if absent else {}
    return Row(system, case, len(answered), measures, unanswered=absent, bounds=bounds, extra=extra)


def similarities(questions: Sequence[MultipleChoice], fitted_on: Sequence[MultipleChoice]) -> Iterator[Values]:
    """For each question the TF-IDF cosines of its options, shape (options,): between question and option together and
    the option's context or, where no context holds text, between option and question.

    Term weights are tf · (ln((1 + N) / (1 + df)) + 1), where N is the number of distinct texts of ``fitted_on``
    (Pedregosa et al., JMLR 12, 2011, scikit-learn's smoothed form); any run of letters and digits is a term,
    lower-cased.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = dict.fromkeys(text for question in fitted_on for text in _texts(question) if text)
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\w+")
    try:
        vectorizer.fit(texts)
    except ValueError:  # not one word in all the texts
        for question in questions:
            yield np.zeros(len(question.options))
        return
    for block in _blocks(questions):
        left, right, places = _pairs(block)
        cosine = _cosines(vectorizer.transform(left), vectorizer.transform(right), places)
        yield from np.split(cosine, np.cumsum([len(question.options) for question in block])[:-1])


def _cosines(left: csr_matrix, right: csr_matrix, places: list[int]) -> Values:
    product = left.multiply(right[places])
    cosines: Values = np.asarray(product.sum(axis=1)).ravel()
    return cosines


def _pairs(questions: Sequence[MultipleChoice]) -> tuple[list[str], list[str], list[int]]:
    """The text of each option, the distinct texts to compare these with, and for each option the position of its own
    among these."""
    left: list[str] = []
    right: dict[str, int] = {}
    places: list[int] = []
    for question in questions:
        in_context = any(context.strip() for context in question.contexts)
        contexts = question.contexts if in_context else (question.question,)
        if len(contexts) == 1:
            contexts *= len(question.options)
        for option, context in zip(question.options, contexts, strict=True):
            left.append(f"{question.question} {option}" if in_context else option)
            places.append(right.setdefault(context, len(right)))
    return left, list(right), places


def _blocks(questions: Sequence[MultipleChoice]) -> Iterator[list[MultipleChoice]]:
    block: list[MultipleChoice] = []
    options = 0
    for question in questions:
        block.append(question)
        options += len(question.options)
        if options >= _BLOCK:
            yield block
            block, options = [], 0
    if block:
        yield block


def _texts(question: MultipleChoice) -> Iterator[str]:
    yield question.question
    yield from question.options
    yield from question.contexts


def _highest(question: MultipleChoice, scores: Values, id_: str, digits: int) -> str:
    """The label of the option with the highest score, shape (options,), after rounding to ``digits``."""
    best = np.round(scores, digits)
    tied = [label for label, value in zip(question.labels, best, strict=True) if value == best.max()]
    return drawn(tied, id_)


def drawn(labels: Sequence[str], *of: object) -> str:
    """The label with the lowest hash of ``of`` and the label: all labels are equally likely, and the draw depends
    neither on their order nor on other draws."""
    prefix = hashlib.blake2b(json.dumps(of).encode(), digest_size=16)

    def hashed(label: str) -> bytes:
        hasher = prefix.copy()
        hasher.update(label.encode("utf-8", "surrogatepass"))
        return hasher.digest()

    return min(labels, key=hashed)


def _text(question: MultipleChoice) -> str:
    """The context as a model reads it: the shared text, or each option's own after its label."""
    if not any(context.strip() for context in question.contexts):
        return ""
    return labelled_lines(question.contexts, question.labels) if question.own_contexts else question.contexts[0]
