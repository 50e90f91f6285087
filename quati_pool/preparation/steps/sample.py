"""The step ``sample``: a sample of rows that depends only on their ids and the seed, not on order, shards or
workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash
from pydantic import Field, model_validator

from quati_pool.preparation.base import Array, Drops, GlobalFilter, TaskPool
from quati_pool.preparation.base import Parameters as StepParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.deduplication.comparison_arrays import read_keys
from quati_pool.records import Int

_CHUNK = 1 << 20
_BUCKETS = 1 << 16

Hashes = npt.NDArray[np.uint64]


class Sample(GlobalFilter):
    """Samples rows by the 128-bit hash (XXH3) of the seed and the row's id, or of the seed and its page's ``doc_id``.

    ``share`` keeps the rows whose hash is in the lowest share of all possible hashes, ``n`` the n rows with the lowest
    hashes. Of two samples with the same seed, the smaller is therefore a subset of the larger, and a share is relative
    to all ids, not to those that an earlier sample with the same seed left.
    """

    id = "preparation/sample"
    summary = "keeps a random sample that depends on ids and seed alone; smaller samples lie inside larger ones"

    class Parameters(StepParameters):
        n: Annotated[int | None, Field(ge=1, description="how many passages (or pages) to keep")] = None
        share: Annotated[
            float | None, Field(description="what share of them to keep, above 0 and at most 1; instead of n")
        ] = None
        by: Annotated[
            Literal["passage", "page"],
            Field(description="what is drawn: passages, or pages with all their passages"),
        ] = "passage"
        seed: Annotated[int | None, Field(ge=0, description="the seed; null: that of prepare.yaml")] = None

        @model_validator(mode="after")
        def _one_size(self) -> Sample.Parameters:
            if (self.n is None) is (self.share is None):
                raise ValueError("expected either n or share, such as  n: 1000000")
            if self.share is not None and not 0 < self.share <= 1:
                raise ValueError(f"share is {self.share:g}; expected a number above 0 and at most 1")
            return self

    parameters: Parameters

    @property
    def reasons(self) -> Sequence[str]:
        return ("not in the sample",)

    @property
    def seed(self) -> int:
        return self.environment.seed if self.parameters.seed is None else self.parameters.seed

    def key(self) -> dict[str, Any]:
        return {"seed": self.seed}

    def keys(self, batch: Batch) -> dict[str, Array]:
        """The two halves of each row's hash, ``high`` and ``low``."""
        seed = self.seed
        ids = batch.doc_id if self.parameters.by == "page" else batch.ids
        hashed = xxhash.xxh3_128_digest
        digests = b"".join([hashed(f"{seed}\t{row_id}".encode()) for row_id in ids])
        halves = np.frombuffer(digests, dtype=">u8").reshape(-1, 2).astype(np.uint64)
        return {"high": halves[:, 0], "low": halves[:, 1]}

    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """The rows outside the sample. For ``n`` the hashes are read several times, a million at a time: to count them
        by their first 16 bits, to find the threshold, and to find the rows beyond it."""
        if self.parameters.share is not None:
            # The product is exact, and a hash is below it if and only if it is below the next integer.
            border = math.ceil(self.parameters.share * 2.0**64)
            if border == 1 << 64:
                return _drops(_none(), _none())
            return _beyond(shards, _Place(border, 0, 0))
        place = _place_of(shards, self.parameters.n or 0, pages=self.parameters.by == "page")
        return _drops(_none(), _none()) if place is None else _beyond(shards, place)

    def outcome(self, rows: int, dropped: int) -> Sequence[str]:
        n, by = self.parameters.n, self.parameters.by
        if n is None or dropped or (by == "passage" and rows == n):
            return ()
        there = f"there are {rows:,}" if by == "passage" else "there are no more"
        return (f"{n:,} {by}s were asked for and {there}: all stay",)


class _Place(NamedTuple):
    """The threshold of the sample: the halves of the lowest hash that is not kept, and the number of rows with an equal
    hash that are kept before it."""

    high: int
    low: int
    equal: int


class _Piece(NamedTuple):
    """The hashes of consecutive rows of one shard, and which of the rows begin a page (differ from the row before)."""

    shard: int
    row: int
    high: Hashes
    low: Hashes
    first: npt.NDArray[np.bool_]


def _pieces(shards: Sequence[Path]) -> Iterator[_Piece]:
    last: tuple[int, int] | None = None
    for shard, folder in enumerate(shards):
        keys = read_keys(folder)
        if not keys:
            continue
        for row in range(0, len(keys["high"]), _CHUNK):
            high = np.asarray(keys["high"][row : row + _CHUNK])
            low = np.asarray(keys["low"][row : row + _CHUNK])
            first = np.ones(len(high), dtype=np.bool_)
            first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
            first[0] = last != (int(high[0]), int(low[0]))
            last = int(high[-1]), int(low[-1])
            yield _Piece(shard, row, high, low, first)


def _place_of(shards: Sequence[Path], n: int, pages: bool) -> _Place | None:
    """The threshold after the ``n`` lowest rows, or pages; None if all are kept."""
    counts = np.zeros(_BUCKETS, dtype=np.int64)
    for piece in _pieces(shards):
        high = piece.high[piece.first] if pages else piece.high
        counts += np.bincount((high >> np.uint64(48)).astype(np.int64), minlength=_BUCKETS)
    below = np.cumsum(counts)
    if below[-1] <= n:
        return None
    # The lowest hash that is not kept is in the first bucket whose cumulative count exceeds n.
    bucket = int(np.searchsorted(below, n, side="right"))
    missing = n - (int(below[bucket - 1]) if bucket else 0)
    highs, lows = [], []
    for piece in _pieces(shards):
        inside = piece.high >> np.uint64(48) == bucket
        if pages:
            inside &= piece.first
        highs.append(piece.high[inside])
        lows.append(piece.low[inside])
    high, low = np.concatenate(highs), np.concatenate(lows)
    order = np.lexsort((low, high))
    at = order[missing]
    earlier = order[:missing]
    equal = int(np.count_nonzero((high[earlier] == high[at]) & (low[earlier] == low[at])))
    return _Place(int(high[at]), int(low[at]), 0 if pages else equal)


def _beyond(shards: Sequence[Path], place: _Place) -> Drops:
    """The rows to drop, whose hashes are above ``place``, or equal to it except for the first ``place.equal`` rows."""
    border, low = np.uint64(place.high), np.uint64(place.low)
    equal = place.equal
    rows: list[Int] = []
    counts = np.zeros(len(shards), dtype=np.int64)
    for piece in _pieces(shards):
        beyond = piece.high >= border
        (near,) = np.nonzero(piece.high == border)
        if len(near):
            same = piece.low[near] == low
            beyond[near] = piece.low[near] >= low
            kept = near[same][:equal]
            beyond[kept] = False
            equal -= len(kept)
        rows.append(np.flatnonzero(beyond) + piece.row)
        counts[piece.shard] += len(rows[-1])
    row = np.concatenate(rows) if rows else _none()
    rows.clear()  # frees 8 bytes per row
    return _drops(np.repeat(np.arange(len(shards), dtype=np.int64), counts), row)


def _none() -> Int:
    return np.empty(0, dtype=np.int64)


def _drops(shard: Int, row: Int) -> Drops:
    """``Drops`` of rows given in order; the constant columns take no memory."""
    nothing: Any = np.broadcast_to(np.int64(-1), row.shape)
    reason: Any = np.broadcast_to(np.int16(1), row.shape)
    return Drops(shard, row, reason, nothing, nothing, np.broadcast_to(np.float32(np.nan), row.shape))
