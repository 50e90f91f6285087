"""What people said, as files; and what of it counts as still to be graded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.import_labels import import_labels
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.review.decisions import decide
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.export.labels import export_labels
from quati_pool.commands.export.qrels import export_qrels
from quati_pool.errors import QuatiPoolError
from quati_pool.files.label_files import read_label_file
from quati_pool.files.label_files.writing import WRITTEN_FORMATS, file_name
from quati_pool.files.qrels import read_qrels
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from quati_pool.text.sentences import Span
from tests.commands.annotate.people_at_work import answer, collection, item, pairs, token


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """ana graded one of six pairs, could not judge one, put one off and took one back; two wait."""
    made = collection(tmp_path / "workspace", pairs(1, 6))
    with AnnotationSession.open(made) as session:
        mine = token(session, "ana")
        assign(made, AssignOptions(everything=True, to=("ana",)))
        submit(session, mine, item(session, mine), answer(1, 3, note='good\t"one"\n<b>'))
        submit(session, mine, item(session, mine), answer(2, None, status="unsure", reason="other_language"))
        submit(session, mine, item(session, mine), answer(3, None, status="skipped"))
        submit(session, mine, item(session, mine), answer(4, 1))
        assert undo(session, mine)
    return made


def test_a_file_has_what_was_said_and_nothing_that_waits(config: Path, tmp_path: Path) -> None:
    made = export_labels(config, "ana", "jsonl", tmp_path / "ana.jsonl")
    assert (made.labels, made.graded, made.left_out) == (2, 1, 4)
    rows = [json.loads(line) for line in (tmp_path / "ana.jsonl").read_text("utf-8").splitlines()]
    graded, unsure = sorted(rows, key=lambda row: row["status"])
    assert (graded["relevance"], graded["note"], graded["seconds"]) == (3, 'good\t"one"\n<b>', 4.25)
    assert (unsure["relevance"], unsure["reason"]) == (None, "other_language")


@pytest.mark.parametrize("label_format", WRITTEN_FORMATS)
def test_every_format_is_read_back_packed_too(config: Path, tmp_path: Path, label_format: str) -> None:
    for suffix in ("", ".gz"):
        path = tmp_path / f"{file_name('ana', label_format)}{suffix}"
        export_labels(config, "ana", label_format, path)
        assert sorted(read_label_file(path).relevance, key=str) == [3, None]
    first = path.read_bytes()
    export_labels(config, "ana", label_format, path)
    assert path.read_bytes() == first


def test_without_a_name_it_goes_to_the_exports(config: Path) -> None:
    made = [export_labels(config, "ana", label_format).path for label_format in (None, "csv", "quati", "label-studio")]
    names = ["ana.tsv", "ana.csv", "ana.quati.tsv", "ana.label-studio.json"]
    assert made == [config.parent / "exports" / name for name in names]


def test_a_file_is_named_and_written_as_its_name_says(config: Path, tmp_path: Path) -> None:
    """What each holds by its first bytes; only these files are there afterwards, with their sidecars."""
    starts = {
        "labels.jsonl": b'{"query_id": ',
        "labels.csv": b"query_id,doc_id,relevance,status,reason,note,phase,design,stratum,inclusion\n",
        "labels.csv.gz": b"query_id,doc_id,relevance,status,reason,note,phase,design,stratum,inclusion\n",
        "labels.json": b"[\n{",
        "labels.tsv": b"query_id\tdoc_id\t",
        "labels": b"query_id\tdoc_id\t",
        "labels.v2": b"query_id\tdoc_id\t",
    }
    folder = tmp_path / "out"
    for name, start in starts.items():
        export_labels(config, "ana", path=folder / name)
        data = (folder / name).read_bytes()
        assert (gzip.decompress(data) if name.endswith(".gz") else data).startswith(start), name
        assert sorted(read_label_file(folder / name).relevance, key=str) == [3, None]
    assert {path.name.removesuffix(".meta.json") for path in folder.iterdir()} == set(starts)


def test_qrels_of_a_person_are_refused_while_a_pair_is_put_off_taken_back_or_not_asked(
    config: Path, tmp_path: Path
) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        export_qrels(config, "ana", tmp_path / "ana.qrels")
    message = str(refused.value)
    assert message.startswith("4 of 6 pairs have no grade by ana (")
    assert "1 skipped" in message
    assert "1 retracted" in message
    assert "2 never asked" in message
    assert "unsure" not in message
    made = export_qrels(config, "ana", tmp_path / "ana.qrels", allow_missing=True)
    assert made.coverage.pending == 4
    assert len(made.coverage.lacking) == 4
    assert read_qrels(tmp_path / "ana.qrels").relevance.tolist() == [3]


def test_what_cannot_be_judged_is_final_and_no_grade(tmp_path: Path) -> None:
    config = collection(tmp_path / "workspace", pairs(1, 2))
    with AnnotationSession.open(config) as session:
        mine = token(session, "ana")
        assign(config, AssignOptions(everything=True, to=("ana",)))
        submit(session, mine, item(session, mine), answer(1, 0))
        submit(session, mine, item(session, mine), answer(2, None, status="unsure", reason="broken_text"))
    made = export_qrels(config, "ana", tmp_path / "ana.qrels")
    assert made.coverage.pending == 0
    assert read_qrels(tmp_path / "ana.qrels").relevance.tolist() == [0]


def test_nobody_and_nothing_are_refused(config: Path, tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match="there is no labeler 'bia' in test"):
        export_labels(config, "bia", "tsv", tmp_path / "bia.tsv")
    with pytest.raises(QuatiPoolError, match="there is no label format 'xml'"):
        export_labels(config, "ana", "xml", tmp_path / "ana.xml")
    with pytest.raises(QuatiPoolError, match="is not the suffix of tsv"):
        export_labels(config, "ana", "tsv", tmp_path / "ana.jsonl")
    with pytest.raises(QuatiPoolError, match="is a folder; name a file with -o"):
        export_labels(config, "ana", "tsv", tmp_path)
    assert not list(tmp_path.glob("*.*"))


def test_somebody_who_only_put_pairs_off_has_nothing_to_export(tmp_path: Path) -> None:
    config = collection(tmp_path / "workspace", pairs(1, 2))
    with AnnotationSession.open(config) as session:
        mine = token(session, "ana")
        assign(config, AssignOptions(everything=True))
        submit(session, mine, item(session, mine), answer(1, None, status="skipped"))
    with pytest.raises(QuatiPoolError) as refused:
        export_labels(config, "ana", "tsv", tmp_path / "ana.tsv")
    assert str(refused.value) == "ana has graded no pair of the pool; run: quati-pool annotate"


def test_labels_have_evidence_and_how_their_pairs_were_drawn(tmp_path: Path) -> None:
    """ana and bia grade a random half of six pairs, ana the others too; a lead decides where they are tied."""
    config = collection(tmp_path / "workspace", pairs(2, 3), judges={"final": {"people": "majority"}})
    with AnnotationSession.open(config) as session:
        tokens = {name: token(session, name) for name in ("ana", "bia")}
        lia = token(session, "lia", "lead")
        assign(config, AssignOptions(random="3", to=("ana", "bia"), overlap=2))
        assign(config, AssignOptions(everything=True, to=("ana",)))
        graded: dict[str, list[tuple[str, str]]] = {"ana": [], "bia": []}
        for number, name in enumerate(["bia"] * 3 + ["ana"] * 6):
            given = item(session, tokens[name])
            graded[name].append((given.query_id, given.doc_id))
            evidence = [Span(8, 14), Span(0, 4)] if name == "ana" else []
            submit(session, tokens[name], given, answer(number, 1 + (name == "ana"), evidence=evidence))
        tie = graded["bia"][0]
        shown = session.pair(*tie)
        assert shown is not None
        decide(session, lia, *tie, label_sha(shown), 3, "see 2\tb", "nonce-of-the-lead")
        sample = {(one.query_id, one.doc_id) for one in session.designs.selections(1)}
    assert set(graded["bia"]) == sample
    assert len(set(graded["ana"])) == 6

    def rows(name: str) -> dict[tuple[str, str], dict[str, object]]:
        export_labels(config, name, "jsonl", tmp_path / f"{name}.jsonl")
        lines = (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()
        return {(row["query_id"], row["doc_id"]): row for row in map(json.loads, lines)}

    drawn = ("1-random", "all", 0.5)
    ana, bia, final, leads = (rows(name) for name in ("ana", "bia", "final", "adjudicated"))
    for pair, row in ana.items():
        # What she graded for the sample is of the sample, though the second design has it too.
        expected = drawn if pair in sample else ("2-all", "all", 1.0)
        assert (row["design"], row["inclusion"]) == (expected[0], expected[2]), pair
        text = row["text"]
        assert isinstance(text, str)
        assert row["evidence"] == [
            {"start": 0, "end": 4, "text": text[:4]}, {"start": 8, "end": 14, "text": text[8:14]},
        ]  # fmt: skip
    assert {(row["design"], row["stratum"], row["inclusion"]) for row in bia.values()} == {drawn}
    assert all("evidence" not in row for row in bia.values())
    assert {pair: row["design"] for pair, row in final.items()} == {pair: row["design"] for pair, row in ana.items()}
    assert {pair: (row["status"], row["relevance"]) for pair, row in final.items()} == {
        pair: ("ok", 2) if pair not in sample else ("ok", 3) if pair == tie else ("tied", None) for pair in ana
    }
    assert (final[tie]["note"], "evidence" in final[tie]) == ("see 2\tb", False)
    assert {row["phase"] for row in ana.values()} == {"blind"}
    assert {pair: row["phase"] for pair, row in final.items()} == dict.fromkeys(ana, "blind") | {tie: "final"}
    assert ("design" in leads[tie], leads[tie]["note"]) == (False, "see 2\tb")
    export_labels(config, "final", "tsv", tmp_path / "final.tsv")
    assert "\tsee 2\\tb\t" in (tmp_path / "final.tsv").read_text("utf-8")


def test_pairs_that_were_not_drawn_have_no_probability(tmp_path: Path) -> None:
    config = collection(tmp_path / "workspace", pairs(1, 2))
    file = tmp_path / "caio.tsv"
    file.write_text("query_id\tdoc_id\trelevance\nq0\td1\t2\n", encoding="utf-8")
    import_labels(config, LabelFiles({"caio": LabelFileConfig(path=str(file))}))
    export_labels(config, "caio", "tsv", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text("utf-8").splitlines() == [
        "query_id\tdoc_id\trelevance\tstatus\tphase\tdesign\tstratum",
        "q0\td1\t2\tok\tblind\t1-imported\timported",
    ]


def test_an_export_has_as_many_statements_for_many_labels_as_for_few(tmp_path: Path) -> None:
    def statements(docs: int) -> int:
        config = collection(tmp_path / str(docs), pairs(1, docs))
        with AnnotationSession.open(config) as session:
            mine = token(session, "ana")
            assign(config, AssignOptions(everything=True, to=("ana",)))
            for number in range(docs):
                submit(session, mine, item(session, mine), answer(number, 1))
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        event.listen(Engine, "before_cursor_execute", count)
        try:
            export_labels(config, "ana", "tsv", tmp_path / f"{docs}.tsv")
        finally:
            event.remove(Engine, "before_cursor_execute", count)
        return counted

    assert statements(3) == statements(30) > 0
