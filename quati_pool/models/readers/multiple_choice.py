"""Readers of multiple choice: each option is scored with the question and its context, and the highest score wins.

The input is ``[CLS] context [SEP] question [SEP] option [SEP]``, read by one encoder, with one linear layer over its
vector of [CLS] (Shah, Gupta and Roth 2020, arXiv 2011.10647). Models without a card were trained by somebody else, and
read pairs instead, ``[CLS] context [SEP] question option [SEP]``, as the examples of transformers train them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.files.problems import quoted
from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch, Frame, TextReader, Tokens
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion, TooLongError
from quati_pool.models.readers.card import ReaderCard
from quati_pool.models.readers.loaded import (
    LoadedModel,
    arguments_of,
    load,
    load_tokenizer,
    longest_input,
    max_tokens,
)

MODEL = "AutoModelForMultipleChoice"
"""The class of transformers that scores options."""


class InputForm(StrEnum):
    """How an option, its question and its context become one input."""

    parts = "parts"
    """``[CLS] context [SEP] question [SEP] option [SEP]``. A part without text is the one token that begins every
    input (``<s>``, ``[CLS]``). Of a context that is too long, the end is kept, as in the paper's code."""
    pair = "pair"
    """``[CLS] context [SEP] question option [SEP]``; an option takes the place of the ``_`` in its question, if there
    is one. Of a context that is too long, the beginning is kept."""


class OptionInput(NamedTuple):
    """The tokens of one input, without those between its parts, and whether its context was shortened. ``question`` is
    empty in pairs, where it is in ``option``."""

    context: Tokens
    question: Tokens
    option: Tokens
    shortened: bool


class OptionEncoder:
    """Converts options to token ids with a fast tokenizer of transformers, at most ``max_tokens`` each. A special token
    in a text is read as its letters (``TextReader``)."""

    def __init__(self, tokenizer: Any, max_tokens: int, form: InputForm = InputForm.parts) -> None:
        self._reader = TextReader(tokenizer, max_tokens)
        self._frame = Frame.of(tokenizer)
        self._max_tokens = max_tokens
        self._form = form
        start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        if form is InputForm.parts and start is None:
            raise ValueError("its tokenizer has no token that begins an input (such as [CLS])")
        self._nothing = np.array([start] if form is InputForm.parts else [], dtype=np.int32)
        self._known: dict[str, Tokens] = {}

    def encode(self, context: str, question: str, option: str) -> OptionInput:
        """One input, the context shortened where it is too long.

        Raises TooLongError for a question and an option that are too long without any context.
        """
        if self._form is InputForm.parts:
            asked, chosen = self._tokens(question), self._tokens(option)
        else:
            filled = question.replace("_", option) if "_" in question else f"{question} {option}".strip()
            asked, chosen = np.empty(0, dtype=np.int32), self._tokens(filled)
        context_tokens = self._tokens(context)
        room = self._max_tokens - self._overhead - len(asked) - len(chosen)
        if room < min(len(context_tokens), len(self._nothing)):
            needed = self._max_tokens - room + len(self._nothing)
            raise TooLongError(
                f"the question with the option {quoted(option)} takes {needed:,} tokens without any context, and the "
                f"model reads {self._max_tokens:,}"
            )
        shortened = len(context_tokens) > room
        if shortened:
            first = len(context_tokens) - room if self._form is InputForm.parts else 0
            context_tokens = context_tokens[first : first + room]
        return OptionInput(context_tokens, asked, chosen, shortened)

    def length(self, one: OptionInput) -> int:
        """The length of an input in tokens."""
        return self._overhead + len(one.context) + len(one.question) + len(one.option)

    def batch(self, inputs: Sequence[OptionInput]) -> Batch:
        """The inputs, padded to the longest; the option and what follows it have the token type of a second text."""
        return self._frame.batch([(self._before_option(one), one.option) for one in inputs])

    def forget(self) -> None:
        """Frees the memory of the texts that were converted so far."""
        self._known.clear()

    @property
    def _overhead(self) -> int:
        """The number of tokens around and between the parts."""
        return len(self._frame) + (len(self._frame.between.ids) if self._form is InputForm.parts else 0)

    def _before_option(self, one: OptionInput) -> Tokens:
        if self._form is InputForm.pair:
            return one.context
        return np.concatenate([one.context, self._frame.between.ids, one.question])

    def _tokens(self, text: str) -> Tokens:
        if text not in self._known:
            [read] = self._reader.whole([text])
            self._known[text] = read if len(read) else self._nothing
        return self._known[text]


class MultipleChoiceReader(Reader):
    """Chooses the option with the highest score, the first of several with the same. A score is the model's output for
    the option: under a softmax over the options, or a sigmoid, as it was trained."""

    kind: ClassVar[str] = "multiple-choice"

    def __init__(self, parameters: ModelParameters, local: LocalModel, card: ReaderCard | None) -> None:
        super().__init__(parameters, local, card)
        self._form = InputForm.pair if card is None else InputForm(card.inputs.get("form", InputForm.parts))
        self._loaded: tuple[LoadedModel, OptionEncoder, Any] | None = None
        self.identity["form"] = self._form.value

    def refusal(self, question: ReaderQuestion) -> str | None:
        return None if question.options else "it chooses among options, and these questions have none"

    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        loaded, encoder, tokenizer = self._load()
        inputs: list[OptionInput] = []
        # Options that several questions share are scored once: the perturbations of a question change few of them.
        rows: dict[tuple[str, str, str], int] = {}
        whose: list[list[tuple[int, int]]] = []
        for position, question in enumerate(questions):
            texts = [
                (question.context_of(option), question.question, text) for option, text in enumerate(question.options)
            ]
            try:
                encoded = {text: encoder.encode(*text) for text in texts if text not in rows}
            except TooLongError as error:
                yield position, ReaderAnswer(unread=str(error))
                continue
            for text, one in encoded.items():
                rows[text] = len(inputs)
                inputs.append(one)
                whose.append([])
            for option, text in enumerate(texts):
                whose[rows[text]].append((position, option))
        encoder.forget()
        scores = [np.full(len(question.options), np.nan) for question in questions]
        left = [len(question.options) for question in questions]
        shortened = [False] * len(questions)

        def score(model: Any, part: list[int]) -> npt.NDArray[np.float32]:
            return option_scores(model, encoder.batch([inputs[row] for row in part]), tokenizer)

        for part, found in loaded.run([encoder.length(one) for one in inputs], score):
            for row, value in zip(part, found.tolist(), strict=True):
                for position, option in whose[row]:
                    scores[position][option] = value
                    shortened[position] |= inputs[row].shortened
                    left[position] -= 1
                    if not left[position]:
                        yield position, self._answer(questions[position], scores[position], shortened[position])

    def _answer(self, question: ReaderQuestion, scores: npt.NDArray[np.float64], shortened: bool) -> ReaderAnswer:
        if not np.isfinite(scores).all():
            raise ModelError(
                f"model {self._parameters.model!r} gives no number for an option of {quoted(question.question)}; "
                "its weights are damaged, or fp32 is needed"
            )
        return ReaderAnswer(option=int(np.argmax(scores)), scores=tuple(scores.tolist()), shortened=shortened)

    def _load(self) -> tuple[LoadedModel, OptionEncoder, Any]:
        if self._loaded is None:
            loaded = load(MODEL, self._parameters, self._local)
            tokenizer = load_tokenizer(self._parameters, self._local)
            longest = longest_input(loaded.models[0], tokenizer)
            most = max_tokens(None if self._card is None else self._card.max_tokens, longest, self._parameters)
            self._loaded = loaded, self._encoder(tokenizer, most), tokenizer
        return self._loaded

    def _encoder(self, tokenizer: Any, most: int) -> OptionEncoder:
        try:
            return OptionEncoder(tokenizer, most, self._form)
        except ValueError as error:
            raise ModelError(f"model {self._parameters.model!r} cannot be used: {error}; name another model") from None


def option_scores(model: Any, batch: Batch, tokenizer: Any) -> npt.NDArray[np.float32]:
    """The score of each input of a batch, shape (inputs,)."""
    import torch

    with torch.inference_mode():
        # One choice each: the model's own softmax over choices is left out, and questions may differ in their number.
        arguments = {name: tensor.unsqueeze(1) for name, tensor in arguments_of(batch, tokenizer, model.device).items()}
        found: npt.NDArray[np.float32] = model(**arguments).logits.reshape(-1).float().cpu().numpy()
    return found
