"""What a plan says of corpus stores, of runs and of the pool: the bytes of their formats."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.plan.corpora import CorpusSize
from quati_pool.commands.plan.parts import PlannedStore, Seconds
from quati_pool.project.config import PoolConfig

RUN_ROW, FUSED_ROW = 12, 7
"""Bytes of a row of a packed TREC run, and of a fused one, whose scores repeat (tests/benchmarks/RESULTS.md)."""

# Of a passage in a store: the ends of id and text (4 bytes each), its hash and its place among the sorted hashes
# (8 each), and what Arrow adds to a batch of 4,096.
_PASSAGE = 24.3
# In memory while it is written: a batch as Python's strings and as Arrow's; hashes, their order, and both once more.
_BATCH_HELD, _HASHES_HELD = 40 * 2**20, 32
# Bytes a second from a file of passages to its store, and of a pool.
_WRITTEN = 15e6
# Of a pair of the pool: its keys, ids and ranks, and its text, packed.
_PAIR, _PACKED = 60, 0.45


def planned_store(size: CorpusSize) -> PlannedStore | None:
    """The store of a corpus; None where its size is not known."""
    if size.passages is None or size.bytes is None:
        return None
    disk = round(size.passages * (size.bytes + _PASSAGE))
    memory = _BATCH_HELD + _HASHES_HELD * size.passages
    return PlannedStore(disk, memory, Seconds.around(disk / _WRITTEN), there=size.stored)


def planned_pool(config: PoolConfig, sizes: Sequence[CorpusSize], queries: int | None) -> PlannedStore | None:
    """A pool in which no two systems found the same passage: no pool is larger. None where sizes are not known."""
    known = [size.bytes for size in sizes if size.bytes is not None]
    if queries is None or not known:
        return None
    pairs = queries * sum(config.pool_depth(tag) for tag in config.systems)
    disk = round(pairs * (_PAIR + _PACKED * max(known)))
    return PlannedStore(disk, 0, Seconds.around(disk / _WRITTEN))
