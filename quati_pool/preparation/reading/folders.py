"""Reads pages from plain text files, one page per file."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.preparation.reading.page import NOT_UTF8, TOO_LONG, Page, Place, RefusedError, checked, excerpt
from quati_pool.preparation.reading.streams import opened


def read_text(place: Place) -> Iterator[Page]:
    """The page in a file, or none if it is refused. Raises BrokenError if a compressed file is damaged."""
    with opened(place.path, place.part) as stream:
        found: list[bytes] = []
        while stream.tell() <= place.limit and (data := stream.read(place.limit + 1 - stream.tell())):
            found.append(data)
        length = stream.tell()
    place.done = place.part.size
    raw = b"".join(found)
    try:
        if length > place.limit:
            raise RefusedError(TOO_LONG, f"more than {place.limit:,} bytes: {excerpt(raw)}")
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            fault = f"byte {error.start + 1} is 0x{raw[error.start]:02X}: "
            raise RefusedError(NOT_UTF8, fault + excerpt(raw[max(0, error.start - 40) :])) from None
        page = checked(1, place.name, "", "", text)
    except RefusedError as refused:
        place.refuse(1, refused)
    else:
        yield page
