"""Pages from WARC files. The files are written by hand after ISO 28500, not by the library that reads them."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

import pytest

from quati_pool.errors import MissingExtraError
from quati_pool.preparation.base import ComponentEnvironment
from quati_pool.preparation.steps.read import Read, ReadParameters
from tests.preparation.read_step import read

ARTICLE = (
    "<html><head><title>T</title><style>p {}</style></head><body><nav><a href='/'>Menu</a></nav><main><h1>O quati</h1>"
    "<p>É um mamífero da América do Sul.</p><script>x()</script><p>Vive em bandos.</p></main>"
    "<footer>Direitos</footer></body></html>"
)
TEXT = "O quati\n\nÉ um mamífero da América do Sul.\n\nVive em bandos."


def record(number: int, block: bytes, kind: str = "response", **others: str) -> bytes:
    headers = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-8000-{number:012}>",
        "WARC-Date": "2024-01-01T00:00:00Z",
        "WARC-Target-URI": f"https://exemplo.br/{number}",
        "Content-Type": "application/http; msgtype=response",
        **{name.replace("_", "-"): value for name, value in others.items()},
        "Content-Length": str(len(block)),
    }
    return f"WARC/1.1\r\n{_lines(headers)}\r\n".encode() + block + b"\r\n\r\n"


def http(
    body: bytes | str = ARTICLE, kind: str | None = "text/html; charset=utf-8", status: str = "200 OK", **others: str
) -> bytes:
    headers = {**({"Content-Type": kind} if kind else {}), **{n.replace("_", "-"): v for n, v in others.items()}}
    return f"HTTP/1.1 {status}\r\n{_lines(headers)}\r\n".encode() + (body.encode() if isinstance(body, str) else body)


def _lines(headers: dict[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


RECORDS = [
    record(0, b"software: made by hand\r\n", "warcinfo", Content_Type="application/warc-fields"),
    record(1, b"GET / HTTP/1.1\r\n\r\n", "request", Content_Type="application/http; msgtype=request"),
    record(2, http()),
    record(3, http(status="404 Not Found")),
    record(4, http(b"%PDF-1.7", "application/pdf")),
    record(5, http("Só texto.\r\nDuas linhas.", "text/plain; charset=utf-8")),
    record(6, http("<p> </p>")),
    record(7, http(), WARC_TREC_ID="clueweb12-0000tw-00-00013"),
    record(8, b"dns: none", Content_Type="text/dns"),
    record(9, http("<p>" + "x" * 5000)),
    record(10, http(kind="application/xhtml+xml; charset=utf-8")),
]


@pytest.mark.parametrize("packing", ["", "each", "whole"])
def test_responses_with_html_are_pages_and_the_rest_is_counted(tmp_path: Path, packing: str) -> None:
    data = b"".join(map(gzip.compress, RECORDS)) if packing == "each" else b"".join(RECORDS)
    data = gzip.compress(data) if packing == "whole" else data
    name = "a.warc.gz" if packing else "a.warc"
    (tmp_path / name).write_bytes(data)
    found = read(tmp_path, name, max_page_bytes=4000)
    assert [row[1:] for row in found.pages] == [
        (3, uuid(2), "https://exemplo.br/2", "", TEXT),
        (6, uuid(5), "https://exemplo.br/5", "", "Só texto.\nDuas linhas."),
        (8, "clueweb12-0000tw-00-00013", "https://exemplo.br/7", "", TEXT),
        (11, uuid(10), "https://exemplo.br/10", "", TEXT),
    ]
    assert found.why == [(4, "not HTTP 200"), (5, "not HTML"), (7, "no text"), (9, "not HTTP 200"), (10, "too long")]
    assert [excerpt for *_, excerpt in found.refused][:2] == ["404: https://exemplo.br/3", "application/pdf"]
    assert found.notes == []
    assert found.ticks[-1][-1] == len(data)


META = "<meta charset='iso-8859-1'>"
CHARSETS = [
    (ARTICLE.encode("latin-1"), "text/html; charset=ISO-8859-1"),
    (ARTICLE.encode("utf-16"), "text/html; charset=utf-16"),
    (ARTICLE.replace("<style>", META + "<style>").encode("latin-1"), "text/html"),
    (ARTICLE.encode(), "text/html"),
    (b"\xef\xbb\xbf" + ARTICLE.encode(), "text/html; charset=utf-8"),
    (ARTICLE.encode(), "text/html; charset=no-such-charset"),
    # What the server says is wrong, and the bytes cannot be UTF-8.
    (ARTICLE.encode("cp1252"), "text/html; charset=utf-8"),
    (ARTICLE.encode(), None),
]


@pytest.mark.parametrize(("body", "kind"), CHARSETS, ids=range(len(CHARSETS)))
def test_characters_are_decoded_as_server_page_or_bytes_tell(tmp_path: Path, body: bytes, kind: str | None) -> None:
    (tmp_path / "a.warc").write_bytes(record(1, http(body, kind)))
    assert read(tmp_path, "a.warc").texts == [TEXT]


CHUNKED = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (ARTICLE.encode()[:50], ARTICLE.encode()[50:], b""))
PACKED = gzip.compress(ARTICLE.encode())
CODINGS = [
    (CHUNKED, {"Transfer_Encoding": "chunked"}, None),
    (PACKED, {"Content_Encoding": "gzip"}, None),
    # zlib's wrapping less header and checksum is raw deflate, which some servers send as well.
    (zlib.compress(ARTICLE.encode()), {"Content_Encoding": "deflate"}, None),
    (zlib.compress(ARTICLE.encode())[2:-4], {"Content_Encoding": "deflate"}, None),
    # Crawlers store content unpacked under the old headers.
    (ARTICLE.encode(), {"Content_Encoding": "gzip", "Transfer_Encoding": "chunked"}, None),
    (ARTICLE.encode(), {"Content_Encoding": "br"}, None),
    (PACKED[:-20], {"Content_Encoding": "gzip"}, "content that cannot be unpacked"),
    (CHUNKED[:-30], {"Transfer_Encoding": "chunked"}, "content that cannot be unpacked"),
    (b"\x01\x02\x03", {"Content_Encoding": "br"}, "content that cannot be unpacked"),
    (gzip.compress(bytes(50_000_000), 1), {"Content_Encoding": "gzip"}, "too long"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "headers", "reason"), CODINGS, ids=range(len(CODINGS)))
def test_content_is_unpacked_and_a_bad_one_spoils_no_other(
    tmp_path: Path, body: bytes, headers: dict[str, str], reason: str | None
) -> None:
    (tmp_path / "a.warc").write_bytes(record(1, http(body, **headers)) + record(2, http()))
    found = read(tmp_path, "a.warc")
    assert found.texts == ([TEXT, TEXT] if reason is None else [TEXT])
    assert found.why == ([] if reason is None else [(1, reason)])


def test_a_warc_cut_off_anywhere_keeps_the_whole_records_and_says_so(tmp_path: Path) -> None:
    records = [
        record(1, http()),
        record(2, b"GET / HTTP/1.1\r\n\r\n", "request"),
        record(3, http(status="404 None")),
        record(4, http()),
    ]
    data = b"".join(records)
    ends = [sum(map(len, records[: place + 1])) for place in range(len(records))]
    path = tmp_path / "a.warc"
    for length in [*range(ends[0], len(data), 11), *ends]:
        path.write_bytes(data[:length])
        found = read(tmp_path, "a.warc")
        # The two line ends after a record are no part of it.
        whole = [end - 4 <= length for end in ends]
        assert found.ids == [uuid(number) for number in (1, 4) if whole[number - 1]], length
        assert found.why == ([(3, "not HTTP 200")] if whole[2] else []), length
        if all(length not in range(end - 4, end + 1) for end in ends):
            (note,) = found.notes
            # A stump in which no record can be seen is damaged, not cut off: it might be anything.
            assert note.startswith(("a.warc: is cut off after 1 pages", "a.warc: is damaged after 1 pages")), length


def test_a_packed_warc_cut_off_or_damaged_keeps_what_came_before(tmp_path: Path) -> None:
    packed = [gzip.compress(record(number, http())) for number in range(50)]
    middle = sum(map(len, packed[:25]))
    data = b"".join(packed)
    (tmp_path / "a.warc.gz").write_bytes(data[: middle + 40])
    (tmp_path / "b.warc.gz").write_bytes(data[:middle] + b"\xff" * 40 + data[middle + 40 :])
    (tmp_path / "c.warc").write_bytes(record(1, http()) + b"rubbish\r\n" * 9 + record(2, http()))
    (tmp_path / "d.warc.gz").write_bytes(packed[0])
    found = read(tmp_path, "*")
    assert [row.path for row in found.pages] == ["a.warc.gz"] * 25 + ["b.warc.gz"] * 25 + ["c.warc", "d.warc.gz"]
    remedy = "pages, which are kept; copy or compress it again"
    assert found.notes == [
        f"a.warc.gz: is cut off after 25 {remedy}",
        f"b.warc.gz: holds something that is not gzip after 25 {remedy}",
        f"c.warc: is damaged after 1 {remedy}",
    ]


def test_a_warc_without_responses_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(RECORDS[0] + record(1, b"Um texto", "conversion", Content_Type="text/plain"))
    found = read(tmp_path, "a.warc")
    assert found.pages == []
    assert found.notes == [
        "a.warc: holds no response records, so no pages; take it out of path, or give the WARC of the crawl"
    ]


def test_hostile_html_is_refused_or_read(tmp_path: Path) -> None:
    """The time of extraction is quadratic in depth: these would take an hour."""
    deep = "<div>" * 200_000 + "x"
    bodies = [deep, deep + "</div>" * 200_000, "<p>" * 9000 + "x", "<" * 90_000 + "x", "<b><p>" * 300 + "x"]
    bodies += ["<li>item</li>" * 3000, "<!--" * 90_000 + "x", "a\0b<p>\ud7ff\ufeff"]
    (tmp_path / "a.warc").write_bytes(b"".join(record(number, http(body)) for number, body in enumerate(bodies)))
    found = read(tmp_path, "a.warc")
    assert found.why[:2] == [(1, "nested too deeply"), (2, "nested too deeply")]
    assert [row.line for row in found.pages if row.line in (3, 5, 6, 8)] == [3, 5, 6, 8]
    assert len(found.pages) + len(found.refused) == len(bodies)


def test_a_missing_package_is_named_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.warc").write_bytes(RECORDS[2])
    monkeypatch.setitem(sys.modules, "fastwarc", None)
    step = Read(ReadParameters(path="*.warc"), ComponentEnvironment(tmp_path))
    message = r"^the format warc needs the package fastwarc, .*: run: pip install 'quati-pool\[prepare\]'$"
    for asked in (step.check, step.shards):
        with pytest.raises(MissingExtraError, match=message):
            asked()
    assert Read(ReadParameters(path="a.jsonl")).check() is None


def test_versions_of_what_reads_html_are_in_the_key(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(RECORDS[2])
    assert set(Read(ReadParameters(path="*"), ComponentEnvironment(tmp_path)).key()) == {"fastwarc", "resiliparse"}
    assert Read(ReadParameters(path="*", format="jsonl"), ComponentEnvironment(tmp_path)).key() == {}
