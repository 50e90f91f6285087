"""Inputs of one text, such as ``question: … context: …``, in which the context alone may be shortened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from quati_pool.files.problems import quoted
from quati_pool.models.pair_tokens import Batch, Frame, Part, TextReader, Tokens
from quati_pool.models.readers.base import TooLongError


class Parts(NamedTuple):
    """A text in three parts: ``context`` may be shortened, ``before`` and ``after`` never."""

    before: str
    context: str
    after: str = ""


class Fitted(NamedTuple):
    """The tokens of a text, without special ones, and whether its context was shortened."""

    ids: Tokens
    shortened: bool


class SingleTexts:
    """Converts texts to token ids with a fast tokenizer of transformers, at most ``max_tokens`` including the special
    tokens before and after them. A special token in a text is read as its letters (``TextReader``)."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._reader = TextReader(tokenizer, max_tokens)
        self._max_tokens = max_tokens
        self._frame = frame_of_one(tokenizer)

    def fit(self, parts: Parts) -> Fitted:
        """The text's tokens, without the last ones of the context where it is too long.

        Raises TooLongError for a text that is too long without any context.
        """
        tokens, spans = self._reader.located("".join(parts))
        over = len(self._frame) + len(tokens) - self._max_tokens
        if over <= 0:
            return Fitted(tokens, False)
        start, end = len(parts.before), len(parts.before) + len(parts.context)
        of_context = np.flatnonzero((spans[:, 1] > start) & (spans[:, 1] <= end))
        if over > len(of_context):
            fixed = len(tokens) + len(self._frame) - len(of_context)
            raise TooLongError(
                f"{quoted(parts.before + parts.after)} has {fixed:,} tokens without any context, and the model reads "
                f"{self._max_tokens:,}; use a model that reads longer texts, or raise --max-tokens in training"
            )
        return Fitted(np.delete(tokens, of_context[-over:]), True)

    def length(self, fitted: Fitted) -> int:
        """The length of an input in tokens."""
        return len(self._frame) + len(fitted.ids)

    def batch(self, texts: Sequence[Fitted]) -> Batch:
        """The inputs of some texts, padded to the longest."""
        none = np.empty(0, dtype=np.int32)
        return self._frame.batch([(text.ids, none) for text in texts])


def frame_of_one(tokenizer: Any) -> Frame:
    """The special tokens that a tokenizer puts around a single text, such as [CLS] text [SEP], or text </s>.

    Raises ValueError for a tokenizer that does not report where its tokens come from (one in plain Python).
    """
    if not tokenizer.is_fast:
        raise ValueError("its tokenizer is not a fast one (of the library tokenizers)")
    encoded = tokenizer("a")
    ids = np.array(encoded["input_ids"], dtype=np.int32)
    of_text = np.flatnonzero([text is not None for text in encoded.sequence_ids(0)])
    return Frame(
        Part.untyped(ids[: of_text[0]]),
        Part.untyped(np.empty(0, dtype=np.int32)),
        Part.untyped(ids[of_text[-1] + 1 :]),
        pad=tokenizer.pad_token_id or 0,
        pad_type=tokenizer.pad_token_type_id or 0,
        pads_left=tokenizer.padding_side == "left",
    )
