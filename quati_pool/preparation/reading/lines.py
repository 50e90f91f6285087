"""Reads the lines of a stream in bounded memory: a line that is too long is measured, but not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

_BLOCK = 1 << 18
_HEAD = 1024


class LongLine(NamedTuple):
    """A line longer than the limit: its beginning, and its length in bytes."""

    head: bytes
    length: int


def bounded_lines(read: Callable[[int], bytes], limit: int, block: int = _BLOCK) -> Iterator[bytes | LongLine]:
    """The lines of the stream behind ``read``, without ``\\n``, the only line end. The rest after the last line end is
    a line too, unless it is empty. A line of more than ``limit`` bytes is returned as a LongLine.

    ``read(size)`` returns at most ``size`` bytes, and none only at the end; exceptions that it raises are passed on,
    and the line that is unfinished at that point is lost.
    """
    held: list[bytes] = []
    length = 0
    while data := read(block):
        first, *others = data.split(b"\n")
        length += len(first)
        if length <= limit:
            held.append(first)
        elif held or first:
            # Only the beginning of a long line is kept.
            held = [(b"".join(held) + first[:_HEAD])[:_HEAD]]
        if not others:
            continue
        yield _line(held, length, limit)
        *whole, last = others
        for line in whole:
            yield line if len(line) <= limit else LongLine(line[:_HEAD], len(line))
        held, length = [last], len(last)
        if length > limit:
            held = [last[:_HEAD]]
    if length:
        yield _line(held, length, limit)


def _line(held: list[bytes], length: int, limit: int) -> bytes | LongLine:
    line = b"".join(held)
    return line if length <= limit else LongLine(line, length)
