"""The measures of Rae et al. 2021 (Scaling Language Models, arXiv 2112.11446, appendix A.1.1), "Quality
Filtering", for many texts at once, and two of our own.

Ratios are NaN for a text without words. datatrove's ``GopherQualityFilter`` differs:
- it splits with a tokeniser, which separates punctuation from words, and leaves words of only punctuation out of the
  number of words and their mean length;
- blank lines count as lines;
- only "•" and "-" are bullets;
- stop words must match a whole token exactly, including case.
"""

from __future__ import annotations

import numpy as np

from quati_pool.preparation.quality_rules.characters import (
    ALPHABETIC,
    BULLET,
    ELLIPSIS,
    FULL_STOP,
    HASH_SIGN,
    LETTER,
    SPACE,
)
from quati_pool.preparation.quality_rules.words import Numbers, Words
from quati_pool.records import Int


def shares(part: Int, whole: Int) -> Numbers:
    """``part / whole``; NaN where ``whole`` is 0."""
    found = np.full(len(whole), np.nan)
    np.divide(part, whole, out=found, where=whole != 0)
    return found


def number_of_words(words: Words) -> Numbers:
    return words.counts.astype(np.float64)


def mean_word_length(words: Words) -> Numbers:
    """Characters per word, including punctuation attached to it."""
    return shares(words.sums(words.end - words.start), words.counts)


def hash_signs(words: Words) -> Numbers:
    """Characters "#" per word of the text."""
    return shares(words.within(np.flatnonzero(words.codes == HASH_SIGN)), words.counts)


def ellipses(words: Words) -> Numbers:
    """Ellipses per word of the text: characters "…" and runs of full stops, of which k in a row count as k // 3."""
    single = words.within(np.flatnonzero(words.codes == ELLIPSIS))
    stops = np.flatnonzero(words.codes == FULL_STOP)
    begins = np.flatnonzero(np.diff(stops, prepend=-2) != 1)
    rows = np.concatenate((words.begin, [len(words.codes)]))
    held = np.diff(begins, append=len(stops)) // 3
    sums = np.concatenate(([0], np.cumsum(held)))
    return shares(single + np.diff(sums[np.searchsorted(stops[begins], rows)]), words.counts)


def bullet_lines(words: Words) -> Numbers:
    """The share of lines whose first character is a bullet (``characters.BULLETS``)."""
    lines = words.lines
    return shares(lines.sums(words.kinds[words.start[lines.word]] & BULLET != 0), lines.counts)


def ellipsis_lines(words: Words) -> Numbers:
    """The share of lines that end with "…" or three full stops."""
    lines = words.lines
    last = words.end[lines.last] - 1
    dots = words.codes == FULL_STOP
    # A line break precedes every text, so full stops of the text before it are never counted.
    three = dots[last] & dots[np.maximum(last - 1, 0)] & dots[np.maximum(last - 2, 0)] & (last > 1)
    return shares(lines.sums(three | (words.codes[last] == ELLIPSIS)), lines.counts)


def alphabetic_words(words: Words) -> Numbers:
    """The share of words that contain a letter (``str.isalpha``)."""
    return shares(words.sums(words.flags & ALPHABETIC != 0), words.counts)


def line_words(words: Words) -> Numbers:
    """Words per line. Our own measure: menus, tables and lists have short lines."""
    return shares(words.counts, words.lines.counts)


def letters(words: Words) -> Numbers:
    """The share of letters and combining marks among the characters other than white space. Our own measure."""
    return shares(words.at(LETTER), words.characters - words.at(SPACE))
