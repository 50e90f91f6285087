"""Files of passages: what ``build`` reads, the same bytes however the rows came."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.errors import ConfigError
from quati_pool.files.corpus import read_passages
from quati_pool.preparation.base import ComponentEnvironment
from quati_pool.preparation.batch import WHOLE, Batch
from quati_pool.preparation.steps.write import Write

FORMATS = ["jsonl.gz", "jsonl", "parquet"]
# Not the surrogates, which neither UTF-8 nor Arrow holds.
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


def passages(texts: list[str], **columns: list[str]) -> Batch:
    rows = len(texts)
    numbers = np.arange(rows)
    return Batch(
        [f"página-{row // 3}" for row in range(rows)],
        columns.get("url", ["https://exemplo.com.br/ação"] * rows),
        columns.get("language", ["pt"] * rows),
        texts,
        numbers // 3,
        numbers % 3,
        numbers * 0,
        numbers,
    )


def made(**parameters: Any) -> Write:
    return Write(Write.Parameters(to="corpus", **parameters))


def written(folder: Path, step: Write, *batches: Batch) -> Path:
    path = folder / step.name(0)
    step.write(path, iter(batches))
    return path


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=20)
@given(texts=st.lists(TEXT, min_size=1, max_size=8))
def test_what_is_written_is_read_as_a_corpus(
    tmp_path_factory: pytest.TempPathFactory, form: str, texts: list[str]
) -> None:
    batch = passages(texts)
    path = written(tmp_path_factory.mktemp("out"), made(format=form), batch)
    (found,) = read_passages([path])
    assert (found.doc_ids, found.texts) == (batch.ids, texts)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=20)
@given(texts=st.lists(TEXT, max_size=12), ends=st.lists(st.integers(0, 12), max_size=4))
def test_the_bytes_are_the_same_wherever_batches_end(
    tmp_path_factory: pytest.TempPathFactory, form: str, texts: list[str], ends: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("out")
    batch, step = passages(texts), made(format=form, fields=["url", "language", "page_id"])
    whole = written(folder, step, batch).read_bytes()
    borders = [0, *sorted(ends), len(texts)]
    rows = np.arange(len(texts))
    parts = [batch.take(rows[low:high]) for low, high in pairwise(borders)]
    assert written(folder, step, *parts).read_bytes() == whole


@pytest.mark.parametrize("form", FORMATS)
def test_many_rows_in_small_and_in_large_batches_give_the_same_bytes(tmp_path: Path, form: str) -> None:
    # More than a group of rows of a Parquet file, and of the lines that are packed at once.
    batch, step = passages([f"Texto {row}." for row in range(10_300)]), made(format=form)
    rows = np.arange(len(batch))
    whole = written(tmp_path, step, batch).read_bytes()
    parts = [batch.take(part) for part in np.array_split(rows, 17)]
    path = written(tmp_path, step, *parts)
    assert path.read_bytes() == whole
    if form == "parquet":
        groups = pq.ParquetFile(path).metadata
        assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [10_000, 300]


@pytest.mark.parametrize("form", FORMATS)
def test_long_texts_end_a_group_of_rows_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr("quati_pool.preparation.steps.write._CHARACTERS", 100)
    batch = passages(["x" * 60] * 5)
    path = written(tmp_path, made(format=form), batch)
    (found,) = read_passages([path])
    assert found.texts == batch.text
    if form == "parquet":
        groups = pq.ParquetFile(path).metadata
        # 60 + 60 characters reach 100.
        assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [2, 2, 1]


def test_lines_hold_what_is_known_and_letters_as_they_are(tmp_path: Path) -> None:
    batch = passages(["Olá,\n“você”", ""], url=["https://exemplo.com.br/ação", ""], language=["", "pt"])
    path = written(tmp_path, made(fields=["language", "url", "page_id"]), batch)
    assert gzip.decompress(path.read_bytes()).decode() == (
        '{"doc_id": "página-0_0", "text": "Olá,\\n“você”", "url": "https://exemplo.com.br/ação", '
        '"page_id": "página-0"}\n'
        '{"doc_id": "página-0_1", "text": "", "language": "pt", "page_id": "página-0"}\n'
    )


def test_columns_hold_null_for_what_is_not_known(tmp_path: Path) -> None:
    batch = passages(["a", ""], url=["https://exemplo.com.br", ""], language=["", "pt"])
    table = pq.read_table(written(tmp_path, made(format="parquet", fields=["language", "url", "page_id"]), batch))
    assert table.schema.types == [pa.string()] * 5
    assert table.to_pydict() == {
        "doc_id": ["página-0_0", "página-0_1"],
        "text": ["a", ""],
        "language": [None, "pt"],
        "url": ["https://exemplo.com.br", None],
        "page_id": ["página-0", "página-0"],
    }


def test_the_address_is_written_by_default_and_nothing_if_so_wanted(tmp_path: Path) -> None:
    for step, names in (
        (made(format="jsonl"), ["doc_id", "text", "url"]),
        (made(format="jsonl", fields=[]), ["doc_id", "text"]),
    ):
        line = written(tmp_path, step, passages(["Olá"])).read_text(encoding="utf-8")
        assert list(json.loads(line)) == names


def test_pages_that_were_not_cut_are_written_under_their_own_ids(tmp_path: Path) -> None:
    batch = passages(["a"] * 4)
    pages = batch.cut(np.arange(4), np.full(4, WHOLE), batch.text)
    (found,) = read_passages([written(tmp_path, made(), pages)])
    assert found.doc_ids == ["página-0", "página-0", "página-0", "página-1"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_without_rows_is_a_sound_file(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, made(format=form))
    if form == "parquet":
        assert pq.read_table(path).schema.names == ["doc_id", "text", "url"]
    else:
        assert (gzip.decompress(path.read_bytes()) if form == "jsonl.gz" else path.read_bytes()) == b""


def test_files_are_numbered_and_hold_as_many_rows_as_asked_for() -> None:
    step = made(rows=5, format="parquet")
    assert (step.rows, made().rows) == (5, 100_000)
    assert (step.folder, step.name(0), step.name(123_456)) == (Path("corpus"), "00000.parquet", "123456.parquet")
    assert made().name(7) == "00007.jsonl.gz"


@pytest.mark.parametrize("to", ["corpus", "deep/corpus", "../corpus", "there"])
def test_folders_beside_the_configuration_are_taken(tmp_path: Path, to: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "there").mkdir(parents=True)
    Write(Write.Parameters(to=to), ComponentEnvironment(workspace)).check()
    Write(Write.Parameters(to=str(tmp_path / "elsewhere")), ComponentEnvironment(workspace)).check()


@pytest.mark.parametrize("to", ["reports", "cache/corpus", "corpus/../cache"])
def test_the_tools_own_folders_are_refused(tmp_path: Path, to: str) -> None:
    with pytest.raises(ConfigError, match="is where the tool keeps its own files; name another folder"):
        Write(Write.Parameters(to=to), ComponentEnvironment(tmp_path)).check()


@pytest.mark.parametrize("to", ["", " ", ".", "./", "..", "a/..", "/", "a\0b"])
def test_what_is_no_folder_of_its_own_is_refused(tmp_path: Path, to: str) -> None:
    with pytest.raises(ConfigError, match="is not a folder of its own; name one beside"):
        Write(Write.Parameters(to=to), ComponentEnvironment(tmp_path)).check()


@pytest.mark.parametrize("to", ["taken", "taken/deeper", "taken/deeper/still"])
def test_a_file_where_the_folder_would_be_is_refused(tmp_path: Path, to: str) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(ConfigError, match="taken is a file; name a folder for the passages, or move that file"):
        Write(Write.Parameters(to=to), ComponentEnvironment(tmp_path)).check()


@pytest.mark.parametrize(
    "parameters",
    [{"fields": ["url", "url"]}, {"fields": ["title"]}, {"format": "csv"}, {"rows": 0}],
    ids=["a field twice", "unknown field", "unknown format", "no rows"],
)
def test_parameters_that_cannot_be_carried_out_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Write.Parameters(to="corpus", **parameters)
