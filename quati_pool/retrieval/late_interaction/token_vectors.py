"""The token vectors of passages on disk, one per token, those of each passage after those of the one before."""

from __future__ import annotations

import numpy as np

from quati_pool.records import Int
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import Matrix, Vectors


class TokenVectors:
    """The token vectors in ``shards``, memory-mapped and read as float32."""

    def __init__(self, shards: Shards) -> None:
        self._vectors = Vectors(shards)
        self.dimension = self._vectors.dimension
        self.longest = self._vectors.longest
        # In memory, a corpus takes only these 16 bytes per passage.
        self.ends: Int = np.array(shards.array("ends"))
        self.starts: Int = _starts(self.ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def tokens(self) -> int:
        """The number of tokens of all passages together."""
        return len(self._vectors)

    def counts(self, ordinals: Int) -> Int:
        """The number of tokens of each of the given passages, shape (passages,)."""
        counts: Int = self.ends[ordinals] - self.starts[ordinals]
        return counts

    def rows(self, rows: slice | Int) -> Matrix:
        """The vectors at ``rows``, counted over all passages, shape (rows, dimension)."""
        return self._vectors.rows(rows)

    def of(self, ordinals: Int, count: int) -> Matrix:
        """The vectors of passages that all have ``count`` tokens, shape (passages, count, dimension)."""
        rows = self.starts[ordinals][:, None] + np.arange(count)
        return self.rows(rows.ravel()).reshape(len(ordinals), count, self.dimension)


def _starts(ends: Int) -> Int:
    starts: Int = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]])
    return starts
