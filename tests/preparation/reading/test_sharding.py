"""Cutting the work: the pages, their order and their places are the same however the input is cut."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.preparation.base import ComponentEnvironment
from quati_pool.preparation.reading import sharding
from quati_pool.preparation.steps.read import Read, ReadParameters
from tests.preparation.read_step import Outcome, jsonl, page, pages, read


def read_cut(folder: Path, path: str | list[str], size: int, files: int = 5000, **parameters: object) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharding, "BYTES", size)
        patch.setattr(sharding, "FILES", files)
        return read(folder, path, **parameters)


LINES = st.sampled_from([b"", b" ", b"?", b"\xff", b"?" * 300, page(1), page(2, "dois\n\ntextos"), page(3, "")])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.lists(LINES, min_size=1, max_size=9), min_size=1, max_size=3), st.booleans(), st.integers(1, 600))
def test_no_cut_changes_pages_or_lines(tmp_path: Path, files: list[list[object]], ended: bool, size: int) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    for number, rows in enumerate(files):
        # A page before all, so that no file is refused as a whole.
        data = jsonl(page(0), *rows)
        (tmp_path / f"{number}.jsonl").write_bytes(data if ended else data[:-1])
    whole = read_cut(tmp_path, "*", 1 << 30, max_page_bytes=250)
    cut = read_cut(tmp_path, "*", size, max_page_bytes=250)
    assert whole.shards == 1
    assert cut.pages == whole.pages
    assert cut.refused == whole.refused
    assert sum(cut.weights) == whole.weights[0] == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert [ticks[-1] for ticks in cut.ticks] == cut.weights
    # The oracle for lines: every page stands on the line that it says.
    for row in cut.pages:
        assert f'"{row.doc_id}"'.encode() in (tmp_path / row.path).read_bytes().split(b"\n")[row.line - 1]


def test_ranges_begin_with_lines_and_end_where_the_next_begins(tmp_path: Path) -> None:
    data = b"a" * 9 + b"\n" + b"b" * 4 + b"\n" + b"c" * 4 + b"\n" + b"d" * 30 + b"\n" + b"e\nf\n" + b"g"
    (tmp_path / "a.jsonl").write_bytes(data)
    # Starts of lines: 0, 10, 15, 20, 51, 53, 55. Each range takes the lines that begin in its first 10 bytes, and
    # ends with the last of them.
    (shards,) = [sharding.shards_of(tmp_path, ["a.jsonl"], "jsonl", 10)]
    parts = [part for shard in shards for part in shard.parts]
    assert [(part.start, part.end, part.line) for part in parts] == [(0, 10, 1), (10, 20, 2), (20, 51, 4), (51, 56, 5)]


def test_a_line_longer_than_several_shards_is_in_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(page(1), page(2, "x" * 5000), page(3)))
    found = read_cut(tmp_path, "a.jsonl", 50)
    assert [(row.line, row.doc_id) for row in found.pages] == [(1, "d1"), (2, "d2"), (3, "d3")]
    assert found.shards == 3


def test_small_files_share_a_shard_by_bytes_and_by_number(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * 100)
    assert read_cut(tmp_path, "*", 250).weights == [200] * 5
    assert read_cut(tmp_path, "*", 1000).weights == [1000]
    assert read_cut(tmp_path, "*", 1000, files=4).weights == [400, 400, 200]
    assert read_cut(tmp_path, "*", 250).pages == read_cut(tmp_path, "*", 1000, files=4).pages


def test_packed_files_are_never_cut(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(jsonl(*pages(range(200)))))
    found = read_cut(tmp_path, "*", 10)
    assert found.shards == 2
    assert [row.line for row in found.pages] == [*range(1, 201)] * 2


def test_whether_a_file_is_refused_does_not_depend_on_the_cut(tmp_path: Path) -> None:
    """Of a file's first 1,000 lines one is a page, and it stands in another shard than the first lines."""
    (tmp_path / "a.jsonl").write_bytes(jsonl(*[b"?" * 99] * 500, page(1)))
    for size in (1000, 1 << 20):
        found = read_cut(tmp_path, "a.jsonl", size)
        assert (found.ids, len(found.refused)) == (["d1"], 500)


@pytest.mark.parametrize("size", [1, 6000, 1 << 30])
def test_parquet_is_cut_between_row_groups(tmp_path: Path, size: int) -> None:
    table = pa.Table.from_pylist(pages(range(1000)))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=70, compression="none")
    found = read_cut(tmp_path, "a.parquet", size)
    assert [(row.line, row.doc_id) for row in found.pages] == [(number + 1, f"d{number}") for number in range(1000)]
    # 15 groups of about 2,750 bytes.
    assert found.shards == {1: 15, 6000: 8, 1 << 30: 1}[size]
    assert [ticks[-1] for ticks in found.ticks] == found.weights


def test_parts_tell_size_and_time_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(page(1)))
    ((part,), weight) = Read(ReadParameters(path="a.jsonl"), ComponentEnvironment(tmp_path)).shards()[0]
    status = path.stat()
    assert part == ("a.jsonl", 0, None, status.st_size, status.st_mtime_ns, 1)
    assert weight == status.st_size
