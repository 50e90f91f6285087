"""``quati-pool export`` as a user runs it: from a corpus with hard ids to what other people's loaders read."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from quati_pool.commands.build import build
from quati_pool.commands.judge.judge import judge
from quati_pool.files.artifacts import lock_path, locked, unfinished, write_file, write_folder
from quati_pool.project.events import Listener
from quati_pool.registry import EXPORTS
from quati_pool.release.manifest import verify
from tests.cli.conftest import Cli, Done
from tests.commands.killing import Driver, driving
from tests.commands.small_collection import ROOT, environment
from tests.patience import PATIENCE
from tests.plugin_package import write_dist_info
from tests.release.small_release import HARD_IDS, by_query, contents
from tests.release.test_beir import loaded as loaded_by_beir
from tests.release.test_hf import grades_of
from tests.release.test_hf import loaded as loaded_by_datasets

QUERIES = ['"', '"d"', "a,b", "é", "e\u0301", "007", "7", '",é' * 66 + "xy"]
"""The last has 200 characters."""
TEXTS = {
    doc_id: f'The {n}th ferry leaves, "says" the harbour\'s keeper: é {"tide " * (n % 5)}'
    for n, doc_id in enumerate(HARD_IDS)
}
FORMATS = ["beir", "hf", "doccano", "bundle"]
SETTINGS: dict[str, Any] = {
    "name": "hard",
    "corpus": {"path": "corpus.jsonl"},
    "queries": {"path": "queries.jsonl"},
    "systems": {
        "bm25s": {"retriever": "bm25s", "language": "en"},
        "words": {"retriever": "bm25s", "language": "en", "stemming": False},
    },
    "pool": {"depth": 100},
    "judges": {"lexical": {"judge": "lexical", "language": "en"}, "gold": {"judge": "replay", "path": "gold.qrels"}},
    "release": {"title": "Hard ids", "license": "cc-by-4.0", "languages": ["en"]},
}
GRADES = {(query, doc): (i + j) % 4 for i, query in enumerate(QUERIES) for j, doc in enumerate(HARD_IDS)}
"""Those of gold: of all pairs, and so of all that are pooled."""


def configure(folder: Path, **changes: Any) -> None:
    text = yaml.safe_dump({**SETTINGS, **changes}, allow_unicode=True, sort_keys=False)
    (folder / "pool.yaml").write_text(text, encoding="utf-8")


def write_gold(folder: Path, grades: dict[tuple[str, str], int]) -> None:
    rows = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()]
    (folder / "gold.qrels").write_text("".join(rows), encoding="utf-8")


class Sketch:
    """A stand-in for the figure of a build."""

    def render_all(self) -> dict[str, bytes]:
        return {"svg": b"a sketch", "png": b"a sketch"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of hard ids, built by bm25s and judged by lexical and gold."""
    folder = tmp_path_factory.mktemp("finished")
    rows = [json.dumps({"doc_id": doc, "text": text}, ensure_ascii=False) + "\n" for doc, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("".join(rows), encoding="utf-8")
    asked = [{"query_id": query, "query": f"ferry tide {n}th"} for n, query in enumerate(QUERIES)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), encoding="utf-8")
    write_gold(folder, GRADES)
    configure(folder)
    with mock.patch("quati_pool.reporting.figures.build.heat_map", return_value=Sketch()):
        build(folder / "pool.yaml", Listener())
    for name in ("lexical", "gold"):
        judge(folder / "pool.yaml", name, Listener())
    return folder


@pytest.fixture
def workspace(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of it."""
    folder = Path(shutil.copytree(finished, tmp_path / "workspace"))
    monkeypatch.chdir(folder)
    return folder


Export = Callable[..., Done]


@pytest.fixture
def export(cli: Cli) -> Export:
    """Runs ``export`` with some arguments, which must be done."""

    def run(*arguments: object) -> Done:
        done = cli("export", *arguments)
        assert (done.status, done.out) == (0, ""), done.err
        return done

    return run


LABELERS = ("--labeler", "lexical", "--labeler", "gold")
"""Two programs, of which none is the main labeler unless it is named first."""


def refused(done: Done) -> str:
    """The one line that a refusal is, after what was made or reused on the way."""
    assert (done.status, done.out) == (1, ""), done
    *before, last = done.err.splitlines()
    assert all(line.endswith(": reused") for line in before), done.err
    assert last.startswith("quati-pool: ")
    return last.removeprefix("quati-pool: ")


def said(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if not line.endswith(": reused")]


def pooled(folder: Path) -> list[tuple[str, str]]:
    with gzip.open(folder / "pool.jsonl.gz", "rt", encoding="utf-8") as file:
        return [(pair["query_id"], pair["doc_id"]) for pair in map(json.loads, file)]


# ---- what is written, read by others


def test_the_chain_pools_hard_ids(workspace: Path) -> None:
    pairs = pooled(workspace)
    assert {query for query, _ in pairs} == set(QUERIES)
    assert {doc for _, doc in pairs} == set(HARD_IDS)
    assert max(map(len, QUERIES)) == max(map(len, HARD_IDS)) == 200


@pytest.mark.neural
def test_beirs_loader_reads_the_export(workspace: Path, export: Export) -> None:
    assert said(export("beir", "--labeler", "gold", "--labeler", "lexical"))[-1].startswith(
        f"wrote exports/beir: {len(HARD_IDS)} passages, {len(QUERIES)} queries, "
    )
    corpus, queries, qrels = loaded_by_beir(workspace / "exports" / "beir")
    assert corpus == {doc_id: {"text": text, "title": ""} for doc_id, text in TEXTS.items()}
    assert queries == {query: f"ferry tide {n}th" for n, query in enumerate(QUERIES)}
    # The first labeler's grades are the split test.
    assert qrels == by_query({pair: GRADES[pair] for pair in pooled(workspace)})
    assert qrels != loaded_by_beir(workspace / "exports" / "beir", "lexical")[2]


def test_datasets_reads_the_export(workspace: Path, export: Export) -> None:
    export("hf", *LABELERS)
    folder = workspace / "exports" / "hf"
    grades = grades_of(loaded_by_datasets(folder, "qrels-gold", "test"))
    assert grades == {pair: GRADES[pair] for pair in pooled(workspace)}
    corpus = loaded_by_datasets(folder, "corpus", "corpus")
    assert {row["doc_id"]: row["text"] for row in corpus} == TEXTS
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("---\npretty_name: Hard ids\n")


def test_doccano_gets_every_pair_once(workspace: Path, export: Export) -> None:
    export("doccano", "--set", "labeler=gold")
    lines = (workspace / "exports" / "doccano" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["query_id"], row["doc_id"]): row for row in map(json.loads, lines)}
    assert list(rows) == pooled(workspace)
    names = ["Irrelevant", "Relevant", "Highly relevant", "Perfectly relevant"]
    assert all(row["label"] == [names[GRADES[pair]]] for pair, row in rows.items())


def test_the_bundle_holds_everything_and_nothing_private(workspace: Path, export: Export) -> None:
    export("bundle", *LABELERS)
    folder = workspace / "exports" / "bundle"
    names = set(contents(folder))
    assert {"corpus.jsonl.gz", "pool.jsonl.gz", "queries.jsonl", "pool.yaml", "README.md", "MANIFEST.json"} < names
    for stem in ("runs/bm25s.trec.gz", "runs/words.trec.gz", "qrels/gold.qrels", "qrels/lexical.qrels",
                 "labels/gold.parquet", "judges/lexical.json"):  # fmt: skip
        assert stem in names
    rows = [line.split(" ") for line in (folder / "qrels" / "gold.qrels").read_text(encoding="utf-8").splitlines()]
    assert {(query, doc): int(grade) for query, _, doc, grade in rows} == {p: GRADES[p] for p in pooled(workspace)}


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_verifies_and_a_second_is_up_to_date(workspace: Path, export: Export, name: str) -> None:
    first = said(export(name, *LABELERS))
    folder = workspace / "exports" / name
    assert first[-1].startswith(f"wrote exports/{name}: ")
    assert verify(folder) == []
    meta = json.loads((folder.parent / f"{name}.meta.json").read_bytes())
    assert meta["key"]["format"] == f"export/{name}@{2 if name in ('hf', 'bundle') else 1}"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert said(export(name, *LABELERS)) == [f"exports/{name} is up to date"]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    export(name, *LABELERS, "-o", "other")
    assert contents(workspace / "other") == contents(folder)


# ---- whose grades


def test_those_that_are_named_in_their_order(workspace: Path, cli: Cli, export: Export) -> None:
    def splits(*arguments: object) -> list[str]:
        export("beir", *arguments)
        manifest = json.loads((workspace / "exports" / "beir" / "MANIFEST.json").read_bytes())
        return list(manifest["counts"]["splits"].items())

    for arguments in (("beir",), ("hf",), ("bundle",), ("qrels",)):
        assert refused(cli("export", *arguments)) == (
            "gold or lexical could equally be the main labeler; name one with --labeler"
        )
    assert not (workspace / "exports").exists()
    assert splits(*LABELERS) == [("test", "lexical"), ("gold", "gold")]
    assert splits("--labeler", "gold") == [("test", "gold")]
    assert splits("--labeler", "gold", "--labeler", "lexical") == [("test", "gold"), ("lexical", "lexical")]


@pytest.mark.neural
def test_refused_while_pairs_are_pending(workspace: Path, cli: Cli, export: Export) -> None:
    three = {"judges": {**SETTINGS["judges"], "late": {"judge": "replay", "path": "late.qrels"}}}
    configure(workspace, **three)
    pairs = pooled(workspace)
    (workspace / "late.qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, d in pairs[2:]), encoding="utf-8")
    assert cli("judge", "late", "--limit", 5).status == 0
    lacking = len(pairs) - 3
    named = (*LABELERS, "--labeler", "late")
    for name in FORMATS:
        done = refused(cli("export", name, *named))
        assert done.startswith(
            f"{lacking} of {len(pairs)} pairs have no grade by late (2 failed, {len(pairs) - 5} never"
        )
        assert done.endswith("run: quati-pool judge late, or leave them out, unjudged, with --allow-missing")
    assert not (workspace / "exports").exists()
    # Of others nothing is missing.
    export("beir", "--labeler", "gold")
    done = export("beir", *named, "--allow-missing", "-o", "partial")
    without = f"{lacking} of {len(pairs)} pairs without a grade are left out"
    assert f"late: {without} (2 failed, {len(pairs) - 5} never asked)" in said(done)
    assert len(loaded_by_beir(workspace / "partial", "late")[2][pairs[2][0]]) == 3
    late = json.loads((workspace / "partial" / "MANIFEST.json").read_bytes())["labelers"][-1]
    assert late["left_out"] == {"failed": 2, "never asked": len(pairs) - 5}


def outside(folder: Path, **changes: Any) -> list[tuple[str, str]]:
    """Adds a passage that no system finds, and the label file ana: of all pairs of the pool and two of that
    passage, which it names last to first."""
    text = (folder / "corpus.jsonl").read_text(encoding="utf-8")
    (folder / "corpus.jsonl").write_text(text + '{"doc_id": "far", "text": "quite another thing"}\n', encoding="utf-8")
    configure(folder, labels={"files": {"ana": {"path": "ana.qrels"}}}, **changes)
    build(folder / "pool.yaml", Listener())
    more = sorted((query, "far") for query in QUERIES[:2])
    pairs = pooled(folder)
    assert not set(more) & set(pairs)
    rows = "".join(f"{query} 0 {doc} 2\n" for query, doc in [*reversed(more), *reversed(pairs)])
    (folder / "ana.qrels").write_text(rows, encoding="utf-8")
    return more


@pytest.mark.neural
def test_every_grade_of_a_label_file_is_released_those_of_the_pool_first(workspace: Path, export: Export) -> None:
    more = outside(workspace)
    pairs = [*pooled(workspace), *more]
    told = f"of {len(pairs)} grades 2 are of pairs outside the pool"
    ana = ("--labeler", "ana")
    assert f"ana: {told}" in said(export("beir", *ana))
    qrels = loaded_by_beir(workspace / "exports" / "beir")[2]
    assert qrels == by_query(dict.fromkeys(pairs, 2))
    assert export("qrels", *ana).err == f"wrote qrels/ana.qrels: {len(pairs)} pairs; {told}\n"
    rows = (workspace / "qrels" / "ana.qrels").read_text(encoding="utf-8").splitlines()
    assert [(row.split(" ")[0], row.split(" ")[2]) for row in rows] == pairs
    export("hf", *ana)
    assert list(grades_of(loaded_by_datasets(workspace / "exports" / "hf", "qrels-ana", "test"))) == pairs
    for which in ("full", "pooled", "none"):
        folder = workspace / which
        export("bundle", *ana, "--set", f"corpus={which}", "-o", folder)
        assert (folder / "qrels" / "ana.qrels").read_text(encoding="utf-8").splitlines() == rows
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert f"Of the {len(pairs)} grades by ana, 2 are of pairs outside the pool." in card
        assert "Kind: label file." in card
        assert "Every pair of the pool has a grade by every labeler." in card
    manifest = json.loads((workspace / "pooled" / "MANIFEST.json").read_bytes())
    assert [(one["kind"], one["pairs"], one["outside_pool"], one["left_out"]) for one in manifest["labelers"]] == [
        ("file", len(pairs), 2, {})
    ]
    with gzip.open(workspace / "pooled" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        passages = [json.loads(line)["doc_id"] for line in file]
    assert passages == [*dict.fromkeys(doc for _, doc in pooled(workspace)), "far"]


def test_doccano_gets_the_pools_pairs_alone_and_the_others_are_counted(workspace: Path, export: Export) -> None:
    outside(workspace)
    last = said(export("doccano", "--labeler", "ana", "--set", "labeler=ana"))[-1]
    pairs = pooled(workspace)
    counts = f"{len(pairs)} pairs, {len(pairs)} graded, 4 labels, 2 grades outside the pool left out, "
    assert last.startswith(f"wrote exports/doccano: {counts}")
    lines = (workspace / "exports" / "doccano" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert [(row["query_id"], row["doc_id"]) for row in map(json.loads, lines)] == pairs


def test_a_pair_of_the_pool_that_a_label_file_lacks_is_refused(workspace: Path, cli: Cli) -> None:
    outside(workspace)
    lacking = pooled(workspace)[0]
    kept = [f"{query} 0 {doc} 1\n" for query, doc in [*pooled(workspace)[1:], (QUERIES[0], "far")]]
    (workspace / "ana.qrels").write_text("".join(kept), encoding="utf-8")
    for arguments in (("qrels", "--labeler", "ana"), ("beir", "--labeler", "ana")):
        assert refused(cli("export", *arguments)) == (
            f"1 of {len(pooled(workspace))} pairs have no grade by ana (1 never asked): "
            f"{lacking[0]} {lacking[1]} (never asked); leave them out, unjudged, with --allow-missing"
        )
    done = cli("export", "bundle", "--labeler", "ana", "--allow-missing")
    assert done.status == 0
    card = (workspace / "exports" / "bundle" / "README.md").read_text(encoding="utf-8")
    assert "Every pair of the pool" not in card
    assert "| ana | 1 |" in card


@pytest.mark.parametrize(
    ("row", "of_qrels", "of_folders"),
    [
        (
            "nobodys 0 far 2\n",
            "ana grades query_id 'nobodys', which is not among the queries; add it to the queries' file, or drop its "
            "grades",
            "labeler 'ana' grades query_id 'nobodys', which is not among the queries; add it to the queries' file, or "
            "drop its grades",
        ),
        (
            f"{QUERIES[0]} 0 elsewhere 2\n",
            None,
            "labeler 'ana' grades doc_id 'elsewhere', which the corpus does not hold (1 such documents); name the "
            "corpus that was graded in pool.yaml, or drop these grades",
        ),
    ],
)
def test_a_strange_pair_outside_the_pool_is_refused(
    workspace: Path, cli: Cli, row: str, of_qrels: str | None, of_folders: str
) -> None:
    outside(workspace)
    with (workspace / "ana.qrels").open("a", encoding="utf-8") as file:
        file.write(row)
    if of_qrels is not None:
        assert refused(cli("export", "qrels", "--labeler", "ana")) == of_qrels
    assert refused(cli("export", "beir", "--labeler", "ana")) == of_folders
    assert refused(cli("export", "bundle", "--labeler", "ana", "--set", "corpus=pooled")) == of_folders


def test_the_samples_published_qrels_give_the_figures_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli, export: Export
) -> None:
    """Most of the sample's own grades are of pairs that no system pooled."""
    shutil.copytree(ROOT / "data" / "sample", tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    with mock.patch("quati_pool.reporting.figures.build.heat_map", return_value=Sketch()):
        build(Path("pool.yaml"), Listener())
    assert any("are of pairs outside the pool" in line for line in said(export("bundle", "-o", "bun")))

    def figures(*arguments: object) -> dict[str, Any]:
        done = cli("evaluate", *arguments, "--draws", 0, "-o", "tables", "--format", "json")
        assert done.status == 0, done.err
        (condition,) = json.loads(done.out)["qrels"]
        return {run["run_tag"]: run["measures"] for run in condition["runs"]}

    ours = figures("sample-gold")
    theirs = figures("--run", "bun/runs", "--qrels", "g=bun/qrels/sample-gold.qrels")
    assert len(ours) == 6
    assert all("nDCG@10" in measures for measures in ours.values())
    assert theirs == ours


@pytest.mark.neural
def test_a_changed_label_makes_the_export_again(workspace: Path, cli: Cli, export: Export) -> None:
    export("beir", "--labeler", "gold")
    pair = pooled(workspace)[0]
    write_gold(workspace, {**GRADES, pair: (GRADES[pair] + 1) % 4})
    assert cli("judge", "gold").status == 0
    assert said(export("beir", "--labeler", "gold"))[-1].startswith("wrote exports/beir: ")
    assert loaded_by_beir(workspace / "exports" / "beir")[2][pair[0]][pair[1]] == (GRADES[pair] + 1) % 4


# ---- bad input

REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "an unknown parameter": (
        ("beir", "--set", "splt=dev"),
        "export beir --set splt: there is no such parameter; did you mean 'split'?",
    ),
    "a number for a text": (
        ("beir", "--set", "split=7"),
        "export beir --set split: expected text, not 7 (put it in quotes)",
    ),
    "a text for a number": (
        ("hf", "--set", "shard_bytes=many"),
        "export hf --set shard_bytes: expected a whole number, not 'many'",
    ),
    "another choice": (
        ("bundle", "--set", "corpus=some"),
        "export bundle --set corpus: expected 'full', 'pooled' or 'none', not 'some'",
    ),
    "a labeler that is not released": (
        ("doccano", "--set", "labeler=golf"),
        "there is no labeler 'golf' in this release; did you mean 'gold'?",
    ),
    "an unknown labeler": (
        ("beir", "--labeler", "golf"),
        "there is no labeler 'golf' in hard; did you mean 'gold'?",
    ),
    "a labeler twice": (
        ("beir", "--labeler", "gold", "--labeler", "gold"),
        "hard: labeler 'gold' occurs 2 times; name it once",
    ),
    "a file to write to": (("beir", "-o", "gold.qrels"), "gold.qrels is a file; name a folder with -o"),
    "the current folder": (("beir", "-o", "."), ". cannot be replaced; name a separate folder with -o"),
    "the folder above": (("beir", "-o", ".."), ".. cannot be replaced; name a separate folder with -o"),
    "a folder of others": (
        ("beir", "-o", "theirs"),
        "theirs is not empty and was not written by export; name another folder with -o",
    ),
    "a folder with another manifest": (
        ("beir", "--labeler", "gold", "-o", "listed"),
        "listed was not written by export; name another folder with -o",
    ),
    "what build made": (
        ("beir", "-o", "runs"),
        "runs is not empty and was not written by export; name another folder with -o",
    ),
    "a folder for a file": (("qrels", "--labeler", "gold", "-o", "runs"), "runs is a folder; name a file with -o"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_a_fault_is_one_line_and_changes_nothing(workspace: Path, cli: Cli, fault: str) -> None:
    (workspace / "theirs").mkdir()
    (workspace / "theirs" / "notes.txt").write_text("mine", encoding="utf-8")
    (workspace / "listed").mkdir()
    (workspace / "listed" / "MANIFEST.json").write_text("[]", encoding="utf-8")
    made = {path for path in workspace.rglob("*") if path.is_file() and "cache" not in path.parts}
    before = {path: path.read_bytes() for path in made if "labels.db" not in path.name}
    arguments, expected = REFUSED[fault]
    assert refused(cli("export", *arguments)) == expected
    after = {path for path in workspace.rglob("*") if path.is_file() and "cache" not in path.parts}
    assert after == made
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("made", ["cache/corpus/*", "cache/indexes/*"])
def test_no_artifact_of_another_kind_is_replaced(workspace: Path, cli: Cli, made: str) -> None:
    folder = next(path for path in workspace.glob(made) if path.is_dir())
    before = contents(folder)
    assert "was not written by export" in refused(cli("export", "beir", "-o", folder))
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("beir", "--set", "split"), "'split' holds no '='"),
        (("beir", "--set", "split=a", "--set", "split=b"), "split is set twice; set it once"),
        (("bier",), "No such command 'bier'."),
    ],
)
def test_bad_usage_exits_with_2(workspace: Path, cli: Cli, arguments: tuple[str, ...], expected: str) -> None:
    done = cli("export", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1].endswith(expected)


def test_nobody_graded_anything(tiny: Path, cli: Cli) -> None:
    assert cli("build").status == 0
    assert "nobody has graded anything yet" in refused(cli("export", "beir"))
    # To be graded by people.
    assert cli("export", "doccano").status == 0


@pytest.mark.parametrize("arguments", [("bundle", *LABELERS), ("hf", *LABELERS), ("qrels", "--labeler", "gold")])
def test_a_write_that_fails_is_one_line_that_names_what_could_not_be_written(
    workspace: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """As on a full disk: what Python and Arrow raise then names no file."""

    def limited(write: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
            try:
                return write(*arguments)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        return run

    monkeypatch.setattr("quati_pool.commands.export.qrels.write_file", limited(write_file))
    monkeypatch.setattr("quati_pool.commands.export.collection.write_folder", limited(write_folder))
    done = refused(cli("export", *arguments, "-o", "out"))
    assert "out: File too large" in done
    assert not (workspace / "out").exists()
    assert not list(workspace.glob(".partial-*"))


# ---- onto what is there


def test_a_former_export_is_replaced(workspace: Path, export: Export) -> None:
    export("bundle", *LABELERS, "-o", "out")
    assert said(export("beir", *LABELERS, "--set", "split=dev", "-o", "out"))[-1].startswith("wrote out: ")
    assert set(contents(workspace / "out")) == {
        "MANIFEST.json", "corpus.jsonl", "queries.jsonl", "qrels/dev.tsv", "qrels/gold.tsv",
    }  # fmt: skip
    # An empty folder is nobody's; and what was taken out of an export is made again.
    (workspace / "empty").mkdir()
    export("beir", *LABELERS, "--set", "split=dev", "-o", "empty")
    (workspace / "out" / "qrels" / "dev.tsv").unlink()
    export("beir", *LABELERS, "--set", "split=dev", "-o", "out")
    assert contents(workspace / "out") == contents(workspace / "empty")


@pytest.mark.parametrize("change", ["a file added", "a file changed", "under Git"])
def test_an_export_that_somebody_worked_on_is_not_replaced(
    workspace: Path, cli: Cli, export: Export, change: str
) -> None:
    export("hf", *LABELERS, "-o", "out")
    folder = workspace / "out"
    if change == "a file added":
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        name = "notes.txt"
    elif change == "a file changed":
        name = "README.md"
        (folder / name).write_text("a better card", encoding="utf-8")
    else:
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        name = ".git"
    before = contents(folder)
    done = refused(cli("export", "hf", "--labeler", "gold", "-o", "out"))
    assert done.startswith(f"out would be replaced, and was changed since ({name}: ")
    assert done.endswith("; move it away, or name another folder with -o")
    assert contents(folder) == before


# ---- two at once


def test_no_command_leaves_a_lock_where_people_look(workspace: Path, tmp_path: Path, cli: Cli) -> None:
    """Not next to outputs of the workspace or of anywhere else, nor next to the database; ``cache`` is the tool's."""
    for arguments in (
        ("build",), ("judge", "gold"), ("export", "qrels", "--labeler", "gold"),
        ("export", "labels", "--labeler", "gold"), ("export", "beir", *LABELERS, "-o", tmp_path / "elsewhere"),
        ("agree", "--draws", "0"), ("evaluate", "gold", "--draws", "0"),
    ):  # fmt: skip
        done = cli(*arguments)
        assert done.status == 0, (arguments, done.err)
    made = [path for folder in (workspace, tmp_path) for path in folder.rglob("*")]
    assert any(path.name == "elsewhere" for path in made)
    left = [
        path for path in made
        if path.suffix in (".lock", ".holder") or path.name.endswith("-locks")
        if "cache" not in path.relative_to(tmp_path).parts
    ]  # fmt: skip
    assert left == []


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "quati_pool", "export", *map(str, arguments), "-c", str(folder / "pool.yaml")]
    return subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("beir", *LABELERS), ("qrels", "--labeler", "gold")])
def test_whoever_writes_to_a_target_waits_for_the_one_who_does(
    workspace: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Whatever the format and the workspace, and whatever way the target is named."""
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    target = tmp_path / "real" / "out"
    with locked(lock_path(target), print):
        process = started(workspace, *arguments, "-o", tmp_path / "linked" / "out")
        assert process.stderr is not None
        line = ""
        while "waiting for process" not in line:
            line = process.stderr.readline()
            assert line, "it has ended without waiting"
        assert (
            line == f"{tmp_path / 'linked' / 'out'}: waiting for process {os.getpid()} on " + line.split(" on ", 1)[1]
        )
        assert sorted(path.name for path in target.parent.iterdir()) == [".out.holder", ".out.lock"]
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    assert target.exists()
    assert unfinished(target) is None


@pytest.mark.slow
def test_two_exports_into_one_folder_leave_one_of_them_whole(workspace: Path, tmp_path: Path) -> None:
    both = [started(workspace, name, *LABELERS, "-o", tmp_path / "out") for name in ("bundle", "beir")]
    for process in both:
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
    assert verify(tmp_path / "out") == []
    assert unfinished(tmp_path / "out") is None
    manifest = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())
    assert ("pool.yaml" in manifest["files"]) == (manifest["format"] == "bundle")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".partial-", ".old-"))]


# ---- plug-ins

PLUGIN = """
from typing import Annotated
from pydantic import Field
from quati_pool.release.base import Format, Parameters

class Settings(Parameters):
    separator: Annotated[str, Field(description="what stands between columns")] = ";"
    must: int

class Lines(Format):
    name = "lines"
    summary = "one line a grade"
    Parameters = Settings

    def fill(self, release, output):
        first = release.labelers[0]
        return {"lines": output.lines("lines.txt", (first.labeler for _ in range(self.parameters.must)))}

class Breaks(Format):
    name = "breaks"
    summary = "a format with a fault"
    Parameters = Parameters

    def fill(self, release, output):
        output.text("half.txt", "half")
        return {}[release.name]
"""
ENTRY_POINTS = (
    "[quati_pool.exports]\nlines = elsewhere_formats:Lines\nbreaks = elsewhere_formats:Breaks\n"
    "typo = elsewhere_formats:Linse\nbeir = elsewhere_formats:Breaks\n"
)


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with formats, one sound and two broken, and one that has the name of one of ours."""
    site = tmp_path / "site"
    write_dist_info(site, "elsewhere", "3.1", ENTRY_POINTS)
    (site / "elsewhere_formats.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(site)
    vars(EXPORTS).pop("_plugins", None)
    yield
    vars(EXPORTS).pop("_plugins", None)


def test_a_format_of_elsewhere_is_a_command_like_ours(workspace: Path, plugins: None, cli: Cli, export: Export) -> None:
    listed = cli("export", "--help").out
    assert "lines Write the collection as one line a grade." in " ".join(listed.split())
    assert listed.count("  beir ") == 1
    described = cli("export", "lines", "--help").out
    assert "--set separator=;: what stands between columns" in described
    assert "--set must=…\n" in described
    assert said(export("lines", "--labeler", "gold", "--set", "must=2")) == [
        "wrote exports/lines: 2 lines, 1 files, 10 bytes"
    ]
    assert (workspace / "exports" / "lines" / "lines.txt").read_text() == "gold\ngold\n"
    assert verify(workspace / "exports" / "lines") == []
    assert "must" in refused(cli("export", "lines", *LABELERS))


def test_a_broken_format_fails_alone_with_its_name(workspace: Path, plugins: None, cli: Cli, export: Export) -> None:
    listed = " ".join(cli("export", "--help").out.split())
    assert "typo Cannot be used: the export 'typo' of elsewhere 3.1 cannot" in listed
    assert refused(cli("export", "typo")) == (
        "the export 'typo' of elsewhere 3.1 cannot be loaded (AttributeError: module 'elsewhere_formats' has no "
        "attribute 'Linse'); fix or uninstall that package"
    )
    assert refused(cli("export", "breaks", *LABELERS)) == (
        "the format breaks failed (KeyError: 'hard'); fix or uninstall the package that provides it"
    )
    assert not (workspace / "exports" / "breaks").exists()
    assert not list(workspace.rglob(".partial-*"))
    export("beir", "--labeler", "gold")


# ---- interrupted


def export_by(driver: Driver, folder: Path, *arguments: str, **break_off: Any) -> dict[str, Any]:
    """An export that breaks off at a chosen writing event."""
    usual = ("export", "beir", "-c", folder / "pool.yaml", "-o", folder / "out", *LABELERS)
    return driver.run(folder, *usual, *arguments, **break_off)


@pytest.fixture
def driver() -> Iterator[Driver]:
    modules = ("quati_pool.commands.export.collection", "quati_pool.release.beir")
    with driving(*modules, "alembic.command", "sqlalchemy.dialects.sqlite") as started:
        yield started


@pytest.mark.kill
def test_killed_at_any_event_an_export_ends_as_an_unbroken_one(workspace: Path, driver: Driver) -> None:
    """Of a first export, and of one that replaces another."""
    for file in workspace.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    shutil.rmtree(workspace / "out", ignore_errors=True)
    # What an export remembers of its inputs is written once.
    assert export_by(driver, workspace)["status"] == 0
    for before in ((), ("--set", "split=dev")):

        def start(before: tuple[str, ...] = before) -> None:
            shutil.rmtree(workspace / "out", ignore_errors=True)
            (workspace / "out.meta.json").unlink(missing_ok=True)
            if before:
                assert export_by(driver, workspace, *before)["status"] == 0

        start()
        whole = export_by(driver, workspace)
        assert whole["status"] == 0, whole["stderr"]
        expected = contents(workspace / "out")
        assert "qrels/test.tsv" in expected
        events = whole["events"]
        assert any(event.startswith("rename out.meta.json") for event in events)
        # Every folder made, renaming and removal, and of the many files that are written one.
        own = [number for number, event in enumerate(events) if "out" in event]
        chosen = sorted({own[len(own) // 2], *(n for n in own if not events[n].startswith(("open", "sync")))})
        for number in chosen:
            start()
            broken = export_by(driver, workspace, at=number)
            assert broken["status"] == -9, (events[number], broken["stderr"])
            again = export_by(driver, workspace)
            assert again["status"] == 0, (events[number], again["stderr"])
            assert contents(workspace / "out") == expected
            left = [path.name for path in workspace.iterdir() if path.name.startswith((".partial-", ".old-"))]
            assert left == [], events[number]
        assert export_by(driver, workspace)["stderr"].endswith("out is up to date\n")
