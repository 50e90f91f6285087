"""Column types that can store any model answer on both engines.

PostgreSQL text can hold neither NUL nor a lone surrogate, and Python's SQLite driver cannot hold a lone
surrogate. ``AnyText`` writes each such character, and U+001A itself, as U+001A (the control character
SUBSTITUTE) and four hex digits, and restores it on reading. JSON is written in ASCII, where ``\\uXXXX``
does the same; two lone surrogates that form a pair come back as the character they encode, and NaN or an
infinite number as the text "NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

_ESCAPE = "\x1a"
_UNFIT = re.compile("[\x00\x1a\ud800-\udfff]")
_encode = json.JSONEncoder(allow_nan=False, default=dict).encode  # mappings of other types are objects too
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def escaped(text: str) -> str:
    """The text in the form that both engines can store."""
    if "\x00" not in text and _ESCAPE not in text:
        if text.isascii():
            return text
        try:
            text.encode()  # several times faster than searching for surrogates
        except UnicodeEncodeError:
            pass
        else:
            return text
    return _UNFIT.sub(lambda found: f"{_ESCAPE}{ord(found.group()):04x}", text)


def restored(text: str) -> str:
    """The inverse of ``escaped``: the original text."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


def json_text(value: Any) -> str:
    """A value as ASCII JSON; NaN and infinite numbers become text."""
    if value == {}:
        return "{}"
    try:
        return _encode(value)
    except ValueError:
        return _encode(_without_nan(value))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return value


class AnyText(TypeDecorator[str]):
    """Text that may contain any character."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else restored(value)


class Utc(TypeDecorator[datetime]):
    """A time with its zone, stored and read as UTC; SQLite's column type has no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
