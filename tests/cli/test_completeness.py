"""What a pool lacks, as ``status`` and ``report`` say it: a small collection of three runs, with figures by hand.

For q1 the runs have ten documents each: eight that no other run has, all relevant, and two more, of which A and B share
one and B and C another. u = (8, 8, 8) and f2 = 2, so that at least (3 · 8 · 8) / (2 + 1) = 64 are outside. The variance
is 64 + 24 · (16/3)² + 64² · 2/9 = 1656.9, K = exp(1.95996 √ln(1 + 1656.9/64²)) = 3.135, and the interval 20.4 to 200.6.
For q2 and q3 all runs have the same three documents. Nobody graded q4.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

Ranking = dict[str, list[str]]
COMMON = ["x", "y", "z"]
RUNS: dict[str, Ranking] = {
    "A": {"q1": [*(f"a{n}" for n in range(8)), "ab", "n1"]},
    "B": {"q1": [*(f"b{n}" for n in range(8)), "ab", "bc"]},
    "C": {"q1": [*(f"c{n}" for n in range(8)), "bc", "n2"]},
}
GRADED = {"q1": 28, "q2": 3, "q3": 3}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    docs: dict[str, set[str]] = {"q1": set(), "q2": set(COMMON), "q3": set(COMMON), "q4": set(COMMON)}
    for run_tag, rankings in RUNS.items():
        queries = {**rankings, **dict.fromkeys(("q2", "q3", "q4"), COMMON)}
        docs["q1"] |= set(queries["q1"])
        rows = [
            f"{query_id} Q0 {doc_id} {rank} {100 - rank} {run_tag}"
            for query_id, found in queries.items()
            for rank, doc_id in enumerate(found, 1)
        ]
        (tmp_path / f"{run_tag}.run").write_text("\n".join(rows) + "\n", encoding="utf-8")
    grades = [
        f"{query_id} 0 {doc_id} {int(not doc_id.startswith('n')) * 2}"
        for query_id in GRADED
        for doc_id in sorted(docs[query_id])
    ]
    (tmp_path / "people.qrels").write_text("\n".join(grades) + "\n", encoding="utf-8")
    systems = "".join(f"  {run_tag}: {{retriever: run, path: {run_tag}.run}}\n" for run_tag in RUNS)
    (tmp_path / "pool.yaml").write_text(
        f"name: small\nsystems:\n{systems}  all: {{fuse: [A, B, C], method: rrf}}\npool: {{depth: 10}}\n"
        "labels: {files: {people: {path: people.qrels}}}\nmeasures: [nDCG@10]\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    done = cli("build")
    assert done.status == 0, done.err
    return tmp_path


SAID = (
    "Of 3 queries the pool holds 32 relevant documents (grade 1 or higher by people); at least an estimated 64 more "
    "(95 % interval 20 to 201) are outside it, by capture–recapture over 3 families of systems; 1 query needs more: q1."
)


def test_status_says_what_the_pool_lacks(workspace: Path, cli: Cli) -> None:
    found = json.loads(cli("status", "--format", "json").out)["completeness"]
    # The fusion of pooled systems is no family of its own.
    assert (found["labeler"], found["relevant_from"], found["families"]) == ("people", 1, ["A", "B", "C"])
    assert (found["need_more"], found["not_graded_enough"]) == (["q1"], ["q4"])
    first, second, _ = found["queries"]
    assert (first["pairs"], first["relevant"], first["by_one_family"], first["by_two_families"]) == (28, 26, 24, 2)
    assert first["capture_recapture"] == {"estimate": 64.0, "low": 20.0, "high": 201.0}
    assert first["needs"] == ["capture-recapture"]
    # Nothing was found alone: 3.689² / 2 · 2/3 / (3 + 1) = 1.13.
    assert second["capture_recapture"] == {"estimate": 0.0, "low": 0.0, "high": 2.0}
    assert (second["random_share"], second["undefined"]["random_share"]) == (None, "no pair was drawn at random")
    assert found["rounds"] == [{"round": 1, "pairs": 37, "graded": 34, "relevant": 32, "total": 32}]
    # All queries together have the same counts as q1.
    assert found["outside"]["capture_recapture"] == first["capture_recapture"]
    said = " ".join(cli("status").out.split())
    assert SAID in said
    assert "1 query is not graded enough for an estimate: q4." in said


def test_the_report_has_the_table_and_the_files(workspace: Path, cli: Cli) -> None:
    of_status = json.loads(cli("status", "--format", "json").out)["completeness"]
    assert cli("report", "--draws", "0").status == 0
    assert json.loads((workspace / "reports/completeness.json").read_text(encoding="utf-8")) == of_status
    rows = list(csv.DictReader((workspace / "reports/completeness.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["Query"] for row in rows] == ["q1", "q2", "q3", "All"]
    assert float(rows[0]["Outside, at least"]) == 64
    assert rows[0]["Needs more, by"] == "capture-recapture"
    page = (workspace / "reports/report.md").read_text(encoding="utf-8")
    assert "Relevant documents outside the pool" in page
    assert page.count("at least an estimated 64 more (95 % interval 20 to 201) are outside it") == 2
    assert "1 query needs more" in page


def test_nothing_is_said_where_nothing_is_graded(workspace: Path, cli: Cli) -> None:
    path = workspace / "pool.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("labels:", "# labels:"), encoding="utf-8")
    done = cli("status", "--format", "json")
    assert json.loads(done.out)["completeness"] is None
    assert "estimated" not in cli("status").out


def test_a_sample_of_a_query_is_not_enough(workspace: Path, cli: Cli) -> None:
    kept = (workspace / "people.qrels").read_text(encoding="utf-8").splitlines()[:10]
    (workspace / "people.qrels").write_text("\n".join(kept) + "\n", encoding="utf-8")
    found = json.loads(cli("status", "--format", "json").out)["completeness"]
    assert found["outside"] is None
    assert found["undefined"] == {"outside": "no labeler has graded 95 % of the pairs of any query"}
    assert "estimated" not in cli("status").out
