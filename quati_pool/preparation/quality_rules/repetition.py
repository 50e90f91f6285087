"""The measures of Rae et al. 2021 (Scaling Language Models, arXiv 2112.11446, appendix A.1.1 and table A1),
"Repetition Removal", for many texts at once.

Lines, paragraphs and n-grams (n consecutive words, across lines) are equal if they have the same words in the same
order: case and punctuation matter, white space between words does not. A *duplicate* has an equal before it in the
text; the first occurrence is not a duplicate. The *characters* of a line, a paragraph or an n-gram are those from the
first character of its first word to the last character of its last word, including white space between words; a share
of characters is relative to all characters of the text.

datatrove's ``GopherRepetitionFilter`` differs:
- lines and paragraphs are compared by character; a line ends at "\\n" only, and lines of white space count; blanks at
  the ends of a line belong to it; paragraphs are separated by two "\\n" in a row;
- of the most frequent n-grams it takes the first rather than the longest, even if it occurs only once; characters in
  which occurrences overlap count once for each occurrence; between words it counts one blank;
- duplicate n-grams are searched from left to right, continuing after each one found, so the words left over at the
  end of a repeated passage do not count, nor does white space between words; n-grams are equal if their words are
  equal when written without white space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quati_pool.preparation.quality_rules.hashing import Hashes
from quati_pool.preparation.quality_rules.wording import shares
from quati_pool.preparation.quality_rules.words import Flags, Numbers, Stretches, Words, row_sums
from quati_pool.records import Int
from quati_pool.stats.splitmix64 import mix

_ROW_STEP = np.uint64(0xD1342543DE82EF95)


def duplicates(stretches: Stretches) -> tuple[Numbers, Numbers]:
    """The share of lines or paragraphs that are duplicates, and the share of characters in them, both for each row;
    NaN for rows without words."""
    words = stretches.words
    later = np.zeros(len(stretches.word), dtype=np.bool_)
    # Most passages are a single line, with nothing to compare.
    several = np.flatnonzero(np.repeat(stretches.counts > 1, stretches.counts))
    if len(several):
        found = _equals(several, _of_row(stretches.hashes[several], words.row[stretches.word[several]]))
        later[found.place[found.later]] = True
    count = stretches.sums(later)
    within = stretches.sums(np.where(later, stretches.characters, 0))
    return shares(count, stretches.counts), shares(within, np.where(stretches.counts, words.characters, 0))


def ngrams(words: Words, top: Sequence[int], repeated: Sequence[int]) -> tuple[dict[int, Numbers], dict[int, Numbers]]:
    """Two shares of characters for each row, by n: the share in the most frequent n-gram, for every n of ``top``, and
    the share in duplicate n-grams, for every n of ``repeated``. Characters in which n-grams overlap count once.

    An n-gram that occurs once is not frequent: a row has 0 if none occurs twice. Of several equally frequent n-grams,
    the one that covers the most characters counts. Rows without words have NaN.
    """
    some = np.where(words.counts, words.characters, 0)
    tops = {n: shares(np.zeros_like(some), some) for n in top}
    dups = {n: shares(np.zeros_like(some), some) for n in repeated}
    if not len(words) or not (tops or dups):
        return tops, dups
    known = _equals(np.arange(len(words)), _of_row(words.hashes, words.row))
    for n in range(2, max((*top, *repeated)) + 1):
        # An n-gram can only occur twice if the two (n-1)-grams in it do; their two numbers identify it.
        # Numbers are specific to a row, so an n-gram that crosses into the next row occurs only once.
        number = np.zeros(len(words), dtype=np.uint64)
        number[known.place] = known.number
        place = np.flatnonzero((number[:-1] > 0) & (number[1:] > 0))
        known = _equals(place, number[place] << np.uint64(32) | number[place + 1])
        if not len(known.place):
            break
        if n in tops:
            tops[n] = shares(_most_frequent(words, known, n), some)
        if n in dups:
            dups[n] = shares(_covered(words, np.sort(known.place[known.later]), n), some)
    return tops, dups


class _Equals(NamedTuple):
    """The items that occur more than once: their places, grouped by equality and ascending within a group; the number
    of the group, from 1; and whether an equal item comes before."""

    place: Int
    number: Int
    later: Flags


def _equals(place: Int, key: Hashes) -> _Equals:
    order = np.argsort(key)
    ordered = key[order]
    same = ordered[1:] == ordered[:-1]
    several = np.zeros(len(key), dtype=np.bool_)
    several[1:] = same
    several[:-1] |= same
    number = np.cumsum(~np.append(False, same)[: len(key)])[several]
    # Sorting the packed numbers and places is faster than a stable sort of all keys.
    both = np.sort(number << 32 | place[order[several]])
    number = both >> 32
    return _Equals(both & 0xFFFFFFFF, number, np.append(False, number[1:] == number[:-1])[: len(both)])


def _of_row(hashes: Hashes, row: Int) -> Hashes:
    """The hashes, made different for each row."""
    return mix(hashes ^ (row.astype(np.uint64) + np.uint64(1)) * _ROW_STEP)


def _covered(words: Words, place: Int, n: int) -> Int:
    """How many characters of each row are in the n-grams at these ascending places."""
    start, end = words.start[place], words.end[place + n - 1]
    reach = np.minimum(end, np.append(start[1:], len(words.codes))) - start
    return row_sums(reach, np.searchsorted(place, words.first))


def _most_frequent(words: Words, known: _Equals, n: int) -> Int:
    """How many characters of each row are in its most frequent n-gram."""
    opens = np.flatnonzero(~known.later)
    row = words.row[known.place[opens]]
    count = np.diff(opens, append=len(known.place))
    most = np.zeros(words.rows, dtype=np.int64)
    np.maximum.at(most, row, count)
    start, end = words.start[known.place], words.end[known.place + n - 1]
    following = np.append(start[1:], 0)
    following[np.append(~known.later[1:], True)] = len(words.codes)
    reach = np.add.reduceat(np.minimum(end, following) - start, opens)
    longest = np.zeros(words.rows, dtype=np.int64)
    frequent = count == most[row]
    np.maximum.at(longest, row[frequent], reach[frequent])
    return longest
