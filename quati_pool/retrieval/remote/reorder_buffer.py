"""Stores rows of passages that arrive in any order: the next ones are appended to the shards, later ones wait in files
until it is their turn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.files.artifacts import sync
from quati_pool.retrieval.shards import Shards

_NAME = re.compile(r"(\d+)-(\d+)\.npz\Z")


class ReorderBuffer:
    """The shards in ``folder``, and the waiting rows in its subfolder ``ahead``."""

    def __init__(self, folder: Path) -> None:
        self.shards = Shards(folder)
        self._ahead = folder / "ahead"
        self._waiting: dict[int, tuple[int, Path]] = {}
        if self._ahead.is_dir():
            for path in sorted(self._ahead.iterdir()):
                found = _NAME.match(path.name)
                if found and int(found[1]) >= self.shards.passages:
                    self._waiting[int(found[1])] = int(found[2]), path
                else:
                    # Incomplete, or already appended just before the process ended.
                    path.unlink()
        self._take_turns()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The ranges (start, end) of passages that have arrived, in order; the first is that of the shards."""
        ahead = [(start, end) for start, (end, _) in sorted(self._waiting.items())]
        return [(0, self.shards.passages), *ahead]

    @property
    def passages(self) -> int:
        """The number of passages that have arrived."""
        return sum(end - start for start, end in self.spans)

    def row_shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of a row of an array; None if there are no rows yet."""
        if name in self.shards.names:
            return self.shards.array(name).shape[1:]
        if not self._waiting:
            return None
        _, path = next(iter(self._waiting.values()))
        with np.load(path, allow_pickle=False) as arrays:
            shape: tuple[int, ...] = arrays[name].shape[1:]
        return shape

    def add(self, start: int, end: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Stores the rows of the passages from ``start`` up to ``end``; they are safely on disk when this returns.

        Raises ShardError if an array has a different type or row shape than in earlier shards.
        """
        if start == self.shards.passages:
            self.shards.append(end - start, **arrays)
            self._take_turns()
            return
        if not self._ahead.is_dir():
            self._ahead.mkdir(parents=True)
            sync(self._ahead.parent)
        path = self._ahead / f"{start}-{end}.npz"
        partial = path.with_name(f".partial-{path.name}")
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync(self._ahead)
        self._waiting[start] = end, path

    def close(self) -> None:
        """Removes the folder of waiting rows, once all passages have arrived."""
        if self._ahead.is_dir():
            self._ahead.rmdir()

    def _take_turns(self) -> None:
        while (waiting := self._waiting.pop(self.shards.passages, None)) is not None:
            end, path = waiting
            with np.load(path, allow_pickle=False) as arrays:
                self.shards.append(end - self.shards.passages, **arrays)
            path.unlink()
