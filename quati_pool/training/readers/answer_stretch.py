"""The stretch of a text that is closest to an answer in words: what an extractive reader learns to mark."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from quati_pool.text.token_overlap import tokens

_WORD = re.compile(r"\S+")


class Stretch(NamedTuple):
    """Where it begins and ends in the text, in characters, and its token F1 with the answer, in percent."""

    start: int
    end: int
    f1: float


def closest_stretch(text: str, answer: str) -> Stretch | None:
    """The stretch of whole words with the highest token F1 with ``answer``; None where the two share no word.

    Of several with the same F1 it is the shortest, and of these the first. Pirá's answers are in their writers' own
    words (arXiv 2309.10945), so most are no part of the text; that a reader learns the closest stretch is our choice.
    """
    wanted = Counter(tokens(answer))
    words = [(match.span(), tokens(match.group())) for match in _WORD.finditer(text)]
    # A word without letters or digits has no token, and cannot begin or end the best stretch.
    placed = [(span, token) for span, found in words for token in found]
    size = wanted.total()
    best: tuple[float, int, int, int] | None = None  # F1, minus the length, minus the first place, the last place
    for first, (_, token) in enumerate(placed):
        if token not in wanted:
            continue
        left, shared = Counter(wanted), 0
        for last in range(first, len(placed)):
            length = last - first + 1
            if best is not None and 200 * size / (length + size) < best[0]:
                break  # not even all of the answer would make up for more words
            if left[placed[last][1]] > 0:
                left[placed[last][1]] -= 1
                shared += 1
                found = (200 * shared / (length + size), -length, -first, last)
                if best is None or found > best:
                    best = found
    if best is None:
        return None
    f1, _, first, last = best
    return Stretch(placed[-first][0][0], placed[last][0][1], f1)
