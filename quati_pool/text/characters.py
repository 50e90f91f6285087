"""Characters that no page, figure or TeX file can hold."""

from __future__ import annotations

import re

_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Not the no-break and thin spaces, which are typography.
_BREAKS = re.compile("[ \t\n\r\v\f\x85\u2028\u2029]+")


def possible(text: str) -> str:
    """``text`` with U+FFFD for each control character and lone surrogate, which XML and UTF-8 cannot hold."""
    return _IMPOSSIBLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """``possible`` text with every run of spaces, tabs and line ends as one space."""
    return possible(_BREAKS.sub(" ", text).strip(" "))
