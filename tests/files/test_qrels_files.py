"""Qrels and label files: what is read, what is refused and in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.qrels import read_judgements, read_labels, read_qrels, write_qrels
from quati_pool.records import Qrels, code_ids, id_problem
from tests.shared_data import shared

COLUMNS = "expected 4: query_id 0 doc_id relevance"
GRADE = "expected a grade such as 0 or 3"
PAIR = "query_id 'q' and doc_id 'd' have the grade 2 here and 1 in line 1; keep the correct row"

SPEC = [
    ("", ": holds no rows; expected query_id 0 doc_id relevance"),
    ("q 0 d\n", f":1: 3 columns; {COLUMNS}"),
    ("q 0 d 1 1\n", f":1: 5 columns; {COLUMNS}"),
    ("q 0 d 1.5\n", f":1: relevance '1.5' is not an integer; {GRADE}"),
    ("q 0 d 4294967299\n", f":1: relevance '4294967299' is beyond ±1,000,000; {GRADE}"),
    ("q 0 d -1000001.0\n", f":1: relevance '-1000001.0' is beyond ±1,000,000; {GRADE}"),
    ("q 0 d 1" + "0" * 30 + "\n", f":1: relevance '1{'0' * 30}' is beyond ±1,000,000; {GRADE}"),
    ("q 0 d 1_0\n", f":1: relevance '1_0' is not an integer; {GRADE}"),
    ("q 0 d ٢\n", f":1: relevance '٢' is not an integer; {GRADE}"),
    ("q 0 d nan\n", f":1: relevance 'nan' is not an integer; {GRADE}"),
    ("q 0 d 1\nq 0 d 2\n", f":2: {PAIR}"),
    (
        "q 0 d\u200b 1\n",
        r":1: doc_id 'd\u200b' holds the character U+200B, which no id may hold; "
        "expected an id without white space or control characters",
    ),
]

HEADER = "query_id\tdoc_id\trelevance\n"
LABELS = [
    (
        "query_id\tdoc_id\tgrade\n",
        ":1: no column 'relevance'; the columns are query_id, doc_id, grade: add it, or set relevance to the right one",
    ),
    (HEADER, ": holds no rows; expected rows under a header"),
    (HEADER + "q\td\n", ":2: 2 columns; expected 3: as in the header"),
    (HEADER + "q\td\t\n", f":2: relevance '' is not an integer; {GRADE}"),
    (HEADER + "\td\t1\n", ":2: query_id is empty; expected an id"),
    (HEADER + "q\td\t1\n\nq\td\t2\n", f":4: {PAIR.replace('line 1', 'line 2')}"),
    (HEADER + "q\td\t1000000000\n", f":2: relevance '1000000000' is beyond ±1,000,000; {GRADE}"),
    (
        HEADER.replace("\n", "\trelevance\n") + "q\td\t1\t1\n",
        ":1: column 'relevance' occurs twice; expected it once",
    ),
]


def pairs(qrels: Qrels) -> list[tuple[str, str, int]]:
    columns = qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc)
    return list(zip(*(column.to_pylist() for column in columns), qrels.relevance.tolist(), strict=True))


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(("name", "text", "error"), [
    *(("some.qrels", *row) for row in SPEC),
    *(("labels.tsv", *row) for row in LABELS),
])  # fmt: skip
def test_refused(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read_judgements(path)
    assert str(caught.value) == f"{path}{error}"


def test_grades_may_be_negative_and_remarks_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, "some.qrels", "\ufeff# by GPT-4\r\n007 0 d -2\r\n\n7\tQ0\td\t3")
    assert pairs(read_qrels(path)) == [("007", "d", -2), ("7", "d", 3)]


def test_a_label_file_is_known_by_its_header(tmp_path: Path) -> None:
    labels = 'reason\tquery_id\tdoc_id\trelevance\tgold\nwhy "not"\tq\td\t2\t1\n'
    path = written(tmp_path, "labels.tsv", labels)
    assert pairs(read_judgements(path)) == [("q", "d", 2)]
    assert pairs(read_labels(path, relevance="gold")) == [("q", "d", 1)]
    assert pairs(read_judgements(written(tmp_path, "qrels.tsv", "q\t0\td\t2\n"))) == [("q", "d", 2)]


IDS = st.text(min_size=1, max_size=6).filter(lambda text: id_problem(text) is None and text[0] != "#")


@given(st.dictionaries(st.tuples(IDS, IDS), st.integers(-9, 9), min_size=1, max_size=30))
def test_written_qrels_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, graded: dict[tuple[str, str], int]
) -> None:
    queries, (query,) = code_ids([pa.array([pair[0] for pair in graded], type=pa.string())])
    docs, (doc,) = code_ids([pa.array([pair[1] for pair in graded], type=pa.string())])
    path = tmp_path_factory.getbasetemp() / "round-trip.qrels.gz"
    write_qrels(Qrels(queries, docs, query, doc, np.array(list(graded.values()))), path)
    assert pairs(read_judgements(path)) == [(*pair, grade) for pair, grade in graded.items()]


def test_quati() -> None:
    qrels = read_judgements(shared("quati/quati_1M_qrels.txt"))
    rows = pairs(qrels)
    assert (len(rows), len(qrels.queries)) == (1933, 50)
    assert rows[0] == ("1", "clueweb22-pt0000-78-09747_0", 1)
    assert rows[9] == ("1", "clueweb22-pt0001-93-11941_0", 1)
    assert rows[-1] == ("199", "clueweb22-pt0000-99-07380_96", 0)


def test_vaswani() -> None:
    qrels = read_judgements(shared("vaswani/qrels"))
    rows = pairs(qrels)
    assert (len(rows), len(qrels.queries)) == (2083, 93)
    assert rows[0] == ("1", "1239", 1)
    assert rows[9] == ("1", "6824", 1)
    assert rows[-1] == ("93", "11318", 1)
