"""Near-duplicate passages of one query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

NEAR = 0.8
"""The least similarity at which two passages are shown as near-identical. With 100 words, about eleven shingles on
either side may differ, as when a date or a site's name is replaced in three or four places."""

WORDS = 3
"""Words per shingle (w in Broder, On the Resemblance and Containment of Documents, 1997)."""

_WORD = re.compile(r"\w+")
# Texts whose similarities to all others are in memory at a time.
_ROWS = 1024


class Resemblance(NamedTuple):
    """A similar text, at position ``place``; the similarity is 1.0 if all shingles are shared."""

    place: int
    similarity: float


def near_duplicates(texts: Sequence[str], threshold: float = NEAR) -> list[list[Resemblance]]:
    """For each text, the others whose similarity is at least ``threshold``, the most similar first, then by place.

    The similarity is the exact Jaccard coefficient of the two sets of word 3-shingles; case, punctuation and the
    encoding of accents are ignored. A text of fewer than three words is one shingle, and a text without words is
    compared verbatim, so that equal texts always have 1.0.
    """
    from scipy.sparse import csr_array

    known: dict[tuple[str, ...], int] = {}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        columns += {known.setdefault(shingle, len(known)) for shingle in _shingles(text)}
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.int32)
    matrix = csr_array((ones, np.array(columns, dtype=np.int32), ends), shape=(len(texts), len(known)))
    sizes = np.diff(ends)
    found: list[list[Resemblance]] = [[] for _ in texts]
    for start in range(0, len(texts), _ROWS):
        shared = (matrix[start : start + _ROWS] @ matrix.T).tocoo()
        first, second = shared.row + start, shared.col
        similarity = shared.data / (sizes[first] + sizes[second] - shared.data)
        kept = (similarity >= threshold) & (first != second)
        for a, b, value in zip(first[kept].tolist(), second[kept].tolist(), similarity[kept].tolist(), strict=True):
            found[a].append(Resemblance(b, value))
    for others in found:
        others.sort(key=lambda other: (-other.similarity, other.place))
    return found


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(unicodedata.normalize("NFC", text).casefold())
    if len(words) < WORDS:
        return {tuple(words)} if words else {("", text.strip())}
    return set(zip(*(words[start:] for start in range(WORDS)), strict=False))
