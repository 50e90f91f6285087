"""Passages with equal vectors, of which an approximate index contains only one.

If many vectors are equal, the links of a graph lead only from one of them to the next, and the candidates from a list
are all the same. So the index is built over distinct vectors, and each one found is expanded to all passages that have
it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xxhash

from quati_pool.records import Int
from quati_pool.retrieval.encoders.duplicate_texts import first_equal
from quati_pool.retrieval.vector_index.vectors import Vectors

_BLOCK = 4096
_FILES = ("passages.npy", "ends.npy")


class DuplicateVectors:
    """The passages of each distinct vector: those of the i-th are ``passages[ends[i - 1]:ends[i]]``, in order."""

    def __init__(self, passages: Int, ends: Int) -> None:
        self._passages, self.ends = passages, ends
        self._starts: Int = np.append(0, ends[:-1]).astype(np.int64)

    @classmethod
    def of(cls, vectors: Vectors) -> DuplicateVectors:
        """Groups equal vectors by 128-bit hashes, which takes about 40 bytes of memory per passage."""
        hashes = np.empty((len(vectors), 2), dtype=np.uint64)
        for start, block in vectors.blocks(_BLOCK):
            digests = b"".join(map(xxhash.xxh3_128_digest, block))
            hashes[start : start + len(block)] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
        first = first_equal(hashes)
        passages = np.argsort(first, kind="stable")
        counts = np.bincount(first, minlength=len(vectors))
        return cls(passages, np.cumsum(counts[counts > 0]))

    @classmethod
    def read(cls, folder: Path) -> DuplicateVectors:
        """Reads what ``write`` wrote; raises OSError or ValueError if that is missing or damaged."""
        passages, ends = (np.load(folder / name, mmap_mode="r") for name in _FILES)
        return cls(passages, ends)

    def write(self, folder: Path) -> None:
        for name, array in zip(_FILES, (self._passages, self.ends), strict=True):
            np.save(folder / name, array)

    @property
    def distinct(self) -> Int:
        """The first passage of each distinct vector, in order."""
        found: Int = self._passages[self._starts]
        return found

    def expand(self, found: Int, least: int) -> tuple[Int, Int]:
        """The passages of the distinct vectors in ``found``, as rows of ``found`` and passages, shape (n,) each.

        A row of ``found`` holds numbers of distinct vectors, best first, or −1 for none. In each row, vectors are
        expanded until there are at least ``least`` passages, or all of them."""
        counts = np.where(found >= 0, self.ends[found] - self._starts[found], 0)
        before = np.cumsum(counts, axis=1) - counts
        rows, columns = np.nonzero((found >= 0) & (before < least))
        numbers, lengths = found[rows, columns], counts[rows, columns]
        ends = np.cumsum(lengths)
        at = np.repeat(self._starts[numbers] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        return np.repeat(rows, lengths), np.asarray(self._passages[at])
