"""Finds rows with equal keys in all shards: every row but the first of its equals, with that first row.

The keys stay on disk. The range of a key's first column is cut into parts of about two million rows, and a task
handles one part over all shards, so that its memory (about 50 bytes per row) does not grow with the corpus. A task
reads the first column of every row to find the rows of its part: 20 million rows are ten tasks that read 160 MB each.
The result of a task is a file in the task pool's folder, and is reused when a killed command is run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.preparation.base import Array, TaskPool
from quati_pool.preparation.deduplication import part_files
from quati_pool.preparation.deduplication.comparison_arrays import read_keys
from quati_pool.records import Int

PART_ROWS = 2_000_000
"""The approximate number of rows per task."""

_READ_ROWS = 1 << 20

Mask = npt.NDArray[np.bool_]


class Equals(NamedTuple):
    """The rows that equal an earlier one, ascending, and for each the first row that it equals; columns of shape
    (n,)."""

    shard: Int
    row: Int
    kept_shard: Int
    kept_row: Int


class _Part(NamedTuple):
    """One task: the rows whose first column is in the ``number``-th of ``parts`` equal ranges."""

    shards: tuple[Path, ...]
    names: tuple[str, ...]
    number: int
    parts: int
    file: Path


def equal_rows(
    shards: Sequence[Path],
    rows: Sequence[int],
    task_pool: TaskPool,
    names: Sequence[str] = ("hi", "lo"),
    label: str = "equal",
) -> Equals:
    """The rows whose keys an earlier row has, in the order of shards and rows.

    Two rows are equal if they are equal in all of the key columns ``names``, each of shape (n,); a row of only zeros
    equals none. The first column must be a 64-bit hash, so that its ranges are about equally full. ``label``
    distinguishes the searches in one task pool.
    """
    total = sum(rows)
    parts = part_count(total)
    tasks = [
        _Part(tuple(shards), tuple(names), number, parts, task_pool.folder / f"{label}-{number}-of-{parts}.npy")
        for number in range(parts)
    ]
    task_pool.run(_search, [task for task in tasks if not task.file.exists()])
    pairs = np.concatenate([np.load(task.file) for task in tasks])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    return Equals(*located(pairs[:, 0], rows), *located(pairs[:, 1], rows))


def part_count(rows: int) -> int:
    """The number of parts into which a search over ``rows`` rows is divided."""
    return max(1, -(-rows // PART_ROWS))


def located(positions: Int, rows: Sequence[int]) -> tuple[Int, Int]:
    """The shard and the row in it of each position; positions count the rows of all shards from 0."""
    starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
    shard = np.searchsorted(starts, positions, side="right") - 1
    return shard.astype(np.int64), positions - starts[shard]


def part_of(shards: Sequence[Path], names: Sequence[str], number: int, parts: int) -> tuple[list[Array], Int]:
    """The key columns of the rows of one part, and the positions of these rows, ascending.

    Shards are opened one after another: thousands at once would exceed a process's limit of open files.
    """
    columns: list[list[Array]] = [[np.empty(0, dtype=np.uint64)] for _ in names]
    positions = [np.empty(0, dtype=np.int64)]
    start = 0
    for keys, count in _blocks(shards, names):
        first = keys[0]
        mine = (((first >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)) == np.uint64(number)
        places = np.flatnonzero(mine)
        some = np.any([key[places] != 0 for key in keys], axis=0)
        places = places[some]
        for column, key in zip(columns, keys, strict=True):
            column.append(key[places])
        positions.append(places + start)
        start += count
    return [np.concatenate(column) for column in columns], np.concatenate(positions)


def _blocks(shards: Sequence[Path], names: Sequence[str]) -> Iterator[tuple[list[Array], int]]:
    for shard in shards:
        keys = read_keys(shard, names)
        if not keys:
            continue
        count = len(keys[names[0]])
        for start in range(0, count, _READ_ROWS):
            block = [np.asarray(keys[name][start : start + _READ_ROWS]) for name in names]
            yield block, len(block[0])


def _search(task: _Part) -> None:
    columns, positions = part_of(task.shards, task.names, task.number, task.parts)
    for column in range(len(columns)):
        # Most rows are already unique in the first column, and need not be sorted by the others.
        order = np.lexsort(columns[column::-1])
        shared = _in_runs([key[order] for key in columns[: column + 1]])
        rows = np.sort(order[shared])
        columns = [key[rows] for key in columns]
        positions = positions[rows]
    order = np.lexsort(columns[::-1])
    found = positions[order]
    begins = starts_of_runs([key[order] for key in columns])
    firsts = np.maximum.accumulate(np.where(begins, np.arange(len(found)), 0))
    part_files.save(task.file, np.stack([found[~begins], found[firsts[~begins]]], axis=1))


def starts_of_runs(columns: Sequence[Array]) -> Mask:
    """Whether each row of sorted columns differs from the one before it; shape (n,)."""
    begins = np.zeros(len(columns[0]), dtype=np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def _in_runs(columns: Sequence[Array]) -> Mask:
    """Whether each row of sorted columns equals the one before or after it; shape (n,)."""
    begins = starts_of_runs(columns)
    alone: Mask = begins & np.append(begins[1:], True)
    return ~alone
