"""The measures of Rae et al. 2021 (Scaling Language Models, arXiv 2112.11446, appendix A.1.1 and table A1),
"Repetition Removal", of many texts at once.

Lines, paragraphs and n-grams (n words in a row, across lines) are equal if their words are, in their order: case
and punctuation matter, white space between words does not. A *duplicate* is one that has an equal before it in the
text; the first is none. The *characters* of a line, a paragraph or an n-gram are those from its first word's first
to its last word's last, white space between included; a share of characters is one of all characters of the text.

datatrove's ``GopherRepetitionFilter`` differs in this:
- lines and paragraphs are compared by character; a line ends at "\\n" alone, and one of white space counts; blanks at
  the ends of a line belong to it; paragraphs are parted by two "\\n" in a row;
- of the most frequent n-grams it takes the first rather than the longest, one that occurs once too; characters in
  which its occurrences overlap count once for each; between its words it counts one blank;
- duplicate n-grams are sought from left to right, going on behind each that is found, so the words left over at
  the end of a repeated stretch do not count, nor does white space between words; n-grams are equal if their words
  are, written without white space.
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
    """The share of lines or paragraphs that are duplicates, and the share of characters in these; rows without a
    word have NaN."""
    words = stretches.words
    later = np.zeros(len(stretches.word), dtype=np.bool_)
    # Most passages are a line: nothing to compare.
    several = np.flatnonzero(np.repeat(stretches.counts > 1, stretches.counts))
    if len(several):
        found = _equals(several, _of_row(stretches.hashes[several], words.row[stretches.word[several]]))
        later[found.place[found.later]] = True
    count = stretches.sums(later)
    within = stretches.sums(np.where(later, stretches.characters, 0))
    return shares(count, stretches.counts), shares(within, np.where(stretches.counts, words.characters, 0))


def ngrams(words: Words, top: Sequence[int], repeated: Sequence[int]) -> tuple[dict[int, Numbers], dict[int, Numbers]]:
    """Two shares of characters by n, of each row: those in the most frequent n-gram, for every n of ``top``; those in
    duplicate n-grams, for every n of ``repeated``. Characters in which n-grams overlap count once.

    An n-gram that occurs once is not frequent: a row has 0 where none occurs twice. Of several that are as frequent,
    that counts which holds most characters. Rows without a word have NaN.
    """
    some = np.where(words.counts, words.characters, 0)
    tops = {n: shares(np.zeros_like(some), some) for n in top}
    dups = {n: shares(np.zeros_like(some), some) for n in repeated}
    if not len(words) or not (tops or dups):
        return tops, dups
    known = _equals(np.arange(len(words)), _of_row(words.hashes, words.row))
    for n in range(2, max((*top, *repeated)) + 1):
        # An n-gram can only occur twice if the two (n-1)-grams in it do, by whose numbers it is known.
        # Numbers are of one row, so what reaches from a row into the next occurs once.
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
    """What occurs more than once: places, those of equals together and in order; the number, from 1, of the group of
    equals; whether an equal comes before it."""

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
    # Sorting numbers and places together puts equals in order faster than a stable sort of all keys does.
    both = np.sort(number << 32 | place[order[several]])
    number = both >> 32
    return _Equals(both & 0xFFFFFFFF, number, np.append(False, number[1:] == number[:-1])[: len(both)])


def _of_row(hashes: Hashes, row: Int) -> Hashes:
    """Hashes that differ from row to row."""
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
