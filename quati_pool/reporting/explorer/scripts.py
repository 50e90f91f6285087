"""The explorer's data as scripts, since a browser does not let a page that was opened from the disk read other files.

A script calls one function of the pages. JSON is valid JavaScript (ECMAScript 2019), so that its arguments can be read
back."""

from __future__ import annotations

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_END = b");\n"

NO_LABEL, NO_GRADE, HIDDEN = "-", "!", "?"
"""In place of a grade: the labeler has no label of the pair, a label without a grade, or one that is not shown."""


def script(function: str, *arguments: object) -> bytes:
    """A script that passes ``arguments`` to a function of the pages."""
    text = ",".join(map(_ENCODER.encode, arguments))
    # Half a surrogate pair cannot be encoded as UTF-8, but written as an escape.
    return f"explorerData.{function}({text}".encode(errors="backslashreplace") + _END


def arguments_of(written: bytes) -> list[Any]:
    """The arguments that ``script`` was given."""
    found: list[Any] = json.loads(b"[%b]" % written.partition(b"(")[2].removesuffix(_END))
    return found
