"""A run is added to a workspace: pool.yaml keeps every other byte, and nothing is half done."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
from pathlib import Path

import pandas as pd
import pytest

import quati_pool as qp
from tests.commands.small_collection import read_pool, read_trec, run_cli, sketch


@pytest.fixture(autouse=True)
def _sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.reporting.figures.build.heat_map", sketch)


@pytest.fixture
def c(workspace: Path) -> qp.Collection:
    # A layout of the user's own: comments, a quoted key, no line end at the end.
    path = workspace / "pool.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# mine, do not touch\n{text.rstrip()}  # the end", encoding="utf-8")
    return qp.open(workspace, progress=False)


def test_every_other_byte_stays(c: qp.Collection) -> None:
    before = c.path.read_bytes()
    os.chmod(c.path, 0o640)
    path = c.add_run("mine", c.runs("bm25s"), family="lexical")
    line = b"  mine: {retriever: run, path: external/mine.trec.gz, family: lexical, pool: false}\n"
    after = c.path.read_bytes()
    assert line in after
    assert after.replace(line, b"") == before
    assert stat.S_IMODE(c.path.stat().st_mode) == 0o640
    assert path == c.folder / "external" / "mine.trec.gz"
    assert sorted(each.name for each in path.parent.iterdir()) == ["mine.trec.gz"]
    assert not [each.name for each in c.folder.iterdir() if each.name.startswith(".")]


@pytest.mark.slow
def test_the_run_is_a_system_like_others(c: qp.Collection) -> None:
    pairs = read_pool(c.folder)
    theirs = c.runs("bm25s")
    c.add_run("mine", theirs)
    pd.testing.assert_frame_equal(c.runs("mine").drop(columns="run_tag"), theirs.drop(columns="run_tag"))
    assert read_trec(c.folder / "runs" / "mine.trec.gz") == read_trec(c.folder / "runs" / "bm25s.trec.gz")
    ledger = read_pool(c.folder)
    # It does not feed the pool, but is in its ledger.
    assert [(pair["query_id"], pair["doc_id"]) for pair in ledger] == [
        (one["query_id"], one["doc_id"]) for one in pairs
    ]
    assert all(pair["runs"].get("mine") == pair["runs"].get("bm25s") for pair in ledger)
    (c.folder / "gold.qrels").write_text("q1 0 p00 1\n7 0 p03 2\n", encoding="utf-8")
    printed = run_cli("evaluate", "--qrels", c.folder / "gold.qrels", "-c", c.path, "--format", "json").stdout
    [gold] = json.loads(printed)["qrels"]
    of_tag = {run["run_tag"]: run["measures"] for run in gold["runs"]}
    assert of_tag["mine"] == of_tag["bm25s"]


def test_a_run_that_feeds_the_pool(c: qp.Collection) -> None:
    pooled = {(pair["query_id"], pair["doc_id"]) for pair in read_pool(c.folder)}
    run = {"q1": {"p58": 2.0, "p57": 1.0}, "007": {"p01": 1.0}}
    c.add_run("mine", run, pool=True)
    found = {(pair["query_id"], pair["doc_id"]) for pair in read_pool(c.folder)}
    assert found == pooled | {("q1", "p58"), ("q1", "p57"), ("007", "p01")}
    assert "pool: false" not in c.path.read_text(encoding="utf-8").rpartition("mine:")[2]


def test_the_same_run_again_changes_nothing(c: qp.Collection) -> None:
    run = c.runs("lsa")
    c.add_run("mine", run)
    files = {path: path.read_bytes() for path in c.folder.rglob("*") if path.is_file()}
    times = {path: path.stat().st_mtime_ns for path in files}
    c.add_run("mine", run.sample(frac=1, random_state=1))
    assert {path: path.read_bytes() for path in c.folder.rglob("*") if path.is_file()} == files
    assert {path: path.stat().st_mtime_ns for path in files} == times


def test_another_run_of_that_name(c: qp.Collection) -> None:
    c.add_run("mine", c.runs("lsa"))
    text = c.path.read_bytes()
    with pytest.raises(
        qp.QuatiPoolError, match="mine is in the workspace with other content; replace it with replace=True"
    ):
        c.add_run("mine", c.runs("words"))
    pd.testing.assert_frame_equal(c.runs("mine").drop(columns="run_tag"), c.runs("lsa").drop(columns="run_tag"))
    c.add_run("mine", c.runs("words"), replace=True)
    pd.testing.assert_frame_equal(c.runs("mine").drop(columns="run_tag"), c.runs("words").drop(columns="run_tag"))
    with pytest.raises(qp.QuatiPoolError, match="holds 'mine' with pool False; change that in the file"):
        c.add_run("mine", c.runs("words"), pool=True)
    with pytest.raises(qp.QuatiPoolError, match="holds another 'lsa' already; choose another name"):
        c.add_run("lsa", c.runs("words"), replace=True)
    assert c.path.read_bytes() == text


def test_nobody_elses_file_is_overwritten(c: qp.Collection) -> None:
    run = c.runs("bm25s")
    (c.folder / "external").mkdir()
    theirs = c.folder / "external" / "mine.trec.gz"
    theirs.write_bytes(gzip.compress(b"q1 Q0 p00 1 1.0 theirs\n"))
    before = theirs.read_bytes()
    with pytest.raises(qp.QuatiPoolError, match="mine is in the workspace with other content; replace it with"):
        c.add_run("mine", run)
    text = c.path.read_text(encoding="utf-8")
    entry = "systems:\n  others: {retriever: run, path: external/mine.trec.gz}\n"
    c.path.write_text(text.replace("systems:\n", entry), encoding="utf-8")
    for replace in (False, True):
        with pytest.raises(qp.QuatiPoolError, match=r"others reads external/mine\.trec\.gz already; choose"):
            c.add_run("mine", run, replace=replace)
    assert theirs.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "run", "problem"),
    [
        ("mine", {"other": {"p01": 1.0}}, "^run 'mine': none of its queries is in queries.tsv; check its query_ids"),
        ("mine", {"q1": {"p01": float("nan")}}, r"^run 'mine'\['q1'\]\['p01'\]: score nan is not finite"),
        ("../mine", {"q1": {"p01": 1.0}}, "expected a name of letters, digits"),
    ],
)
def test_a_faulty_run_changes_nothing(
    c: qp.Collection, name: str, run: dict[str, dict[str, float]], problem: str
) -> None:
    text = c.path.read_bytes()
    with pytest.raises(qp.QuatiPoolError, match=problem):
        c.add_run(name, run)
    assert c.path.read_bytes() == text
    assert not (c.folder / "external").exists()


def test_a_layout_that_cannot_be_extended(c: qp.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> str:
        raise ValueError

    # No layout is known that load_config accepts and with_entry refuses.
    monkeypatch.setattr("quati_pool.commands.add_run.with_entry", refuses)
    text = c.path.read_bytes()
    line = "mine: {retriever: run, path: external/mine.trec.gz, pool: false}"
    with pytest.raises(
        qp.QuatiPoolError, match=f"cannot be extended as it is written; .* add by hand under systems:  {line}"
    ):
        c.add_run("mine", c.runs("lsa"))
    assert c.path.read_bytes() == text
    # What the message says works.
    c.path.write_text(
        c.path.read_text(encoding="utf-8").replace("systems:\n", f"systems:\n  {line}\n"), encoding="utf-8"
    )
    c.add_run("mine", c.runs("lsa"))
    assert c.runs("mine")["doc_id"].tolist() == c.runs("lsa")["doc_id"].tolist()


@pytest.mark.parametrize("place", ["with_entry", "build"])
def test_a_process_that_ends_midway_is_continued(c: qp.Collection, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    run = c.runs("lsa")

    def ends(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(f"quati_pool.commands.add_run.{place}", ends)
        with pytest.raises(SystemExit):
            c.add_run("mine", run)
    # Valid in between, for any command.
    assert qp.open(c.folder, progress=False).runs("lsa").equals(run)
    c.add_run("mine", run)
    assert c.path.read_text(encoding="utf-8").count("mine: {") == 1
    pd.testing.assert_frame_equal(c.runs("mine").drop(columns="run_tag"), run.drop(columns="run_tag"))


def test_a_file_as_it_is(c: qp.Collection, tmp_path: Path) -> None:
    path = tmp_path / "theirs.trec.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 p01 1 0.1 theirs\nq1 Q0 p02 2 0.10000001 theirs\n"))
    c.add_run("theirs2", path)
    # Equal as float32: the higher doc_id comes first.
    assert c.runs("theirs2")["doc_id"].tolist() == ["p02", "p01"]


def test_a_link_stays_a_link(c: qp.Collection, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.yaml"
    shutil.move(c.path, real)
    c.path.symlink_to(real)
    c.add_run("mine", c.runs("lsa"))
    assert c.path.is_symlink()
    assert "mine: {" in real.read_text(encoding="utf-8")


def test_a_collection_of_several_corpora(c: qp.Collection) -> None:
    text = c.path.read_text(encoding="utf-8")
    text = text.replace(
        "corpus:\n  path: corpus.jsonl\n", "corpora:\n  all: {path: corpus.jsonl}\n  some: {path: some.jsonl}\n"
    )
    text = text.replace("retriever: bm25s\n", "retriever: bm25s\n    corpus: all\n").replace(
        "retriever: lsa\n", "retriever: lsa\n    corpus: all\n"
    )
    text = text.replace("retriever: run\n", "retriever: run\n    corpus: all\n")
    c.path.write_text(text, encoding="utf-8")
    (c.folder / "some.jsonl").write_text('{"doc_id": "s1", "text": "A comet passed the harbour."}\n', encoding="utf-8")
    run = {"q1": {"s1": 1.0}}
    with pytest.raises(qp.QuatiPoolError, match="several corpora; name the run's with corpus=, one of all, some"):
        c.add_run("mine", run)
    with pytest.raises(qp.QuatiPoolError, match="there is no corpus 'sme'; did you mean 'some'"):
        c.add_run("mine", run, corpus="sme")
    c.add_run("mine", run, corpus="some")
    assert "corpus: some" in c.path.read_text(encoding="utf-8")
    assert c.runs("mine")["doc_id"].tolist() == ["s1"]
