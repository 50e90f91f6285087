"""A sample of rows that depends on nothing but their ids: the same whatever the order, the shards, the workers."""

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
    """Every row has a place: the 128-bit hash (XXH3) of the seed and its id, or of its page's ``doc_id``.

    A share keeps the rows whose hash is below that share of all hashes, n the n rows with the lowest. So of two
    samples with one seed the smaller lies inside the larger, and a share is one of all ids, not of those that
    an earlier sample with that seed left.
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
        """``high`` and ``low``: the two halves of each row's hash."""
        seed = self.seed
        ids = batch.doc_id if self.parameters.by == "page" else batch.ids
        hashed = xxhash.xxh3_128_digest
        digests = b"".join([hashed(f"{seed}\t{row_id}".encode()) for row_id in ids])
        halves = np.frombuffer(digests, dtype=">u8").reshape(-1, 2).astype(np.uint64)
        return {"high": halves[:, 0], "low": halves[:, 1]}

    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """Reads the hashes twice, a million at a time: to count them by their first 16 bits, and to say which rows
        are beyond the last that is kept."""
        if self.parameters.share is not None:
            # The product is exact, and a hash is below it where it is below the next whole number.
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
    """The first place that is not kept: the halves of a hash, and how many rows with an equal hash come before."""

    high: int
    low: int
    equal: int


class _Piece(NamedTuple):
    """Hashes of consecutive rows of one shard, and which of them begin a page (are unlike the row before)."""

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
    """The place after the ``n`` lowest of rows, or of pages; None where all stay."""
    counts = np.zeros(_BUCKETS, dtype=np.int64)
    for piece in _pieces(shards):
        high = piece.high[piece.first] if pages else piece.high
        counts += np.bincount((high >> np.uint64(48)).astype(np.int64), minlength=_BUCKETS)
    below = np.cumsum(counts)
    if below[-1] <= n:
        return None
    # The first hash that is not kept lies in the first bucket that reaches beyond n.
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
    """The rows whose hashes are not below ``place``; of those that equal it, all but the first."""
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
    rows.clear()  # 8 bytes a row
    return _drops(np.repeat(np.arange(len(shards), dtype=np.int64), counts), row)


def _none() -> Int:
    return np.empty(0, dtype=np.int64)


def _drops(shard: Int, row: Int) -> Drops:
    """Rows in order; the columns that say nothing take no memory."""
    nothing: Any = np.broadcast_to(np.int64(-1), row.shape)
    reason: Any = np.broadcast_to(np.int16(1), row.shape)
    return Drops(shard, row, reason, nothing, nothing, np.broadcast_to(np.float32(np.nan), row.shape))
