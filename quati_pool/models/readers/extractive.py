"""Readers that mark the answer in a text: models for extractive question answering, such as BERT after SQuAD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.files.problems import quoted
from quati_pool.models.errors import ModelError
from quati_pool.models.location import LocalModel
from quati_pool.models.pair_tokens import Batch, Frame, TextReader, Tokens
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.answers_in_words import closest_option, one_text
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion, TooLongError
from quati_pool.models.readers.card import ReaderCard
from quati_pool.models.readers.loaded import (
    LoadedModel,
    arguments_of,
    encoded,
    load,
    load_tokenizer,
    longest_input,
    max_tokens,
    require_finite,
)

Values = npt.NDArray[np.float32]

MODEL = "AutoModelForQuestionAnswering"
"""The class of transformers that marks answers."""
MAX_TOKENS, ANSWER_TOKENS, STRIDE = 384, 64, 128
"""Without a card, tokens of an input, of the longest answer, and that two consecutive windows share."""


class Window(NamedTuple):
    """An input: a question with a part of its context. ``spans`` are the positions in the context where each of the
    part's tokens begins and ends, shape (tokens, 2); ``before`` is the number of the input's tokens before these."""

    question: Tokens
    context: Tokens
    spans: npt.NDArray[np.int64]
    before: int
    length: int


class Windows:
    """Cuts contexts into windows that fit an input together with the question: consecutive ones share ``STRIDE``
    tokens, or half of a window if that is less. No text is left unread."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        """Raises ValueError for a tokenizer that is not a fast one."""
        self._reader = TextReader(tokenizer, max_tokens)
        self._frame = Frame.of(tokenizer)
        self._max_tokens = max_tokens

    def of(self, question: str, context: str) -> list[Window]:
        """The windows of one context, at least one.

        Raises TooLongError where the question leaves no room for a context.
        """
        (asked,) = self._reader.whole([question])
        room = self._max_tokens - len(self._frame) - len(asked)
        if room < 1:
            raise TooLongError(
                f"the question {quoted(question)} has {len(asked):,} tokens, which leaves no room for a text in the "
                f"{self._max_tokens:,} that the model reads; use a model that reads longer texts"
            )
        tokens, spans = self._reader.located(context)
        step = room - min(STRIDE, room // 2)
        starts = range(0, max(len(tokens) - room, 0) + step, step)
        before = len(self._frame.before.ids) + len(asked) + len(self._frame.between.ids)
        fixed = len(self._frame) + len(asked)
        windows = []
        for start in starts:
            part = slice(start, start + room)
            windows.append(Window(asked, tokens[part], spans[part], before, fixed + len(tokens[part])))
        return windows

    def batch(self, windows: Sequence[Window]) -> Batch:
        """The inputs of some windows, padded to the longest."""
        return self._frame.batch([(window.question, window.context) for window in windows])


class Span(NamedTuple):
    """A stretch of tokens, from the first to the last, and the sum of their two logits."""

    first: int
    last: int
    score: float


def best_span(starts: Values, ends: Values, longest: int) -> Span:
    """The span of at most ``longest`` tokens with the highest sum of the start logit of its first and the end logit of
    its last token (Devlin et al. 2019, arXiv 1810.04805, section 4.2); the first of several. Both have shape (n,), with
    n at least 1."""
    sums = starts[:, None].astype(np.float64) + ends[None, :]
    lengths = np.arange(len(ends))[None, :] - np.arange(len(starts))[:, None]
    sums[(lengths < 0) | (lengths >= longest)] = -np.inf
    first, last = divmod(int(np.argmax(sums)), len(ends))
    return Span(first, last, float(sums[first, last]))


class ExtractiveReader(Reader):
    """Answers with the stretch of the context that has the highest sum of start and end logit, over all windows. Where
    there are options, it chooses the one with the highest token F1 with that stretch.

    It never finds that there is no answer, unless there is no text.
    """

    kind = "extractive"

    def __init__(self, parameters: ModelParameters, local: LocalModel, card: ReaderCard | None) -> None:
        super().__init__(parameters, local, card)
        self._answer_tokens = ANSWER_TOKENS if card is None else int(card.inputs["answer_tokens"])

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._parameters, self._local)

    @cached_property
    def _model(self) -> LoadedModel:
        model = load(MODEL, self._parameters, self._local)
        if model.config.num_labels != 2:
            raise ModelError(f"model {self._parameters.model!r} gives more than a start and an end; name another model")
        return model

    @cached_property
    def _windows(self) -> Windows:
        longest = longest_input(self._model.models[0], self._tokenizer)
        if self._card is None:
            return Windows(self._tokenizer, min(MAX_TOKENS, longest or MAX_TOKENS))
        return Windows(self._tokenizer, max_tokens(self._card.max_tokens, longest, self._parameters))

    def refusal(self, question: ReaderQuestion) -> str | None:
        """It needs a text; without one, options are all alike to it, which is an answer."""
        return None if question.contexts or question.options else "it marks the answer in a text, and there is none"

    def answers(self, questions: Sequence[ReaderQuestion]) -> Iterator[tuple[int, ReaderAnswer]]:
        texts = [one_text(question) for question in questions]
        cut, unread = encoded(questions, lambda one: self._windows.of(one.question, one_text(one)))
        yield from unread.items()
        windows = [window for found in cut.values() for window in found]
        whose = [place for place, found in cut.items() for _ in found]
        left = {place: len(found) for place, found in cut.items()}
        best: dict[int, tuple[float, int, str]] = {}
        lengths = [window.length for window in windows]
        for part, spans in self._model.run(lengths, lambda model, part: self._spans(model, windows, part)):
            for number, span in zip(part, spans, strict=True):
                place = whose[number]
                if span is not None:
                    require_finite(span.score, self._parameters, questions[place].question)
                    (start, _), (_, end) = windows[number].spans[[span.first, span.last]].tolist()
                    marked = texts[place][start:end].strip()
                    # Of equal scores, that of the first window counts, in whichever order they come.
                    best[place] = max(best.get(place, (-np.inf, 0, "")), (span.score, -number, marked))
                left[place] -= 1
                if not left[place]:
                    yield place, self._answer(questions[place], *best.get(place, (None, 0, "")))

    def _answer(self, question: ReaderQuestion, score: float | None, _: int, text: str) -> ReaderAnswer:
        if question.options:
            return closest_option(text, question.options)
        return ReaderAnswer(text=text, scores=() if score is None else (score,))

    def _spans(self, model: Any, windows: Sequence[Window], places: Sequence[int]) -> list[Span | None]:
        import torch

        some = [windows[place] for place in places]
        batch = self._windows.batch(some)
        with torch.inference_mode():
            output = model(**arguments_of(batch, self._tokenizer, model.device))
        starts, ends = (logits.float().cpu().numpy() for logits in (output.start_logits, output.end_logits))
        spans: list[Span | None] = []
        for row, window in enumerate(some):
            pads = batch.ids.shape[1] - window.length if batch.mask[row, 0] == 0 else 0
            there = slice(pads + window.before, pads + window.before + len(window.context))
            empty = not len(window.context)
            spans.append(None if empty else best_span(starts[row, there], ends[row, there], self._answer_tokens))
        return spans
