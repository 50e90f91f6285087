"""Replaces characters that pages, figures and TeX files cannot contain."""

from __future__ import annotations

import re

_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# No-break and thin spaces are kept, since they are typography.
_BREAKS = re.compile("[ \t\n\r\v\f\x85\u2028\u2029]+")


def possible(text: str) -> str:
    """``text`` with U+FFFD in place of control characters and lone surrogates, which XML and UTF-8 cannot represent."""
    return _IMPOSSIBLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """``text`` as by ``possible``, stripped, and with every run of spaces, tabs and line ends as one space."""
    return possible(_BREAKS.sub(" ", text).strip(" "))
