"""Lines of text: their numbers, their ends, and files that are not UTF-8 or not whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.files.lines import output, read_bytes, read_lines
from quati_pool.files.problems import Collected


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_only_newlines_end_lines(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, "\ufeffa\r\n\nb\x0bc\u2028d\re\n  é".encode())
    assert list(read_lines(path)) == [(1, "a"), (2, ""), (3, "b\x0bc\u2028d\re"), (4, "  é")]
    assert read_bytes(path).startswith(b"a\r\n")


def test_no_line_in_an_empty_file(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, "a", b""))) == []
    assert list(read_lines(written(tmp_path, "a.gz", b""))) == []


SPEC = [
    ("a", b"ok\nn\xe3o\n", ":2: byte 2 (0xE3) is not UTF-8; convert to UTF-8"),
    ("a", "a\n".encode("utf-16-le"), None),
    ("a", "a\n".encode("utf-16"), ":1: begins with a UTF-16 byte-order mark; convert to UTF-8"),
    ("a", b"\xfe\xff\0a", ":1: begins with a UTF-16 byte-order mark; convert to UTF-8"),
    ("a", gzip.compress(b"a", mtime=0), ":1: is gzip-compressed; end its name in .gz, or decompress it"),
]


@pytest.mark.parametrize(("name", "data", "error"), SPEC)
def test_what_is_no_utf8_text_is_refused(tmp_path: Path, name: str, data: bytes, error: str | None) -> None:
    path = written(tmp_path, name, data)
    if error is None:
        assert list(read_lines(path)) == [(1, "a\0"), (2, "\0")]
        return
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value) == f"{path}{error}"


def test_a_collected_line_keeps_the_rest_going(tmp_path: Path) -> None:
    problems = Collected(1)
    lines = list(read_lines(written(tmp_path, "a", b"\xff\nb\n\xfe\n"), problems))
    assert lines == [(1, "\ufffd"), (2, "b"), (3, "\ufffd")]
    assert (problems.count, len(problems.errors)) == (2, 1)


@pytest.mark.parametrize("cut", [slice(0, 5), slice(0, -9), slice(4, None)])
@pytest.mark.parametrize("read", [read_bytes, lambda path: list(read_lines(path))])
def test_a_broken_gzip_file_is_refused(tmp_path: Path, cut: slice, read: object) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"some text\n" * 1000)[cut])
    with pytest.raises(InputError) as caught:
        read(path)  # type: ignore[operator]
    assert str(caught.value) == f"{path}: is cut off or not gzip; copy or compress it again"
    assert caught.value.line is None


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: there is no such file; check the path$"):
        list(read_lines(tmp_path / "none"))
    with pytest.raises(InputError, match=r": is a folder; expected a file$"):
        list(read_lines(tmp_path))


def test_packed_output_holds_neither_time_nor_name(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with output(tmp_path / name) as stream:
            stream.write(b"text")
    data = (tmp_path / "a.gz").read_bytes()
    assert data == (tmp_path / "b.gz").read_bytes()
    assert data[3] == 0, "no file name flag"
    assert data[4:8] == bytes(4), "no time"
    assert gzip.decompress(data) == b"text"


def test_faults_come_in_the_order_of_their_lines_however_large_the_file(tmp_path: Path) -> None:
    line = b"x" * 999 + b"\r\n"
    lines = read_lines(written(tmp_path, "a.gz", line * 2500 + b"\xff"))
    assert [next(lines) for _ in range(2500)] == [(n, "x" * 999) for n in range(1, 2501)]
    with pytest.raises(InputError, match=r":2501: byte 1 \(0xFF\)"):
        next(lines)
