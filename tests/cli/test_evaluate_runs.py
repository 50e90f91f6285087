"""What ``evaluate`` says of the runs themselves, and which queries its means go over, against pytrec_eval."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import pytrec_eval
from scipy import stats

from tests.cli.conftest import Cli
from tests.cli.test_evaluate import (
    HUMAN,
    LLM,
    QUERIES,
    RUNS,
    Ranking,
    Sketch,
    random_run,
    runs_of,
    write_qrels,
    write_run,
)

MEASURES = {"nDCG@10": "ndcg_cut_10", "P@5": "P_5"}
# Each lacks another query, and c a second one.
PARTS = {
    "a": {query: RUNS["a"][query] for query in QUERIES[1:]},
    "b": {query: RUNS["b"][query] for query in QUERIES if query != "q4"},
    "c": RUNS["c"],
}
COMMON = {"q2", "q3", "q5"}
QRELS = ("--qrels", "human.qrels", "--qrels", "llm.qrels")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: the three runs in runs/, each of some of the six judged queries, and two qrels."""
    for run_tag, run in PARTS.items():
        write_run(tmp_path / "runs" / f"{run_tag}.run", run_tag, run)
    write_qrels(tmp_path / "human.qrels", HUMAN)
    write_qrels(tmp_path / "llm.qrels", LLM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(run: Ranking, measure: str) -> dict[str, float]:
    """pytrec_eval's, of the judged queries that the run returns."""
    found = pytrec_eval.RelevanceEvaluator(HUMAN, {MEASURES[measure]}).evaluate(run)
    return {query: one[MEASURES[measure]] for query, one in found.items()}


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def data_of(cli: Cli, *arguments: object) -> Any:
    done = cli("evaluate", *arguments, "--draws", 20, "--format", "json")
    assert done.status == 0, done.err
    return json.loads(done.out)


# ---- which queries means go over


def expected(queries: str, run_tag: str, measure: str) -> float:
    found = values(PARTS[run_tag], measure)
    if queries == "common":
        found = {query: value for query, value in found.items() if query in COMMON}
    return mean([found.get(query, 0.0) for query in HUMAN] if queries == "judged" else list(found.values()))


@pytest.mark.parametrize("queries", ["judged", "common", "returned"])
def test_means_are_pytrec_evals_over_the_queries_chosen(files: Path, cli: Cli, queries: str) -> None:
    data = data_of(cli, "--run", "runs", *QRELS, "--measures", "nDCG@10 P@5", "--queries", queries, "--per-query")
    assert data["queries"] == queries
    condition = data["qrels"][0]
    assert (condition["queries"], condition["judged_queries"]) == (3 if queries == "common" else 6, 6)
    counts = {"judged": (6, 6, 6), "common": (3, 3, 3), "returned": (5, 5, 5)}[queries]
    for (run_tag, run), count in zip(sorted(runs_of(condition).items()), counts, strict=True):
        assert (run["queries"], run["queries_returned"], run["missing_queries"]) == (count, 5, 1)
        for measure in MEASURES:
            found = run["measures"][measure]
            assert found["mean"] == pytest.approx(expected(queries, run_tag, measure))
            assert found["low"] <= found["mean"] <= found["high"]
        bounds, found = run["bounds"]["nDCG@10"], run["measures"]["nDCG@10"]["mean"]
        assert bounds["low"] - 1e-12 <= found <= bounds["high"] + 1e-12


@pytest.mark.parametrize("queries", ["judged", "common", "returned"])
def test_two_systems_are_compared_over_the_same_queries(files: Path, cli: Cli, queries: str) -> None:
    condition = data_of(cli, "--run", "runs", "--qrels", "human.qrels", "--queries", queries)["qrels"][0]
    found = {(one["a"], one["b"]): one for one in condition["comparisons"]["nDCG@10"]}
    of = {tag: values(run, "nDCG@10") for tag, run in PARTS.items()}
    for a, b in combinations("abc", 2):
        over = {"judged": set(HUMAN), "common": COMMON, "returned": set(of[a]) & set(of[b])}[queries]
        first, second = ([of[tag].get(query, 0.0) for query in sorted(over)] for tag in (a, b))
        one = found.get((a, b)) or found[b, a]
        sign = 1 if (a, b) in found else -1
        assert one["difference"] == pytest.approx(sign * (mean(first) - mean(second)))
        assert one["p"] == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_the_heading_and_the_note_say_what_means_go_over(files: Path, cli: Cli) -> None:
    board = f"Leaderboard under human, {sum(map(len, HUMAN.values()))} graded pairs"
    by_default = cli("evaluate", "--full", "--run", "runs", *QRELS, "--draws", 0).out
    assert f"{board}\n" in by_default
    common = cli("evaluate", "--full", "--run", "runs", *QRELS, "--draws", 0, "--queries", "common").out
    assert f"{board}, over the 3 queries that all runs return\n" in common
    assert "Means over the 3 of 6 judged queries that all runs return, 0 without a relevant pair;" in common
    assert "over the queries that both judge and all runs return; the first is" in common
    returned = cli("evaluate", "--full", "--run", "runs", *QRELS, "--draws", 0, "--queries", "returned").out
    assert f"{board}, each run over the queries that it returns\n" in returned
    assert "Each mean is over those of the 6 judged queries that the run returns (trec_eval without -c)" in returned
    assert "Paired t test over the queries that both return" in returned
    assert "over the queries that both judge and the run returns; the first is" in returned


def test_swaps_of_own_means_say_what_is_tested(files: Path, cli: Cli) -> None:
    rows = {"one": "q1 0 x 1\nq2 0 x 1\nq2 0 y 1\n", "other": "q1 0 y 1\nq2 0 x 1\nq2 0 y 1\n"}
    for name, text in rows.items():
        (files / f"{name}.qrels").write_text(text)
    (files / "s.run").write_text("q1 Q0 x 1 2 s\nq1 Q0 y 2 1 s\n")
    (files / "t.run").write_text("q1 Q0 y 1 2 t\nq1 Q0 x 2 1 t\nq2 Q0 x 1 2 t\nq2 Q0 z 2 1 t\n")
    runs = ("--run", "s.run", "--run", "t.run", "--qrels", "one.qrels", "--qrels", "other.qrels", "--draws", 0)
    assert "Better under one, worse under other, over the 2 queries that both judge and the run returns; " in (
        shown := cli("evaluate", "--full", *runs, "--measures", "AP", "--queries", "returned").out
    )
    assert "paired t test over the queries that both return, Holm over all 1 pairs" in shown


def test_the_files_hold_the_same_means(files: Path, cli: Cli) -> None:
    assert cli("evaluate", "--run", "runs", *QRELS, "--draws", 5, "--queries", "returned", "-o", "out").status == 0
    with (files / "out" / "evaluation.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["qrels"], row["run_tag"], row["measure"]): row for row in csv.DictReader(file)}
    row = rows["human", "c", "nDCG@10"]
    assert (float(row["mean"]), row["queries"]) == (pytest.approx(expected("returned", "c", "nDCG@10")), "5")
    assert (row["queries_returned"], row["documents_per_query"], row["rank_contradictions"]) == ("5", "10", "0")
    assert 0 < float(row["tied_share"]) <= 1
    assert "The runs under human" in (files / "out" / "evaluation.md").read_text(encoding="utf-8")
    # The same settings but for the queries: nothing is taken for up to date.
    assert "wrote" in cli("evaluate", "--run", "runs", *QRELS, "--draws", 5, "-o", "out").err


def test_a_run_of_one_query_has_a_mean_of_its_own_and_no_interval(files: Path, cli: Cli) -> None:
    write_run(files / "one.run", "one", {"q1": RUNS["a"]["q1"]})
    arguments = ("--run", "runs", "--run", "one.run", "--qrels", "human.qrels", "--queries", "returned")
    condition = data_of(cli, *arguments)["qrels"][0]
    found = runs_of(condition)["one"]["measures"]["nDCG@10"]
    assert (found["mean"], found["low"]) == (pytest.approx(values({"q1": RUNS["a"]["q1"]}, "nDCG@10")["q1"]), None)
    assert found["undefined"]["low"] == "an interval over queries needs two of them"
    # a lacks q1, the only query of one.
    (pair,) = (one for one in condition["comparisons"]["nDCG@10"] if {one["a"], one["b"]} == {"a", "one"})
    reason = "the two return no judged query in common"
    assert (pair["difference"], pair["p"], pair["significant"]) == (None, None, False)
    assert pair["undefined"] == {"difference": reason, "p": reason}
    assert (
        f"Undefined, and not significant: fewer than two queries; {reason}"
        in cli("evaluate", "--full", *arguments, "--draws", 0).out
    )


def test_a_file_of_queries_goes_with_the_choice(files: Path, cli: Cli) -> None:
    (files / "topics.tsv").write_text("".join(f"{query}\tof {query}\n" for query in QUERIES), encoding="utf-8")
    arguments = ("--run", "runs", "--qrels", "human.qrels", "--queries", "topics.tsv")
    assert data_of(cli, *arguments)["queries"] == "judged"
    assert data_of(cli, *arguments, "--queries", "common")["queries"] == "common"


REFUSED: dict[str, tuple[tuple[object, ...], int, str]] = {
    "a word that is no choice": (("--queries", "comon"), 2, "'comon' is neither a file nor a choice; did you mean"),
    "two choices": (("--queries", "common", "--queries", "returned"), 2, "common, returned: give one of each"),
    "no such file": (("--queries", "topics.tsv"), 1, "topics.tsv: there is no such file; check the path"),
    "no common query": (
        ("--run", "one.run", "--run", "other.run", "--queries", "common"),
        1,
        "no judged query is returned by all 5 runs, and one returns 1 of 6; leave it out, or give --queries judged",
    ),
    "clusters": (
        ("--queries", "returned", "--queries", "clusters.tsv", "--robust"),
        1,
        "--robust compares runs over the same queries of a cluster; give --queries judged or common",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_averaged_is_refused(files: Path, cli: Cli, fault: str) -> None:
    for run_tag, query in (("one", "q1"), ("other", "q2")):
        write_run(files / f"{run_tag}.run", run_tag, {query: RUNS["a"][query]})
    text = "query_id\tquery\tcluster_id\n" + "".join(f"{query}\tof {query}\tk\n" for query in QUERIES)
    (files / "clusters.tsv").write_text(text, encoding="utf-8")
    arguments, status, message = REFUSED[fault]
    done = cli("evaluate", "--run", "runs", "--qrels", "human.qrels", *arguments)
    assert (done.status, done.out) == (status, "")
    assert message in done.err.splitlines()[-1]


# ---- what the runs are like


def ranked_run(path: Path, run_tag: str, rows: str) -> None:
    """A run file from rows of query_id, doc_id, rank and score."""
    lines = [" Q0 ".join(row.strip().split(" ", 1)) + f" {run_tag}\n" for row in rows.split(",")]
    path.write_text("".join(lines), encoding="utf-8")


def test_ties_and_ranks_that_contradict_scores_are_said_of_each_run(files: Path, cli: Cli) -> None:
    ranked_run(files / "tied.run", "tied", "q1 d01 1 2, q1 d02 2 1.0000000001, q1 d03 3 1, q2 d01 1 1")
    ranked_run(files / "turned.run", "turned", "q1 d01 1 1, q1 d02 2 2, q1 d03 3 3, q2 d01 1 2, q2 d02 2 1")
    arguments = ("--run", "tied.run", "--run", "turned.run", *QRELS)
    runs = runs_of(data_of(cli, *arguments)["qrels"][0])
    assert (runs["tied"]["rows"], runs["tied"]["tied_rows"], runs["tied"]["tied_share"]) == (4, 2, 0.5)
    assert runs["tied"]["rank_contradictions"] == {"queries": 0, "rows": 0}
    assert (runs["turned"]["tied_share"], runs["turned"]["documents_per_query"]) == (0, 3)
    assert runs["turned"]["rank_contradictions"] == {"queries": 1, "rows": 2}
    out = cli("evaluate", "--full", *arguments, "--draws", 0).out
    ties = "Rows that share their score with another of their query (as float32; doc_id decides): tied 50 %."
    turned = "The rank column contradicts the scores, which decide as in trec_eval: turned in 1 query (2 rows)."
    # Once, and not again under the second qrels.
    assert (out.count(ties), out.count(turned)) == (1, 1)
    assert "The runs under human" not in out
    quiet = cli("evaluate", "--full", "--run", "turned.run", "--qrels", "human.qrels", "--draws", 0).out
    assert "share their score" not in quiet


def test_measures_of_lists_that_were_cut_have_one_footnote(files: Path, cli: Cli) -> None:
    deep = {query: {doc: 1 / (n + 1) for n, doc in enumerate(random_run(8)[query])} for query in QUERIES}
    write_run(files / "cut.run", "cut", {query: dict(list(of.items())[:4]) for query, of in deep.items()})
    arguments = ("--run", "cut.run", *QRELS, "--measures", "nDCG@4, AP R@1000 P@4")
    data = data_of(cli, *arguments)
    relevant = {query: sum(grade > 0 for grade in of.values()) for query, of in HUMAN.items()}
    more = [count for count in relevant.values() if count > 4]
    assert len(more) > 1
    short = [{"measure": name, "queries": len(more), "most_relevant": max(more)} for name in ("AP", "R@1000")]
    assert data["qrels"][0]["truncated"] == [
        {"run_tags": ["cut"], "documents_per_query": 4, "measures": ["AP", "R@1000"], "incomplete": short}
    ]
    assert data["qrels"][0]["runs"][0]["truncated_measures"] == ["AP", "R@1000"]
    out = cli("evaluate", "--full", *arguments, "--draws", 0).out
    assert (
        out.count("cut holds at most 4 documents per query: AP and R@1000 are of truncated lists (a whole list is") == 1
    )
    assert (
        f"{len(more)} queries with up to {max(more)} relevant documents cannot have all of them found (AP "
        "and R@1000)." in out
    )
    assert "truncated" not in cli("evaluate", "--full", *arguments[:-1], "nDCG@4", "--draws", 0).out


def test_a_run_that_joined_a_workspace_keeps_what_its_file_said(tiny: Path, cli: Cli, sketched: None) -> None:
    # build ranks by scores and writes its own ranks, so that the workspace's copy contradicts nothing.
    ranked_run(tiny / "theirs.run", "theirs", "q1 d3 1 1.5, q1 d1 2 2.5, q2 d2 1 1")
    write_qrels(tiny / "gold.qrels", {"q1": {"d1": 2, "d3": 0}, "q2": {"d2": 1}})
    with mock.patch("quati_pool.reporting.figures.build.heat_map", return_value=Sketch()):
        assert cli("build").status == 0
    runs = runs_of(data_of(cli, "--qrels", "gold.qrels", "-c", "pool.yaml")["qrels"][0])
    assert runs["theirs"]["rank_contradictions"] == {"queries": 1, "rows": 1}
    assert runs["bm25s"]["rank_contradictions"] == {"queries": 0, "rows": 0}
