"""64-bit hashes of many words, or of many sequences of words, at once.

A word's hash is the sum of its code points, each multiplied by a random number for its place (multilinear hashing;
Lemire and Kaser, Strongly universal string hashing is fast, 2014), then mixed. Powers of one base are no substitute
for the random numbers: modulo 2^64 the Thue–Morse words over any two letters would all collide.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import xxhash

from quati_pool.records import Int
from quati_pool.stats.splitmix64 import GAMMA, mix

Hashes = npt.NDArray[np.uint64]

_PLACES = 4096
"""Words with more characters than this are hashed one by one."""
_BLOCK = 1 << 18
"""Characters hashed at a time, so that a page of any length needs little memory."""


@cache
def multipliers() -> Hashes:
    """Odd random numbers, one for each place in a word, shape (4096,)."""
    table = mix(np.arange(1, _PLACES + 1, dtype=np.uint64) * GAMMA) | np.uint64(1)
    table.flags.writeable = False
    return table


def word_hashes(codes: npt.NDArray[np.uint32], start: Int, end: Int) -> Hashes:
    """The hashes of the words ``codes[start[i]:end[i]]``, which must be in order and must not overlap."""
    length = end - start
    hashes = length.astype(np.uint64) * GAMMA
    cuts = np.unique(np.searchsorted(start, np.arange(0, len(codes) + _BLOCK, _BLOCK)))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        begin, stop = start[first:last], start[first:last] + np.minimum(length[first:last], _PLACES)
        base = int(begin[0])
        span = codes[base : int(stop[-1])].astype(np.uint64)
        reach = np.diff(begin, append=stop[-1])
        place = np.arange(len(span)) - np.repeat(begin - base, reach)
        # White space after a word has places too, but is not included in the sums.
        span *= multipliers().take(place, mode="clip")
        sums = np.zeros(len(span) + 1, dtype=np.uint64)
        np.cumsum(span, out=sums[1:])
        hashes[first:last] += sums[stop - base] - sums[begin - base]
    for word in np.flatnonzero(length > _PLACES).tolist():
        hashes[word] = xxhash.xxh3_64_intdigest(codes[start[word] : end[word]].tobytes())
    return mix(hashes)


def series_hashes(words: Hashes, first: Int) -> Hashes:
    """The hashes of sequences of words: sequence i consists of the words from ``first[i]`` to before ``first[i + 1]``,
    or to the end for the last one; none may be empty."""
    count = np.diff(first, append=len(words))
    place = np.arange(len(words)) - np.repeat(first, count)
    return mix(np.add.reduceat(mix(words + (place.astype(np.uint64) + np.uint64(1)) * GAMMA), first))
