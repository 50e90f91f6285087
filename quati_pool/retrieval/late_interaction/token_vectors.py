"""The token vectors of passages on disk: as many a passage as it has tokens, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Int
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import Matrix, Precision, Vectors, store_arrays

_READ = 4096


class Encoded(NamedTuple):
    """The token vectors of texts, one text after another, shape (tokens, dimension), and how many each has."""

    vectors: Matrix
    counts: Int


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


def token_arrays(shards: Shards, fresh: Encoded, sources: Int, precision: Precision) -> dict[str, npt.NDArray[Any]]:
    """What to append to ``shards`` for the next passages.

    ``sources`` say whose vectors each takes, shape (passages,): those of a passage in the shards, or, counted
    on from the last of them, of a passage that is added; of these, the ones that take their own are ``fresh``.
    """
    before = shards.passages
    arrays = store_arrays(fresh.vectors, precision)
    old_ends: Int = shards.array("ends") if "ends" in shards.names else np.empty(0, dtype=np.int64)
    held = int(old_ends[-1]) if len(old_ends) else 0
    own = np.flatnonzero(sources == before + np.arange(len(sources)))
    repeated = np.unique(sources[sources < before])

    # Rows of the vectors added are counted on from those in the shards.
    starts, counts = np.zeros(len(sources), dtype=np.int64), np.zeros(len(sources), dtype=np.int64)
    starts[own], counts[own] = held + np.cumsum(fresh.counts) - fresh.counts, fresh.counts
    late = sources >= before
    starts[late], counts[late] = starts[sources[late] - before], counts[sources[late] - before]
    firsts = np.where(repeated > 0, old_ends[np.maximum(repeated - 1, 0)], 0)
    at = np.searchsorted(repeated, sources[~late])
    starts[~late], counts[~late] = firsts[at], (old_ends[repeated] - firsts)[at]

    ends = np.cumsum(counts)
    if len(own) < len(sources):
        rows = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        arrays = {name: _picked(shards, name, array, held, rows) for name, array in arrays.items()}
    return {**arrays, "ends": held + ends}


def equal_before(corpus: CorpusStore, ordinals: Int) -> Int:
    """For each of the passages ``ordinals`` the position of the first of them with the same text.

    Texts are told apart by 128 bits of their hashes.
    """
    halves = np.empty((len(ordinals), 2), dtype=np.uint64)
    for start, texts in _texts(corpus, ordinals):
        digests = b"".join(xxhash.xxh3_128_digest(text.encode()) for text in texts)
        halves[start : start + len(texts)] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    changed = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], changed])) if len(order) else order
    first = np.empty(len(ordinals), dtype=np.int64)
    first[order] = np.repeat(order[starts], np.diff([*starts, len(order)]))  # lexsort is stable
    return first


def _texts(corpus: CorpusStore, ordinals: Int) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(ordinals), _READ):
        yield start, corpus.texts(ordinals[start : start + _READ])


def _starts(ends: Int) -> Int:
    starts: Int = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]])
    return starts


def _picked(shards: Shards, name: str, added: npt.NDArray[Any], held: int, rows: Int) -> npt.NDArray[Any]:
    """Rows of an array in the shards and what is added to it; arrays without a row a token stay."""
    if name == "longest":
        return added
    picked = np.empty((len(rows), *added.shape[1:]), dtype=added.dtype)
    late = rows >= held
    picked[late] = added[rows[late] - held]
    if not late.all():
        picked[~late] = shards.array(name)[rows[~late]]
    return picked
