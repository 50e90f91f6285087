"""The room that names and titles take in a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from quati_pool.text.characters import one_line
from quati_pool.text.display_width import columns

_INCH_PER_COLUMN = 0.085


def inches(names: Sequence[str]) -> float:
    """The width in inches of the longest label."""
    return max(map(columns, names), default=0) * _INCH_PER_COLUMN


def wrapped(text: str, width: float) -> str:
    """``text`` wrapped to the lines of a title that is ``width`` inches wide, three at most."""
    return "\n".join(textwrap.wrap(one_line(text), max(12, int(width / 0.093)), max_lines=3, placeholder=" …"))
