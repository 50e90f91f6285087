"""Hashes of what a judge is shown of each pair of a pool: computed from the pool once, then read from a cache.

With the hashes, a run over a mostly finished pool compares columns instead of reading texts. Reading the whole pool
also checks that it is valid before any call is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.files.artifacts import Key, digest, locked, stale, write_file
from quati_pool.files.pools import PooledPair, has_text, read_pool_rows
from quati_pool.project.workspace import Workspace
from quati_pool.records import State

# Pairs that are compared together; the pairs of a query stay together.
_BLOCK = 8192
KEYS = ("query_id", "doc_id", "content_sha")
NONE = np.iinfo(np.int64).min
SCHEMA = pa.schema(
    [
        ("line", pa.int64()),
        ("query_id", pa.string()),
        ("doc_id", pa.string()),
        ("content_sha", pa.string()),
        ("has_text", pa.bool_()),
    ]
)


def shown_blocks(
    workspace: Workspace, pool: Path, key: Key, content: Callable[[PooledPair], str], say: Callable[[str], None]
) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The number of pairs, and blocks of rows of SCHEMA in the pool's order, from the cache or, if it has none for
    ``key``, from the pool.

    Raises InputError if the pool is invalid.
    """
    path = workspace.content_hashes(digest(key))
    with locked(workspace.lock(f"shown-{path.stem}"), say):
        if stale(path, key) is not None:
            write_file(path, key, {}, lambda partial: _fill(partial, pool, content))
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    return sum(map(len, batches)), iter(batches)


def _fill(path: Path, pool: Path, content: Callable[[PooledPair], str]) -> dict[str, int]:
    rows: list[tuple[int, str, str, str, bool]] = []
    count = 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        for line, pair in read_pool_rows(pool):
            if len(rows) >= _BLOCK and pair.query_id != rows[-1][1]:
                writer.write_batch(_batch(rows))
                rows = []
            rows.append((line, pair.query_id, pair.doc_id, content(pair), has_text(pair.text)))
            count += 1
        if rows:
            writer.write_batch(_batch(rows))
    return {"pairs": count}


def _batch(rows: list[tuple[int, str, str, str, bool]]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], schema=SCHEMA)


def grades(block: pa.RecordBatch, labels: pa.Table, samples: int) -> npt.NDArray[np.int64]:
    """The grades that ``labels`` (rows of the store's TABLE) give to a block's pairs as shown to the judge, of shape
    (pairs, samples); NONE for a sample without a grade."""
    found = np.full((len(block), samples), NONE, dtype=np.int64)
    ok = labels.filter(pc.equal(labels["status"], State.ok.value))
    if not len(ok):
        return found
    ours = _joined([block.column(name) for name in KEYS])
    theirs = _joined([ok[name] for name in KEYS])
    row = pc.fill_null(pc.index_in(theirs, value_set=ours), -1).to_numpy()
    sample = ok["sample"].to_numpy()
    kept = (row >= 0) & (sample <= samples)
    found[row[kept], sample[kept] - 1] = ok["relevance"].to_numpy()[kept]
    return found


def _joined(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array | pa.ChunkedArray:
    """One string per row, the columns separated by a tab, which no id contains."""
    tab = pa.scalar("\t", pa.large_string())
    return pc.binary_join_element_wise(*(column.cast(pa.large_string()) for column in columns), tab)
