"""The disk, memory and time of corpus stores and of the pool, from the bytes of their formats."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.plan.corpora import CorpusSize
from quati_pool.commands.plan.parts import PlannedStore, Seconds
from quati_pool.project.config import PoolConfig

RUN_ROW, FUSED_ROW = 12, 7
"""Bytes per row of a gzipped TREC run, and of a fused one, whose scores repeat (tests/benchmarks/RESULTS.md)."""

# Bytes per passage in a store besides id and text: their end offsets (4 each), its hash and its position among the
# sorted hashes (8 each), and its share of what Arrow adds to a batch of 4,096.
_PASSAGE = 24.3
# Memory while a store is written: a batch as Python and Arrow strings; per passage its hash and its order, twice.
_BATCH_MEMORY, _HASH_MEMORY = 40 * 2**20, 32
# Bytes per second at which a store or a pool is written.
_WRITING_SPEED = 15e6
# Per pair of the pool: the bytes of its keys, ids and ranks, and the ratio to which gzip compresses its text.
_PAIR, _PACKED = 60, 0.45


def planned_store(size: CorpusSize) -> PlannedStore | None:
    """The store of a corpus; None where its size is unknown."""
    if size.passages is None or size.bytes is None:
        return None
    disk = round(size.passages * (size.bytes + _PASSAGE))
    memory = _BATCH_MEMORY + _HASH_MEMORY * size.passages
    return PlannedStore(disk, memory, Seconds.around(disk / _WRITING_SPEED), there=size.stored)


def planned_pool(config: PoolConfig, sizes: Sequence[CorpusSize], queries: int | None) -> PlannedStore | None:
    """The pool at its largest, if no two systems find the same passage; None where sizes are unknown. Without a corpus
    it has no texts."""
    known = [size.bytes for size in sizes if size.bytes is not None]
    if queries is None or (sizes and not known):
        return None
    pairs = queries * sum(config.pool_depth(tag) for tag in config.systems)
    disk = round(pairs * (_PAIR + _PACKED * max(known, default=0)))
    return PlannedStore(disk, 0, Seconds.around(disk / _WRITING_SPEED))
