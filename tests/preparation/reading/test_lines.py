"""Lines in bounded memory, and packed streams that are damaged."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.preparation.reading import lines as lines_module
from quati_pool.preparation.reading.lines import LongLine, bounded_lines
from quati_pool.preparation.reading.page import BrokenError
from quati_pool.preparation.reading.streams import GzipStream, opened


@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"\r", b"\xff", b"efghijklmnop"])),
    st.integers(1, 9),
    st.integers(0, 20),
)
def test_lines_are_those_of_split_with_long_ones_measured(parts: list[bytes], block: int, limit: int) -> None:
    data = b"".join(parts)
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    found = list(bounded_lines(io.BytesIO(data).read, limit, block))
    head = lines_module._HEAD
    assert found == [line if len(line) <= limit else LongLine(line[:head], len(line)) for line in expected]


@given(st.integers(1, 50), st.integers(1, 30), st.integers(1, 70))
def test_the_beginning_of_a_long_line_does_not_depend_on_blocks(length: int, head: int, block: int) -> None:
    line = bytes(range(48, 48 + length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "_HEAD", head)
        found = list(bounded_lines(io.BytesIO(b"x\n" + line + b"\nyy").read, 0, block))
    assert found == [LongLine(b"x", 1), LongLine(line[:head], length), LongLine(b"yy"[:head], 2)]


def everything(stream: GzipStream, size: int) -> tuple[bytes, str | None]:
    found = []
    try:
        while data := stream.read(size):
            assert len(data) <= size
            found.append(data)
    except BrokenError as error:
        return b"".join(found), str(error)
    return b"".join(found), None


TEXT = random.Random(5).randbytes(3000) + b"uma linha de texto\n" * 9000
MEMBERS = [TEXT[:2000], b"", TEXT[2000:]]


@pytest.mark.parametrize("size", [1000, 1 << 20])
@pytest.mark.parametrize("padding", [b"", b"\0" * 70_000])
def test_all_members_of_a_gzip_file_are_read(size: int, padding: bytes) -> None:
    packed = b"".join(gzip.compress(member) for member in MEMBERS) + padding
    stream = GzipStream(io.BytesIO(packed))
    assert everything(stream, size) == (TEXT, None)
    assert (stream.tell(), stream.position()) == (len(TEXT), len(packed))


@given(st.integers(0, 2**31), st.sampled_from([100, 5000, 1 << 20]))
def test_a_gzip_file_cut_off_anywhere_gives_all_that_zlib_can_unpack(place: int, size: int) -> None:
    packed = gzip.compress(TEXT, mtime=0)
    place = 1 + place % (len(packed) - 1)
    # The oracle: zlib itself, fed all of the stump at once.
    whole = zlib.decompressobj(31).decompress(packed[:place])
    assert everything(GzipStream(io.BytesIO(packed[:place])), size) == (whole, "is cut off")


def test_a_damaged_gzip_file_gives_what_stands_before_the_damage() -> None:
    # Stored, not deflated, blocks of at most 65,535 bytes: where the damage shows can be told by hand. A block
    # has a header of 5 bytes, whose last two are the complement of the two before; the file's header has 10.
    data = random.Random(1).randbytes(200_000)
    packer = zlib.compressobj(0, wbits=31)
    packed = bytearray(packer.compress(data) + packer.flush())
    first = int.from_bytes(packed[11:13], "little")
    packed[10 + 5 + first + 1] ^= 0xFF
    for size in (1000, 1 << 20):
        assert everything(GzipStream(io.BytesIO(bytes(packed))), size) == (data[:first], "is damaged")


def test_a_false_checksum_costs_nothing_of_the_text() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-8] ^= 1
    assert everything(GzipStream(io.BytesIO(bytes(packed))), 4096) == (TEXT, "is damaged")


def test_what_stands_after_the_last_member_is_said() -> None:
    packed = gzip.compress(TEXT) + b"<html>404</html>"
    assert everything(GzipStream(io.BytesIO(packed)), 1 << 20) == (TEXT, "holds something that is not gzip")


def test_a_gzip_bomb_is_unpacked_a_little_at_a_time() -> None:
    packed = gzip.compress(bytes(50_000_000), compresslevel=1)
    stream = GzipStream(io.BytesIO(packed))
    assert len(stream.read(1000)) == 1000
    assert stream.position() <= 1 << 16


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def test_zstd_is_unpacked_in_all_its_frames_and_a_cut_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    packed = zstd(TEXT) + zstd(b"more")
    path.write_bytes(packed)
    with opened(path) as stream:
        assert everything(stream, 10_000) == (TEXT + b"more", None)  # type: ignore[arg-type]
        assert stream.position() == len(packed)
    path.write_bytes(zstd(TEXT)[:2500])
    with opened(path) as stream:
        found, fault = everything(stream, 1000)  # type: ignore[arg-type]
    assert fault == "is cut off"
    assert TEXT.startswith(found)
