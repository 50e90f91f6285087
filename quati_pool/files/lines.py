"""Reads text files as strict UTF-8 and writes them as reproducible bytes; files that end in .gz are gzip files."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from quati_pool.errors import InputError
from quati_pool.files.problems import STRICT, Problems

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_GZIP_MARK = b"\x1f\x8b"
_BUFFER = 1 << 20


def read_lines(path: Path, problems: Problems = STRICT) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and its text without the line end.

    Only \\n ends a line, with or without \\r before it. A line that is not UTF-8 is reported to ``problems``, and
    returned with U+FFFD in place of the bytes that cannot be decoded.
    """
    with _opened(path) as stream:
        for number, raw in enumerate(stream, 1):
            if number == 1:
                raw = _checked_start(path, raw)
            if raw.endswith(b"\n"):
                raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                fault = f"byte {error.start + 1} (0x{raw[error.start]:02X}) is not UTF-8; convert to UTF-8"
                problems.report(path, number, fault)
                text = raw.decode(errors="replace")
            yield number, text


def read_bytes(path: Path) -> bytes:
    """The decompressed file without a byte-order mark."""
    with _opened(path) as stream:
        return _checked_start(path, stream.read())


def read_blocks(path: Path, size: int) -> Iterator[bytes]:
    """The decompressed file without a byte-order mark, in blocks of complete lines of about ``size`` bytes."""
    with _opened(path) as stream:
        start = True
        while block := stream.read(size):
            block += stream.readline()
            yield _checked_start(path, block) if start else block
            start = False


@contextmanager
def output(path: Path, level: int = 6) -> Iterator[BinaryIO]:
    """A stream that writes to ``path``, compressed if it ends in .gz; equal content gives equal bytes.

    ``level`` is the gzip level, from 1 (fast) to 9 (small).
    """
    with path.open("wb") as raw:
        if path.suffix == ".gz":
            with (
                gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=level) as packed,
                io.BufferedWriter(cast("io.RawIOBase", packed), _BUFFER) as stream,
            ):
                yield stream
        else:
            yield raw


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as packed, io.BufferedReader(packed, _BUFFER) as stream:
                    yield stream
            else:
                yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(path, None, "is cut off or not gzip; copy or compress it again") from error
    except FileNotFoundError as error:
        raise InputError(path, None, "there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise InputError(path, None, "is a folder; expected a file") from error
    except PermissionError as error:
        raise InputError(path, None, "may not be read; change its permissions") from error


def _checked_start(path: Path, data: bytes) -> bytes:
    if data.startswith(_UTF16_MARKS):
        raise InputError(path, 1, "begins with a UTF-16 byte-order mark; convert to UTF-8")
    if data.startswith(_GZIP_MARK):
        raise InputError(path, 1, "is gzip-compressed; end its name in .gz, or decompress it")
    return data.removeprefix(_UTF8_MARK)
