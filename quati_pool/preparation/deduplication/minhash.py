"""MinHash signatures of texts, many at a time: shingles are hashed by numpy, permuted by datasketch.

Broder 1997, "On the resemblance and containment of documents": of two sets, a random permutation of all that
could be in them has the same first element with the probability of their Jaccard similarity. The share of equal
places of two signatures of P permutations estimates it with a standard error of sqrt(J (1 - J) / P), 0.035 for
J = 0.8 and P = 128.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xxhash

from quati_pool.preparation.deduplication.normalising import encoded
from quati_pool.records import Int
from quati_pool.stats.splitmix64 import GAMMA, mix

Signatures = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]

_PERMUTED_AT_ONCE = 512
"""Shingles permuted at once: what they give fits in a processor's cache, and a text of many megabytes takes no more."""

_WEIGHTS = (0.05, 0.95)
"""Of pairs looked at for nothing and of missed ones: candidates are verified, so the first cost only time."""


class Signer:
    """Computes signatures of ``permutations`` places.

    A shingle is ``words`` consecutive words (stretches without white space), or ``characters`` consecutive
    characters; exactly one of the two is given. A text too short for one is a single shingle as a whole.
    """

    def __init__(self, permutations: int, words: int | None, characters: int | None) -> None:
        from datasketch import MinHash

        self._words = words
        self._length = words or characters or 1
        self._minhash = MinHash(num_perm=permutations, hashfunc=operator.index)

    def signatures(self, texts: Sequence[str]) -> Signatures:
        """One row for each text, shape (n, permutations); all places at their highest where there is no text."""
        rows = np.empty((len(texts), self._minhash.num_perm), dtype=np.uint32)
        for row, hashes in zip(rows, self.shingles(texts), strict=True):
            self._minhash.clear()
            for start in range(0, len(hashes), _PERMUTED_AT_ONCE):
                self._minhash.update_batch(hashes[start : start + _PERMUTED_AT_ONCE].tolist())
            row[:] = self._minhash.hashvalues
        return rows

    def shingles(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """The hashes of each text's shingles, in their order; none where there is no text."""
        units, counts = _words(texts) if self._words else _characters(texts)
        hashes = _windows(units, self._length)
        ends = np.cumsum(counts)
        found = []
        for text, count, end in zip(texts, counts.tolist(), ends.tolist(), strict=True):
            if count >= self._length:
                found.append(hashes[end - count : end - self._length + 1])
            else:
                found.append(_whole(text) if count else hashes[:0])
        return found


def band_hashes(signatures: Signatures, bands: int, rows: int, salt: Hashes) -> Hashes:
    """A hash of each band's ``rows`` places, and of ``salt`` (n,), shape (n, bands); never 0."""
    places = signatures[:, : bands * rows].reshape(len(signatures), bands, rows).astype(np.uint64)
    hashes = np.repeat(salt[:, None], bands, axis=1)
    for place in range(rows):
        hashes = mix((hashes ^ places[:, :, place]) + GAMMA)
    hashes[hashes == 0] = 1
    return hashes


@lru_cache
def bands_and_rows(threshold: float, permutations: int) -> tuple[int, int]:
    """How many bands of how many places, such that few pairs of at least ``threshold`` share no band.

    datasketch's choice (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4) with a missed
    pair weighing 19 times one that is looked at for nothing. Raises ValueError where no two bands fit.
    """
    from datasketch import MinHashLSH

    found = MinHashLSH(threshold=threshold, num_perm=permutations, weights=_WEIGHTS)
    return found.b, found.r


def _words(texts: Sequence[str]) -> tuple[Hashes, Int]:
    """A hash of every word of all texts, and the number of words of each text."""
    words: list[bytes] = []
    counts = np.empty(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        found = encoded(" ".join(text.split())).split()
        words += found
        counts[row] = len(found)
    return np.fromiter(map(xxhash.xxh3_64_intdigest, words), dtype=np.uint64, count=len(words)), counts


def _characters(texts: Sequence[str]) -> tuple[Hashes, Int]:
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return mix(codes.astype(np.uint64) + GAMMA), np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def _windows(units: Hashes, length: int) -> npt.NDArray[np.uint32]:
    """A hash of every ``length`` consecutive units, those across the ends of texts too."""
    count = max(0, len(units) - length + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    factor = 1
    for place in range(length):
        hashes += units[place : place + count] * np.uint64(factor)
        factor = factor * int(GAMMA) % (1 << 64)
    return (mix(hashes + GAMMA) >> np.uint64(32)).astype(np.uint32)


def _whole(text: str) -> npt.NDArray[np.uint32]:
    return np.array([xxhash.xxh3_64_intdigest(encoded(text)) >> 32], dtype=np.uint32)
