"""Stores the rows of a shard that are left after a phase on disk.

Rows stay where they were last written, in ``rows.arrow`` (Arrow IPC, zstd); their ids and places are in ``ids.arrow``,
uncompressed, for lookup by memory map. Phases that only drop rows store the numbers of the rows left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from quati_pool.preparation.batch import Batch
from quati_pool.records import Int

_STRING = pa.large_string()
_SCHEMA = pa.schema(
    [(name, _STRING) for name in ("doc_id", "url", "language", "text")]
    + [(name, pa.int64()) for name in ("page", "index", "file", "line")]
)
_IDS = pa.schema([("id", _STRING), ("file", pa.int64()), ("line", pa.int64())])
_LEFT = "left.npy"
# Characters per record batch: enough to compress well, few enough that little is read in vain.
_CHARACTERS = 4_000_000


class RowId(NamedTuple):
    """A row's id and the place where its page was read: the position of the file in its shard, and the line."""

    id: str
    file: int
    line: int


class RowWriter:
    """Writes ``rows.arrow`` and ``ids.arrow`` into a folder; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1), use_threads=False)
        self._rows = pa.ipc.new_file(str(folder / "rows.arrow"), _SCHEMA, options=options)
        self._ids = pa.ipc.new_file(str(folder / "ids.arrow"), _IDS)
        self._waiting: list[Batch] = []
        self._characters = 0

    def append(self, batch: Batch) -> None:
        if not len(batch):
            return
        self._waiting.append(batch)
        self._characters += sum(map(len, batch.text))
        if self._characters >= _CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        batches, self._waiting, self._characters = self._waiting, [], 0
        columns = [
            pa.array([value for batch in batches for value in getattr(batch, field.name)], type=field.type)
            if field.type == _STRING
            else pa.array(np.concatenate([getattr(batch, field.name) for batch in batches]), type=field.type)
            for field in _SCHEMA
        ]
        self._rows.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        ids = pa.array([value for batch in batches for value in batch.ids], type=_STRING)
        self._ids.write_batch(pa.record_batch([ids, columns[6], columns[7]], schema=_IDS))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._flush()
        self._rows.close()
        self._ids.close()


class Rows(NamedTuple):
    """The rows left of a shard: the rows in the folder ``base``, either all or those whose numbers are in ``left``."""

    base: Path
    left: Path | None

    @staticmethod
    def at(folder: Path, base: Path) -> Rows:
        left = folder / _LEFT
        return Rows(base, left if left.exists() else None)

    def positions(self) -> Int | None:
        """The numbers in ``base`` of the rows left, ascending; None if all are left."""
        return None if self.left is None else np.load(self.left, mmap_mode="r")

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """The rows left, from number ``start`` to before number ``stop``, counted from 0 over the rows left."""
        positions = self.positions()
        if positions is not None:
            positions = np.asarray(positions[start:stop])
        with pa.memory_map(str(self.base / "rows.arrow")) as source:
            reader = pa.ipc.open_file(source)
            first = 0
            for number in range(reader.num_record_batches):
                if stop is not None and positions is None and first >= stop:
                    return
                part = reader.get_batch(number)
                end = first + len(part)
                if positions is None:
                    end_here = len(part) if stop is None else min(len(part), stop - first)
                    wanted = np.arange(max(start - first, 0), end_here)
                else:
                    low, high = np.searchsorted(positions, (first, end))
                    wanted = positions[low:high] - first
                    if low == len(positions):
                        return
                first = end
                if len(wanted):
                    yield _batch(part if len(wanted) == len(part) else part.take(pa.array(wanted)))


def _batch(part: pa.RecordBatch) -> Batch:
    columns: dict[str, Any] = {
        field.name: column.to_pylist() if field.type == _STRING else column.to_numpy()
        for field, column in zip(_SCHEMA, part.columns, strict=True)
    }
    return Batch(**columns)


def save_left(folder: Path, positions: Sequence[Int]) -> None:
    """Stores the numbers of the rows left; the numbers refer to the folder where the rows were last written."""
    whole = np.concatenate([np.empty(0, dtype=np.int64), *positions])
    np.save(folder / _LEFT, whole)


class IdLookup:
    """Looks up the ids and places of rows by shard and by row number, counted over the rows left."""

    def __init__(self, rows: Callable[[int], Rows]) -> None:
        self._rows = rows
        self._open: dict[int, tuple[pa.Table, Int | None]] = {}

    def __call__(self, shard: int, row: int) -> RowId:
        if shard not in self._open:
            # The files are memory-mapped; this limits how many are open at once.
            if len(self._open) >= 64:
                self._open.pop(next(iter(self._open)))
            rows = self._rows(shard)
            source = pa.memory_map(str(rows.base / "ids.arrow"))
            self._open[shard] = (pa.ipc.open_file(source).read_all(), rows.positions())
        table, positions = self._open[shard]
        at = row if positions is None else int(positions[row])
        return RowId(*(table.column(name)[at].as_py() for name in ("id", "file", "line")))
