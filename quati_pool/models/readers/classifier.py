"""Readers that say whether a text answers a question: sequence classifiers over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from quati_pool.files.problems import quoted
from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch, Frame, TextReader, Tokens
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion, TooLongError
from quati_pool.models.readers.card import ReaderCard
from quati_pool.models.readers.loaded import (
    arguments_of,
    encoded,
    load,
    load_tokenizer,
    longest_input,
    max_tokens,
    require_finite,
)

MODEL = "AutoModelForSequenceClassification"
"""The class of transformers that classifies."""
LABELS = ("no", "yes")
"""The classes by number, as Pirá's files label questions: 1 where the text answers the question."""


class TextAndQuestion(NamedTuple):
    """The tokens of both, without special ones, and whether the text was shortened."""

    text: Tokens
    question: Tokens
    shortened: bool


class TextsAndQuestions:
    """Converts texts with questions to inputs such as ``[CLS] text [SEP] question [SEP]``; the text is shortened at its
    end where an input has more than ``max_tokens`` tokens."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        """Raises ValueError for a tokenizer that is not a fast one."""
        self._reader = TextReader(tokenizer, max_tokens)
        self._frame = Frame.of(tokenizer)
        self._max_tokens = max_tokens

    def fit(self, text: str, question: str) -> TextAndQuestion:
        """The tokens of a text with a question. Raises TooLongError where the question leaves no room for a text."""
        (asked,) = self._reader.whole([question])
        room = self._max_tokens - len(self._frame) - len(asked)
        if room < 1:
            raise TooLongError(
                f"the question {quoted(question)} has {len(asked):,} tokens, which leaves no room for a text in the "
                f"{self._max_tokens:,} that the model reads; use a model that reads longer texts"
            )
        (tokens,) = self._reader.whole([text])
        return TextAndQuestion(tokens[:room], asked, len(tokens) > room)

    def length(self, fitted: TextAndQuestion) -> int:
        """The length of an input in tokens."""
        return len(self._frame) + len(fitted.text) + len(fitted.question)

    def batch(self, some: Sequence[TextAndQuestion]) -> Batch:
        """The inputs of some texts with questions, padded to the longest."""
        return self._frame.batch([(one.text, one.question) for one in some])


class Classifier:
    """A sequence classifier of two classes, yes and no, on its devices."""

    def __init__(self, parameters: ModelParameters, local: LocalModel) -> None:
        """Raises ModelError for a model with more than two classes."""
        self._parameters = parameters
        self.tokenizer = load_tokenizer(parameters, local)
        self._model = load(MODEL, parameters, local)
        self._yes = yes_class(self._model.config, parameters.model)

    def max_tokens(self, card: ReaderCard | None) -> int:
        """The longest input in tokens."""
        longest = longest_input(self._model.models[0], self.tokenizer)
        return max_tokens(None if card is None else card.max_tokens, longest, self._parameters)

    def scores(self, lengths: Sequence[int], batch: Callable[[list[int]], Batch]) -> Iterator[tuple[int, float]]:
        """The log odds of yes for every input, with its position, as they become ready; ``batch`` gives the inputs at
        some positions, and ``lengths`` are those of all in tokens."""
        for places, scores in self._model.run(lengths, lambda model, part: self._scores(model, batch(part))):
            yield from zip(places, scores, strict=True)

    def _scores(self, model: Any, batch: Batch) -> list[float]:
        import torch

        with torch.inference_mode():
            logits = model(**arguments_of(batch, self.tokenizer, model.device)).logits.float()
        scores: list[float] = yes_logits(logits, self._yes).cpu().tolist()
        return scores


def yes_logits(logits: Any, yes: int) -> Any:
    """How much more likely yes is than no: the log odds of two classes, ``yes`` being the number of one, or the one
    logit of a model with a sigmoid. ``logits`` has shape (n, 2) or (n, 1); the result shape (n,)."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, yes] - logits[:, 1 - yes]


def yes_class(config: Any, model: str) -> int:
    """The number of the class for yes: that named yes, true or answerable, or else 1. Raises ModelError for a model
    with more than two classes."""
    if config.num_labels > 2:
        raise ModelError(f"model {model!r} has {config.num_labels} classes; name one with two, or with one logit")
    names = {str(name).lower(): int(number) for number, name in (config.id2label or {}).items()}
    return next((names[name] for name in ("yes", "true", "answerable") if name in names), 1)


class ClassifierReader(Reader):
    """Says that a text answers a question if the class for that is the more likely one; ``scores`` holds the log odds.
    A tie means no."""

    kind = "classifier"

    @cached_property
    def _classifier(self) -> Classifier:
        return Classifier(self._parameters, self._local)

    @cached_property
    def _inputs(self) -> TextsAndQuestions:
        return TextsAndQuestions(self._classifier.tokenizer, self._classifier.max_tokens(self._card))

    def refusal(self, question: ReaderQuestion) -> str | None:
        """It reads a text, and chooses nothing."""
        if question.options:
            return "it says whether a text answers a question, and chooses among no options"
        return None if question.contexts else "it says whether a text answers a question, and there is none"

    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        inputs, unread = encoded(questions, lambda one: self._inputs.fit(one.contexts[0], one.question))
        yield from unread.items()
        places = list(inputs)
        lengths = [self._inputs.length(one) for one in inputs.values()]

        def batch(rows: list[int]) -> Batch:
            return self._inputs.batch([inputs[places[row]] for row in rows])

        for row, score in self._classifier.scores(lengths, batch):
            place = places[row]
            require_finite(score, self._parameters, questions[place].question)
            yield place, ReaderAnswer(answerable=score > 0, scores=(score,), shortened=inputs[place].shortened)
