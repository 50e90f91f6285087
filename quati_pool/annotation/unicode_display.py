"""Makes deceptive characters visible: direction changes, invisible characters and control characters.

They are listed here instead of taken from Python's Unicode tables, so that every Python version shows the same.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["text", "mark"]

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but tab and line feed
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # a joiner, and letters without a shape
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    "\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # without width
    "\u2028\u2029"  # separators that end a line in some programs only
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # formats, tags, variants
    "\ud800-\udfff"  # half a pair, which no page can hold
    "]"
)
# A carriage return before a line feed is an ordinary Windows line end.
_LINE_END = re.compile("\r\n")


class Part(NamedTuple):
    """A piece of plain text, or one hidden character, which ``shown`` replaces by a mark.

    The ``raw`` values of all parts, joined, are the original text.
    """

    raw: str
    kind: Kind

    @property
    def shown(self) -> str:
        return self.raw if self.kind == "text" else f"⟨U+{ord(self.raw):04X}⟩"


def visible(text: str) -> list[Part]:
    """``text`` in parts: every bidirectional control, zero-width or control character, lone surrogate and
    invisible tag is a separate part; tab, line feed and carriage return with line feed are plain text.

    So are the soft hyphen, which is frequent in web text, and the variation selectors of emoji.
    """
    parts: list[Part] = []
    start = 0
    for found in _HIDDEN.finditer(text):
        if found.group() == "\r" and _LINE_END.match(text, found.start()):
            continue
        if found.start() > start:
            parts.append(Part(text[start : found.start()], "text"))
        parts.append(Part(found.group(), "mark"))
        start = found.end()
    if start < len(text):
        parts.append(Part(text[start:], "text"))
    return parts
