"""Converts query–passage pairs to token ids, for models that read both at once.

A special token that appears in a text (``[SEP]``, ``</s>``, ``<extra_id_0>``) is read as its letters, so that no
passage can pretend to be the query or to have ended. The tokenizers' own option for that is not sufficient, because
the vocabulary of T5 also holds its special tokens as ordinary pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.models.text_truncation import TextTruncation

Tokens = npt.NDArray[np.int32]
_CHARACTERS = 1_000_000


class Batch(NamedTuple):
    """Pairs as input for a model, in arrays of shape (pairs, tokens): token ids, the attention mask (1 for a token, 0
    for padding), and token types."""

    ids: npt.NDArray[np.int64]
    mask: npt.NDArray[np.int64]
    types: npt.NDArray[np.int64]


class Located(NamedTuple):
    """A text's tokens, shape (tokens,), and the positions in the text where each begins and ends, shape (tokens, 2)."""

    ids: Tokens
    spans: npt.NDArray[np.int64]


class TextReader:
    """Converts texts to token ids with a tokenizer of transformers. The only special token among them is the unknown
    one. ``most`` is the number of tokens in ``beginnings``."""

    def __init__(self, tokenizer: Any, most: int) -> None:
        self._tokenizer = tokenizer
        self._most = most
        self._truncation = TextTruncation(tokenizer, most)
        special = set(tokenizer.all_special_ids)
        special |= {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        special.discard(tokenizer.unk_token_id)
        self._special = np.array(sorted(special), dtype=np.int32)
        self._letters: dict[int, Tokens] = {}

    def whole(self, texts: Sequence[str]) -> list[Tokens]:
        """All tokens of each text."""
        return [self._spelled(np.array(ids, dtype=np.int32)) for ids in self._ids(texts)]

    def beginnings(self, texts: Sequence[str]) -> list[Tokens]:
        """The first tokens of each text, at most ``most``."""
        read = []
        for some in _stretches([self._truncation(text) for text in texts]):
            for ids in self._ids(some):
                tokens = np.array(ids[: self._most], dtype=np.int32)
                read.append(self._spelled(tokens)[: self._most])
        return read

    def located(self, text: str) -> Located:
        """All tokens of a text, and where they are in it; only for a fast tokenizer."""
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        tokens = np.array(encoded["input_ids"], dtype=np.int32)
        spans = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
        times = [len(self._letters_of(token)) if token in self._special else 1 for token in tokens.tolist()]
        return Located(self._spelled(tokens), np.repeat(spans, times, axis=0))

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer(
            list(texts),
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,  # no warning about texts longer than the model takes, since they are cut here
        )
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _spelled(self, tokens: Tokens) -> Tokens:
        special = np.isin(tokens, self._special)
        if not special.any():
            return tokens
        pieces = [
            self._letters_of(token) if is_special else np.array([token], dtype=np.int32)
            for token, is_special in zip(tokens.tolist(), special.tolist(), strict=True)
        ]
        return np.concatenate(pieces)

    def _letters_of(self, token: int) -> Tokens:
        if token not in self._letters:
            letters = " ".join(str(self._tokenizer.convert_ids_to_tokens(token)))
            ids = np.array(self._ids([letters])[0], dtype=np.int32)
            self._letters[token] = ids[~np.isin(ids, self._special)]
        return self._letters[token]


class Part(NamedTuple):
    """Tokens that occur in every pair, and their types."""

    ids: Tokens
    types: Tokens

    @classmethod
    def untyped(cls, ids: Tokens) -> Part:
        return cls(ids, np.zeros_like(ids))


@dataclass(frozen=True)
class Frame:
    """The tokens before, between and after a query and its passage, the token types of the two, and how shorter pairs
    are padded."""

    before: Part
    between: Part
    after: Part
    query_type: int = 0
    passage_type: int = 0
    pad: int = 0
    pad_type: int = 0
    pads_left: bool = False

    @classmethod
    def of(cls, tokenizer: Any) -> Frame:
        """The frame that a tokenizer puts around two texts, such as [CLS] query [SEP] passage [SEP].

        Raises ValueError for a tokenizer that does not report which text a token comes from (one in plain Python).
        """
        if not tokenizer.is_fast:
            raise ValueError("its tokenizer is not a fast one (of the library tokenizers)")
        encoded = tokenizer("a", "a", return_token_type_ids=True)
        ids = np.array(encoded["input_ids"], dtype=np.int32)
        types = np.array(encoded["token_type_ids"], dtype=np.int32)
        whose = np.array([-1 if text is None else text for text in encoded.sequence_ids(0)])
        (query, passage) = (np.flatnonzero(whose == text) for text in (0, 1))
        spans = (slice(query[0]), slice(query[-1] + 1, passage[0]), slice(passage[-1] + 1, None))
        before, between, after = (Part(ids[span], types[span]) for span in spans)
        return cls(
            before,
            between,
            after,
            int(types[query[0]]),
            int(types[passage[0]]),
            tokenizer.pad_token_id or 0,
            tokenizer.pad_token_type_id or 0,
            tokenizer.padding_side == "left",
        )

    def __len__(self) -> int:
        return len(self.before.ids) + len(self.between.ids) + len(self.after.ids)

    def batch(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Batch:
        """A batch of pairs, each given by the tokens of query and passage, padded to the longest pair."""
        lengths = [len(self) + len(query) + len(passage) for query, passage in pairs]
        shape = (len(pairs), max(lengths))
        ids = np.full(shape, self.pad, dtype=np.int64)
        types = np.full(shape, self.pad_type, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, ((query, passage), length) in enumerate(zip(pairs, lengths, strict=True)):
            there = slice(shape[1] - length, None) if self.pads_left else slice(length)
            query_types = np.full(len(query), self.query_type)
            passage_types = np.full(len(passage), self.passage_type)
            ids[row, there] = np.concatenate([self.before.ids, query, self.between.ids, passage, self.after.ids])
            types[row, there] = np.concatenate(
                [self.before.types, query_types, self.between.types, passage_types, self.after.types]
            )
            mask[row, there] = 1
        return Batch(ids, mask, types)


def _stretches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in consecutive groups of bounded length, so that their tokens do not fill the memory; at least one text
    per group."""
    start, held = 0, 0
    for end, text in enumerate(texts):
        if end > start and held + len(text) > _CHARACTERS:
            yield texts[start:end]
            start, held = end, 0
        held += len(text)
    if start < len(texts):
        yield texts[start:]
