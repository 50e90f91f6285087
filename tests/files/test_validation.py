"""The check of a whole file: which kind it is taken for, all its faults, its oddities and counts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.errors import InputError
from quati_pool.files.lines import output
from quati_pool.files.validation import detect_kind, validate_file
from tests.shared_data import shared

KINDS = [
    ("a.trec", "q Q0 d 1 2.5 t\n", "run"),
    ("a.txt", "# remark\nq Q0 d 1 2,5 t\n", "run"),
    ("a.run", "garbage\n", "run"),
    ("a.tsv", "q\tQ0\td\t1\t2.5\tt\n", "run"),
    ("a.txt", "q 0 d 1\n", "qrels"),
    ("a", "q 0 d 1.0\n", "qrels"),
    ("a.qrels", "garbage\n", "qrels"),
    ("a.tsv", "query_id\tdoc_id\trelevance\n", "labels"),
    ("a.tsv", "query\ttext\trelevance\n", "labels"),
    ("a.tsv", "doccano_id\tquery\tpassage\tpassage_id\tlabel\tscore\n", "labels"),
    ("a.jsonl", '{"id": 1, "text": "t", "doc_id": "d", "query": "q", "label": []}\n', "labels"),
    ("a.json", '[\n{"id": 1, "data": {}, "annotations": []}]', "labels"),
    ("a.tsv", "query_id\tquery\n", "queries"),
    ("a.csv", "query,query_id\n", "queries"),
    ("a.jsonl", '{"query_id": 1}\n', "queries"),
    ("a.txt", "\n<top>\n", "queries"),
    ("a.tsv", "doc_id\ttext\n", "corpus"),
    ("a.csv", "\ufeffdoc_id,text\n", "corpus"),
    ("a.jsonl", '{"doc_id": "1"}\n', "corpus"),
    ("a.dat", "<?xml?>\n<DOC>\n", "corpus"),
    ("a.tsv", "1\tonde fica a\n", None),
    ("a.jsonl", '{"query_id": "1", "doc_id": "2"}\n', None),
    ("a.jsonl", "[1", None),
    ("a.txt", "some prose that is nothing at\n", None),
]


@pytest.mark.parametrize(("name", "text", "kind"), KINDS)
def test_the_kind_is_told_from_the_first_lines(tmp_path: Path, name: str, text: str, kind: str | None) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    if kind is not None:
        assert detect_kind(path) == kind
        return
    with pytest.raises(InputError) as caught:
        detect_kind(path)
    expected = "its kind is unclear; give --kind, one of run, qrels, labels, queries, corpus"
    assert str(caught.value) == f"{path}: {expected}"


def test_mapped_names_tell_the_kind_too(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("pid,body\n1,text\n", encoding="utf-8")
    report = validate_file(path, doc_id="pid", text="body")
    assert (report.kind, report.ok, report.summary["passages"]) == ("corpus", True, 1)


def test_a_run(tmp_path: Path) -> None:
    path = tmp_path / "a.trec"
    path.write_text(
        "q1 Q0 a 1 3 t\nq1 Q0 b 2 4 t\nq1 Q0 c 3 3 t\nq2 Q0 a 1 1.5 t\nq3 Q0 a 2 1 t\nq3 Q0 b 1 2 t\n",
        encoding="utf-8",
    )
    report = validate_file(path)
    assert report.ok
    assert report.summary == {
        "run_tag": "t", "rows": 6, "queries": 3, "min_documents": 1, "max_documents": 3, "ties": 2
    }  # fmt: skip
    assert report.warnings == [
        "in 1 of 3 queries the ranks do not follow the scores; the scores count, as in trec_eval",
        "rows with equal scores in a query: 2; these are ordered by doc_id, descending",
    ]


def test_all_faults_are_named_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 nan t\nq Q0 b 2 1 t\nq Q0 b 2 1 t\nq Q0 c\n", encoding="utf-8")
    report = validate_file(path, limit=2)
    assert [error.line for error in report.errors] == [1, 3]
    assert (report.more_errors, report.ok, report.summary["rows"]) == (1, False, 1)


def test_a_file_without_a_sound_row(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 nan t\n", encoding="utf-8")
    report = validate_file(path)
    assert [error.line for error in report.errors] == [1]
    assert report.summary["rows"] == report.summary["min_documents"] == 0
    path.write_text("\n", encoding="utf-8")
    (path.rename(tmp_path / "a.tsv")).write_text("", encoding="utf-8")
    assert [str(error) for error in validate_file(tmp_path / "a.tsv").errors] == [
        f"{tmp_path / 'a.tsv'}: is empty; expected rows"
    ]


def test_bytes_that_are_not_utf8_are_named_among_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"doc_id\ttext\na\tn\xe3o\nb\tc\nb\td\n")
    report = validate_file(path)
    assert [str(error) for error in report.errors] == [
        f"{path}:2: byte 4 (0xE3) is not UTF-8; convert to UTF-8",
        f"{path}:4: doc_id 'b' is in line 3 already; expected it once",
    ]


def test_qrels(tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    path.write_text("q1 0 a 0\nq1 0 b 2\nq2 0 a 0\nq3 0 a -1\n", encoding="utf-8")
    report = validate_file(path)
    assert report.summary == {
        "pairs": 4, "queries": 3, "grades": {"-1": 1, "0": 2, "2": 1}, "queries_without_relevant": 2
    }  # fmt: skip
    assert report.warnings == ["2 of 3 queries have no relevant document; they stay in every mean"]


def test_labels_of_any_format_are_checked_with_their_conflicts(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = ["q\ta\t1", "q\tb\t", "q\ta\t1", "q\tc\tPerfect", "q\ta\t2", "\ta\t2"]
    path.write_text("query_id\tdoc_id\trelevance\n" + "\n".join(rows), encoding="utf-8")
    report = validate_file(path)
    assert report.kind == "labels"
    assert [error.line for error in report.errors] == [5, 7, 6]
    assert str(report.errors[2]).endswith(
        ":6: query_id 'q' and doc_id 'a' have the grade 2 here and 1 in line 2; keep the correct row"
    )
    assert report.summary == {
        "format": "table", "labels": 3, "queries": 1, "grades": {"1": 2, "2": 1}, "without_a_grade": 1
    }  # fmt: skip
    assert report.warnings == [
        "rows without a grade: 1; they are counted, but not as 0",
        "rows that repeat a pair with the same grade: 1; they count once",
    ]
    assert [error.line for error in validate_file(path, grades={"Perfect": 3}).errors] == [7, 6]


def test_all_annotators_of_an_export_are_checked_and_each_fault_is_named_once(tmp_path: Path) -> None:
    def annotation(person: str, grade: str) -> str:
        result = f'[{{"type": "choices", "value": {{"choices": ["{grade}"]}}}}]'
        return f'{{"completed_by": "{person}", "result": {result}}}'

    def task(doc_id: str, *annotations: str) -> str:
        return f'{{"data": {{"query": "q", "doc_id": {doc_id}}}, "annotations": [{", ".join(annotations)}]}}'

    tasks = [
        task('"d"', annotation("ann", "1"), annotation("bob", "0")),
        task("7"),
        task('"e"', annotation("bob", "?")),
    ]
    path = tmp_path / "a.json"
    path.write_text("[" + ",\n".join(tasks) + "]", encoding="utf-8")
    report = validate_file(path)
    assert [error.line for error in report.errors] == [2, 3]
    assert (report.summary["annotators"], report.summary["labels"]) == (2, 2)


@pytest.mark.parametrize(("name", "labels"), [("annotator_01_240_annotations_with_questions.tsv", 240)])
def test_the_released_annotations_are_sound(name: str, labels: int) -> None:
    report = validate_file(shared(f"quati/{name}"))
    assert (report.kind, report.ok, report.warnings) == ("labels", True, [])
    assert (report.summary["labels"], report.summary["queries"]) == (labels, 24)


def test_a_corpus_with_mapped_fields_is_no_label_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "t", "label": "news"}\n', encoding="utf-8")
    assert detect_kind(path, doc_id="id") == "corpus"


def test_queries(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("1\tone\n2\t \n", encoding="utf-8")
    report = validate_file(path, "queries")
    assert report.summary == {"queries": 2, "empty": 1, "narratives": 0}
    assert report.warnings == ["empty queries: 1; they retrieve nothing"]


def test_queries_in_clusters(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["1,a,x y", "2,b,x y", "3,c,", "4,d,7"]
    path.write_text("\n".join(["query_id,query,cluster_id", *rows]), encoding="utf-8")
    report = validate_file(path, "queries")
    assert report.ok
    assert report.summary == {"queries": 4, "empty": 0, "narratives": 0, "clusters": 2, "without_a_cluster": 1}
    path.write_text("\n".join(["query_id,query,cluster_id", *rows, "5,e,x ", "6,f,\x07"]), encoding="utf-8")
    report = validate_file(path)
    assert [str(error) for error in report.errors] == [
        f"{path}:6: cluster_id 'x ' begins or ends with white space; expected none there",
        f"{path}:7: cluster_id '\\x07' holds the character U+0007; expected a text without control characters",
    ]
    assert report.summary["queries"] == 4


def test_a_corpus_with_repeated_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"doc_id": ["a", "b", "a", "c", "a"], "text": ["12", "", "1234", "", ""]}), path)
    report = validate_file(path)
    again = "doc_id 'a' is in line 1 already; expected it once"
    assert [str(error) for error in report.errors] == [f"{path}:3: {again} (2 such faults: {path}:3, {path}:5)"]
    assert report.summary == {"passages": 5, "empty": 3, "mean_characters": 1.2}
    assert report.warnings == ["empty passages: 3; nobody can judge them"]


def test_real_files_are_sound() -> None:
    found = {}
    for name in (
        "quati/quati_1M_qrels.txt",
        "vaswani/qrels",
        "vaswani/doc-text.trec",
        "vaswani/query-text.trec",
    ):
        report = validate_file(shared(name))
        assert report.ok, report.errors
        found[name] = report.kind, *list(report.summary.values())[:2]
    assert found == {
        "quati/quati_1M_qrels.txt": ("qrels", 1933, 50),
        "vaswani/qrels": ("qrels", 2083, 93),
        "vaswani/doc-text.trec": ("corpus", 11_429, 0),
        "vaswani/query-text.trec": ("queries", 93, 0),
    }


@pytest.mark.parametrize(
    ("name", "kind"), [("queries.tsv", "queries"), ("topics.tsv.gz", "queries"), ("corpus.tsv", "corpus")]
)
def test_two_columns_without_names_are_told_by_the_files_name(tmp_path: Path, name: str, kind: str) -> None:
    with output(tmp_path / name) as stream:
        stream.write("a1\tQuem compôs o hino?\na2\tOnde fica o Jalapão?\n".encode())
    report = validate_file(tmp_path / name)
    assert (report.kind, report.ok) == (kind, True)
