"""Cuts the input into shards of about 32 MB on disk, depending on the input alone: long files are split, short ones
are combined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from quati_pool.errors import InputError
from quati_pool.preparation.base import Part, Shard
from quati_pool.preparation.reading.files import Format
from quati_pool.preparation.reading.parquet import group_sizes, parquet_file
from quati_pool.preparation.reading.streams import packing, raw_file

BYTES = 32 << 20
FILES = 5000

_BLOCK = 1 << 20
Piece = tuple[Part, int]
"""A part and its weight."""


def shards_of(
    folder: Path, names: Sequence[str], kind: Format, size: int | None = None, files: int | None = None
) -> list[Shard]:
    """The shards of files in ``folder``, of about ``size`` bytes and at most ``files`` parts each.

    Raises InputError for a file that cannot be read.
    """
    size, files = size or BYTES, files or FILES
    shards: list[Shard] = []
    parts: list[Part] = []
    weight = 0
    for name in names:
        for part, bytes_of in _pieces(folder / name, name, kind, size):
            if parts and (weight + bytes_of > size or len(parts) == files):
                shards.append(Shard(tuple(parts), weight))
                parts, weight = [], 0
            parts.append(part)
            weight += bytes_of
    if parts:
        shards.append(Shard(tuple(parts), weight))
    return shards


def _pieces(path: Path, name: str, kind: Format, size: int) -> Iterator[Piece]:
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InputError(path, None, "there is no such file; check the path") from error
    except OSError as error:
        raise InputError(
            path, None, f"cannot be read ({error.strerror}); check the path and its permissions"
        ) from error
    whole = Part(name, 0, None, status.st_size, status.st_mtime_ns)
    if status.st_size > size and kind == "parquet":
        yield from _row_groups(path, whole, size)
    elif status.st_size > size and kind in ("jsonl", "clueweb22") and not packing(path):
        yield from _line_ranges(path, whole, size)
    else:
        yield whole, status.st_size


def _row_groups(path: Path, whole: Part, size: int) -> Iterator[Piece]:
    with raw_file(path) as raw, parquet_file(path, raw) as file:
        sizes = group_sizes(file.metadata)
    if not sizes:
        yield whole, whole.size
    start, weight = 0, 0
    for group, bytes_of in enumerate(sizes):
        if group > start and weight + bytes_of > size:
            yield whole._replace(start=start, end=group), weight
            start, weight = group, 0
        weight += bytes_of
    if sizes:
        yield whole._replace(start=start, end=len(sizes)), weight


def _line_ranges(path: Path, whole: Part, size: int) -> Iterator[Piece]:
    """Ranges that begin at the start of a line. The file is read once to number the lines, at some gigabytes per
    second."""
    with raw_file(path) as file:
        start, line = 0, 1
        while start < whole.size:
            lines = _count(file, start, start + size - 1)
            end, ended = _line_end(file, min(start + size - 1, whole.size), whole.size)
            yield whole._replace(start=start, end=end, line=line), end - start
            start, line = end, line + lines + ended


def _count(file: BinaryIO, start: int, end: int) -> int:
    """The number of line ends from ``start`` to before ``end``."""
    file.seek(start)
    found = 0
    while start < end and (data := file.read(min(_BLOCK, end - start))):
        found += data.count(b"\n")
        start += len(data)
    return found


def _line_end(file: BinaryIO, at: int, size: int) -> tuple[int, int]:
    """The offset after the line break that ends the line at ``at``, and 1; the file's size and 0 if there is none."""
    file.seek(at)
    while data := file.read(_BLOCK):
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1, 1
        at += len(data)
    return size, 0
