"""The width of texts in columns, as terminals and figures draw them, and names shortened to fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from quati_pool.text.characters import one_line


def columns(text: str) -> int:
    """The width of ``text`` in columns of Latin letters; an East Asian wide character takes two columns."""
    if text.isascii():
        return len(text)
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


def wrapped_lines(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns; a word that is wider is shortened."""
    lines: list[str] = []
    for word in (short(word, width) for word in one_line(text).split(" ") if word):
        if lines and columns(lines[-1]) + 1 + columns(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` with spaces up to ``width`` columns, on its left side with ``right``."""
    space = " " * (width - columns(text))
    return space + text if right else text + space


def _fitting(text: str, width: int) -> str:
    end = used = 0
    for character in text:
        used += columns(character)
        if used > width:
            break
        end += 1
    return text[:end]
