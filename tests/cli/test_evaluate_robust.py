"""``quati-pool evaluate --robust`` as a user runs it, on files alone and in a workspace."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.build import build
from quati_pool.project.events import Listener
from tests.cli.conftest import Cli

# The one relevant document of each query stands at these ranks: reciprocal ranks 1, 1/2, 1/4 and none.
RANKS = {"a": {"q1": 1, "q2": 4, "q3": 1, "q4": 1, "q5": 1}, "b": {"q1": 2, "q2": 2, "q3": 2, "q4": 2, "q5": 0}}
CLUSTERED = "query_id\tquery\tcluster_id\nq1\tone\tfar north\nq2\ttwo\tfar north\nq3\tthree\t7\nq4\tfour\t\n"
FILES = ("--run", "*.run", "--qrels", "gold=gold.qrels", "--measures", "RR, P@1")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a.run, b.run, gold.qrels and queries.tsv, which lacks q5 and leaves q4 in no cluster."""
    for run_tag, ranks in RANKS.items():
        rows = [
            f"{query_id} Q0 {'good' if rank == place else f'd{rank}'} {rank} {9 - rank} {run_tag}\n"
            for query_id, place in ranks.items()
            for rank in range(1, 6)
        ]
        (tmp_path / f"{run_tag}.run").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "gold.qrels").write_text("".join(f"q{n} 0 good 1\n" for n in range(1, 6)), encoding="utf-8")
    (tmp_path / "queries.tsv").write_text(CLUSTERED, encoding="utf-8")
    monkeypatch.setattr(
        "quati_pool.reporting.figures.plots.Drawing.render_all", lambda self: {"svg": b"-", "png": b"-"}
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(cli: Cli, *arguments: object) -> dict[str, Any]:
    done = cli("evaluate", *arguments, "--draws", 20, "--format", "json")
    assert done.status == 0, done.err
    data: dict[str, Any] = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return data


def refused(cli: Cli, *arguments: object) -> str:
    done = cli("evaluate", *arguments)
    assert (done.status, done.out) == (1, ""), done
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("quati-pool: ").rstrip("\n")


def test_the_json_has_the_worst_query_of_each_cluster(files: Path, cli: Cli) -> None:
    data = evaluated(cli, *FILES, "--queries", "queries.tsv", "--robust")
    robust = data["qrels"][0]["robust"]
    counts = ("clusters", "single_query_clusters", "queries", "queries_without_cluster", "queries_not_in_file")
    assert [robust[name] for name in counts] == [2, 1, 3, 2, 1]
    by_tag = {run["run_tag"]: run for run in robust["runs"]}
    # RR of a: far north 1 and 1/4, 7 has 1: minima 1/4 and 1, mean 5/8; over queries 2.25 / 3 = 3/4.
    found = by_tag["a"]["measures"]["RR"]
    assert [found[name]["value"] for name in ("mean", "minimum", "drop")] == pytest.approx([0.75, 0.625, 0.125])
    # Resamples of two clusters: one of them twice, or each once.
    assert (found["minimum"]["low"], found["minimum"]["high"]) == (0.25, 1.0)
    assert by_tag["a"]["measures"]["P@1"]["minimum"]["value"] == 0.5
    # far north alone has two queries: one cluster, and no interval.
    alone = by_tag["a"]["clusters_of_several"]["RR"]
    assert [alone[name]["value"] for name in ("mean", "minimum", "drop")] == pytest.approx([0.625, 0.25, 0.375])
    assert alone["minimum"]["low"] is None
    assert alone["minimum"]["undefined"] == {"low": "one cluster only", "high": "one cluster only"}
    # RR of b: 1/2 everywhere in the clusters.
    assert [by_tag["b"]["measures"]["RR"][name]["value"] for name in ("minimum", "drop")] == [0.5, 0.0]
    assert [(run["run_tag"], run["rank"], run["rank_by_mean"]) for run in robust["runs"]] == [("a", 1, 1), ("b", 2, 2)]
    assert robust["tau"] == {"RR": 1.0, "P@1": 1.0}
    assert "undefined" not in robust


def test_what_is_undefined_is_null_with_its_reason(files: Path, cli: Cli) -> None:
    (files / "queries.tsv").write_text("query_id\tquery\tcluster_id\nq1\tx\tx\nq3\tx\ty\n", encoding="utf-8")
    (files / "b.run").unlink()
    robust = evaluated(cli, *FILES, "--queries", "queries.tsv", "--robust")["qrels"][0]["robust"]
    assert robust["tau"] == {"RR": None, "P@1": None}
    assert robust["undefined"] == dict.fromkeys(("tau.RR", "tau.P@1"), "fewer than two systems")
    assert robust["runs"][0]["clusters_of_several"] is None
    assert robust["runs"][0]["undefined"] == {"clusters_of_several": "no cluster has two judged queries"}
    done = cli("evaluate", "--full", *FILES, "--queries", "queries.tsv", "--robust")
    assert "Each cluster has one judged query only: this says nothing about robustness." in done.out
    done = cli("evaluate", "--full", *FILES, "--queries", "queries.tsv", "--robust", "--draws", 0, "--format", "json")
    minimum = json.loads(done.out)["qrels"][0]["robust"]["runs"][0]["measures"]["RR"]["minimum"]
    assert minimum["undefined"] == dict.fromkeys(("low", "high"), "no resamples were drawn")


def test_qrels_without_a_clustered_query_have_no_figure_beside_others_that_have(files: Path, cli: Cli) -> None:
    (files / "other.qrels").write_text("q4 0 good 1\n", encoding="utf-8")
    two = (*FILES, "--qrels", "other=other.qrels", "--queries", "queries.tsv", "--robust")
    gold, other = evaluated(cli, *two)["qrels"]
    assert gold["robust"]["clusters"] == 2
    assert other["robust"] is None
    assert other["undefined"]["robust"] == "no judged query has a cluster_id"
    assert "leave_out" in other["undefined"]
    cli("evaluate", *two, "--draws", 0, "-o", "out")
    rows = list(csv.DictReader(io.StringIO((files / "out" / "evaluation.csv").read_text(encoding="utf-8"))))
    told = {(row["qrels"], row["run_tag"], row["measure"]): (row["cluster_minimum"], row["drop_low"]) for row in rows}
    assert (told["gold", "a", "RR"], told["other", "a", "RR"]) == (("0.625", ""), ("", ""))


def test_tables_say_what_they_rest_on(files: Path, cli: Cli) -> None:
    done = cli("evaluate", "--full", *FILES, "--queries", "queries.tsv", "--robust", "--draws", 20)
    lines = done.out.splitlines()
    start = lines.index("Robustness by RR under gold")
    assert lines[start + 3].split() == ["1", "a", "1", "0.7500", "0.6250", "0.2500", "to", "1.0000", "0.1250",
                                        "0.0000", "to", "0.3750"]  # fmt: skip
    assert lines[start + 5] == (
        "The mean over 2 clusters (cluster_id in queries.tsv) of each one's lowest RR, and how far it lies below the "
        "mean over their 3 judged queries. 1 cluster has one judged query only, which adds nothing to robustness. "
        "2 judged queries have no cluster_id and are left out, 1 of them not in that file. Intervals: bootstrap over "
        "clusters, 20 resamples, seed 0."
    )
    start = lines.index("Robustness by RR under gold, without clusters of one query")
    assert lines[start + 3].split() == ["a", "0.6250", "0.2500", "–", "0.3750", "–"]
    assert (
        lines[start + 5]
        == "Over 1 cluster of at least two judged queries. An interval over clusters needs two of them."
    )
    start = lines.index("Cluster minima under gold")
    assert lines[start + 3].split() == ["a", "0.6250", "0.1250", "0.5000", "0.1667"]
    assert lines[start + 5].endswith("by mean and by cluster minimum: RR 1.0000, P@1 1.0000.")


def test_files_hold_it_and_without_the_option_nothing_changes(files: Path, cli: Cli) -> None:
    plain = (*FILES, "--queries", "queries.tsv", "--draws", 20)
    assert cli("evaluate", *plain, "-o", "plain").status == 0
    assert cli("evaluate", *plain, "--robust", "-o", "robust").status == 0
    (files / "queries.tsv").unlink()
    assert cli("evaluate", *FILES, "--draws", 20, "-o", "without").status == 0

    def read(folder: str, name: str) -> str:
        return (files / folder / name).read_text(encoding="utf-8")

    for path in sorted((files / "without").glob("evaluation*[!n]")):
        assert path.read_bytes() == (files / "plain" / path.name).read_bytes()
        assert "luster" not in path.read_text(encoding="utf-8")
    key = json.loads(read("without", "evaluation.csv.meta.json"))["key"]
    assert json.loads(read("plain", "evaluation.csv.meta.json"))["key"] == key
    assert (
        json.loads(read("robust", "evaluation.csv.meta.json"))["key"]["settings"]["clusters"]["column"] == "cluster_id"
    )
    for name in ("evaluation.md", "evaluation.tex", "evaluation-tables.csv"):
        assert "Robustness by RR under gold" in read("robust", name)
    rows = list(csv.DictReader(io.StringIO(read("robust", "evaluation.csv"))))
    before = list(csv.DictReader(io.StringIO(read("plain", "evaluation.csv"))))
    assert [{name: row[name] for name in before[0]} for row in rows] == before
    first = {(row["run_tag"], row["measure"]): row for row in rows}["a", "RR"]
    assert [float(first[name]) for name in ("cluster_minimum", "drop", "cluster_minimum_low")] == [0.625, 0.125, 0.25]
    by_query = list(csv.DictReader(io.StringIO(read("robust", "evaluation-by-query.csv"))))
    assert [row["cluster_id"] for row in by_query if row["run_tag"] == "a"] == ["far north", "far north", "7", "", ""]


def test_a_second_run_writes_nothing_and_another_file_of_clusters_does(files: Path, cli: Cli) -> None:
    arguments = (*FILES, "--queries", "queries.tsv", "--robust", "--draws", 5, "-o", "out")
    cli("evaluate", *arguments)
    assert "is up to date" in cli("evaluate", *arguments).err
    (files / "queries.tsv").write_text(CLUSTERED.replace("\t7\n", "\tfar north\n"), encoding="utf-8")
    assert "wrote" in cli("evaluate", *arguments).err


FAULTS = {
    "nothing names queries": (
        (), None, "--robust asks for clusters of queries; name their file with --queries, or a workspace by -c"
    ),
    "no column": (
        ("--queries", "queries.tsv"), "q1\tone\n",
        "queries.tsv: no query has a cluster_id, and --robust asks for some; add a column 'cluster_id', or name "
        "another file with --queries",
    ),
    "an empty column": (
        ("--queries", "queries.tsv"), "query_id\tquery\tcluster_id\nq1\tone\t\n",
        "queries.tsv: no query has a cluster_id, and --robust asks for some; add a column 'cluster_id', or name "
        "another file with --queries",
    ),
    "other queries": (
        ("--queries", "queries.tsv"), "query_id\tquery\tcluster_id\nQ1\tone\tx\n",
        "queries.tsv: holds none of the 5 judged queries; name the file of these with --queries",
    ),
    "judged queries in no cluster": (
        ("--queries", "queries.tsv"), "query_id\tquery\tcluster_id\nq1\tone\t\nq9\tone\tx\n",
        "queries.tsv: no judged query has a cluster_id in the column 'cluster_id'; add some, or leave out --robust",
    ),
    "a broken cluster_id": (
        ("--queries", "queries.tsv"), "query_id\tquery\tcluster_id\nq1\tone\tx \n",
        "queries.tsv:2: cluster_id 'x ' begins or ends with white space; expected none there",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(files: Path, cli: Cli, fault: str) -> None:
    arguments, text, message = FAULTS[fault]
    if text is not None:
        (files / "queries.tsv").write_text(text, encoding="utf-8")
    assert refused(cli, *FILES, *arguments, "--robust") == message


POOL = """\
name: tiny
corpus: {path: corpus.jsonl}
queries: {path: q.jsonl, cluster_id: group, ids: [q1, q2]}
systems:
  bm25s: {retriever: bm25s, language: en}
  words: {retriever: bm25s, stemming: false}
pool: {depth: 2}
labels: {files: {gold: {path: gold.qrels}}}
measures: [RR]
"""


def test_a_workspace_has_its_own_queries_and_its_own_name_of_the_column(files: Path, cli: Cli) -> None:
    (files / "corpus.jsonl").write_text(
        '{"doc_id": "good", "text": "a ferry"}\n{"doc_id": "bad", "text": "a ferry, a ferry and rye"}\n', "utf-8"
    )
    asked = [("q1", "ferry", "x"), ("q2", "rye", "x"), ("q3", "nothing", "y")]
    rows = [{"query_id": query_id, "query": query, "group": group} for query_id, query, group in asked]
    (files / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (files / "pool.yaml").write_text(POOL, encoding="utf-8")
    build(files / "pool.yaml", listener=Listener())
    robust = evaluated(cli, "--robust")["qrels"][0]["robust"]
    # q3 is in the file, though the collection takes q1 and q2 alone; gold also judges q4 and q5.
    assert (robust["clusters"], robust["queries"]) == (2, 3)
    assert (robust["queries_without_cluster"], robust["queries_not_in_file"]) == (2, 2)
    # rye stands in bad alone.
    assert [run["measures"]["RR"]["minimum"]["value"] for run in robust["runs"]] == [0.0, 0.0]
    assert robust["tau"] == {"RR": None}
    # The same file for runs that are files, as -c names it; a file of its own comes first.
    shutil.rmtree(files / "reports", ignore_errors=True)
    named = evaluated(cli, *FILES, "--robust", "-c", "pool.yaml")["qrels"][0]["robust"]
    assert (named["clusters"], named["single_query_clusters"]) == (2, 1)
    own = evaluated(cli, *FILES, "--robust", "-c", "pool.yaml", "--queries", "queries.tsv")["qrels"][0]["robust"]
    assert own["queries_not_in_file"] == 1
    assert refused(cli, *FILES, "--robust") == FAULTS["nothing names queries"][2]
    (files / "pool.yaml").write_text(POOL.replace("group", "grupo"), encoding="utf-8")
    assert refused(cli, "--robust") == (
        "q.jsonl: no query has a cluster_id in the column 'grupo'; expected one at least: add it, or set cluster_id to "
        "the right column"
    )
