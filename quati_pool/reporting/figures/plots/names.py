"""Shortens names so that they fit next to a mark."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from quati_pool.text.characters import one_line

_INCH_PER_COLUMN = 0.085


def columns(text: str) -> int:
    """The width of ``text`` in columns of Latin letters; an East Asian wide character takes two columns."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def beginning(text: str, width: int) -> str:
    """The beginning of ``text`` in at most ``width`` columns, with "…" for what is left out."""
    text = one_line(text)
    return text if columns(text) <= width else _fitting(text, width - 1).rstrip() + "…"


def short(name: str, width: int) -> str:
    """``name`` in at most ``width`` columns; a "…" replaces its middle, because run tags often differ at their ends."""
    name = one_line(name)
    if columns(name) <= width:
        return name
    tail = _fitting(name[::-1], (width - 1) // 2)[::-1]
    return _fitting(name, width - 1 - columns(tail)) + "…" + tail


def labels(names: Sequence[str], width: int = 28) -> list[str]:
    """Each name shortened to ``width`` columns, or to more if different names would become equal."""
    whole = {one_line(name) for name in names}
    longest = max(map(columns, whole), default=0)
    while width < longest and len({short(name, width) for name in whole}) < len(whole):
        width += 4
    return [short(name, width) for name in names]


def inches(names: Sequence[str]) -> float:
    """The width in inches of the longest label."""
    return max(map(columns, names), default=0) * _INCH_PER_COLUMN


def wrapped(text: str, width: float) -> str:
    """``text`` wrapped to the lines of a title that is ``width`` inches wide, three at most."""
    return "\n".join(textwrap.wrap(one_line(text), max(12, int(width / 0.093)), max_lines=3, placeholder=" …"))


def _fitting(text: str, width: int) -> str:
    end = used = 0
    for character in text:
        used += columns(character)
        if used > width:
            break
        end += 1
    return text[:end]
