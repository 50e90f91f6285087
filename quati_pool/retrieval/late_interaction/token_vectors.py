"""The token vectors of passages on disk: for each passage as many as it has tokens, one after another."""

from __future__ import annotations

import numpy as np

from quati_pool.records import Int
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import Matrix, Vectors


class TokenVectors:
    """Token vectors in ``shards``, memory-mapped, read as float32."""

    def __init__(self, shards: Shards) -> None:
        self._vectors = Vectors(shards)
        self.dimension = self._vectors.dimension
        self.longest = self._vectors.longest
        # 16 bytes a passage are all that is held in memory of a corpus.
        self.ends: Int = np.array(shards.array("ends"))
        self.starts: Int = _starts(self.ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def tokens(self) -> int:
        """Of all passages together."""
        return len(self._vectors)

    def counts(self, ordinals: Int) -> Int:
        """How many tokens those passages have."""
        counts: Int = self.ends[ordinals] - self.starts[ordinals]
        return counts

    def rows(self, rows: slice | Int) -> Matrix:
        """The vectors at ``rows``, of whatever passages, shape (rows, dimension)."""
        return self._vectors.rows(rows)

    def of(self, ordinals: Int, count: int) -> Matrix:
        """The vectors of passages that all have ``count`` tokens, shape (passages, count, dimension)."""
        rows = self.starts[ordinals][:, None] + np.arange(count)
        return self.rows(rows.ravel()).reshape(len(ordinals), count, self.dimension)


def _starts(ends: Int) -> Int:
    starts: Int = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]])
    return starts
