"""Stores the keys of a global filter on disk: one raw file per array, appended to by batch, memory-mapped to read."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from quati_pool.preparation.base import Array, Keys

_LAYOUT = "keys.json"


class KeyFiles:
    """Writes keys into a folder; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._layout: dict[str, tuple[str, list[int]]] = {}
        self._rows = 0

    def append(self, keys: Keys) -> None:
        for name, array in keys.items():
            if name not in self._files:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._files[name] = (self._folder / f"{name}.bin").open("wb")
                self._layout[name] = (array.dtype.str, list(array.shape[1:]))
            self._files[name].write(np.ascontiguousarray(array).data)
        self._rows += len(next(iter(keys.values())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        if error is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _LAYOUT).write_text(json.dumps({"rows": self._rows, "arrays": self._layout}))


def read_keys(folder: Path, names: Collection[str] | None = None) -> dict[str, Array]:
    """The arrays that ``KeyFiles`` wrote, all or only those of ``names``; none if the shard had no rows."""
    layout = json.loads((folder / _LAYOUT).read_text())
    found: dict[str, Array] = {}
    for name, (dtype, shape) in layout["arrays"].items():
        if names is not None and name not in names:
            continue  # each mapped array keeps a file open
        whole = (layout["rows"], *shape)
        path = folder / f"{name}.bin"
        found[name] = (
            np.memmap(path, dtype=dtype, mode="r", shape=whole) if path.stat().st_size else np.empty(whole, dtype)
        )
    return found
