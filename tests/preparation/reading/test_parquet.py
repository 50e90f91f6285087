"""Pages from Parquet."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.errors import InputError
from tests.preparation.read_step import pages, read

KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_texts_of_every_type_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["Olá\r\n", None, "", "d"])
    texts = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)
    pq.write_table(pa.table({"doc_id": ["a", "b", "c", None], "text": texts}), tmp_path / "a.parquet")
    found = read(tmp_path, "a.parquet")
    assert found.pages == [("a.parquet", 1, "a", "", "", "Olá\n")]
    assert found.why == [(2, "no text"), (3, "no text"), (4, "no id")]


def test_bytes_that_are_not_utf8_and_long_rows_are_refused(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"n\xe3o", b"x" * 1001, b"d"])
    table = pa.table({"doc_id": ["a", "b", "c", "d"], "text": texts, "url": ["u", None, "", "u2"]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read(tmp_path, "a.parquet", max_page_bytes=1000)
    assert [(row.line, row.doc_id, row.url) for row in found.pages] == [(1, "a", "u"), (4, "d", "u2")]
    assert [refused[1:] for refused in found.refused] == [
        (2, "not UTF-8", "text, byte 2: n\ufffdo"),
        (3, "too long", "1,002 bytes; at most 1,000"),
    ]


def test_fields_and_ids_by_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": ["T", None], "b": ["B", "C"], "n": [1, 2]}), tmp_path / "p.parquet")
    found = read(tmp_path, "p.parquet", fields={"doc_id": None, "text": ["t", "b"]})
    assert [row[2:] for row in found.pages] == [("p-1", "", "", "T\nB"), ("p-2", "", "", "C")]


WRONG = [
    ({}, "p.parquet: has no field 'text' but 'id', 'txt', 'number'; did you mean 'txt'? name it by  fields: {text: …}"),
    ({"text": "txt"}, "p.parquet: has no field 'doc_id' but 'id', 'txt', 'number'; name it by  "
     "fields: {doc_id: …}"),
    ({"text": "number", "doc_id": "id"}, "p.parquet: column 'number' is int64; write it as string"),
    ({"text": "txt", "doc_id": "number"}, "p.parquet: 'number' does not hold text, and ids are text: write them as "
     "strings, or say  fields: {doc_id: null}"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), WRONG, ids=range(len(WRONG)))
def test_columns_that_are_not_there_are_said(tmp_path: Path, fields: dict[str, str], message: str) -> None:
    pq.write_table(pa.table({"id": ["a"], "txt": ["b"], "number": [1]}), tmp_path / "p.parquet")
    with pytest.raises(InputError) as caught:
        read(tmp_path, "p.parquet", fields=fields)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_a_damaged_row_group_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    draw = random.Random(2)
    rows = [{**row, "text": draw.randbytes(200).hex()} for row in pages(range(900))]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=300, compression="zstd", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(2)
    assert column.path_in_schema == "text"
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    found = read(tmp_path, "a.parquet")
    assert found.ids == [f"d{number}" for number in [*range(300), *range(600, 900)]]
    assert [row.line for row in found.pages] == [*range(1, 301), *range(601, 901)]
    assert found.notes == [
        "a.parquet: its row group 2 is damaged: of its rows 301 to 600 those before 301 were read, which gave 0 pages; "
        "copy or write the file again"
    ]
    path.write_bytes(data[:-10])
    with pytest.raises(InputError, match=r"is damaged or not Parquet; copy or write it again$"):
        read(tmp_path, "a.parquet")
