"""MinHash signatures of texts, many at a time: shingles are hashed with numpy and permuted with datasketch.

Broder 1997, "On the resemblance and containment of documents": under a random permutation of all possible elements,
the probability that two sets have the same first element is their Jaccard similarity J. The share of equal places in
two signatures of P permutations estimates J with a standard error of sqrt(J (1 - J) / P), 0.035 for J = 0.8 and
P = 128.
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
"""Shingles permuted at once: the result fits in a processor's cache, and a text of many megabytes needs no more
memory."""

_WEIGHTS = (0.05, 0.95)
"""The weights of false positives and of false negatives: candidates are verified, so false positives cost only time."""


class Signer:
    """Computes signatures of ``permutations`` places.

    A shingle is ``words`` consecutive words (separated by white space), or ``characters`` consecutive characters;
    exactly one of the two must be given. A text shorter than one shingle is a single shingle.
    """

    def __init__(self, permutations: int, words: int | None, characters: int | None) -> None:
        from datasketch import MinHash

        self._words = words
        self._length = words or characters or 1
        self._minhash = MinHash(num_perm=permutations, hashfunc=operator.index)

    def signatures(self, texts: Sequence[str]) -> Signatures:
        """The signature of each text, shape (n, permutations); all places have the maximum value if a text is empty."""
        rows = np.empty((len(texts), self._minhash.num_perm), dtype=np.uint32)
        for row, hashes in zip(rows, self.shingles(texts), strict=True):
            self._minhash.clear()
            for start in range(0, len(hashes), _PERMUTED_AT_ONCE):
                self._minhash.update_batch(hashes[start : start + _PERMUTED_AT_ONCE].tolist())
            row[:] = self._minhash.hashvalues
        return rows

    def shingles(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """The hashes of each text's shingles, in order; none if the text is empty."""
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
    """A hash of the ``rows`` places of each band and of ``salt``, which has shape (n,); shape (n, bands), never 0."""
    places = signatures[:, : bands * rows].reshape(len(signatures), bands, rows).astype(np.uint64)
    hashes = np.repeat(salt[:, None], bands, axis=1)
    for place in range(rows):
        hashes = mix((hashes ^ places[:, :, place]) + GAMMA)
    hashes[hashes == 0] = 1
    return hashes


@lru_cache
def bands_and_rows(threshold: float, permutations: int) -> tuple[int, int]:
    """The number of bands and of places in each, such that few pairs of at least ``threshold`` share no band.

    datasketch's choice (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4), with a false negative
    weighing 19 times as much as a false positive. Raises ValueError if no two bands fit.
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
    """A hash of every ``length`` consecutive units, including windows that cross from one text into the next."""
    count = max(0, len(units) - length + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    factor = 1
    for place in range(length):
        hashes += units[place : place + count] * np.uint64(factor)
        factor = factor * int(GAMMA) % (1 << 64)
    return (mix(hashes + GAMMA) >> np.uint64(32)).astype(np.uint32)


def _whole(text: str) -> npt.NDArray[np.uint32]:
    return np.array([xxhash.xxh3_64_intdigest(encoded(text)) >> 32], dtype=np.uint32)
