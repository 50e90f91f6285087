"""The texts that people write from: how files are read, and when they enter the rounds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quati_pool.annotation.authoring.base import Source
from quati_pool.commands.annotate.authoring.sources import Opened, design_of, open_rounds, read_sources
from quati_pool.commands.annotate.preflight import check
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, InputError
from quati_pool.project.config import load_config
from quati_pool.store.authoring_records import Added
from tests.commands.annotate.authoring.rounds import TEXTS, give, opened, rounds, workspace, write_texts
from tests.commands.annotate.people_at_work import collection
from tests.commands.annotate.writers import sign_in
from tests.shared_data import shared

WANTED = [
    Source("A1", {"pt": TEXTS[0]["pt"], "en": TEXTS[0]["en"]}, {"corpus": "1"}),
    Source("A2", {"pt": TEXTS[1]["pt"], "en": TEXTS[1]["en"]}, {"corpus": "1"}),
    Source("B1", {"en": TEXTS[2]["en"]}, {"corpus": "2"}),
]


def read(folder: Path, path: str | list[str] = "texts.csv", **sources: Any) -> list[Source]:
    settings = {"path": path, "text": {"pt": "pt", "en": "en"}, "keep": ["corpus"], **sources}
    return list(read_sources(load_config(workspace(folder, sources=settings), writing=True)))


def fault(folder: Path, *args: Any, **sources: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, *args, **sources)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def test_every_format_gives_the_same_texts(tmp_path: Path) -> None:
    rows = [dict(row) for row in TEXTS]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    del rows[2]["pt"]  # as people leave it out in JSON
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    columns = list(TEXTS[0])
    tsv = ["\t".join(columns), *("\t".join(row[name] for name in columns) for row in TEXTS)]
    (tmp_path / "t.tsv").write_text("\n".join(tsv) + "\n", encoding="utf-8")
    table = {name: pa.array([row[name] or None for row in TEXTS]) for name in columns}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    for name in ("texts.csv", "t.jsonl", "t.jsonl.gz", "t.tsv", "t.parquet"):
        assert read(tmp_path, name) == WANTED, name


def test_several_files_and_one_column(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "7", "abstract": "One"}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"id": "007", "abstract": " <b>Two</b>\\u0001\\n"}\n', encoding="utf-8")
    # A text is as in the file, whatever it holds; 7 and 007 are two.
    assert read(tmp_path, "*.jsonl", id="id", text="abstract", keep=[]) == [
        Source("7", {"pt": "One"}, {}),
        Source("007", {"pt": " <b>Two</b>\x01\n"}, {}),
    ]


def test_faults_name_file_and_line(tmp_path: Path) -> None:
    def wrong(text: str, name: str = "t.csv", **sources: Any) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return fault(tmp_path, name, **sources)

    head = "doc_id,corpus,pt,en\n"
    assert wrong(head + "a,1,x,y\nb,1,,\n") == "t.csv:3: has no text in 'pt' or 'en'; add it, or leave the row out"
    assert wrong(head + "a,1,x,y\na,1,x,y\n") == (
        "t.csv:3: doc_id 'a' occurs again, first at t.csv:2; give each text its own id"
    )
    assert wrong(head) == "t.csv: holds no texts; expected at least one"
    assert wrong("doc_id,corpus,pt\na,1,x\n") == (
        "t.csv:1: no column 'en'; the columns are doc_id, corpus, pt: add it, or set en to the right one"
    )
    assert wrong(head + "a b,1,x,y\n").startswith("t.csv:2: doc_id 'a b'")
    assert wrong(head + "a,1,x\0,y\n").startswith("t.csv:2: ")
    assert wrong('{"doc_id": "a", "corpus": 1, "pt": "x"}\n', "t.jsonl") == (
        't.jsonl:1: corpus is the number 1; expected a string: write "1"'
    )
    assert wrong('{"doc_id": "a", "corpus": "1", "pt": "x", "en": "\\u0000"}\n', "t.jsonl") == (
        "t.jsonl:1: holds a null character, which databases cannot hold; remove it"
    )
    assert wrong('{"doc_id": "a", "pt": "x", "en": "y"}\n', "t.jsonl") == (
        "pool.yaml: authoring.sources: no row of t.jsonl has a value in 'corpus'; check the name"
    )
    assert wrong("<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n", "t.trec") == (
        "t.trec: is in a TREC format; expected texts as .jsonl, .tsv, .csv or .parquet"
    )
    assert fault(tmp_path, "none.csv") == "none.csv: there is no such file; check the path"
    assert fault(tmp_path, "*.none") == "*.none: no file matches; check the pattern"


def test_new_texts_are_added_and_old_ones_stay_as_people_saw_them(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:2])
    with AnnotationSession.open(path) as session:
        assert open_rounds(session) == Opened(Added(new=2, there=0, changed=0), Added(0, 0, 0))
        assert open_rounds(session) == Opened(Added(new=0, there=2, changed=0), Added(0, 0, 0))
        before = rounds(session).items()
        changed = {**TEXTS[0], "en": "Another text."}
        write_texts(tmp_path / "texts.csv", [changed, *TEXTS[1:]])
        assert open_rounds(session) == Opened(Added(new=1, there=1, changed=1), Added(0, 0, 0))
        assert rounds(session).items()[:2] == before
        # A text that is in the files no more stays, too.
        write_texts(tmp_path / "texts.csv", TEXTS[2:])
        assert open_rounds(session) == Opened(Added(new=0, there=1, changed=0), Added(0, 0, 0))
        assert len(rounds(session).items()) == 3


def test_nothing_is_added_of_faulty_files(tmp_path: Path) -> None:
    path = workspace(tmp_path, [*TEXTS, TEXTS[0]])
    with AnnotationSession.open(path) as session:
        with pytest.raises(InputError, match="occurs again"):
            open_rounds(session)
        assert rounds(session).items() == []


def test_the_app_opens_the_rounds_before_it_is_served(tmp_path: Path) -> None:
    path = workspace(tmp_path, TEXTS[:2], edited=0.0)
    nobody = "nobody has an access code yet; run: quati-pool annotate --lead NAME"
    assert check(path, "localhost") == [nobody, "2 texts added to the rounds of writing"]
    with AnnotationSession.open(path) as session:
        ana = sign_in(session, "ana")
        give(session, ana)
    write_texts(tmp_path / "texts.csv", [{**TEXTS[0], "en": "Another."}, TEXTS[1]])
    assert check(path, "localhost") == [
        "1 text of a file differs from what is in the rounds, in words or in sources.keep; what is there stays as it "
        "was: to have a text written from again, give it another id",
        "nobody here may take 1 task of the round assess",
    ]


def test_real_texts_of_pira(tmp_path: Path) -> None:
    with shared("pira/validation.csv").open(encoding="utf-8") as file:
        (tmp_path / "pira.csv").write_text(file.read(), encoding="utf-8")
    found = read(
        tmp_path,
        "pira.csv",
        id="id_qa",
        text={"en": "abstract", "pt": "abstract_translated_pt"},
        keep=["corpus", "eid_article_scopus"],
    )
    assert len(found) == 225
    assert {tuple(one.text) for one in found} == {("pt", "en")}
    assert sum(one.kept["corpus"] == "2" for one in found) == 55
    assert [one.kept["eid_article_scopus"] for one in found].count("") == 60


def test_a_collection_without_rounds_says_so(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with AnnotationSession.open(path) as session:
        assert (session.design, session.authoring) == (None, None)
        with pytest.raises(ConfigError, match=r"no questions are written in rounds here; add, such as  authoring:"):
            open_rounds(session)
    for call in (design_of, lambda config: next(read_sources(config))):
        with pytest.raises(ConfigError, match="no questions are written in rounds"):
            call(load_config(path))


def test_the_session_of_a_workspace_without_systems(tmp_path: Path) -> None:
    with opened(workspace(tmp_path)) as session:
        assert session.design is not None
        assert (session.design.languages, session.design.id) == (("pt", "en"), "authoring/pira")
        assert len(rounds(session).items("text")) == 3
