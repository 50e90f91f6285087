"""What is written for others is what our own readers read back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.errors import QuatiPoolError
from quati_pool.files.label_files import detect_label_format, read_label_file
from quati_pool.files.label_files.cells import escaped, unescaped
from quati_pool.files.label_files.writing import (
    WRITTEN_FORMATS,
    EvidenceSpan,
    JudgesAnswer,
    LabelRow,
    Written,
    file_name,
    format_of_name,
    grade_names,
    write_labels,
)
from quati_pool.files.tables import Field, read_table
from quati_pool.records import GRADES, id_problem

READ_AS = {"tsv": "table", "csv": "table", "jsonl": "table"} | {
    name: name for name in ("quati", "doccano", "label-studio")
}
LACKING = {"tsv": {"query", "text"}, "csv": {"query", "text"}, "quati": {"query_id"}}

_ANY = st.characters(exclude_categories=["Cs"])
IDS = st.text(st.one_of(st.sampled_from("\",é'#\U0001f600|\\<&/."), _ANY), min_size=1, max_size=12).filter(
    lambda text: id_problem(text) is None
)
TEXTS = st.text(st.one_of(st.sampled_from("\t\r\n\v\x00\x1f\"'é\U0001f600\u202e\u2028<&>,;="), _ANY), max_size=30)
GRADED = st.tuples(IDS, IDS, TEXTS, st.none() | st.sampled_from(sorted(GRADES)), st.none() | TEXTS)


def written(rows: list[LabelRow], label_format: str, grades: dict[int, str] = GRADES) -> bytes:
    stream = io.BytesIO()
    made = write_labels(rows, label_format, stream, grades, "ana")
    assert made == Written(len(rows), sum(row.relevance is not None for row in rows))
    return stream.getvalue()


@pytest.mark.parametrize("label_format", WRITTEN_FORMATS)
@given(content=st.lists(GRADED, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back_with_ids_texts_and_grades(
    tmp_path: Path, label_format: str, content: list[tuple[str, str, str, int | None, str | None]]
) -> None:
    # A query_id has one text; the quati layout tells queries by it, so that no two may have the same.
    rows = [
        LabelRow(
            query_id, doc_id, f"query {query_id}\t\"{query_id}\"\n?", text, relevance,
            "ok" if relevance is not None else "unsure", narrative=None, note=note, design="1-random", stratum=note,
            inclusion=0.25, evidence=(EvidenceSpan(0, 1, text[:1]),) if text else (),
        )
        for query_id, doc_id, text, relevance, note in content
    ]  # fmt: skip
    path = tmp_path / file_name("labels", label_format)
    path.write_bytes(written(rows, label_format))
    assert detect_label_format(path) == READ_AS[label_format]
    file = read_label_file(path)
    assert file.relevance == [row.relevance for row in rows]
    for key in ("query_id", "doc_id", "query", "text"):
        column = getattr(file, key)
        if key in LACKING.get(label_format, ()):
            assert column is None
            continue
        expected = [str(getattr(row, key)) for row in rows]
        if label_format == "quati":
            # Its reader takes the line end of Windows for that of a line.
            expected = [_unix(text) for text in expected]
        assert column == expected or (column is None and not any(expected))


def _unix(text: str) -> str:
    while "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return text


def test_the_quati_layout_is_that_of_the_released_files() -> None:
    row = LabelRow("1", "clueweb22-pt0001-14-16263_0", 'Onde fica a "Praça XV"?', "Linha um\nlinha dois", 3)
    lines = written([row, row._replace(doc_id="d2", text="sem aspas", relevance=None, status="unsure")], "quati")
    assert lines.decode() == (
        "doccano_id\tquery\tpassage\tpassage_id\tlabel\tscore\n"
        '1\t"Onde fica a ""Praça XV""?"\t"Linha um\nlinha dois"\tclueweb22-pt0001-14-16263_0\tPerfectly relevant\t3\n'
        '2\t"Onde fica a ""Praça XV""?"\tsem aspas\td2\t\t\n'
    )
    # As Python's csv module, another reader than ours, has it.
    assert list(csv.reader(io.StringIO(lines.decode(), newline=""), delimiter="\t"))[1][1:3] == [row.query, row.text]


def test_doccano_and_label_studio_get_names_times_and_notes() -> None:
    rows = [
        LabelRow("q", "d", "pergunta", "texto", 2, narrative="o que vale", note="<b>ok</b>", seconds=4.5),
        LabelRow("q", "e", "pergunta", "texto", None, "unsure", reason="broken text"),
    ]
    one, two = map(json.loads, written(rows, "doccano").decode().splitlines())
    assert one == {
        "id": 1, "text": "pergunta\n\no que vale\n\ntexto", "label": ["Highly relevant"], "query_id": "q",
        "doc_id": "d", "query": "pergunta", "passage": "texto", "Comments": ["<b>ok</b>"],
    }  # fmt: skip
    assert (two["text"], two["label"], two["Comments"]) == ("pergunta\n\ntexto", [], [])
    tasks = json.loads(written(rows, "label-studio"))
    assert [task["annotations"][0]["was_cancelled"] for task in tasks] == [False, True]
    assert tasks[0]["annotations"][0]["lead_time"] == 4.5
    assert tasks[0]["annotations"][0]["result"][0]["value"] == {"choices": ["Highly relevant"]}
    first, second = map(json.loads, written(rows, "jsonl").decode().splitlines())
    assert (first["narrative"], first["note"], first["seconds"]) == ("o que vale", "<b>ok</b>", 4.5)
    assert second == {
        "query_id": "q", "doc_id": "e", "query": "pergunta", "text": "texto", "relevance": None,
        "status": "unsure", "reason": "broken text",
    }  # fmt: skip


@given(text=TEXTS)
def test_a_cell_is_one_line_and_gives_its_text_back(text: str) -> None:
    assert not set("\t\n\r") & set(escaped(text))
    assert unescaped(escaped(text)) == text


def test_a_cell_is_written_as_most_languages_do() -> None:
    assert escaped("a\tb\r\nc\\n") == "a\\tb\\r\\nc\\\\n"
    # What others wrote is not lost: \d is nothing that is escaped.
    assert unescaped("\\d\\") == "\\d\\"


@pytest.mark.parametrize("label_format", ["tsv", "csv"])
@given(notes=st.lists(TEXTS, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_notes_of_a_table_are_read_back_as_they_were(tmp_path: Path, label_format: Any, notes: list[str]) -> None:
    rows = [LabelRow("q", f"d{at}", "", "", 1, note=note) for at, note in enumerate(["kept", *notes])]
    path = tmp_path / f"labels.{label_format}"
    path.write_bytes(written(rows, label_format))
    found = list(read_table(path, label_format, [Field("doc_id", "doc_id"), Field("note", "note")]))
    assert [line for line, _ in found] == list(range(2, len(rows) + 2)), "a label is a line"
    assert [(doc_id, unescaped(note)) for _, (doc_id, note) in found] == [(row.doc_id, row.note) for row in rows]


# The emoji is one code point, two in UTF-16; offsets by hand: "O 🐆 vive" has the words at 2-3 and 4-8.
MARKED = LabelRow(
    "q", "d1", "onde vive?", "O \U0001f406 vive no mato", 3, narrative="o lugar", note="bom", phase="blind",
    design="2-stratified", stratum="q/lexical=3", inclusion=0.125,
    evidence=(EvidenceSpan(2, 3, "\U0001f406"), EvidenceSpan(4, 8, "vive")),
)  # fmt: skip
SPANS = [{"start": 2, "end": 3, "text": "\U0001f406"}, {"start": 4, "end": 8, "text": "vive"}]


def test_tables_have_design_and_evidence_of_labels_that_have_them() -> None:
    rows = [MARKED, LabelRow("q", "d2", "", "", None, "unsure", reason="broken_text")]
    evidence = '[{"start":2,"end":3,"text":"\U0001f406"},{"start":4,"end":8,"text":"vive"}]'
    header, first, second = written(rows, "tsv").decode().splitlines()
    assert header == "query_id\tdoc_id\trelevance\tstatus\treason\tnote\tphase\tdesign\tstratum\tinclusion\tevidence"
    assert first == f"q\td1\t3\tok\t\tbom\tblind\t2-stratified\tq/lexical=3\t0.125\t{evidence}"
    assert second == "q\td2\t\tunsure\tbroken_text\t\t\t\t\t\t"
    (of_csv,) = list(csv.DictReader(io.StringIO(written(rows[:1], "csv").decode(), newline="")))
    assert json.loads(of_csv["evidence"]) == SPANS
    assert (of_csv["inclusion"], "reason" in of_csv) == ("0.125", False)


def test_json_lines_have_evidence_as_the_store_has_it() -> None:
    one, other = map(json.loads, written([MARKED, MARKED._replace(evidence=())], "jsonl").decode().splitlines())
    assert one["evidence"] == SPANS
    assert "evidence" not in other
    assert (one["design"], one["stratum"], one["inclusion"]) == ("2-stratified", "q/lexical=3", 0.125)


def test_doccano_has_the_grade_as_label_and_evidence_as_entities_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "labels.doccano.jsonl"
    path.write_bytes(written([MARKED], "doccano"))
    record = json.loads(path.read_text("utf-8"))
    assert record["label"] == ["Perfectly relevant"]
    # Before the passage: 10 characters of the query, 7 of the narrative, and two empty lines of 2.
    assert record["entities"] == [[23, 24, "evidence"], [25, 29, "evidence"]]
    assert [record["text"][start:end] for start, end, _ in record["entities"]] == ["\U0001f406", "vive"]
    assert read_label_file(path).relevance == [3]


def test_label_studio_has_evidence_as_labels_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "labels.label-studio.json"
    path.write_bytes(written([MARKED], "label-studio"))
    (task,) = json.loads(path.read_text("utf-8"))
    _, *spans = task["annotations"][0]["result"]
    assert spans == [
        {"from_name": "evidence", "to_name": "text", "type": "labels", "value": {**span, "labels": ["evidence"]}}
        for span in SPANS
    ]
    assert [task["data"]["text"][span["start"] : span["end"]] for span in SPANS] == [span["text"] for span in SPANS]
    assert read_label_file(path).relevance == [3]


def test_a_name_that_would_be_read_as_another_grade_or_as_none_gives_way_to_the_number(tmp_path: Path) -> None:
    scale = {0: "1", 1: "same", 2: "same", 3: " ", 4: "fine"}
    # "1" reads as the grade 1, "same" is of two grades, blanks are no grade.
    assert grade_names(scale) == {0: "0", 1: "1", 2: "2", 3: "3", 4: "fine"}
    rows = [LabelRow("q", f"d{grade}", "words", "text", grade) for grade in scale]
    for label_format in WRITTEN_FORMATS:
        path = tmp_path / file_name("labels", label_format)
        path.write_bytes(written(rows, label_format, scale))
        assert read_label_file(path, grades=scale).relevance == list(scale)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [LabelRow("1", "d", "same", "t", 1), LabelRow("2", "d", "same", "t", 1)],
            "query_id '1' and '2' share one text, and this format holds no query_id; use jsonl or tsv",
        ),
        (
            [LabelRow("1", "d", " \n", "t", 1)],
            "query_id '1' has no text, and this format holds no query_id; use jsonl or tsv",
        ),
    ],
)
def test_the_quati_layout_refuses_queries_that_their_texts_do_not_tell(rows: Any, message: str) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        written(rows, "quati")
    assert str(refused.value) == message


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(QuatiPoolError, match="no label format 'docano'; did you mean 'doccano'"):
        written([], "docano")


@pytest.mark.parametrize(
    ("name", "asked", "found"),
    [
        ("labels.tsv", None, "tsv"),
        ("labels.CSV", None, "csv"),
        ("labels.csv.gz", None, "csv"),
        ("labels.jsonl", None, "jsonl"),
        ("labels.ndjson.gz", None, "jsonl"),
        ("labels.json", None, "label-studio"),
        ("labels", None, "tsv"),
        ("labels.v2", None, "tsv"),
        ("labels.gz", None, "tsv"),
        ("labels.jsonl", "doccano", "doccano"),
        ("labels.tsv", "quati", "quati"),
        ("labels", "label-studio", "label-studio"),
        ("labels.txt.gz", "csv", "csv"),
    ],
)
def test_a_name_says_its_format(name: str, asked: str | None, found: str) -> None:
    assert format_of_name(Path(name), asked) == found


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("a.jsonl", "tsv", "a.jsonl: .jsonl is not the suffix of tsv; name the file .tsv, or leave out --as"),
        ("a.csv.gz", "quati", "a.csv.gz: .csv is not the suffix of quati; name the file .tsv, or leave out --as"),
        ("a.qrels", None, "a.qrels: labels are not written as .qrels; name the file .tsv, .csv, .jsonl or .json, "
         "or run quati-pool export qrels"),
        ("a.parquet", "tsv", "a.parquet: labels are not written as .parquet; "
         "name the file .tsv, .csv, .jsonl or .json"),
    ],
)  # fmt: skip
def test_a_name_of_another_format_is_refused(name: str, asked: str | None, message: str) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        format_of_name(Path(name), asked)
    assert str(refused.value) == message


DETAILS = {
    "aspects": {"text": 2, "relevance b": 0},
    "expected_grade": 1.75,
    "distribution": {"0": 0.25, "1": 0.0, "2": 0.5, "10": 0.25},
    "off_scale": 1e-05,
    "rationale": "a\tb",
    "thoughts": "hm",
    "reading": "2-abc",
}


def judged(doc_id: str, *answers: JudgesAnswer) -> LabelRow:
    return LabelRow("q", doc_id, "words", "text", answers[0].relevance, answers=answers)


@pytest.mark.parametrize("label_format", WRITTEN_FORMATS)
def test_what_came_with_a_judges_grade_is_never_read_as_the_grade(tmp_path: Path, label_format: str) -> None:
    rows = [
        judged("d1", JudgesAnswer(1, 2, DETAILS)),
        judged("d2", JudgesAnswer(1, 0, {})),
        judged("d3", JudgesAnswer(1, 1, DETAILS), JudgesAnswer(2, 3, {})),
    ]
    path = tmp_path / file_name("gpt", label_format)
    path.write_bytes(written(rows, label_format))
    assert detect_label_format(path) == READ_AS[label_format]
    file = read_label_file(path)
    assert file.relevance == [2, 0, 1]
    assert file.doc_id == ["d1", "d2", "d3"]


def test_a_table_has_a_column_for_each_number_that_is_there() -> None:
    rows = [judged("d1", JudgesAnswer(1, 2, DETAILS)), judged("d2", JudgesAnswer(1, 0, {"aspects": {"text": 1}}))]
    assert written(rows, "csv").decode().splitlines() == [
        "query_id,doc_id,relevance,status,aspect_relevance b,aspect_text,expected_grade,off_scale,"
        "probability_0,probability_1,probability_2,probability_10",
        "q,d1,2,ok,0,2,1.75,1e-05,0.25,0.0,0.5,0.25",
        "q,d2,0,ok,,1,,,,,,",
    ]
    several = [judged("d1", JudgesAnswer(1, 2, DETAILS), JudgesAnswer(2, 3, DETAILS)), LabelRow("q", "d2", "", "", 1)]
    assert written(several, "tsv").decode().splitlines() == [
        "query_id\tdoc_id\trelevance\tstatus\tsample_1\tsample_2",
        "q\td1\t2\tok\t2\t3",
        "q\td2\t1\tok\t\t",
    ]
    assert written([judged("d1", JudgesAnswer(1, 2, {"rationale": "x"}))], "tsv") == (
        b"query_id\tdoc_id\trelevance\tstatus\nq\td1\t2\tok\n"
    )


def test_json_lines_have_all_of_it_flat_for_one_answer_and_listed_for_several() -> None:
    one, several = (
        json.loads(line)
        for line in written(
            [
                judged("d1", JudgesAnswer(1, 2, DETAILS)),
                judged("d2", JudgesAnswer(1, 1, DETAILS), JudgesAnswer(2, 3, {"thoughts": "y"})),
            ],
            "jsonl",
        ).splitlines()
    )
    pair = {"query_id": "q", "query": "words", "text": "text", "status": "ok"}
    assert one == {**pair, "doc_id": "d1", "relevance": 2, **DETAILS}
    samples = [{"sample": 1, "relevance": 1, **DETAILS}, {"sample": 2, "relevance": 3, "thoughts": "y"}]
    assert several == {**pair, "doc_id": "d2", "relevance": 1, "samples": samples}
