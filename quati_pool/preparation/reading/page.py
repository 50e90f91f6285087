"""A page as it was read, and the reasons for which something is refused as one."""

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
    """``line`` is the line, row or record, from 1; ``url`` and ``language`` are empty where unknown."""

    line: int
    doc_id: str
    url: str
    language: str
    text: str


class RefusedError(Exception):
    """Something that cannot be a page, raised to the loop that knows its line: one of ``REASONS``, and what it
    looked like."""

    def __init__(self, reason: str, excerpt: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excerpt = excerpt


class BrokenError(Exception):
    """What follows in a file cannot be read; the message says why, such as ``is cut off``."""


@dataclass
class Place:
    """A part that is being read: where it is, what may become of it, and how far reading has come."""

    path: Path
    part: Part
    limit: int
    """How many bytes a page may have: a line, a file, a record's content or a row's fields."""

    name: str
    """What its ids begin with, where pages have none of their own."""

    refuse: Callable[[int, RefusedError], None]
    """Takes a line and why it is no page."""

    note: Callable[[str], None]
    """Takes a line for the user; the file's name is put before it."""

    done: int = 0
    """Bytes on disk that were read of the part."""


def excerpt(data: str | bytes) -> str:
    """The beginning of something refused."""
    return data[:_SHOWN] if isinstance(data, str) else data[: 4 * _SHOWN].decode(errors="replace")[:_SHOWN]


def mended(text: str) -> str:
    """The text with ``\\n`` for line ends, no byte-order mark before it, and U+FFFD for what cannot be in a text:
    NUL, and halves of surrogate pairs, which JSON can escape and no encoding can write."""
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
    """The page of these values. Raises RefusedError where there is no text, or an id that is not allowed."""
    text = mended(text)
    if not text or text.isspace():
        raise RefusedError(NO_TEXT, doc_id)
    if not doc_id:
        raise RefusedError(NO_ID, excerpt(text))
    problem = id_problem(doc_id)
    if problem is not None:
        raise RefusedError(BAD_ID, f"{excerpt(doc_id)!a} {problem}")
    return Page(line, doc_id, mended(url).strip(), mended(language).strip(), text)
