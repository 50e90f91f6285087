"""Reads pages from WARC files (ISO 28500), plain or compressed: the main text of HTML responses with status 200."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quati_pool.errors import InputError
from quati_pool.preparation.reading.html import text_of, unpacked
from quati_pool.preparation.reading.page import NOT_OK, TOO_LONG, BrokenError, Page, Place, RefusedError, checked
from quati_pool.preparation.reading.streams import Stream, opened

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

_URN = "urn:uuid:"


def read_warc(place: Place) -> Iterator[Page]:
    """The pages among the response records; a page's line is the record's number among all records.

    Raises InputError if the file is not WARC, BrokenError if it is damaged or cut off.
    """
    from fastwarc.warc import WarcRecordType

    responses = 0
    with opened(place.path, place.part) as stream:
        for line, record in enumerate(_records(place, stream), 1):
            if record.record_type != WarcRecordType.response:
                _finish(record)
                continue
            responses += 1
            try:
                page = _page(record, line, place.limit)
            except RefusedError as refused:
                place.refuse(line, refused)
            else:
                yield page
            place.done = stream.position()
        if not responses and stream.tell():
            place.note("holds no response records, so no pages; take it out of path, or give the WARC of the crawl")


def _records(place: Place, stream: Stream) -> Iterator[WarcRecord]:
    from fastwarc.warc import ArchiveIterator

    found = 0
    try:
        for record in ArchiveIterator(stream, parse_http=False):  # type: ignore[arg-type]
            found += 1
            yield record
    except OSError as error:
        if error.errno is not None:
            raise
        if found:
            raise BrokenError("is damaged") from error
    if not found and stream.tell():
        raise InputError(place.path, None, "is not WARC; name another format, or take it out of path")


def _finish(record: WarcRecord) -> None:
    """Skips the rest of a record. Raises BrokenError if the record is shorter than its Content-Length."""
    if not record.headers.get("Content-Length") or record.consume() < record.content_length:
        raise BrokenError("is cut off")


def _page(record: WarcRecord, line: int, limit: int) -> Page:
    url = (record.headers.get("WARC-Target-URI") or "").strip("<> ")
    status = _status(record)
    if status != 200:
        _finish(record)
        raise RefusedError(NOT_OK, f"{status or 'no status'}: {url}")
    if record.content_length > limit:
        length = record.content_length
        _finish(record)
        raise RefusedError(TOO_LONG, f"{length:,} bytes; at most {limit:,}: {url}")
    data = record.reader.read(limit + 1)
    if len(data) < record.content_length:
        raise BrokenError("is cut off")
    headers = record.http_headers
    content = unpacked(data, headers.get("Transfer-Encoding") or "", headers.get("Content-Encoding") or "", limit)
    text = text_of(content, record.http_content_type, record.http_charset)
    return checked(line, _id(record), url, "", text)


def _status(record: WarcRecord) -> int | None:
    """The status code of the response; None if it is not an HTTP response."""
    try:
        record.parse_http()
    except OSError as error:
        if error.errno is not None:
            raise
        return None
    return record.http_headers.status_code if record.is_http_parsed else None


def _id(record: WarcRecord) -> str:
    """ClueWeb's WARC-TREC-ID if there is one, otherwise the record's UUID."""
    trec = record.headers.get("WARC-TREC-ID")
    return trec or (record.record_id or "").strip("<> ").removeprefix(_URN)
