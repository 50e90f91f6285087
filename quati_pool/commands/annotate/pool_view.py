"""The pool as shown to people: every pair with its texts, memory-mapped, found by id in microseconds.

The file of a view is named by the hash of the pool's bytes; it is written once, and again when the pool has changed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from quati_pool.errors import InputError
from quati_pool.files.artifacts import locked, stale, write_file
from quati_pool.files.lines import read_lines
from quati_pool.files.pools import read_pool_rows
from quati_pool.labels.labelers import workspace_pool
from quati_pool.project.config import PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int

# Increased when the same pool would give a different file.
_FORMAT = 1
_BLOCK = 8192
# Queries whose doc_ids are cached as a dictionary.
_QUERIES = 1024
# Seconds until a pool that is being replaced is checked again.
_PATIENCE = 1.0

SCHEMA = pa.schema(
    [
        ("query_id", pa.large_string()),
        ("doc_id", pa.large_string()),
        ("query", pa.large_string()),
        ("text", pa.large_string()),
        ("systems", pa.int32()),
    ]
)


class PairView(NamedTuple):
    """A pair of the pool; ``systems`` is the number of systems that returned it."""

    query_id: str
    doc_id: str
    query: str
    text: str
    systems: int


class PoolView:
    """A pool's pairs in the pool's order, those of a query together; safe to read from many threads."""

    def __init__(self, path: Path, sha: str) -> None:
        """``path`` is an Arrow file of SCHEMA, ``sha`` the SHA-256 of the pool that it was written from."""
        with pa.memory_map(str(path)) as source:
            self.table: pa.Table = pa.ipc.open_file(source).read_all()
        self.sha = sha
        self._spans = _spans(self.table["query_id"])
        self._rows = lru_cache(maxsize=_QUERIES)(self._rows_of)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def query_ids(self) -> list[str]:
        """All queries, in the pool's order."""
        return list(self._spans)

    def query(self, query_id: str) -> slice:
        """The rows of a query; an empty slice if the pool has none."""
        return self._spans.get(query_id, slice(0, 0))

    def doc_ids(self, query_id: str) -> list[str]:
        """The doc_ids of a query's passages, in the pool's order."""
        return list(self._rows(query_id))

    def passages(self, query_id: str) -> Iterator[tuple[str, str]]:
        """doc_id and text of a query's passages, in the pool's order."""
        rows = self.query(query_id)
        yield from zip(
            self._rows(query_id), self.table["text"].slice(rows.start, rows.stop - rows.start).to_pylist(), strict=True
        )

    def __contains__(self, pair: tuple[str, str]) -> bool:
        """Whether the pool has this (query_id, doc_id)."""
        return pair[0] in self._spans and pair[1] in self._rows(pair[0])

    def pair(self, query_id: str, doc_id: str) -> PairView | None:
        """A pair by its ids; None if it is not in the pool."""
        row = self._rows(query_id).get(doc_id) if query_id in self._spans else None
        if row is None:
            return None
        query, text, systems = (self.table[name][row].as_py() for name in ("query", "text", "systems"))
        return PairView(query_id, doc_id, query, text, systems)

    def counts(self) -> Int:
        """How many systems returned each pair, shape (pairs,)."""
        counts: Int = self.table["systems"].to_numpy().astype(np.int64)
        return counts

    def _rows_of(self, query_id: str) -> dict[str, int]:
        rows = self.query(query_id)
        doc_ids = self.table["doc_id"].slice(rows.start, rows.stop - rows.start).to_pylist()
        return dict(zip(doc_ids, range(rows.start, rows.stop), strict=True))


def _spans(query_ids: pa.ChunkedArray) -> dict[str, slice]:
    if not len(query_ids):
        return {}
    codes = query_ids.combine_chunks().dictionary_encode()
    code = codes.indices.to_numpy()
    starts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    bounds = [*starts.tolist(), len(code)]
    # Codes count from 0 in order of first appearance, and a query's rows are adjacent.
    return {
        query_id: slice(start, stop)
        for query_id, start, stop in zip(codes.dictionary.to_pylist(), bounds[:-1], bounds[1:], strict=True)
    }


def open_pool_view(config: PoolConfig, say: Callable[[str], None] = lambda _: None) -> PoolView:
    """Opens a view of the workspace's pool; writes its file first if there is none for this pool yet.

    Raises InputError if there is no complete pool, or it is faulty.
    """
    workspace = Workspace(config.folder)
    pool = workspace_pool(config)
    sha = workspace.input_digest(pool)
    key = {"format": _FORMAT, "pool": sha}
    path = workspace.pool_view(sha)

    def fill(partial: Path) -> dict[str, int]:
        counts = _fill(partial, pool)
        if workspace.input_digest(pool) != sha:
            raise InputError(pool, None, "was replaced while it was read; try again")
        return counts

    # One lock for all views, because writing one removes those of earlier pools.
    with locked(workspace.lock("frame"), say):
        if stale(path, key) is not None:
            write_file(path, key, {}, fill)
            _forget_older(path)
        return PoolView(path, sha)


def _forget_older(path: Path) -> None:
    """Removes the files of earlier pools; a process that still has one open can go on reading it."""
    for other in path.parent.iterdir():
        if other.name not in (path.name, f"{path.name}.meta.json"):
            other.unlink(missing_ok=True)


def _fill(path: Path, pool: Path) -> dict[str, int]:
    pairs = 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        rows: list[tuple[str, str, str, str, int]] = []
        for row in _rows(pool):
            rows.append(row)
            if len(rows) == _BLOCK:
                writer.write_batch(_batch(rows))
                pairs += len(rows)
                rows = []
        if rows:
            writer.write_batch(_batch(rows))
            pairs += len(rows)
    return {"pairs": pairs}


def _rows(pool: Path) -> Iterator[tuple[str, str, str, str, int]]:
    lines = read_lines(pool)
    for line, pair in read_pool_rows(pool):
        number, text = next(lines)
        while number < line:
            number, text = next(lines)
        # A pool written by another program may have no field "runs".
        runs = json.loads(text).get("runs")
        yield (*pair, len(runs) if isinstance(runs, dict) else 0)


def _batch(rows: list[tuple[str, str, str, str, int]]) -> pa.RecordBatch:
    columns = [pa.array(column, type=field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    return pa.record_batch(columns, schema=SCHEMA)


class CurrentPoolView:
    """The view of the current pool, for many threads: opened on first use, and again when the pool's file has
    changed."""

    def __init__(self, config: PoolConfig, say: Callable[[str], None] = lambda _: None) -> None:
        self._config = config
        self._say = say
        self._pool = Workspace(config.folder).pool
        self._lock = threading.Lock()
        self._view: PoolView | None = None
        self._state: tuple[int, int] | None = None
        self._looked = -_PATIENCE

    def get(self) -> PoolView:
        """The current view; while the pool is being replaced, the view of the former pool. Raises InputError if there
        is no pool."""
        view = self._view
        if view is not None and self._status() == self._state:
            return view
        with self._lock:
            state = self._status()
            waiting = state is not None and time.monotonic() - self._looked < _PATIENCE
            if self._view is not None and (state == self._state or waiting):
                return self._view
            try:
                self._view = open_pool_view(self._config, self._say)
                self._state = state
            except InputError:
                if self._view is None or state is None:
                    raise
                self._looked = time.monotonic()
            return self._view

    def _status(self) -> tuple[int, int] | None:
        try:
            status = self._pool.stat()
        except FileNotFoundError:
            return None
        return status.st_size, status.st_mtime_ns
