"""Extracts the text of a web server's response: decompresses it, decodes it, and takes the main content of HTML."""

from __future__ import annotations

import io
import re
import zlib
from itertools import accumulate

from quati_pool.preparation.reading.page import NOT_HTML, NOT_UNPACKED, TOO_DEEP, TOO_LONG, RefusedError, excerpt

_HTML = ("text/html", "application/xhtml+xml")
_DEEP = 1000
"""The greatest depth of elements: the extraction takes time quadratic in it, and browsers stop at about 500."""

# Elements without an end tag, or whose end tag may be left out, do not nest in themselves.
_TAG = re.compile(
    r"<(/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|"
    r"li|dt|dd|p|option|optgroup|tr|td|th|thead|tbody|tfoot)\b)[a-z]",
    re.IGNORECASE,
)


def unpacked(data: bytes, transfer: str, content: str, limit: int) -> bytes:
    """The content of a response with these values of Transfer-Encoding and Content-Encoding.

    Crawlers often store it decompressed but leave the headers unchanged, so content that is not encoded as they say
    is returned as it is. Raises RefusedError if it cannot be decompressed, or has more than ``limit`` bytes.
    """
    from fastwarc.stream_io import BrotliReader, ChunkedReader

    if "chunked" in transfer.lower():
        try:
            data = ChunkedReader(io.BytesIO(data)).read(limit + 1)
        except OSError:
            if re.match(rb"\s*[0-9a-fA-F]+[ \t]*(?:;[^\r\n]*)?\r\n", data):
                raise RefusedError(NOT_UNPACKED, f"chunked: {excerpt(data)}") from None
    for coding in reversed([name.strip().lower() for name in content.split(",")]):
        try:
            if coding in ("gzip", "x-gzip") and data.startswith(b"\x1f\x8b"):
                data = _inflated(data, 31, limit)
            elif coding == "deflate" and not _marked_up(data):
                data = _inflated(data, 15 if data[:1] == b"\x78" else -15, limit)
            elif coding == "br" and not _marked_up(data):
                data = BrotliReader(io.BytesIO(data)).read(limit + 1)
            elif coding == "zstd" and data.startswith(b"\x28\xb5\x2f\xfd"):
                raise RefusedError(NOT_UNPACKED, "zstd")
        except (zlib.error, OSError):
            raise RefusedError(NOT_UNPACKED, f"{coding}: {excerpt(data)}") from None
    if len(data) > limit:
        raise RefusedError(TOO_LONG, f"more than {limit:,} bytes: {excerpt(data)}")
    return data


def _inflated(data: bytes, window: int, limit: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=window)
    found = unpacker.decompress(data, limit + 1)
    if not unpacker.eof and len(found) <= limit:
        raise zlib.error("cut off")
    return found


def _marked_up(data: bytes) -> bool:
    return data.lstrip()[:1] == b"<"


def decoded(data: bytes, charset: str | None) -> str:
    """``data`` decoded by the charset that the server named, or else by the one that the page names or its bytes
    suggest. Bytes that are invalid in that charset are left out."""
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding, map_encoding_to_html5

    known = map_encoding_to_html5(charset, False) if charset else None
    found = known or detect_encoding(data, from_html_meta=True) or "utf-8"
    return bytes_to_str(data, found)


def text_of(data: bytes, kind: str | None, charset: str | None) -> str:
    """The text of a response of the media type ``kind``; of HTML, the main content as extracted by resiliparse.

    Raises RefusedError for anything other than HTML and plain text, and for HTML that is nested too deeply.
    """
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import detect_mime

    kind = (kind or ("text/html" if _marked_up(data) else detect_mime(data))).split(";")[0].strip().lower()
    if kind == "text/plain":
        return decoded(data, charset)
    if kind not in _HTML:
        raise RefusedError(NOT_HTML, kind)
    html = decoded(data, charset)
    if html.count("<") - html.count("</") > _DEEP or html.count("</") > _DEEP:
        depth = max(accumulate(-1 if found[1] else 1 for found in _TAG.finditer(html)), default=0)
        if depth > _DEEP:
            raise RefusedError(TOO_DEEP, f"about {depth:,} elements deep; at most {_DEEP:,}")
    return extract_plain_text(html, main_content=True)
