"""Cuts long texts before they are tokenised, if that provably gives the same tokens.

A tokenizer reads a whole text and then drops what is beyond the model's limit, which takes a second for a megabyte of
which 512 tokens are kept. Tokenizers that first split at every space process the text before a space independently of
what follows, so the first tokens of a text are those of any prefix that ends at a space and is long enough. Whether a
prefix is long enough is found by counting its tokens.
"""

from __future__ import annotations

import re
from typing import Any

# The printed names of pre-tokenizers whose tokens never cross a space.
_SPLITTING = re.compile(
    r"BertPreTokenizer\(\)|Whitespace\(\)|WhitespaceSplit\(\)|Metaspace\([^()]*split=True\)"
    r"|ByteLevel\([^()]*use_regex=True\)"
)
_OTHER_PARTS = r"|Sequence\(pretokenizers=\[|\]\)|Punctuation\([^()]*\)|Digits\([^()]*\)|Metaspace\([^()]*\)|, ?"
_KNOWN_PARTS = re.compile(_SPLITTING.pattern + _OTHER_PARTS)
# How many tokens more than the limit a prefix must have, because special tokens count towards the limit and the token
# right before the cut does not count.
_SPARE = 32
_CHARACTERS_A_TOKEN = 16
_WORTH = 2


class TextTruncation:
    """Cuts texts for one model; leaves them whole if the model has no limit or another kind of tokenizer."""

    def __init__(self, tokenizer: Any, limit: int | None) -> None:
        """``limit`` is the number of tokens that the model reads of a text, None for all."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        known = limit is not None and getattr(tokenizer, "truncation_side", "right") == "right"
        self._backend: Any = backend if known and backend is not None and splits_at_spaces(backend) else None
        self._limit = limit or 0

    def __call__(self, text: str) -> str:
        """A prefix of ``text`` that has the same tokens up to the limit as the whole, or the whole text."""
        if self._backend is None or len(text) < _WORTH * _CHARACTERS_A_TOKEN * self._limit:
            return text
        size = _CHARACTERS_A_TOKEN * self._limit
        while size * _WORTH <= len(text):
            end = text.rfind(" ", 0, size)
            if end > 0 and self._count(text[:end]) >= self._limit + _SPARE:
                return text[:end]
            size *= 2
        return text

    def _count(self, text: str) -> int:
        backend = self._backend
        # The tokenizer's own truncation would stop the count at the limit.
        truncation, padding = backend.truncation, backend.padding
        backend.no_truncation()
        backend.no_padding()
        try:
            return len(backend.encode(text, add_special_tokens=False).ids)
        finally:
            if truncation is not None:
                backend.enable_truncation(**truncation)
            if padding is not None:
                backend.enable_padding(**padding)


def splits_at_spaces(backend: Any) -> bool:
    """Whether a fast tokenizer is known to split texts at spaces before it forms tokens; False if a part of its
    pre-tokenizer is unknown."""
    description = str(backend.pre_tokenizer)
    return _SPLITTING.search(description) is not None and not _KNOWN_PARTS.sub("", description)
