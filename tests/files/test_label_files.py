"""Label files of every format: what is read, what is refused and in which words."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.label_files import LabelFile, annotators, detect_label_format, read_label_file
from quati_pool.files.problems import Collected
from quati_pool.records import id_problem
from tests.shared_data import shared

HEADER = "query_id\tdoc_id\trelevance\n"
QUATI = "doccano_id\tquery\tpassage\tpassage_id\tlabel\tscore\n"


class Row(NamedTuple):
    """A row as a test writes it, and as the reader should give it."""

    query_id: str
    query: str
    doc_id: str
    text: str
    relevance: int | None


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def fault(path: Path, **options: Any) -> str:
    """The message without the path; it must be one line."""
    with pytest.raises(InputError) as caught:
        read_label_file(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(str(path))


def rows(file: LabelFile) -> list[tuple[Any, ...]]:
    nothing = [None] * len(file)
    columns = [getattr(file, key) or nothing for key in ("query_id", "query", "doc_id", "text")]
    return list(zip(*columns, file.relevance, strict=True))


# Real files


@pytest.mark.parametrize(
    ("number", "counts"),
    # Counted in the sixth column of lines split at tabs.
    [("01", {0: 52, 1: 68, 2: 65, 3: 55}), ("02", {0: 59, 1: 47, 2: 92, 3: 42})],
)
def test_the_released_quati_annotations_are_read_as_they_are(number: str, counts: dict[int, int]) -> None:
    file = read_label_file(shared(f"quati/annotator_{number}_240_annotations_with_questions.tsv"))
    assert (file.format, file.by_people, file.keys) == ("quati", True, ("query", "doc_id", "text"))
    assert {grade: file.relevance.count(grade) for grade in range(4)} == counts
    assert list(file.lines) == list(range(2, 242))
    assert file.query is not None
    assert file.doc_id is not None
    assert file.text is not None
    assert (len(set(file.query)), len(set(file.doc_id)), len(set(file.text))) == (24, 239, 237)
    assert 'O que são os celulares "mid-range"?' in file.query
    assert file.doc_id[0] == "clueweb22-pt0001-14-16263_0"
    assert file.text[0].startswith("Praça XV (Rio de Janeiro) – Wikipédia")
    # One passage is a quotation; nowhere are doubled quotes left of the quoting.
    assert [text[:4] + text[-2:] for text in file.text if text[0] == text[-1] == '"'] == ['"...."']
    assert not any('""' in text for text in file.text)


def test_the_released_qrels_are_read() -> None:
    file = read_label_file(shared("quati/quati_1M_qrels.txt"))
    assert (file.format, len(file), file.keys, file.by_people) == ("qrels", 1933, ("query_id", "doc_id"), False)


# Round trips


def _qrels(content: list[Row]) -> str:
    return "".join(f"{row.query_id} 0 {row.doc_id} {row.relevance}\n" for row in content)


def _cells(row: Row) -> list[str]:
    return [row.query_id, row.query, row.doc_id, row.text, "" if row.relevance is None else str(row.relevance)]


def _tsv(content: list[Row]) -> str:
    return "query_id\tquery\tdoc_id\ttext\trelevance\n" + "".join("\t".join(_cells(row)) + "\n" for row in content)


def _csv(content: list[Row]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([["query_id", "query", "doc_id", "text", "relevance"], *(_cells(row) for row in content)])
    return stream.getvalue()


def _quati(content: list[Row]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    for number, row in enumerate(content):
        writer.writerow([number, row.query, row.text, row.doc_id, "?", _cells(row)[-1]])
    return QUATI + stream.getvalue()


def _jsonl(content: list[Row]) -> str:
    return "".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in content)


def _doccano(content: list[Row], meta: bool = False) -> list[dict[str, Any]]:
    records = []
    for number, row in enumerate(content):
        told = {"query_id": row.query_id, "doc_id": row.doc_id, "query": row.query}
        label = [] if row.relevance is None else [f"{row.relevance} - some words"]
        records.append({"id": number, "text": row.text, "label": label, **({"meta": told} if meta else told)})
    return records


def _data(row: Row) -> dict[str, str]:
    return {"query_id": row.query_id, "query": row.query, "doc_id": row.doc_id, "text": row.text}


def _studio(content: list[Row]) -> str:
    tasks = []
    for number, row in enumerate(content):
        value = {"from_name": "stars", "type": "rating", "value": {"rating": row.relevance}}
        annotation = {
            "completed_by": 1,
            "was_cancelled": row.relevance is None,
            "result": [value] if row.relevance is not None else [],
        }
        tasks.append({"id": number, "data": _data(row), "annotations": [annotation], "predictions": []})
    return json.dumps(tasks, ensure_ascii=number_is_even(len(content)))


def _studio_min(content: list[Row]) -> str:
    records = []
    for number, row in enumerate(content):
        given = row.relevance is not None
        grade = {"grade": str(row.relevance)} if given else {}
        annotation = {"annotator": 1 if given else "", "annotation_id": number if given else None, "lead_time": None}
        records.append({**_data(row), "id": number, **grade, **annotation})
    # JSON-MIN names its controls nowhere: a file without a single label has none.
    records.append({"id": -1, "query_id": "q", "doc_id": "d", "grade": "1", "annotator": 1, "annotation_id": 99})
    return json.dumps(records, indent=2)


def number_is_even(number: int) -> bool:
    return number % 2 == 0


WRITERS: dict[str, tuple[str, str, Callable[[list[Row]], str]]] = {
    "qrels": ("a.txt", "qrels", _qrels),
    "tsv": ("a.tsv", "table", _tsv),
    "tsv, packed": ("a.tsv.gz", "table", _tsv),
    "csv": ("a.csv", "table", _csv),
    "jsonl": ("a.jsonl", "table", _jsonl),
    "list of objects": ("a.json", "table", lambda content: json.dumps([row._asdict() for row in content], indent=1)),
    "quati": ("a.tsv", "quati", _quati),
    "doccano": (
        "a.jsonl",
        "doccano",
        lambda content: "".join(json.dumps(one) + "\n" for one in _doccano(content)),
    ),
    "doccano, meta": (
        "a.jsonl",
        "doccano",
        lambda content: "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in _doccano(content, meta=True)),
    ),
    "doccano, one list": ("a.json", "doccano", lambda content: json.dumps(_doccano(content))),
    "label studio": ("a.json", "label-studio", _studio),
    "label studio, flat": ("a.json", "label-studio", _studio_min),
}

# Of control characters only CSV and JSON can hold any; the line end is tested by itself.
characters = st.characters(exclude_categories=["Cs", "Cc"])
ids = st.text(characters, min_size=1, max_size=8).filter(lambda text: id_problem(text) is None and text[0] != "#")
texts = st.text(characters, min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
contents = st.lists(
    st.builds(Row, ids, texts, ids, texts, st.none() | st.integers(0, 12) | st.integers(-3, -1)), min_size=1, max_size=6
)


@pytest.mark.parametrize("name", WRITERS)
@example(content=[Row("{", "0", "0", "0", None)])
@given(content=contents)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_written_in_any_format_are_read_back(tmp_path: Path, name: str, content: list[Row]) -> None:
    file_name, label_format, writer = WRITERS[name]
    if name == "qrels":
        content = [row._replace(relevance=row.relevance or 0) for row in content]
    data = writer(content).encode()
    path = tmp_path / file_name
    path.write_bytes(gzip.compress(data) if file_name.endswith(".gz") else data)
    file = read_label_file(path)
    assert file.format == label_format
    got = rows(file)
    if name == "label studio, flat":
        assert got.pop()[0::2] == ("q", "d", 1)
    lacking = {"qrels": ("query", "text"), "quati": ("query_id",)}.get(name, ())
    expected = [tuple(None if key in lacking else value for key, value in row._asdict().items()) for row in content]
    assert got == expected


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_the_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", "\ufeff" + HEADER.replace("\n", "\r\n") + "q\td\t2\r\n")
    assert rows(read_label_file(path)) == [("q", None, "d", None, 2)]


def test_cells_of_several_lines_keep_the_line_where_they_begin(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'query,doc_id,relevance\n"one\ntwo",a,1\nthree,b,2\n')
    file = read_label_file(path)
    assert (file.query, list(file.lines)) == (["one\ntwo", "three"], [2, 4])
    path = write(tmp_path, "b.tsv", QUATI + '1\tq\t"one\ntwo"\ta\tx\t1\n2\tq\tthree\tb\tx\t2\n')
    file = read_label_file(path)
    assert (file.text, list(file.lines)) == (["one\ntwo", "three"], [2, 4])


def test_tasks_keep_the_line_where_they_begin(tmp_path: Path) -> None:
    records = [{"query_id": "q", "doc_id": str(n), "relevance": n} for n in range(3)]
    path = write(tmp_path, "a.json", "\n" + json.dumps(records, indent=2))
    assert list(read_label_file(path).lines) == [3, 8, 13]
    path = write(tmp_path, "b.json", "\n\n" + "\n".join(json.dumps(record, indent=1) for record in records))
    assert list(read_label_file(path).lines) == [3, 8, 13]


# Tables


def test_columns_may_have_any_names(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "topic,passage,grade\nq,some text,2\n")
    columns = {"query_id": "topic", "text": "passage", "relevance": "grade"}
    file = read_label_file(path, columns=columns)
    assert (file.format, rows(file)) == ("table", [("q", None, None, "some text", 2)])
    path = write(tmp_path, "a.jsonl", '{"topic": "q", "passage": "some text", "grade": 2, "more": []}\n')
    assert rows(read_label_file(path, columns=columns)) == [("q", None, None, "some text", 2)]


def test_an_empty_relevance_is_no_grade_and_no_zero(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", HEADER + "q\ta\t\nq\tb\t0\n")
    assert read_label_file(path).relevance == [None, 0]
    path = write(tmp_path, "a.jsonl", '{"query_id": "q", "doc_id": "a", "relevance": null}\n')
    assert read_label_file(path).relevance == [None]


TABLES = [
    ("a.tsv", "", ": is empty; expected labels"),
    ("a.tsv", "\n\n", ": is empty; expected labels"),
    ("a.tsv", HEADER, ": holds no labels; expected rows under a header"),
    (
        "a.tsv",
        "q1\td1\t3\n",
        ":1: no column 'relevance'; the columns are q1, d1, 3: add it, or name it with --column relevance=COLUMN",
    ),
    (
        "a.tsv",
        "doc_id\trelevance\nd\t1\n",
        ":1: no query_id or query; the columns are doc_id, relevance: "
        "add one, or name it with --column query_id=COLUMN",
    ),
    (
        "a.csv",
        "\nquery,relevance\nd,1\n",
        ":2: no doc_id or text; the columns are query, relevance: add one, or name it with --column doc_id=COLUMN",
    ),
    ("a.tsv", HEADER + "q\td\n", ":2: 2 columns; expected 3: as in the header"),
    ("a.tsv", HEADER + "q 1\td\t1\n", ":2: query_id 'q 1' holds white space (U+0020); expected an id without white"),
    ("a.tsv", HEADER + "q\t\t1\n", ":2: doc_id is empty; expected an id"),
    ("a.tsv", "query\tdoc_id\trelevance\n \td\t1\n", ":2: query is empty and there is no query_id; expected one"),
    (
        "a.csv",
        'query_id,doc_id,relevance\nq,d,"2,0"\n',
        ":2: relevance '2,0' is not a grade; expected an integer or one",
    ),
    ("a.tsv", HEADER + "q\td\t2.5\n", ":2: relevance '2.5' is not a grade"),
    ("a.tsv", HEADER + "q\td\t4294967299\n", ":2: relevance '4294967299' is beyond ±1,000,000; expected a grade"),
    ("a.tsv", HEADER + "q\td\t9999999 - best\n", ":2: relevance '9999999 - best' is beyond ±1,000,000"),
    ("a.tsv", HEADER + "q\td\tNaN\n", ":2: relevance 'NaN' is not a grade"),
    ("a.tsv", HEADER + "q\td\t٢\n", ":2: relevance '٢' is not a grade"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": NaN}\n', ":1: relevance 'nan' is not a grade"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": 1e999}\n', ":1: relevance 'inf' is not a grade"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": 2.5}\n', ":1: relevance '2.5' is not a grade"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": true}\n', ":1: relevance is true or false; expected"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": [3]}\n', ":1: relevance is a list; expected"),
    (
        "a.jsonl",
        '{"query_id": "q", "doc_id": "d", "relevance": 1' + "0" * 30 + "}\n",
        ":1: relevance '1" + "0" * 30 + "' is beyond ±1,000,000",
    ),
    ("a.jsonl", '{"query_id": 7, "doc_id": "d", "relevance": 1}\n', ":1: query_id is the number 7; expected a string"),
    ("a.jsonl", '{"query_id": null, "doc_id": "d", "relevance": 1}\n', ":1: query_id is null; expected an id"),
    ("a.jsonl", '{"query": "\\ud800", "doc_id": "d", "relevance": 1}\n', ":1: query holds half a surrogate pair"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d"}\n', ":1: no column 'relevance'; the columns are query_id, doc_id"),
    ("a.jsonl", '{"query_id": "q", "relevance": 1}\n', ":1: no doc_id or text; the columns are query_id, relevance"),
    (
        "a.jsonl",
        '{"query_id": "q", "doc_id": "d", "relevance": 1}\n{"query": "q", "doc_id": "d", "relevance": 1}\n',
        ":2: has no query_id, which other rows have; add it",
    ),
    ("a.jsonl", '{"query_id": "q"\n', ":1: is not JSON"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": 1}\n[1]\n', ":2: is not a JSON object; expected one"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": ' + "1" * 5000 + "}\n", ":1: holds a number too long"),
    ("a.json", "[]", ": holds no labels; expected rows under a header"),
    ("a.json", '[{"query_id": "q", "doc_id": "d", "relevance": 1},\n]', ":2: is not JSON"),
    ("a.json", '[{"query_id": "q", "doc_id": "d", "relevance": 1}\n', ":1: has neither a comma nor the end of the"),
    ("a.json", '[{"query_id": "q", "doc_id": "d", "relevance": 1}]\n[]', ":2: goes on after its list; expected one"),
    ("a.json", '[{"query_id": "q", "doc_id": "d", "relevance": 1},\n3]', ":2: is not a JSON object; expected a list"),
    ("a.txt", "some words that are no label\n", ": does not look like a label file; expected qrels (query_id 0 doc_id"),
    ("a.txt", "q 0 d 1.5\n", ":1: relevance '1.5' is not an integer; expected a grade such as 0 or 3"),
    ("a.txt", "q 0 d 2000000\n", ":1: relevance '2000000' is beyond ±1,000,000; expected a grade such as 0 or 3"),
    ("a.txt", "q 0 d 1\nq 0 d\n", ":2: 3 columns; expected 4: query_id 0 doc_id relevance"),
    ("a.qrels", "", ": holds no labels; expected query_id 0 doc_id relevance"),
]


@pytest.mark.parametrize(("name", "content", "message"), TABLES)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    assert fault(write(tmp_path, name, content)).startswith(message)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(HEADER.encode() + "q\td\tnão\n".encode("latin-1"))
    assert fault(path) == ":2: byte 6 (0xE3) is not UTF-8; convert to UTF-8"
    path.write_bytes(HEADER.encode("utf-16"))
    assert fault(path) == ":1: begins with a UTF-16 byte-order mark; convert to UTF-8"


def test_a_mapped_column_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", HEADER + "q\td\t1\n")
    message = "no column 'topic'; the columns are query_id, doc_id, relevance: "
    assert fault(path, columns={"query": "topic"}).startswith(f":1: {message}add it, or name it with --column query=")
    path = write(tmp_path, "a.jsonl", '{"query_id": "q", "doc_id": "d", "relevance": 1}\n')
    assert fault(path, columns={"query": "topic"}).startswith(f":1: {message}")


def test_unknown_formats_fields_and_annotators_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", HEADER + "q\td\t1\n")
    with pytest.raises(QuatiPoolError, match="there is no label format 'docano'; did you mean 'doccano'"):
        read_label_file(path, "docano")
    with pytest.raises(QuatiPoolError, match="labels have no field 'docid'; did you mean 'doc_id'"):
        read_label_file(path, columns={"docid": "x"})
    assert fault(path, annotator="ann") == ": is a table, which names no annotators; leave #ann off"


def test_faulty_rows_are_all_reported_and_left_out_where_faults_are_gathered(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", HEADER + "q\ta\tx\nq\t\t1\nq\tb\t1\n")
    problems = Collected(10)
    file = read_label_file(path, problems=problems)
    assert [error.line for error in problems.errors] == [2, 3]
    assert rows(file) == [("q", None, "b", None, 1)]


# Grades


@pytest.mark.parametrize(
    ("label", "grade"),
    [
        ("3", 3), (3, 3), (3.0, 3), ("-1", -1), (7, 7), (" 2 ", 2), ("", None), (None, None),
        ("Highly relevant", 2), ("HIGHLY RELEVANT", 2), (" irrelevant ", 0),
        ("3 - Perfect", 3), ("3: perfect", 3), ("3_perfect", 3), ("0 (off topic)", 0), ("2.", 2),
        ("Ótimo", 3), ("4", 2), ("1 - meh", 0),
    ],
)  # fmt: skip
def test_a_label_is_a_number_a_name_of_the_scale_or_what_the_caller_says(
    tmp_path: Path, label: object, grade: int | None
) -> None:
    path = write(tmp_path, "a.jsonl", json.dumps({"query_id": "q", "doc_id": "d", "relevance": label}))
    assert read_label_file(path, names={"Ótimo": 3, "4": 2, "1 - meh": 0}).relevance == [grade]


@pytest.mark.parametrize("label", ["Perfect", "2,0", "2.5", "0-1", "2/3", "3x", "1e0", "0x1", "½", "+", "1_000"])
def test_a_label_that_could_mean_anything_is_refused_with_the_option_that_maps_it(tmp_path: Path, label: str) -> None:
    path = write(tmp_path, "a.tsv", HEADER + f"q\td\t{label}\n")
    message = fault(path)
    assert message.startswith(
        f":2: relevance {label!r} is not a grade; expected an integer or one of Irrelevant, Relevant"
    )
    assert message.rstrip("'").endswith(f"{label}=GRADE")
    assert "map it with --grade " in message
    assert read_label_file(path, names={label: 1}).relevance == [1]


def test_another_scale_has_its_own_names(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", HEADER + "q\td\tsim\n")
    assert read_label_file(path, grades={0: "não", 1: "sim"}).relevance == [1]
    assert fault(path, grades={0: "0", 1: "1"}) == (
        ":2: relevance 'sim' is not a grade; expected an integer; map it with --grade sim=GRADE"
    )


# Doccano


def doccano(folder: Path, *records: dict[str, Any]) -> Path:
    told = {"query_id": "q", "doc_id": "d"}
    lines = (json.dumps({"id": n, "text": "t", **told, **record}) + "\n" for n, record in enumerate(records))
    return write(folder, "a.jsonl", "".join(lines))


def test_doccano_labels_come_alone_or_in_a_list(tmp_path: Path) -> None:
    path = doccano(
        tmp_path, {"label": ["Perfectly relevant"]}, {"label": "Relevant"}, {"label": 2}, {"label": ["0", "0"]}
    )
    file = read_label_file(path)
    assert (file.format, file.by_people, file.relevance) == ("doccano", True, [3, 1, 2, 0])


def test_a_doccano_record_without_a_label_has_no_grade(tmp_path: Path) -> None:
    path = doccano(tmp_path, {"label": []}, {"label": None}, {"label": ""}, {"Comments": []}, {"label": ["0"]})
    assert read_label_file(path).relevance == [None, None, None, None, 0]


def test_several_labels_on_a_doccano_record_are_refused(tmp_path: Path) -> None:
    path = doccano(tmp_path, {"label": ["0"]}, {"label": ["Relevant", "2"]})
    assert fault(path) == ":2: has 2 labels ('Relevant', '2'); expected one: correct it where it was annotated"


def test_doccano_passages_have_several_names(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "a.jsonl",
        '{"id": 1, "data": "shown", "passage": "p", "passage_id": "d", "query": "why", "label": ["1"]}\n',
    )
    assert rows(read_label_file(path)) == [(None, "why", "d", "p", 1)]
    path = write(tmp_path, "b.jsonl", '{"id": 1, "text": "p", "metadata": {"query": "why"}, "labels": ["1"]}\n')
    assert rows(read_label_file(path)) == [(None, "why", None, "p", 1)]


def test_doccano_numbers_for_labels_are_refused(tmp_path: Path) -> None:
    record = {"id": 1, "text": "t", "query": "q", "annotations": [{"label": 5, "user": 1}]}
    path = write(tmp_path, "a.jsonl", json.dumps(record))
    assert fault(path, label_format="doccano") == (
        ":1: was exported with numbers for labels; export it again with their names (JSONL)"
    )


def test_a_file_without_any_field_of_labels_is_refused(tmp_path: Path) -> None:
    path = doccano(tmp_path, {"class": "3"})
    assert fault(path, label_format="doccano") == (": no record has 'label'; name it with --column relevance=FIELD")
    assert read_label_file(path, "doccano", {"relevance": "class"}).relevance == [3]


def test_old_doccano_exports_hold_several_users(tmp_path: Path) -> None:
    path = doccano(
        tmp_path,
        {"labels": ["1"], "username": "ann"},
        {"labels": ["2"], "username": "bob"},
        {"labels": [], "username": "unknown"},
    )
    assert annotators(path) == ["ann", "bob"]
    assert fault(path) == ": holds the labels of ann, bob; name one: --labels NAME=FILE#ANNOTATOR"
    assert read_label_file(path, annotator="bob").relevance == [2, None]


# Label Studio


def annotation(grade: object, completed_by: object = 1, kind: str = "choices", **more: Any) -> dict[str, Any]:
    value = [grade] if kind == "choices" else grade
    result = [{"id": "x", "from_name": "relevance", "to_name": "t", "type": kind, "value": {kind: value}}]
    return {"id": 5, "completed_by": completed_by, "result": result, "was_cancelled": False, **more}


def studio(folder: Path, *tasks: list[dict[str, Any]]) -> Path:
    exported = [
        {"id": n, "data": {"query_id": "q", "doc_id": f"d{n}"}, "annotations": annotations, "predictions": [{}]}
        for n, annotations in enumerate(tasks)
    ]
    return write(folder, "a.json", json.dumps(exported, indent=1))


def test_label_studio_choices_ratings_and_numbers_are_grades(tmp_path: Path) -> None:
    path = studio(tmp_path, [annotation("2 - good")], [annotation(3, kind="rating")], [annotation(1.0, kind="number")])
    file = read_label_file(path)
    assert (file.format, file.by_people, file.relevance) == ("label-studio", True, [2, 3, 1])


def test_a_cancelled_or_empty_annotation_is_no_grade(tmp_path: Path) -> None:
    path = studio(
        tmp_path,
        [annotation("0", was_cancelled=True)],
        [annotation("0", result=[])],
        [],
        [annotation("1", was_cancelled=True), annotation("2")],
    )
    assert read_label_file(path).relevance == [None, None, None, 2]


def test_one_of_several_label_studio_annotators_has_to_be_named(tmp_path: Path) -> None:
    path = studio(
        tmp_path,
        [annotation("0", {"id": 7, "email": "ann@x.org"}), annotation("1", 2)],
        [annotation("2", 2), annotation("3", 7)],
        [annotation("3", 2, was_cancelled=True)],
    )
    assert annotators(path) == ["2", "ann@x.org"]
    assert fault(path) == ": holds the labels of 2, ann@x.org; name one: --labels NAME=FILE#ANNOTATOR"
    assert (
        fault(path, annotator="3") == ": holds no labels of '3', only those of 2, ann@x.org; name one of them, or none"
    )
    assert read_label_file(path, annotator="2").relevance == [1, 2, None]
    # The same person by address and by number, in annotations that tell both or the number alone.
    assert read_label_file(path, annotator="ann@x.org").relevance == [0, 3, None]
    assert read_label_file(path, annotator="7").relevance == [0, 3, None]


def test_two_annotations_of_a_task_by_one_person_are_two_rows(tmp_path: Path) -> None:
    file = read_label_file(studio(tmp_path, [annotation("0"), annotation("1")]))
    assert (file.relevance, file.doc_id, len(set(file.lines))) == ([0, 1], ["d0", "d0"], 1)


def test_several_choices_are_refused(tmp_path: Path) -> None:
    both = [{"from_name": "relevance", "type": "choices", "value": {"choices": ["1", "2"]}}]
    path = studio(tmp_path, [annotation("1")], [annotation("1", result=both)])
    assert "has 2 labels ('1', '2'); expected one" in fault(path)


def test_of_several_controls_one_has_to_be_named(tmp_path: Path) -> None:
    def results(name: str) -> list[dict[str, Any]]:
        return [
            {"from_name": name, "type": "choices", "value": {"choices": ["Relevant"]}},
            {"from_name": "sure", "type": "rating", "value": {"rating": 5}},
            {"from_name": "note", "type": "textarea", "value": {"text": ["hm"]}},
        ]

    path = studio(tmp_path, [annotation("", result=results("relevance"))])
    assert read_label_file(path).relevance == [1]
    path = studio(tmp_path, [annotation("", result=results("topic"))])
    assert fault(path) == (
        ": has several controls; choices, ratings and numbers are in sure, topic: "
        "name one with --column relevance=CONTROL"
    )
    assert read_label_file(path, columns={"relevance": "topic"}).relevance == [1]
    assert fault(path, columns={"relevance": "x"}).startswith(": has no control 'x'; choices, ratings and numbers are")


def test_flat_label_studio_exports(tmp_path: Path) -> None:
    def flat(number: int, grade: object, annotator: object = 1) -> dict[str, Any]:
        told = {"query": "why", "passage": f"p{number}", "id": number, "annotation_id": 9, "lead_time": 1.5}
        return {**told, "annotator": annotator, **({} if grade is None else {"stars": grade})}

    named = {"relevance": "stars"}
    path = write(tmp_path, "a.json", json.dumps([flat(1, [{"rating": 2}]), flat(2, "3"), flat(3, None)]))
    assert fault(path).startswith(": no control of relevance, grade, label, rating, choice; the fields are query, ")
    file = read_label_file(path, columns=named)
    assert rows(file) == [(None, "why", None, "p1", 2), (None, "why", None, "p2", 3), (None, "why", None, "p3", None)]
    path = write(tmp_path, "b.json", json.dumps([flat(1, "1", "ann"), flat(1, "2", "bob"), flat(2, "3", "bob")]))
    assert "holds the labels of ann, bob" in fault(path, columns=named)
    assert read_label_file(path, columns=named, annotator="ann").relevance == [1, None]
    assert read_label_file(path, columns=named, annotator="bob").relevance == [2, 3]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            {"data": {"query_id": "q", "doc_id": "d"}, "annotations": {}},
            "annotations is not a list of objects; export it",
        ),
        (
            {"data": {"query_id": "q", "doc_id": "d"}, "annotations": [{"result": [3]}]},
            "result is not a list of objects",
        ),
        ({"data": {"query_id": "q", "doc_id": 7}, "annotations": []}, "doc_id is the number 7; expected a string"),
        ({"data": "q", "annotations": []}, "is not a Label Studio task; expected data and annotations in each"),
        ({"data": {"url": "x"}, "annotations": []}, "no query_id or query; the columns are url: add one, or name it"),
    ],
)
def test_what_is_wrong_in_a_label_studio_task_is_named(tmp_path: Path, task: dict[str, Any], message: str) -> None:
    sound = {"data": {"query_id": "q", "doc_id": "d"}, "annotations": [annotation("1")]}
    path = write(tmp_path, "a.json", json.dumps([sound])[:-1] + ",\n" + json.dumps(task) + "]")
    assert fault(path).startswith(f":2: {message}")


# Formats by their looks


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a", "q 0 d 1\n", "qrels"),
        ("a.tsv", "# remark\nq\t0\td\t1\n", "qrels"),
        ("a.qrels", "query_id\tdoc_id\trelevance\n", "qrels"),
        ("a.txt", HEADER, "table"),
        ("a.csv", "doc_id,x\n", "table"),
        ("a.tsv", QUATI, "quati"),
        ("a.jsonl", '{"query_id": "q", "label": 3}\n', "table"),
        ("a.jsonl", '{"id": 1, "text": "t", "label": [], "relevance": 3}\n', "table"),
        ("a.jsonl", 'broken\n{"id": 1, "text": "t", "label": []}\n', "table"),
        ("a.jsonl", '{broken\n{"id": 1, "text": "t", "label": []}\n', "doccano"),
        ("a.json", '{\n"id": 1,\n"data": {},\n"annotations": []\n}', "label-studio"),
        ("a.json", '{"id": 1, "data": {}, "completions": []}', "label-studio"),
        ("a.json", '[{"id": 1, "annotator": 1, "annotation_id": 1}]', "label-studio"),
    ],
)
def test_the_format_is_told_from_the_first_lines(tmp_path: Path, name: str, content: str, found: str) -> None:
    assert detect_label_format(write(tmp_path, name, content)) == found


def test_a_mapped_column_tells_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "topic\tpid\tgrade\tnote\nq\td\t1\t\n")
    assert detect_label_format(path) == "qrels"
    assert detect_label_format(path, {"query_id": "topic"}) == "table"
