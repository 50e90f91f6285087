"""Rules that all readers share: what a grade is, JSON names once, no CSV quotes in TSV, and whole last lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.columns import grade_of
from quati_pool.files.corpus import read_file
from quati_pool.files.label_files import read_label_file
from quati_pool.files.pools import read_pool_rows
from quati_pool.files.problems import Collected, CollectedByKind, RowError, quoted
from quati_pool.files.qrels import read_judgements
from quati_pool.files.queries import read_queries
from quati_pool.files.runs import read_run, read_run_rows
from quati_pool.files.strict_json import decode
from quati_pool.files.validation import Kind, detect_kind, validate_file
from quati_pool.records import MAX_GRADE

QRELS, TABLE = "q 0 d {}\n", "query_id\tdoc_id\trelevance\nq\td\t{}\n"
OBJECT = '{{"query_id": "q", "doc_id": "d", "relevance": {}}}\n'
DOCCANO = '{{"id": 1, "text": "t", "doc_id": "d", "query_id": "q", "label": ["{}"]}}\n'
STUDIO = (
    '[{{"id": 1, "data": {{"query_id": "q", "doc_id": "d"}}, "annotations": [{{"completed_by": 1, "result": '
    '[{{"type": "number", "from_name": "relevance", "value": {{"number": {}}}}}]}}]}}]'
)
QUATI = "doccano_id\tquery\tpassage\tpassage_id\tlabel\tscore\n1\tq\tp\td\tx\t{}\n"
FORMS = {
    "a.qrels": QRELS,
    "a.tsv": TABLE,
    "a.csv": TABLE.replace("\t", ","),
    "a.jsonl": OBJECT,
    "a.json": f"[{OBJECT}]",
    "doccano.jsonl": DOCCANO,
    "studio.json": STUDIO,
    "quati.tsv": QUATI,
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("spelling", ["2", "2.0"])
def test_an_integral_number_is_a_grade_in_every_format_and_in_validate(
    tmp_path: Path, name: str, spelling: str
) -> None:
    path = written(tmp_path, name, FORMS[name].format(spelling))
    assert read_label_file(path).relevance == [2]
    report = validate_file(path)
    assert (report.ok, report.summary["grades"]) == (True, {"2": 1}), report.errors


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("grade", [4294967299, 10**9, -1_000_001, 10**30])
def test_a_grade_beyond_a_million_is_refused_in_every_format_and_in_validate(
    tmp_path: Path, name: str, grade: int
) -> None:
    path = written(tmp_path, name, FORMS[name].format(grade))
    with pytest.raises(InputError, match=f"relevance '{grade}' is beyond ±1,000,000; expected a grade"):
        read_label_file(path)
    (error,) = validate_file(path).errors
    assert error.line is not None
    # What is mapped to another grade, or to none, was never too large a grade.
    assert read_label_file(path, names={str(grade): None}).relevance == [None]
    assert read_label_file(path, names={str(grade): 1}).relevance == [1]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("spelling", ["8", "8.0"])
def test_a_label_set_to_none_has_no_grade_and_is_counted(tmp_path: Path, name: str, spelling: str) -> None:
    read = read_label_file(written(tmp_path, name, FORMS[name].format(spelling)), names={"8": None})
    assert (read.relevance, read.set_aside) == ([None], 1)


@given(st.integers(-2 * MAX_GRADE, 2 * MAX_GRADE), st.integers(0, 3), st.booleans())
def test_a_grade_reads_as_the_integer_that_it_spells(number: int, zeros: int, plus: bool) -> None:
    text = f"{number:{'+' if plus else ''}}" + ("." + "0" * zeros if zeros else "")
    if abs(number) <= MAX_GRADE:
        assert grade_of(text) == number
    else:
        with pytest.raises(RowError, match="beyond"):
            grade_of(text)


@given(st.text(st.sampled_from("0123456789.,-+e_ ٢"), max_size=8))
def test_nothing_else_is_a_grade(text: str) -> None:
    digits, point, zeros = text.lstrip("+-").partition(".")
    signs = text[: len(text) - len(text.lstrip("+-"))]
    whole = digits.isascii() and digits.isdigit() and len(signs) <= 1
    sound = whole and (not point or (zeros != "" and not zeros.strip("0")))
    if sound and int(digits) > MAX_GRADE:
        return
    assert (grade_of(text) is not None) == sound


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 2)), min_size=1, max_size=12))
def test_both_readers_of_qrels_and_validate_agree_on_rows_that_repeat(rows: list[tuple[str, str, int]]) -> None:
    grades: dict[tuple[str, str], set[int]] = {}
    for query_id, doc_id, grade in rows:
        grades.setdefault((query_id, doc_id), set()).add(grade)
    sound = all(len(given) == 1 for given in grades.values())
    with TemporaryDirectory() as folder:
        path = written(Path(folder), "a.qrels", "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows))
        report = validate_file(path)
        assert report.ok == sound
        problems = Collected(100)
        assert len(read_judgements(path, problems)) == len(grades)
        assert (problems.count == 0) == sound
    if sound:
        assert report.summary["pairs"] == len(grades)
        again = len(rows) - len(grades)
        said = [warning for warning in report.warnings if "repeat" in warning]
        assert said == ([f"rows that repeat a pair with the same grade: {again}; they count once"] if again else [])


def test_validate_knows_a_list_of_objects_as_the_label_file_that_evaluate_reads(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", json.dumps([{"query_id": "q", "doc_id": "d", "relevance": 1}]))
    assert detect_kind(path) == "labels"
    assert validate_file(path).summary["labels"] == 1


TWICE = (
    '{"text": "t", "doc_id": "d", "query": "q", "query_id": "q", "relevance": 1, "text": "t"}\n',
    "an object holds 'text' twice; expected each name once: remove one",
)
READERS: dict[str, Callable[[Path], object]] = {
    "queries": read_queries,
    "corpus": lambda path: list(read_file(path)),
    "labels": read_label_file,
    "pool": lambda path: list(read_pool_rows(path)),
}


@pytest.mark.parametrize("kind", READERS)
def test_an_object_that_holds_a_name_twice_is_refused_everywhere(tmp_path: Path, kind: str) -> None:
    text, fault = TWICE
    path = written(tmp_path, "a.jsonl", text)
    with pytest.raises(InputError) as refused:
        READERS[kind](path)
    assert str(refused.value) == f"{path}:1: {fault}"
    if kind in get_args(Kind):
        assert str(validate_file(path, cast("Kind", kind)).errors[0]) == f"{path}:1: {fault}"


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_an_object_of_a_list_that_holds_a_name_twice_is_refused_in_its_line(tmp_path: Path, name: str) -> None:
    text, fault = TWICE
    with pytest.raises(InputError, match=f":2: {fault}"):
        read_label_file(written(tmp_path, name, f"[\n{text}]"))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=4))
def test_json_without_repeated_names_is_read_as_json_loads_does(record: dict[str, object]) -> None:
    text = json.dumps(record)
    assert decode(text) == record
    name = json.dumps(next(iter(record)))
    with pytest.raises(RowError, match="twice"):
        decode(f"{text[:-1]}, {name}: 0}}")
    with pytest.raises(RowError, match="twice"):
        decode(f'[{{"inner": {text[:-1]}, {name}: 0}}}}]')


QUOTED = [
    ("an id in quotes", '"q1"\tto be\n', 1, "query_id", '"q1"'),
    ("a header in quotes", '"query_id"\t"query"\n"q1"\t"to be"\n', 1, "query_id", '"query_id"'),
    ("all queries in quotes", 'q1\t"to be"\nq2\t"or not"\n', 1, "query", '"to be"'),
    ("doubled quotes inside", 'q1\tto be\nq2\t"he said ""no"""\n', 2, "query", '"he said ""no"""'),
]


@pytest.mark.parametrize("case", QUOTED, ids=[case[0] for case in QUOTED])
def test_a_tsv_of_queries_that_is_quoted_as_csv_is_refused(
    tmp_path: Path, case: tuple[str, str, int, str, str]
) -> None:
    _, text, line, column, cell = case
    path = written(tmp_path, "queries.tsv", text)
    with pytest.raises(InputError) as refused:
        read_queries(path)
    assert str(refused.value).startswith(
        f"{path}:{line}: {column} {quoted(cell)} is in double quotes, and in TSV quotes belong to the cell; write it "
        "without them, or save the file as CSV (.csv) or JSONL"
    )
    assert not validate_file(path, "queries").ok


def test_quotes_that_belong_to_a_query_stay(tmp_path: Path) -> None:
    text = 'query_id\tquery\nq1\t"to be" or not\nq2\t"a phrase"\nq3\t"""\nq4\t"\n'
    read = read_queries(written(tmp_path, "queries.tsv", text))
    assert [one.query for one in read] == ['"to be" or not', '"a phrase"', '"""', '"']


def test_ids_in_quotes_are_refused_in_corpora_and_label_files_too(tmp_path: Path) -> None:
    path = written(tmp_path, "corpus.tsv", 'doc_id\ttext\nd1\t"all ""of"" it"\n"d2"\tx\n')
    with pytest.raises(InputError, match=r":3: doc_id '\"d2\"' is in double quotes"):
        list(read_file(path))
    assert [text for _, _, text in read_file(path, problems=Collected(5))] == ['"all ""of"" it"']
    with pytest.raises(InputError, match=r":2: query_id '\"q\"' is in double quotes"):
        read_label_file(written(tmp_path, "a.tsv", TABLE.replace("\nq\t", '\n"q"\t').format(1)))


ROW = "q Q0 d{} {} {}.5 t"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("regular", [True, False])
def test_a_run_without_its_last_line_end_may_be_cut_off(tmp_path: Path, packed: bool, regular: bool) -> None:
    text = "\n".join([ROW.format(1, 1, 9), ROW.format(2, 2, 8) if regular else ROW.format(2, 2, "+8")])
    path = tmp_path / ("a.run.gz" if packed else "a.run")
    for end, warnings in (("", 1), ("\n", 0), ("\r\n", 0)):
        data = (text + end).encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        problems = Collected(5)
        assert len(read_run_rows(path, problems).query) == 2
        assert len(read_run(path)) == 2
        report = validate_file(path)
        assert report.ok
        assert [warning for warning in report.warnings if "cut off" in warning] == problems.warnings
        assert len(problems.warnings) == warnings
        if warnings:
            assert problems.warnings == [
                "has no line end after its last row and may be cut off; check that row, or copy it again"
            ]


def test_faults_of_a_corpus_are_shown_by_kind_with_their_count_and_three_places(tmp_path: Path) -> None:
    rows = [json.dumps({"doc_id": f"d{n}", "text": None if n % 2 else f"text {n}"}) for n in range(1, 2001)]
    rows[9] = json.dumps({"doc_id": "d 10", "text": "t"})
    rows[19] = json.dumps({"doc_id": "d 20", "text": "t"})
    rows[29] = '{"doc_id": "d30"'
    path = written(tmp_path, "corpus.jsonl", "".join(row + "\n" for row in rows))
    report = validate_file(path)
    assert [str(error) for error in report.errors] == [
        f"{path}:1: text is null; expected a string (it may be empty) "
        f"(1,000 such faults: {path}:1, {path}:3, {path}:5, …)",
        f"{path}:10: doc_id 'd 10' holds white space (U+0020); expected an id without white space or control "
        f"characters (2 such faults: {path}:10, {path}:20)",
        f"{path}:30: is not JSON (Expecting ',' delimiter, column 17); expected one object per line",
    ]
    assert (report.faults, report.more_errors, report.summary["passages"]) == (1003, 0, 997)
    assert validate_file(path, limit=1).more_errors == 3


@given(st.lists(st.text(min_size=1, max_size=8).map(repr), min_size=1, max_size=6), st.integers(0, 10**9))
def test_faults_that_differ_in_values_alone_are_of_one_kind(ids: list[str], number: int) -> None:
    problems = CollectedByKind(20)
    for line, identity in enumerate(ids, 1):
        problems.report(Path("c"), line, f"doc_id {identity} is on line {number + line} too; expected it once")
    assert len(problems.errors) == 1
    assert (problems.count, problems.covered) == (len(ids), len(ids))
