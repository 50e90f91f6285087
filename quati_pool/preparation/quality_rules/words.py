"""The words, lines and paragraphs of many texts as arrays.

A *word* is a run of characters other than white space. A *line* ends where ``str.splitlines`` ends it; lines of only
white space do not count. *Paragraphs* are separated by such blank lines. White space at either end of a line or
paragraph does not belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.preparation.quality_rules.characters import BREAK, SPACE, classes, code_points
from quati_pool.preparation.quality_rules.hashing import Hashes, series_hashes, word_hashes
from quati_pool.records import Int

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Words:
    """The words of some rows. ``codes`` and ``kinds``, shape (characters,), are the code points of all texts, each text
    followed by a line break, and their character flags; ``start`` and ``end`` delimit each word in them; ``flags``
    combines the flags of the characters of a word and of the white space after it. The words of row r are those from
    ``first[r]`` to before ``first[r + 1]``; its text is ``codes[begin[r] : begin[r] + characters[r]]``.
    """

    codes: npt.NDArray[np.uint32]
    kinds: npt.NDArray[np.uint8]
    begin: Int
    characters: Int
    start: Int
    end: Int
    flags: npt.NDArray[np.uint8]
    first: Int

    def __len__(self) -> int:
        return len(self.start)

    @property
    def rows(self) -> int:
        return len(self.characters)

    @cached_property
    def counts(self) -> Int:
        """The number of words in each row."""
        return np.diff(self.first)

    @cached_property
    def row(self) -> Int:
        """The row of each word."""
        return np.repeat(np.arange(self.rows), self.counts)

    @cached_property
    def hashes(self) -> Hashes:
        return word_hashes(self.codes, self.start, self.end)

    def sums(self, values: npt.NDArray[Any]) -> Int:
        """The sum of ``values``, which has one value per word, over the words of each row."""
        return row_sums(values, self.first)

    def at(self, kind: int) -> Int:
        """The number of characters of that kind in each row."""
        return self.within(np.flatnonzero(self.kinds & kind))

    def within(self, places: Int) -> Int:
        """The number of these places in ``codes``, which must be ascending, that are in each row's text."""
        return np.searchsorted(places, self.begin + self.characters) - np.searchsorted(places, self.begin)

    def of_rows(self, rows: Flags) -> Words:
        """The words of the rows where ``rows`` is true. All texts are kept, and row numbers stay the same."""
        if rows.all():
            return self
        kept = np.repeat(rows, self.counts)
        first = np.concatenate(([0], np.cumsum(np.where(rows, self.counts, 0))))
        return Words(
            self.codes,
            self.kinds,
            self.begin,
            self.characters,
            self.start[kept],
            self.end[kept],
            self.flags[kept],
            first,
        )

    @cached_property
    def lines(self) -> Stretches:
        if not len(self):
            return Stretches(self, np.empty(0, dtype=np.int64))
        opens = np.empty(len(self), dtype=np.bool_)
        opens[0] = True
        np.not_equal(self.flags[:-1] & BREAK, 0, out=opens[1:])
        return Stretches(self, np.flatnonzero(opens))

    @cached_property
    def paragraphs(self) -> Stretches:
        line = self.lines.word
        opens = np.ones(len(line), dtype=np.bool_)
        if len(line):
            # A paragraph begins at every row's first line, and at lines that follow at least two line breaks.
            inner = np.flatnonzero(self.row[line[1:]] == self.row[line[1:] - 1]) + 1
            breaks = np.flatnonzero(self.kinds & BREAK)
            breaks = breaks[
                ~((self.codes[breaks] == 13) & (self.codes[np.minimum(breaks + 1, len(self.codes) - 1)] == 10))
            ]
            word = line[inner]
            held = np.searchsorted(breaks, self.start[word]) - np.searchsorted(breaks, self.end[word - 1])
            opens[inner] = held > 1
        return Stretches(self, line[opens])


@dataclass(frozen=True, eq=False)
class Stretches:
    """Lines or paragraphs; ``word`` holds the position of the first word of each."""

    words: Words
    word: Int

    @cached_property
    def first(self) -> Int:
        """The position of each row's first line or paragraph, followed by the total number of them."""
        return np.searchsorted(self.word, self.words.first)

    @cached_property
    def counts(self) -> Int:
        return np.diff(self.first)

    @cached_property
    def last(self) -> Int:
        """The position of the last word of each."""
        return np.append(self.word[1:], len(self.words))[: len(self.word)] - 1

    @cached_property
    def characters(self) -> Int:
        """The number of characters in each, from the start of its first word to the end of its last word."""
        return self.words.end[self.last] - self.words.start[self.word]

    @cached_property
    def hashes(self) -> Hashes:
        return series_hashes(self.words.hashes, self.word)

    def sums(self, values: npt.NDArray[Any]) -> Int:
        return row_sums(values, self.first)


def row_sums(values: npt.NDArray[Any], first: Int) -> Int:
    """The sums of ``values[first[r]:first[r + 1]]`` for every r."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return np.diff(sums[first])


def words_of(texts: Sequence[str]) -> Words:
    """The words of ``texts``, each of which is one row."""
    codes = code_points("\n".join(texts) + "\n")
    kinds = classes()[codes]
    characters = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    begin = np.cumsum(characters + 1) - characters - 1
    spaces = np.empty(len(codes) + 1, dtype=np.bool_)
    spaces[0] = True
    np.not_equal(kinds & SPACE, 0, out=spaces[1:])
    # Words begin and end where white space begins or ends; the line break after the last text ends the last word.
    turns = np.flatnonzero(spaces[1:] != spaces[:-1])
    start, end = turns[::2], turns[1::2]
    flags = np.bitwise_or.reduceat(kinds, start) if len(start) else np.empty(0, dtype=np.uint8)
    first = np.append(np.searchsorted(start, begin), len(start))
    return Words(codes, kinds, begin, characters, start, end, flags, first)
