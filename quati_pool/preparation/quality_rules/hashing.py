"""64-bit hashes of words and of series of words, of many at once.

A word's hash is the sum of its code points, each times a random number of its place (multilinear hashing;
Lemire and Kaser, Strongly universal string hashing is fast, 2014), then mixed. Powers of one base would not do in
the place of random numbers: modulo 2^64 the Thue–Morse words over any two letters then all collide.
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
"""Words of more characters are hashed one by one."""
_BLOCK = 1 << 18
"""Characters that are hashed at a time, so that a page of any length needs little memory."""


@cache
def multipliers() -> Hashes:
    """Odd random numbers, one for each place in a word, shape (4096,)."""
    table = mix(np.arange(1, _PLACES + 1, dtype=np.uint64) * GAMMA) | np.uint64(1)
    table.flags.writeable = False
    return table


def word_hashes(codes: npt.NDArray[np.uint32], start: Int, end: Int) -> Hashes:
    """The hashes of the words ``codes[start[i]:end[i]]``, which are in order and do not overlap."""
    length = end - start
    hashes = length.astype(np.uint64) * GAMMA
    cuts = np.unique(np.searchsorted(start, np.arange(0, len(codes) + _BLOCK, _BLOCK)))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        begin, stop = start[first:last], start[first:last] + np.minimum(length[first:last], _PLACES)
        base = int(begin[0])
        span = codes[base : int(stop[-1])].astype(np.uint64)
        reach = np.diff(begin, append=stop[-1])
        place = np.arange(len(span)) - np.repeat(begin - base, reach)
        # White space behind a word has places too, and is not added up.
        span *= multipliers().take(place, mode="clip")
        sums = np.zeros(len(span) + 1, dtype=np.uint64)
        np.cumsum(span, out=sums[1:])
        hashes[first:last] += sums[stop - base] - sums[begin - base]
    for word in np.flatnonzero(length > _PLACES).tolist():
        hashes[word] = xxhash.xxh3_64_intdigest(codes[start[word] : end[word]].tobytes())
    return mix(hashes)


def series_hashes(words: Hashes, first: Int) -> Hashes:
    """The hashes of series of words: series i reaches from the word ``first[i]`` to before the next, the last to
    the end; none is empty."""
    count = np.diff(first, append=len(words))
    place = np.arange(len(words)) - np.repeat(first, count)
    return mix(np.add.reduceat(mix(words + (place.astype(np.uint64) + np.uint64(1)) * GAMMA), first))
