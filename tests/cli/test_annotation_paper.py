"""The paper's set-up, end to end by commands: assigned, imported, and then agreement as of the files themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.assessors import add
from quati_pool.commands.annotate.assigning.import_labels import import_labels
from quati_pool.files.label_files import read_label_file
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from tests.cli.conftest import Cli
from tests.commands.annotate import paper

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paper.make(tmp_path_factory.mktemp("paper") / "workspace").parent


@pytest.fixture
def workspace(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of it."""
    folder = Path(shutil.copytree(built, tmp_path / "workspace"))
    monkeypatch.chdir(folder)
    return folder


def test_agreement_in_the_store_is_that_of_the_files(workspace: Path, cli: Cli, tmp_path: Path) -> None:
    for name in paper.PEOPLE:
        assert cli("assessors", "add", name, "--role", "assessor").status == 0
    choice = ("--queries", "queries.tsv", "--system", paper.SYSTEM, "--depth", 10)
    done = cli("assign", *choice, "--overlap", 2, "--to", "ana,bia", "--format", "json")
    assert done.status == 0, done.err
    assigned = json.loads(done.out)
    assert (assigned["pairs"], assigned["added_slots"], len(assigned["strata"])) == (240, 480, 24)
    assert assigned["people"] == [{"name": "ana", "slots": 240}, {"name": "bia", "slots": 240}]

    files = [f"{name}={paper.annotations(name)}" for name in paper.PEOPLE]
    done = cli("import", *files, "--format", "json")
    assert done.status == 0, done.err
    imported = json.loads(done.out)["imported"]
    assert [(one["name"], one["written"], one["there"], one["design"]) for one in imported] == [
        ("ana", 240, 0, None), ("bia", 240, 0, None),
    ]  # fmt: skip
    # Every slot that was assigned is done, and none was made besides.
    done = cli("assign", *choice, "--overlap", 2, "--to", "ana,bia", "--format", "json")
    assert json.loads(done.out)["new"] is False
    done = cli("assessors", "list", "--format", "json")
    assert [(one["name"], one["labels"]) for one in json.loads(done.out)["people"]] == [("ana", 240), ("bia", 240)]

    def agreement(*arguments: object) -> dict[str, Any]:
        done = cli("agree", *arguments, "--draws", 200, "-o", tmp_path / "tables", "--format", "json")
        assert done.status == 0, done.err
        found: dict[str, Any] = json.loads(done.out)
        return found

    ours = agreement("ana", "bia")
    theirs = agreement(*(part for file in files for part in ("--labels", file)), "--queries", "queries.tsv")
    for key in ("labelers", "pairs", "overall"):
        assert ours[key] == theirs[key], key
    # The order of the queries, the pool's or that of their ids, and what they are called are no part of agreement.
    by_query = [{one["query_id"]: one["pairs"] for one in found["queries"]} for found in (ours, theirs)]
    assert by_query[0] == by_query[1]
    (pair,) = ours["pairs"]
    # Of the paper's two people: κ and Spearman as scikit-learn and SciPy compute them of the two files.
    assert (pair["n"], round(pair["kappa"], 4), round(pair["spearman"], 4)) == (240, 0.4369, 0.6931)
    assert len(ours["queries"]) == 24


def test_a_persons_qrels_and_labels_are_those_of_the_file(workspace: Path, cli: Cli, tmp_path: Path) -> None:
    """Imported without an assignment, they come out as they came in, in every format."""
    add(workspace / "pool.yaml", "bia", "assessor")
    given = LabelFiles({"bia": LabelFileConfig(path=str(paper.annotations("bia")))})
    (made,) = import_labels(workspace / "pool.yaml", given)
    assert (made.written, made.design_id, made.duplicates, made.differing) == (240, 1, 0, 0)
    source = read_label_file(paper.annotations("bia"))
    expected = sorted(zip(source.query or (), source.doc_id or (), source.relevance, strict=True))
    # One passage was graded under two queries.
    assert (len(set(source.doc_id or ())), len(expected)) == (239, 240)
    done = cli("export", "qrels", "--labeler", "bia", "-o", tmp_path / "bia.qrels")
    assert done.status == 0, done.err
    queries = dict(line.split("\t") for line in (workspace / "queries.tsv").read_text("utf-8").splitlines()[1:])
    read = [line.split(" ") for line in (tmp_path / "bia.qrels").read_text("utf-8").splitlines()]
    assert sorted((queries[query_id], doc_id, int(grade)) for query_id, _, doc_id, grade in read) == expected
    for label_format, suffix in (("quati", "tsv"), ("doccano", "jsonl"), ("label-studio", "json"), ("jsonl", "jsonl")):
        path = tmp_path / f"{label_format}.{suffix}"
        done = cli("export", "labels", "--labeler", "bia", "--as", label_format, "-o", path)
        assert (done.status, done.err) == (0, f"wrote {path}: 240 labels\n")
        again = read_label_file(path)
        assert sorted(zip(again.query or (), again.doc_id or (), again.relevance, strict=True)) == expected
