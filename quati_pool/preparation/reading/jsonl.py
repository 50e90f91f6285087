"""Reads pages from JSONL, one object per line; plain, or compressed with gzip or zstd."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError
from quati_pool.preparation.reading.fields import HEAD, Fields, Named, check_rows, page_of
from quati_pool.preparation.reading.lines import LongLine, bounded_lines
from quati_pool.preparation.reading.page import (
    NOT_JSON,
    NOT_UTF8,
    TOO_LONG,
    BrokenError,
    Page,
    Place,
    RefusedError,
    excerpt,
)
from quati_pool.preparation.reading.streams import opened

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_jsonl(place: Place, fields: Fields) -> Iterator[Page]:
    """The pages of a part; blank lines are skipped.

    Raises InputError if the first ``HEAD`` lines of the file are not JSON, or none has the fields; BrokenError if a
    compressed file is damaged.
    """
    part = place.part
    with opened(place.path, part) as stream:
        found, doubtful = 0, part.start == 0
        named = Named(fields if doubtful else Fields())
        line = part.line - 1
        for line, raw in enumerate(bounded_lines(stream.read, place.limit), part.line):
            if doubtful and line > HEAD:
                _check_head(place.path, fields, place.limit, found)
                doubtful = False
                named.tell(place.note, f"up to line {HEAD:,} it ")
            try:
                values = _object(place.path, line, raw, place.limit)
                if values is None:
                    continue
                named.see(values)
                page = page_of(values, fields, line, place.name)
            except RefusedError as refused:
                place.refuse(line, refused)
            else:
                found += 1
                yield page
            place.done = stream.position()
        place.done = stream.position()
        if doubtful and line:
            _check_head(place.path, fields, place.limit, found)
            named.tell(place.note, f"up to line {line:,} it ")


def _object(path: Path, line: int, raw: bytes | LongLine, limit: int) -> dict[str, Any] | None:
    """The JSON object in a line; None for a blank line. Raises RefusedError and InputError."""
    if isinstance(raw, LongLine):
        raise RefusedError(TOO_LONG, f"{raw.length:,} bytes; at most {limit:,}: {excerpt(raw.head)}")
    if line == 1:
        if raw.startswith(_UTF16_MARKS):
            raise InputError(path, 1, "begins with a UTF-16 byte-order mark; convert to UTF-8")
        raw = raw.removeprefix(_UTF8_MARK)
    if not raw or raw.isspace():
        return None
    try:
        values = json.loads(raw.decode())
    except UnicodeDecodeError as error:
        fault = f"byte {error.start + 1} is 0x{raw[error.start]:02X}: "
        raise RefusedError(NOT_UTF8, fault + excerpt(raw[max(0, error.start - 40) :])) from None
    except (ValueError, RecursionError):
        raise RefusedError(NOT_JSON, excerpt(raw)) from None
    if not isinstance(values, dict):
        raise RefusedError(NOT_JSON, excerpt(raw))
    return values


def _check_head(path: Path, fields: Fields, limit: int, found: int) -> None:
    """If no page was found, raises InputError if the configuration is at fault. Always checks the first ``HEAD`` lines
    of the file, so that the result does not depend on how the file is cut."""
    if found:
        return
    rows: list[dict[str, Any]] = []
    faults: set[str] = set()
    with opened(path) as stream:
        try:
            for line, raw in enumerate(bounded_lines(stream.read, limit), 1):
                if line > HEAD:
                    break
                try:
                    values = _object(path, line, raw, limit)
                except RefusedError as refused:
                    faults.add(refused.reason)
                else:
                    if values is not None:
                        rows.append(values)
        except BrokenError:
            pass
    if rows:
        check_rows(path, rows, fields)
    elif faults and faults <= {NOT_JSON, NOT_UTF8}:
        raise InputError(
            path, 1, "is not JSONL: no line holds a JSON object; name another format, or take it out of path"
        )
