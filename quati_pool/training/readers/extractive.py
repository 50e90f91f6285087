"""Trains readers that mark the answer in a text: cross-entropy of its first and of its last token.

An example is one window of a text. In a window without the whole stretch to mark, the input's first token (``[CLS]``)
is to be marked, as in the training of BERT on SQuAD (Devlin et al. 2019, arXiv 1810.04805, section 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quati_pool.models.readers.extractive import Window, Windows
from quati_pool.models.readers.loaded import arguments_of
from quati_pool.training.readers.answer_stretch import closest_stretch
from quati_pool.training.readers.supervised import Examples


@dataclass(frozen=True)
class FoundAnswer:
    """A question, a text, and an answer in words, of which the closest stretch of the text is to be marked."""

    id: str
    question: str
    text: str
    answer: str


class MarkedWindow(NamedTuple):
    """A window, and the places of the first and last token to mark, from the window's first token of the text; None
    where the stretch is not in it as a whole."""

    window: Window
    marked: tuple[int, int] | None


class MarkedWindows(NamedTuple):
    """The windows to train with and their ids, the mean token F1 of stretches and answers in percent, and the number of
    texts that share no word with their answer and are left out."""

    ids: Sequence[str]
    windows: Sequence[MarkedWindow]
    f1: float | None
    without: int


class AnswerMarking:
    """Encodes questions with texts for a model that marks answers."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._windows = Windows(tokenizer, max_tokens)
        self._tokenizer = tokenizer

    def marked(self, answers: Sequence[FoundAnswer]) -> MarkedWindows:
        """The windows of the texts, with what is to be marked in them."""
        ids: list[str] = []
        windows: list[MarkedWindow] = []
        f1: list[float] = []
        for one in answers:
            stretch = closest_stretch(one.text, one.answer)
            if stretch is None:
                continue
            f1.append(stretch.f1)
            for number, window in enumerate(self._windows.of(one.question, one.text), 1):
                ids.append(f"{one.id}#{number}")
                windows.append(MarkedWindow(window, _places(window, stretch.start, stretch.end)))
        return MarkedWindows(ids, windows, sum(f1) / len(f1) if f1 else None, len(answers) - len(f1))

    def examples(self, marked: MarkedWindows) -> Examples[MarkedWindow]:
        """The examples to train with."""
        return Examples(marked.ids, lambda _, position: marked.windows[position])

    def collate(self, some: Sequence[MarkedWindow]) -> Mapping[str, Any]:
        """A batch of windows as the model's arguments; ``start_positions`` and ``end_positions`` have the shape
        (examples,)."""
        import torch

        batch = self._windows.batch([one.window for one in some])
        first_tokens = batch.mask.argmax(axis=1)
        positions = np.array(
            [
                [first, first] if one.marked is None else [first + one.window.before + place for place in one.marked]
                for first, one in zip(first_tokens.tolist(), some, strict=True)
            ],
            dtype=np.int64,
        )
        return {
            **arguments_of(batch, self._tokenizer),
            "start_positions": torch.from_numpy(positions[:, 0].copy()),
            "end_positions": torch.from_numpy(positions[:, 1].copy()),
        }


def _places(window: Window, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token of a stretch of the text, given in characters, in a window; None where the window
    does not hold all of it."""
    starts, ends = window.spans[:, 0], window.spans[:, 1]
    inside = np.flatnonzero((ends > start) & (starts < end))
    if not len(inside) or starts[inside[0]] > start or ends[inside[-1]] < end:
        return None
    return int(inside[0]), int(inside[-1])
