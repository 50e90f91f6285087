"""Lists of stop words, and the number of different stop words in texts."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quati_pool.preparation.quality_rules.characters import SPELLING, code_points, lower_case
from quati_pool.preparation.quality_rules.hashing import Hashes, multipliers
from quati_pool.preparation.quality_rules.words import Flags, Numbers, Words
from quati_pool.records import Int
from quati_pool.stats.splitmix64 import mix

_FOLDER = Path(__file__).with_name("stop_words")
LONGEST = 64
"""The most characters a stop word may have."""


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages that have a list."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def base_language(code: str) -> str:
    """The language of a code that may also contain a country or a script: pt for pt-BR."""
    return re.split(r"[-_]", code.strip().lower(), maxsplit=1)[0]


@cache
def list_of(language: str) -> tuple[str, ...] | None:
    """The stop words of a language; None if there is no list."""
    base = base_language(language)
    return read_list(_FOLDER / f"{base}.txt") if base in languages() else None


def read_list(path: Path) -> tuple[str, ...]:
    """The words in a UTF-8 file, one per line; blank lines and lines that begin with "#" are skipped.

    Raises OSError, UnicodeDecodeError.
    """
    lines = map(str.strip, path.read_text(encoding="utf-8-sig").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def fault_of(word: str) -> str | None:
    """Why this word can never be found in a text, briefly; None if it can."""
    if not word or any(unicodedata.category(character)[0] not in "LMN" for character in word):
        return "holds characters other than letters, marks and digits, which separate words: give its parts"
    if len(unicodedata.normalize("NFD", word)) > LONGEST:
        return f"has more than {LONGEST} characters"
    return None


class StopWords:
    """A list of words that is searched for regardless of case; composed and decomposed letters are equal."""

    def __init__(self, words: Iterable[str]) -> None:
        forms: dict[int, int] = {}
        lengths = set()
        initials = set()
        distinct = sorted({_lower(word) for word in words})
        for number, word in enumerate(distinct):
            for form in (word, unicodedata.normalize("NFD", word)):
                codes = code_points(form)
                forms[int(_hashes(codes, np.array([0]), np.array([len(codes)]))[0])] = number
                lengths.add(len(codes))
                initials.add(codes[0])
        self._initials = np.zeros(max(initials, default=0) + 2, dtype=np.bool_)
        self._initials[list(initials)] = True
        self._longest = max(lengths, default=0)
        self._keys = np.array(sorted(forms), dtype=np.uint64)
        self._numbers = np.array([forms[key] for key in sorted(forms)], dtype=np.int64)
        self.words = distinct

    def __len__(self) -> int:
        return len(self.words)

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def held(self, words: Words, rows: Flags) -> Numbers:
        """The number of different stop words in each row where ``rows`` is true; NaN for the other rows.

        A word here is a run of letters, combining marks and digits, so punctuation and apostrophes separate words.
        """
        found = np.zeros((words.rows, len(self)), dtype=np.bool_)
        start, length = _spelt(words)
        initial = lower_case()[words.codes[start]]
        near = np.flatnonzero(self._initials.take(initial, mode="clip") & (length <= self._longest))
        start, length = start[near], length[near]
        keys = _hashes(words.codes, start, length)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit = self._keys[at] == keys
        row = np.searchsorted(words.begin, start[hit], side="right") - 1
        found[row, self._numbers[at[hit]]] = True
        return np.where(rows, found.sum(axis=1), np.nan)


def _lower(word: str) -> str:
    return "".join(map(chr, lower_case()[code_points(unicodedata.normalize("NFC", word))].tolist()))


def _spelt(words: Words) -> tuple[Int, Int]:
    """The starts and lengths of the runs of letters, marks and digits in all texts."""
    spelling = np.zeros(len(words.codes) + 1, dtype=np.bool_)
    np.not_equal(words.kinds & SPELLING, 0, out=spelling[1:])
    turns = np.flatnonzero(spelling[1:] != spelling[:-1])
    return turns[::2], turns[1::2] - turns[::2]


def _hashes(codes: npt.NDArray[np.uint32], start: Int, length: Int) -> Hashes:
    """The hashes of short runs of characters, in lower case."""
    sums = length.astype(np.uint64)
    at, sums_at = start, np.arange(len(start))
    for place in range(int(length.max(initial=0))):
        if place:
            longer = length[sums_at] > place
            at, sums_at = at[longer], sums_at[longer]
        sums[sums_at] += lower_case()[codes[at + place]] * multipliers()[place]
    return mix(sums)
