"""Stores on disk the rows that a global filter drops, and reads them in the tasks of the next phase."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quati_pool.commands.prepare.rows import IdLookup, Rows
from quati_pool.files.artifacts import naming, put_file, sync
from quati_pool.preparation.base import Codes, Drops
from quati_pool.records import Int


class PhaseOutput(NamedTuple):
    """The output of a phase, which the next phase reads. ``folder`` contains its shards, ``base`` the shards with the
    rows themselves; ``drops`` is the folder of the rows that its global filter ``label`` drops; ``shards`` is the file
    that lists all shards in order."""

    folder: Path
    base: Path
    drops: Path | None
    label: str
    reasons: tuple[str, ...]
    shards: Path

    def rows(self, key: str) -> Rows:
        return Rows.at(self.folder / key, self.base / key)


class ShardDrops:
    """The rows of one shard that the previous phase's global filter drops, by row number."""

    def __init__(self, before: PhaseOutput, drops: Path, shard: int) -> None:
        columns = load_drops(drops)
        low, high = np.searchsorted(columns.shard, (shard, shard + 1))
        self._row = np.asarray(columns.row[low:high])
        self._reason = np.asarray(columns.reason[low:high])
        self._kept_shard = columns.kept_shard[low:high]
        self._kept_row = columns.kept_row[low:high]
        self._similarity = columns.similarity[low:high]
        self._shards = load_shards(before.shards)
        self._lookup = IdLookup(lambda number: before.rows(self._shards[number].key))

    @property
    def compared(self) -> bool:
        """Whether any row was dropped in favour of another row."""
        return bool(len(self._kept_shard)) and bool((self._kept_shard >= 0).any())

    def codes(self, numbers: Int) -> Codes:
        """The reason code of each of these rows, which must have consecutive numbers; shape (n,), 0 for kept rows."""
        codes = np.zeros(len(numbers), dtype=np.int16)
        if len(numbers):
            low, high = np.searchsorted(self._row, (numbers[0], numbers[-1] + 1))
            codes[self._row[low:high] - numbers[0]] = self._reason[low:high]
        return codes

    def kept(self, number: int) -> dict[str, Any]:
        """The row that is kept instead of a dropped one, and the similarity of the two; empty if there is none."""
        at = int(np.searchsorted(self._row, number))
        shard, row = int(self._kept_shard[at]), int(self._kept_row[at])
        if shard < 0:
            return {}
        found = self._lookup(shard, row)
        similarity = float(self._similarity[at])
        place = f"{self._shards[shard].paths[found.file]}:{found.line}"
        data: dict[str, Any] = {"kept": found.id, "kept_place": place}
        return data if np.isnan(similarity) else {**data, "similarity": round(similarity, 4)}

    def detail(self, number: int) -> str:
        kept = self.kept(number)
        if not kept:
            return ""
        alike = f", similarity {kept['similarity']:.2f}" if "similarity" in kept else ""
        return f"{kept['kept']} stays ({kept['kept_place']}){alike}"


class ListedShard(NamedTuple):
    """A shard's key and the paths of its parts."""

    key: str
    paths: list[str]


def save_shards(path: Path, shards: Sequence[ListedShard]) -> None:
    put_file(path, lambda partial: partial.write_text(json.dumps(shards, ensure_ascii=False), encoding="utf-8"))


@lru_cache(maxsize=1)
def load_shards(path: Path) -> list[ListedShard]:
    return [ListedShard(*each) for each in json.loads(path.read_text(encoding="utf-8"))]


_DROP_COLUMNS = ("shard", "row", "reason", "kept_shard", "kept_row", "similarity")


def save_drops(folder: Path, drops: Drops) -> None:
    """Stores drops, one file per column; the folder is renamed into place."""
    partial = folder.with_name(f".partial-{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with naming(folder):
        for name in _DROP_COLUMNS:
            np.save(partial / f"{name}.npy", getattr(drops, name))
            sync(partial / f"{name}.npy")
    os.rename(partial, folder)
    sync(folder.parent)


def load_drops(folder: Path) -> Drops:
    return Drops(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in _DROP_COLUMNS))
