"""Trains readers that write their answer, such as T5: cross-entropy of the answer's tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quati_pool.models.pair_tokens import TextReader, Tokens
from quati_pool.models.readers.base import ReaderQuestion
from quati_pool.models.readers.generative import parts_of
from quati_pool.models.readers.single_text import Fitted, SingleTexts, frame_of_one
from quati_pool.training.readers.supervised import Examples

IGNORED = -100
"""The label of a token that no loss is computed for."""


@dataclass(frozen=True)
class WrittenAnswer:
    """A question with the answer to write; where there are options, it is the text of the right one."""

    id: str
    question: ReaderQuestion
    answer: str


class EncodedAnswer(NamedTuple):
    """A question's input, and the answer's tokens with the special ones around it, of which the last ends it."""

    text: Fitted
    answer: Tokens


class AnswerWriting:
    """Encodes questions with answers for an encoder-decoder."""

    def __init__(self, tokenizer: Any, max_tokens: int, answer_tokens: int) -> None:
        self._texts = SingleTexts(tokenizer, max_tokens)
        self._reader = TextReader(tokenizer, answer_tokens)
        # BART, unlike T5, writes a token that begins its answer.
        self._frame = frame_of_one(tokenizer)
        self._answer_tokens = answer_tokens

    def examples(self, answers: Sequence[WrittenAnswer]) -> Examples[EncodedAnswer]:
        """The examples to train with."""
        return Examples([one.id for one in answers], lambda _, position: self.encoded(answers[position]))

    def encoded(self, one: WrittenAnswer) -> EncodedAnswer:
        """A question and its answer. Of an answer that is too long the last tokens are left out together with the one
        that ends it, so that a reader does not learn to stop there."""
        [answer] = self._reader.whole([one.answer])
        whole = np.concatenate([self._frame.before.ids, answer, self._frame.after.ids])
        return EncodedAnswer(self._texts.fit(parts_of(one.question)), whole[: self._answer_tokens])

    def cut(self, answers: Sequence[WrittenAnswer]) -> tuple[int, int]:
        """How many contexts are shortened, and how many answers are longer than a reader writes."""
        longer = self._reader.whole([one.answer for one in answers])
        return (
            sum(self._texts.fit(parts_of(one.question)).shortened for one in answers),
            sum(len(self._frame) + len(answer) > self._answer_tokens for answer in longer),
        )

    def collate(self, some: Sequence[EncodedAnswer]) -> Mapping[str, Any]:
        """A batch of ``encoded`` examples as the model's arguments; ``labels`` has the shape (examples, tokens)."""
        import torch

        batch = self._texts.batch([one.text for one in some])
        labels = np.full((len(some), max(len(one.answer) for one in some)), IGNORED, dtype=np.int64)
        for row, one in enumerate(some):
            labels[row, : len(one.answer)] = one.answer
        return {
            "input_ids": torch.from_numpy(batch.ids),
            "attention_mask": torch.from_numpy(batch.mask),
            "labels": torch.from_numpy(labels),
        }
