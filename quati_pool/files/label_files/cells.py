"""Any text as a single cell of a TSV or CSV, on one line."""

from __future__ import annotations

import re

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def escaped(text: str) -> str:
    """The text with ``\\\\``, ``\\t``, ``\\n`` and ``\\r`` in place of backslashes, tabs and line ends."""
    return re.sub(r"[\\\t\n\r]", lambda found: _ESCAPES[found[0]], text)


def unescaped(cell: str) -> str:
    """The text that ``escaped`` made a cell of; other sequences that begin with a backslash stay as they are."""
    return re.sub(r"\\[\\tnr]", lambda found: _CHARACTERS[found[0]], cell)
