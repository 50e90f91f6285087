"""Texts of passages in tables: whatever in them would act or hide is replaced by a mark, in every format."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from quati_pool.annotation.unicode_display import visible
from quati_pool.reporting.formats.tables import Cell, Column, Table


def shown(text: str) -> str:
    """``text`` with marks in place of characters that are hidden, change its direction or act on a terminal."""
    return re.sub("\r\n", "\n", "".join(part.shown for part in visible(text)))


def marks(rows: Sequence[Sequence[Cell]]) -> str:
    """The note on marks, if there are any."""
    marked = any(isinstance(cell, str) and "⟨U+" in cell for row in rows for cell in row)
    return "Characters that are hidden or act on a terminal are shown as ⟨U+…⟩." if marked else ""


def texts_table(title: str, texts: Mapping[str, str | None], width: int) -> Table:
    """Texts by name, in lines of at most ``width`` characters; those that are None are left out."""
    rows: list[list[Cell]] = []
    for name, text in texts.items():
        if text is not None:
            lines = [piece for line in text.split("\n") for piece in textwrap.wrap(line, width) or [""]]
            rows += [["" if number else name, line] for number, line in enumerate(lines)]
    return Table(title, [Column("What"), Column("Text", prose=True)], rows, marks(rows))
