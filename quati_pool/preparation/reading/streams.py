"""Opens files as streams of bytes, decompressed by suffix. A damaged compressed file yields all data before the
damage."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from quati_pool.errors import InputError
from quati_pool.preparation.base import Part
from quati_pool.preparation.reading.page import BrokenError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 16
_CAREFUL = 64


class Stream(Protocol):
    """A stream of bytes. ``read`` returns nothing only at the end, and raises BrokenError if the next data is damaged;
    ``tell`` is the number of bytes returned, ``position`` the number of bytes of the file that they took."""

    def read(self, size: int, /) -> bytes: ...

    def tell(self) -> int: ...

    def position(self) -> int: ...


class PlainStream:
    """A file's bytes from ``start`` to before ``end``."""

    def __init__(self, file: BinaryIO, start: int, end: int | None) -> None:
        self._file = file
        self._end = end
        self._start = self._at = start
        file.seek(start)

    def read(self, size: int, /) -> bytes:
        if self._end is not None:
            size = min(size, self._end - self._at)
        data = self._file.read(size)
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at - self._start

    def position(self) -> int:
        return self._at - self._start


class GzipStream:
    """The decompressed content of all members of a gzip file. Zero padding is skipped, as gzip does."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = b""
        self._taken = self._given = 0
        self._member: zlib._Decompress | None = None
        self._fault: BrokenError | None = None

    def read(self, size: int, /) -> bytes:
        while self._fault is None:
            if not self._packed:
                self._packed = self._file.read(_BLOCK)
                self._taken += len(self._packed)
            if not self._packed and self._member is None:
                return b""
            if self._member is None and not self._begin():
                continue
            data = self._unpacked(size)
            if data:
                self._given += len(data)
                return data
        raise self._fault

    def _begin(self) -> bool:
        """Begins the next member; False if there is none here."""
        if self._given or self._taken > len(self._packed):
            self._packed = self._packed.lstrip(b"\0")
        if not self._packed:
            return False
        if not self._packed.startswith(_GZIP[: len(self._packed)]):
            self._fault = BrokenError("holds something that is not gzip")
            return False
        self._member = zlib.decompressobj(wbits=31)
        return True

    def _unpacked(self, size: int) -> bytes:
        assert self._member is not None
        ended = not self._packed
        before = self._member.copy()
        try:
            data = self._member.decompress(self._packed, size)
        except zlib.error:
            self._fault = BrokenError("is damaged")
            return _rescued(before, self._packed, size)
        if self._member.eof:
            self._packed = self._member.unused_data
            self._member = None
        else:
            self._packed = self._member.unconsumed_tail
            if ended and not data:
                self._fault = BrokenError("is cut off")
        return data

    def tell(self) -> int:
        return self._given

    def position(self) -> int:
        return self._taken - len(self._packed)


def _rescued(member: zlib._Decompress, packed: bytes, size: int) -> bytes:
    """The data before the damage. zlib returns nothing for input that contains damage, so it is fed short pieces."""
    found: list[bytes] = []
    for start in range(0, len(packed), _CAREFUL):
        before = member.copy()
        stretch = packed[start : start + _CAREFUL]
        try:
            found.append(member.decompress(stretch))
        except zlib.error:
            for place in range(len(stretch)):
                try:
                    found.append(before.decompress(stretch[place : place + 1]))
                except zlib.error:
                    break
            break
    return b"".join(found)


class ZstdStream:
    """The decompressed content of a zstd file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._given = 0
        self._unpacker = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")

    def read(self, size: int, /) -> bytes:
        try:
            data: bytes = self._unpacker.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise BrokenError("is cut off" if "Truncated" in str(error) else "is damaged") from error
        self._given += len(data)
        return data

    def tell(self) -> int:
        return self._given

    def position(self) -> int:
        return self._file.tell()


def packing(path: str | Path) -> str:
    """The suffix ``.gz`` or ``.zst`` of a name, in lower case; empty for any other suffix."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in (".gz", ".zst") else ""


@contextmanager
def raw_file(path: Path, part: Part | None = None) -> Iterator[BinaryIO]:
    """Opens the file without decompression. Raises InputError if it does not exist, cannot be read, or has changed
    since ``part`` was cut, which is checked before and after reading."""
    try:
        with path.open("rb") as file:
            _check_same(path, os.fstat(file.fileno()), part)
            try:
                yield file
            except BrokenError:
                # Apparent damage may be a change of the file.
                _check_same(path, path.stat(), part)
                raise
        _check_same(path, path.stat(), part)
    except FileNotFoundError as error:
        raise InputError(path, None, "there is no such file; check the path") from error
    except PermissionError as error:
        raise InputError(path, None, "may not be read; change its permissions") from error
    except IsADirectoryError as error:
        raise InputError(path, None, "is a folder; expected a file") from error


@contextmanager
def opened(path: Path, part: Part | None = None) -> Iterator[Stream]:
    """Opens a part, or a whole file, as a decompressed stream. Raises InputError as ``raw_file`` does, and for a file
    whose compression does not match its suffix."""
    with raw_file(path, part) as file:
        begin = file.read(4)
        file.seek(0)
        packed = packing(path)
        if packed and begin and not begin.startswith(_GZIP if packed == ".gz" else _ZSTD):
            name = "gzip" if packed == ".gz" else "zstd"
            raise InputError(
                path, None, f"is not {name}; copy it again, or take {packed} off its name if it is not compressed"
            )
        if not packed and begin.startswith(_GZIP):
            raise InputError(path, None, "is gzip-compressed; end its name in .gz, or decompress it")
        if packed == ".gz":
            yield GzipStream(file)
        elif packed and begin:
            yield ZstdStream(file)
        else:
            yield PlainStream(file, part.start if part else 0, part.end if part else None)


def _check_same(path: Path, status: os.stat_result, part: Part | None) -> None:
    if part is not None and (status.st_size, status.st_mtime_ns) != (part.size, part.modified):
        raise InputError(path, None, "was changed while it was being read; run the command again")
