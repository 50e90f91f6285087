"""Arrays over the passages of a corpus that grow shard by shard, and survive a killed process.

Each array is one raw file, which is appended to, and memory-mapped for reading. A journal records the length of each
file when a shard is finished; anything beyond that length is unfinished and is cut off. An encoding that was killed
therefore continues where its last finished shard ends.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import sync

Array = npt.NDArray[Any]
_JOURNAL = "shards.jsonl"


class ShardError(QuatiPoolError):
    """A shard whose arrays do not match those of the shards before it."""


class _Layout(NamedTuple):
    """The type of an array and the shape of one of its rows."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        return int(self.dtype.itemsize * np.prod(self.shape, dtype=np.int64))


class _Entry(NamedTuple):
    """The state after a finished shard: the number of passages so far, and the layout and number of rows of each
    array."""

    passages: int
    layouts: dict[str, _Layout]
    rows: dict[str, int]


class Shards:
    """The arrays in ``folder``. ``passages`` and ``shards`` are the numbers of those that are finished."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passages = 0
        self.shards = 0
        self._rows: dict[str, int] = {}
        self._layouts: dict[str, _Layout] = {}
        self._journal_bytes = 0
        for (passages, layouts, rows), end in _entries(folder / _JOURNAL):
            # If a file is shorter than the journal says, this shard and all after it are encoded again.
            if any(_size(folder / f"{name}.bin") < rows[name] * layouts[name].row_bytes for name in rows):
                break
            self._rows, self._layouts, self.passages = rows, layouts, passages
            self.shards += 1
            self._journal_bytes = end

    def append(self, passages: int, **arrays: Array) -> None:
        """Adds a shard with the next ``passages`` passages; it is safely on disk when this returns.

        Raises ShardError if an array has a different type or row shape than in earlier shards.
        """
        layouts = {name: _Layout(array.dtype, array.shape[1:]) for name, array in arrays.items()}
        if self._layouts and layouts != self._layouts:
            raise ShardError(
                f"{self.folder} holds {_types(self._layouts)}, and the next passages came as {_types(layouts)}: "
                "the model gives other vectors than before; delete that folder and run the command again"
            )
        rows = dict.fromkeys(layouts, 0) | self._rows
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            _write(self.folder / f"{name}.bin", rows[name] * layouts[name].row_bytes, np.ascontiguousarray(array).data)
            rows[name] += len(array)
        arrays_now = {name: (layout.dtype.str, layout.shape, rows[name]) for name, layout in layouts.items()}
        line = json.dumps({"passages": self.passages + passages, "arrays": arrays_now}).encode() + b"\n"
        _write(self.folder / _JOURNAL, self._journal_bytes, memoryview(line))
        if not self.shards:
            sync(self.folder)
        self._journal_bytes += len(line)
        self._rows, self._layouts = rows, layouts
        self.passages += passages
        self.shards += 1

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._layouts)

    def array(self, name: str) -> Array:
        """All finished rows of an array, memory-mapped and read-only.

        Raises KeyError for an array that no shard has.
        """
        layout, rows = self._layouts[name], self._rows[name]
        shape = (rows, *layout.shape)
        if rows * layout.row_bytes == 0:
            return np.empty(shape, dtype=layout.dtype)
        return np.memmap(self.folder / f"{name}.bin", dtype=layout.dtype, mode="r", shape=shape)


def _entries(journal: Path) -> Iterator[tuple[_Entry, int]]:
    """The entries of a journal, each with the byte offset of its end. Stops at a line that was cut short or damaged."""
    end = 0
    try:
        lines = journal.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    for line in lines:
        end += len(line)
        try:
            entry = _entry(line)
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        yield entry, end


def _entry(line: bytes) -> _Entry:
    """Parses a line of a journal; raises ValueError, TypeError, KeyError or AttributeError if it is not valid."""
    if not line.endswith(b"\n"):
        raise ValueError("cut short")
    entry = json.loads(line)
    layouts, rows = {}, {}
    for name, (dtype, shape, count) in entry["arrays"].items():
        layouts[name] = _Layout(np.dtype(dtype), tuple(map(operator.index, shape)))
        rows[name] = operator.index(count)
    return _Entry(operator.index(entry["passages"]), layouts, rows)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write(path: Path, start: int, data: memoryview) -> None:
    """Cuts the file off at ``start``, appends ``data``, and waits until it is on disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644), "wb") as file:
        file.truncate(start)
        file.seek(start)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _types(layouts: dict[str, _Layout]) -> str:
    return ", ".join(
        f"{name} of {layout.dtype}" + (f", dimension {'×'.join(map(str, layout.shape))}" if layout.shape else "")
        for name, layout in layouts.items()
    )
