"""Trains readers that say whether a text answers a question: cross-entropy of two classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quati_pool.models.readers.classifier import TextAndQuestion, TextsAndQuestions
from quati_pool.models.readers.loaded import arguments_of
from quati_pool.training.readers.supervised import Examples


@dataclass(frozen=True)
class LabelledText:
    """A question and a text, and whether that answers it."""

    id: str
    question: str
    text: str
    answers: bool


class EncodedText(NamedTuple):
    """An input and its label, 1 where the text answers the question."""

    input: TextAndQuestion
    label: int


class TextClassification:
    """Encodes texts with questions for a sequence classifier."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._inputs = TextsAndQuestions(tokenizer, max_tokens)
        self._tokenizer = tokenizer

    def examples(self, texts: Sequence[LabelledText]) -> Examples[EncodedText]:
        """The examples to train with."""
        return Examples([one.id for one in texts], lambda _, position: self.encoded(texts[position]))

    def encoded(self, one: LabelledText) -> EncodedText:
        """A text with a question and its label."""
        return EncodedText(self._inputs.fit(one.text, one.question), int(one.answers))

    def shortened(self, texts: Sequence[LabelledText]) -> int:
        """How many texts are shortened."""
        return sum(self._inputs.fit(one.text, one.question).shortened for one in texts)

    def collate(self, some: Sequence[EncodedText]) -> Mapping[str, Any]:
        """A batch of ``encoded`` examples as the model's arguments; ``labels`` has the shape (examples,)."""
        import torch

        batch = self._inputs.batch([one.input for one in some])
        labels = torch.tensor([one.label for one in some], dtype=torch.long)
        return {**arguments_of(batch, self._tokenizer), "labels": labels}
