"""Accepted questions as a file of queries, new or beside those that are there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.export import ExportedQuestions, export_questions
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.files.queries import read_queries
from quati_pool.records import Query
from tests.commands.annotate.writers import accepted, nonce, proposed, seen, sign_in, workspace

FIRST, SECOND = "Quem cuida do farol?", '"Fermento" é o quê: <b>vida</b>?'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A workspace with two accepted questions, one that waits and one that was withdrawn."""
    made = workspace(tmp_path / "small")
    with AnnotationSession.open(made) as session:
        ana, bia = sign_in(session, "ana"), sign_in(session, "bia")
        for query, narrative in ((FIRST, "De hoje\ne de antes."), (SECOND, None)):
            accepted(session, bia, proposed(session, ana, query, narrative=narrative, doc_id="p01"))
        proposed(session, ana, "Ainda espera?")
        gone = proposed(session, ana, "Foi-se?")
        questions.withdraw(session, ana, gone, seen(session, gone), nonce())
    return made


def test_tsv_holds_the_accepted_questions_alone_as_our_own_reader_reads_them(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "queries.tsv"
    assert export_questions(path, out) == ExportedQuestions(out, 2, 2, 1)
    assert out.read_bytes() == f"q0001\t{FIRST}\nq0002\t{SECOND}\n".encode()
    assert read_queries(out) == [Query("q0001", FIRST), Query("q0002", SECOND)]


def test_jsonl_holds_all_that_is_known(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "queries.jsonl.gz"
    assert export_questions(path, out).narratives == 0
    rows = [json.loads(line) for line in gzip.decompress(out.read_bytes()).decode().splitlines()]
    place = {"theme": "geography", "scope": "local", "type": "fact", "source_doc_id": "p01"}
    assert rows == [
        {"query_id": "q0001", "query": FIRST, "narrative": "De hoje\ne de antes.", **place},
        {"query_id": "q0002", "query": SECOND, "narrative": None, **place},
    ]
    assert read_queries(out) == [Query("q0001", FIRST, "De hoje\ne de antes."), Query("q0002", SECOND)]


def test_a_file_with_other_queries_is_left_alone_unless_they_are_kept(path: Path) -> None:
    out = path.with_name("queries.tsv")
    before = out.read_bytes()
    with pytest.raises(QuatiPoolError, match="holds 6 queries that are not among the accepted questions, such as 'q1'"):
        export_questions(path, out)
    assert out.read_bytes() == before
    assert export_questions(path, out, merge=True) == ExportedQuestions(out, 8, 2, 1)
    assert out.read_bytes() == before + f"q0001\t{FIRST}\nq0002\t{SECOND}\n".encode()
    again = out.read_bytes()
    assert export_questions(path, out, merge=True) == ExportedQuestions(out, 8, 0, 0)
    assert out.read_bytes() == again


def test_an_export_of_before_is_brought_up_to_date(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "accepted.tsv"
    export_questions(path, out)
    with AnnotationSession.open(path) as session:
        bia = sign_in(session, "caio")
        waiting = next(one.question_id for one in session.questions.current() if one.last.action == "proposed")
        accepted(session, bia, waiting)
    assert export_questions(path, out) == ExportedQuestions(out, 3, 1, 0)
    assert [query.query_id for query in read_queries(out)] == ["q0001", "q0002", "q0003"]


def test_an_exported_question_is_no_duplicate_of_itself(path: Path) -> None:
    export_questions(path, path.with_name("queries.tsv"), merge=True)
    with AnnotationSession.open(path) as session:
        found = questions.similar(session, sign_in(session, "dora"), FIRST)
    assert [(one.query_id, one.author) for one in found if one.exact] == [("q0001", "ana")]


@pytest.mark.parametrize("merge", [False, True])
def test_another_text_under_one_of_the_ids_is_refused(path: Path, tmp_path: Path, merge: bool) -> None:
    out = tmp_path / "queries.tsv"
    out.write_text("q0001\tsomething else\n", encoding="utf-8")
    with pytest.raises(QuatiPoolError, match="another text under query_id 'q0001': 'something else'"):
        export_questions(path, out, merge=merge)
    assert out.read_text(encoding="utf-8") == "q0001\tsomething else\n"


@pytest.mark.parametrize(
    ("name", "there", "row"),
    [
        ("a.tsv", "q1\tone", f"q0001\t{FIRST}\n"),  # no line end at the end
        ("b.tsv", "query_id\ttheme\tquery\tsource\nq1\tx\tone\ty\n", f"q0001\tgeography\t{FIRST}\t\n"),
        ("c.tsv", "query\tnarrative\tquery_id\r\none\tx\tq1\r\n", f"{FIRST}\tDe hoje e de antes.\tq0001\n"),
        ("d.jsonl", '{"query_id": "q1", "query": "one"}', '{"query_id": "q0001", '),
    ],
)
def test_rows_are_appended_under_the_files_own_columns(
    path: Path, tmp_path: Path, name: str, there: str, row: str
) -> None:
    out = tmp_path / name
    out.write_bytes(there.encode())
    export_questions(path, out, merge=True)
    text = out.read_bytes().decode()
    assert text.startswith(there)
    assert text[len(there) :].lstrip("\n").startswith(row)
    assert [(query.query_id, query.query) for query in read_queries(out)] == [
        ("q1", "one"), ("q0001", FIRST), ("q0002", SECOND),
    ]  # fmt: skip


def test_the_collections_own_columns_are_kept_to(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("path: queries.tsv", "path: own.jsonl\n  query_id: id\n  query: title"), "utf-8")
    out = path.with_name("own.jsonl")
    out.write_text('{"id": "q1", "title": "one"}\n', encoding="utf-8")
    export_questions(path, out, merge=True)
    assert [query.query for query in read_queries(out, "id", "title")] == ["one", FIRST, SECOND]


@pytest.mark.parametrize(
    ("name", "message"),
    [("queries.csv", "must be .tsv or .jsonl"), ("queries", "must be .tsv or .jsonl"), ("folder", "is a folder")],
)
def test_other_formats_and_folders_are_refused(path: Path, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(QuatiPoolError, match=message):
        export_questions(path, tmp_path / name)


def test_without_an_accepted_question_nothing_is_written(tmp_path: Path) -> None:
    path = workspace(tmp_path / "small", read=False)
    with AnnotationSession.open(path):
        pass
    with pytest.raises(QuatiPoolError, match="no question is accepted yet"):
        export_questions(path, tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


def test_a_lead_downloads_the_same_bytes(path: Path, tmp_path: Path) -> None:
    with AnnotationSession.open(path) as session:
        token = sign_in(session, "lia", "lead")
        for form in ("tsv", "jsonl"):
            name, data = questions.questions_file(session, token, form)
            export_questions(path, tmp_path / name)
            assert (tmp_path / name).read_bytes() == data
