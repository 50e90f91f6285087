"""Regular label files go through Arrow's parser, and give what the readers by line give."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.label_files import LabelFile, qrels, read_label_file, table
from quati_pool.files.label_files.label_file import KEYS, Strings

IDS = st.text(st.sampled_from("aé文9_-#'\"\u00a0\u200b"), min_size=0, max_size=3)
GRADES = st.sampled_from(["0", "1", "3", "+2", "-1", "x", "", " 2", "2.0", "3 - Perfect"])
ROWS = st.lists(st.tuples(IDS, IDS, GRADES), max_size=5)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \n", "\n "])


def told(path: Path) -> object:
    """All that is read of a file, or what is said of it."""
    try:
        file = read_label_file(path, "qrels" if path.suffix == ".qrels" else "table")
    except InputError as error:
        return str(error)
    columns = [column if column is None else list(column) for column in (getattr(file, key) for key in KEYS)]
    return file.format, list(file.lines), columns, list(file.relevance)


def by_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as patched:
        for reader in (qrels, table):
            patched.setattr(reader, "read_with_arrow", lambda *_, **__: None)
        return told(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, st.sampled_from([" ", "\t", "  "]), ENDS, st.sampled_from(["", "\ufeff", "# a b c\n", " "]))
def test_qrels_give_what_is_read_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str, str]], blank: str, end: str, start: str
) -> None:
    path = tmp_path / "a.qrels"
    text = start + "".join(blank.join([query, "0", doc, grade]) + end for query, doc, grade in rows)
    path.write_bytes(text.encode())
    assert told(path) == by_line(path, monkeypatch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, st.sampled_from([".tsv", ".csv"]), ENDS, st.sampled_from(["query_id", "query"]), st.booleans())
def test_tables_give_what_is_read_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str, str]],
    suffix: str, end: str, key: str, marked: bool,
) -> None:  # fmt: skip
    path, out = tmp_path / f"a{suffix}", io.StringIO()
    header = [key, "note", "doc_id", "relevance"]
    lines = [header, *([query, f"n{doc}", doc, grade] for query, doc, grade in rows)]
    if suffix == ".csv":
        csv.writer(out, lineterminator=end).writerows(lines)
    else:
        out.write("".join("\t".join(line) + end for line in lines))
    path.write_bytes(("\ufeff" * marked + out.getvalue()).encode())
    assert told(path) == by_line(path, monkeypatch)


def is_regular(file: LabelFile) -> bool:
    return isinstance(file.doc_id, Strings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.qrels", "q1 0 d1 1\r\nq1\t0\td2  0 \n"),
        ("a.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t1\nq1\td2\t0"),
        ("a.csv", "relevance,doc_id,query_id,note\n1,d1,q1,é\n0,d2,q1,\n"),
        ("a.csv.gz", "query_id,doc_id,relevance\nq1,d1,1\nq1,d2,0\n"),
    ],
)
def test_what_is_regular_is_held_in_arrow(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    file = read_label_file(path)
    assert is_regular(file)
    assert (file.query_id, file.doc_id, file.relevance) == (["q1", "q1"], ["d1", "d2"], [1, 0])
    assert file.doc_id is not None
    assert (file.doc_id[1], file.doc_id[:1], len(file.doc_id)) == ("d2", ["d1"], 2)


def test_a_file_of_many_blocks_keeps_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.files.arrow_reader._BLOCK", 64)
    path = tmp_path / "a.tsv"
    rows = [f"q{n // 10}\td{n}é\t{n % 4}\n" for n in range(200)]
    path.write_text("query_id\tdoc_id\trelevance\n" + "".join(rows), encoding="utf-8")
    assert is_regular(read_label_file(path))
    assert told(path) == by_line(path, monkeypatch)
    path.write_text(path.read_text(encoding="utf-8").replace("d150é", "d\u00a0150"), encoding="utf-8")
    assert str(told(path)).startswith(f"{path}:152: doc_id ")


@pytest.mark.parametrize("last", ["q3 0 d1 1\n", "q3\t0  d1 1"], ids=["read at once", "read by line"])
def test_labels_that_are_no_grade_are_counted_row_by_row(tmp_path: Path, last: str) -> None:
    path = tmp_path / "judge.qrels"
    path.write_text("q1 0 d1 8\nq1 0 d2 1\nq2 0 d1 8\nq2 0 d2 8\n" + last)
    read = read_label_file(path, names={"8": None})
    assert (read.set_aside, list(read.relevance)) == (3, [None, 1, None, None, 1])
