"""A page as read from a file, and the reasons for which input is refused as a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quati_pool.preparation.base import Part
from quati_pool.records import id_problem

NOT_UTF8 = "not UTF-8"
NOT_JSON = "not JSON"
TOO_LONG = "too long"
NOT_OK = "not HTTP 200"
NOT_HTML = "not HTML"
NOT_UNPACKED = "content that cannot be unpacked"
TOO_DEEP = "nested too deeply"
NOT_TEXT = "field that is not text"
NO_TEXT = "no text"
NO_ID = "no id"
BAD_ID = "id that may not be"
REASONS = (
    NOT_UTF8, NOT_JSON, TOO_LONG, NOT_OK, NOT_HTML, NOT_UNPACKED, TOO_DEEP, NOT_TEXT, NO_TEXT, NO_ID, BAD_ID,
)  # fmt: skip

_SHOWN = 200
_HALVES = re.compile(r"[\ud800-\udfff]")


class Page(NamedTuple):
    """A page. ``line`` is the number of its line, row or record, from 1; ``url`` and ``language`` are empty if
    unknown."""

    line: int
    doc_id: str
    url: str
    language: str
    text: str


class RefusedError(Exception):
    """Input that cannot be a page, raised to the loop that knows its line: one of ``REASONS``, and an excerpt of the
    input."""

    def __init__(self, reason: str, excerpt: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excerpt = excerpt


class BrokenError(Exception):
    """The rest of a file cannot be read; the message says why, such as ``is cut off``."""


@dataclass
class Place:
    """A part that is being read: its place, the limits and callbacks of its reader, and the progress."""

    path: Path
    part: Part
    limit: int
    """The most bytes that a page may have, counted over a line, a file, a record's content or a row's fields."""

    name: str
    """The prefix of the generated ids of pages that have none."""

    refuse: Callable[[int, RefusedError], None]
    """Called with a line number and the reason why the line is refused."""

    note: Callable[[str], None]
    """Called with a note for the user; the file's name is prepended to it."""

    done: int = 0
    """The number of the part's bytes on disk that have been read."""


def excerpt(data: str | bytes) -> str:
    """The beginning of refused input, at most 200 characters."""
    return data[:_SHOWN] if isinstance(data, str) else data[: 4 * _SHOWN].decode(errors="replace")[:_SHOWN]


def repaired(text: str) -> str:
    """The text with ``\\n`` for line ends, without a byte-order mark, and with U+FFFD in place of what cannot be in a
    text: NUL, and lone surrogates, which JSON can escape but no encoding can write."""
    if text.startswith("\ufeff"):
        text = text[1:]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _HALVES.sub("\ufffd", text)
    return text


def checked(line: int, doc_id: str, url: str, language: str, text: str) -> Page:
    """The page with these values. Raises RefusedError for a missing text, and for a missing or invalid id."""
    text = repaired(text)
    if not text or text.isspace():
        raise RefusedError(NO_TEXT, doc_id)
    if not doc_id:
        raise RefusedError(NO_ID, excerpt(text))
    problem = id_problem(doc_id)
    if problem is not None:
        raise RefusedError(BAD_ID, f"{excerpt(doc_id)!a} {problem}")
    return Page(line, doc_id, repaired(url).strip(), repaired(language).strip(), text)
