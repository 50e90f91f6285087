"""``quati-pool evaluate`` as a user runs it, on files alone and in a workspace, against pytrec_eval and scipy."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import pytrec_eval
from scipy import stats

from quati_pool.commands.build import build
from quati_pool.commands.judge.judge import judge
from quati_pool.project.events import Listener
from tests.cli.conftest import Cli, Done

Ranking = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]
Data = dict[str, Any]

QUERIES = [f"q{n}" for n in range(1, 7)]
DOCS = [f"d{n:02}" for n in range(20)]
ORACLE = {
    "nDCG@10": ("ndcg_cut_10", 1),
    "R(rel=2)@100": ("recall_100", 2),
    "P@5": ("P_5", 1),
    "AP": ("map", 1),
}


def random_run(seed: int, queries: list[str] = QUERIES) -> Ranking:
    """Ten documents a query, with ties."""
    chance = random.Random(seed)
    return {query: {doc: float(chance.randrange(5)) for doc in chance.sample(DOCS, 10)} for query in queries}


def random_grades(seed: int, queries: list[str] = QUERIES) -> Grades:
    """About 14 grades from 0 to 3 a query, the first of each a 3."""
    chance = random.Random(seed)
    return {
        query: {
            doc: 3 if doc == DOCS[0] else chance.randrange(4) for doc in DOCS if doc == DOCS[0] or chance.random() < 0.7
        }
        for query in queries
    }


RUNS = {"a": random_run(1), "b": random_run(2), "c": random_run(3, QUERIES[:5])}
HUMAN, LLM = random_grades(4), random_grades(5)


def write_run(path: Path, run_tag: str, run: Ranking) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = [f"{q} Q0 {d} 1 {score} {run_tag}\n" for q, scores in run.items() for d, score in scores.items()]
    path.write_text("".join(rows), encoding="utf-8")


def write_qrels(path: Path, grades: Mapping[str, Mapping[str, int]]) -> None:
    rows = [f"{q} 0 {d} {grade}\n" for q, of in grades.items() for d, grade in of.items()]
    path.write_text("".join(rows), encoding="utf-8")


def by_query(run: Ranking, grades: Grades, measure: str) -> dict[str, float]:
    """pytrec_eval's values of all judged queries; 0 for one that the run lacks."""
    name, rel = ORACLE[measure]
    found = pytrec_eval.RelevanceEvaluator(grades, {name}, rel).evaluate(run)
    return {query: found.get(query, {}).get(name, 0.0) for query in grades}


def mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: three runs in runs/ (c lacks q6), human.qrels and llm.qrels, and no pool.yaml."""
    for run_tag, run in RUNS.items():
        write_run(tmp_path / "runs" / f"{run_tag}.run", run_tag, run)
    write_qrels(tmp_path / "human.qrels", HUMAN)
    write_qrels(tmp_path / "llm.qrels", LLM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def evaluated(cli: Cli) -> Callable[..., Data]:
    """The JSON of ``evaluate`` with some arguments; few resamples where they do not say how many."""

    def run(*arguments: object) -> Data:
        draws = () if "--draws" in arguments else ("--draws", 20)
        done = cli("evaluate", *arguments, *draws, "--format", "json")
        assert done.status == 0, done.err
        data: Data = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        return data

    return run


Evaluated = Callable[..., Data]
ONE = ("--run", "runs", "--qrels", "human=human.qrels")
TWO = (*ONE, "--qrels", "llm=llm.qrels")


def runs_of(condition: Data) -> dict[str, Data]:
    return {run["run_tag"]: run for run in condition["runs"]}


def means_of(condition: Data, measure: str = "nDCG@10") -> dict[str, float]:
    return {run["run_tag"]: run["measures"][measure]["mean"] for run in condition["runs"]}


def refused(done: Done, status: int = 1) -> str:
    """The one line that a refusal is; bad usage has the usage before it."""
    assert done.status == status, done
    assert done.out == ""
    assert "Traceback" not in done.err
    if status == 2:
        return done.err.strip().splitlines()[-1]
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("quati-pool: ")
    return done.err.removeprefix("quati-pool: ").rstrip("\n")


# ---- the shape of the JSON, and its numbers


def test_the_json_has_the_shape_of_the_design(files: Path, evaluated: Evaluated) -> None:
    data = evaluated(*TWO, "--baseline", "a", "--pool-depth", 5)
    assert [condition["name"] for condition in data["qrels"]] == ["human", "llm"]
    for condition in data["qrels"]:
        assert {run["run_tag"] for run in condition["runs"]} == set(RUNS)
        for run in condition["runs"]:
            assert isinstance(run["missing_queries"], int)
            assert run["queries"] == 6
            assert list(run["measures"]) == ["nDCG@10", "nDCG@20", "R(rel=2)@100", "RR(rel=2)@10", "Judged@10"]
            for found in run["measures"].values():
                assert set(found) == {"mean", "low", "high"}
                assert all(type(value) is float for value in found.values())
                assert found["low"] <= found["high"]
            for name, ends in run["bounds"].items():
                # The bounds add up the same gains in another order.
                assert ends["low"] - 1e-12 <= run["measures"][name]["mean"] <= ends["high"] + 1e-12
            assert list(run["bounds"]) == ["nDCG@10", "nDCG@20"]
            # Ten documents were returned for each of the queries that the run has.
            assert run["unjudged"]["10"]["returned"] == 10 * (6 - run["missing_queries"])
            judged = run["measures"]["Judged@10"]["mean"] * 6 / (6 - run["missing_queries"])
            assert run["unjudged"]["10"]["share"] == pytest.approx(1 - judged)
        assert {len(found) for found in condition["comparisons"].values()} == {3}
        assert {len(found) for found in condition["against_baseline"].values()} == {2}
        assert condition["leave_out"]["systems"]["queries"] == 6
    (found,) = data["rank_correlation"]
    assert (found["a"], found["b"], found["measure"]) == ("human", "llm", "nDCG@10")
    for name in ("tau", "tau_ap", "top_tau", "rbo"):
        assert type(found[name]) is float
        low, high = found["intervals"][name]
        assert low <= high
    assert isinstance(found["swaps"], list)


def test_means_and_values_by_query_equal_pytrec_eval(files: Path, evaluated: Evaluated) -> None:
    data = evaluated(*TWO, "--measures", ", ".join(ORACLE), "--per-query")
    for condition, grades in zip(data["qrels"], (HUMAN, LLM), strict=True):
        found = runs_of(condition)
        for run_tag, run in RUNS.items():
            for measure in ORACLE:
                expected = by_query(run, grades, measure)
                assert found[run_tag]["per_query"][measure] == pytest.approx(expected, abs=1e-9)
                assert found[run_tag]["measures"][measure]["mean"] == pytest.approx(mean(expected), abs=1e-9)
        assert found["c"]["missing_queries"] == 1
        ranked = sorted(means_of(condition).items(), key=lambda item: -item[1])
        assert [run["run_tag"] for run in condition["runs"]] == [run_tag for run_tag, _ in ranked]
        assert [run["rank"] for run in condition["runs"]] == [1, 2, 3]


def test_the_rankings_of_two_qrels_are_correlated_as_scipy_does(files: Path, evaluated: Evaluated) -> None:
    for seed in range(4, 10):
        write_run(files / "runs" / f"s{seed}.run", f"s{seed}", random_run(seed))
    data = evaluated(*TWO)
    one, other = map(means_of, data["qrels"])
    tau = stats.kendalltau(list(one.values()), [other[run_tag] for run_tag in one]).statistic
    assert data["rank_correlation"][0]["tau"] == pytest.approx(tau)
    swapped = {(i, j) for i in one for j in one if one[i] > one[j] and other[i] < other[j]}
    assert {(swap["better"], swap["worse"]) for swap in data["rank_correlation"][0]["swaps"]} == swapped
    assert swapped


@pytest.mark.parametrize("how", ["table", "json", "markdown", "latex", "csv"])
def test_every_format(files: Path, cli: Cli, how: str) -> None:
    done = cli("evaluate", "--full", *TWO, "--draws", 5, "--format", how)
    assert (done.status, done.err) == (0, "")
    begin = {
        "table": "Leaderboard under human, ",
        "markdown": "### Leaderboard under human, ",
        "latex": "% needs the package booktabs\n\\begin{table}\n",
        "csv": "# Leaderboard under human, ",
        "json": "{",
    }
    assert done.out.startswith(begin[how])
    if how == "csv":
        _, _, first = done.out.split("\n\n")[0].partition("\n")
        rows = list(csv.DictReader(io.StringIO(first)))
        assert {row["System"]: float(row["nDCG@10"]) for row in rows} == pytest.approx(
            {run_tag: mean(by_query(run, HUMAN, "nDCG@10")) for run_tag, run in RUNS.items()}
        )
    # Files alone: nothing is written beside them.
    assert {path.name for path in files.iterdir()} == {"runs", "human.qrels", "llm.qrels"}


# ---- which runs, under which qrels


def test_runs_are_named_one_by_one_by_folder_or_by_pattern(files: Path, evaluated: Evaluated) -> None:
    (files / "runs" / "a.run.meta.json").write_text("{}", encoding="utf-8")
    (files / "runs" / ".hidden").write_text("no run", encoding="utf-8")
    (files / "runs" / "older").mkdir()
    named = [argument for run_tag in RUNS for argument in ("--run", f"runs/{run_tag}.run")]
    found = evaluated(*named, "--qrels", "human=human.qrels")
    for option in ("runs", "runs/*", "runs/*.run"):
        assert evaluated("--run", option, "--qrels", "human=human.qrels") == found


def test_a_file_whose_name_holds_an_equals_sign_is_a_file(files: Path, evaluated: Evaluated) -> None:
    write_run(files / "k1=0.9", "tuned", RUNS["a"])
    data = evaluated("--run", "k1=0.9", "--run", "k1=runs/b.run", "--qrels", "human=human.qrels")
    assert [(one["name"], list(runs_of(one))) for one in data["qrels"]] == [("human", ["tuned"]), ("k1, human", ["b"])]


SETS = ("--run", "10M=ten", "--run", "1M=one")


@pytest.fixture
def sets(files: Path) -> Path:
    """The runs over two corpora: ten/ holds a, b and c, one/ other runs called a and b, and d."""
    for run_tag, run in RUNS.items():
        write_run(files / "ten" / f"{run_tag}.run", run_tag, run)
    for seed, run_tag in enumerate("abd", 11):
        write_run(files / "one" / f"{run_tag}.run", run_tag, random_run(seed))
    return files


def systems_table(cli: Cli, *arguments: object) -> list[dict[str, str]]:
    done = cli("evaluate", *arguments, "--draws", 0, "--format", "csv")
    (table,) = [part for part in done.out.split("\n# ") if part.startswith("Systems by nDCG@10")]
    return list(csv.DictReader(io.StringIO(table.partition("\n")[2])))


def test_sets_of_runs_go_each_under_the_qrels_of_its_name(sets: Path, cli: Cli, evaluated: Evaluated) -> None:
    """The paper's Table 6: each corpus with its own qrels."""
    own = (*SETS, "--qrels", "1M=llm.qrels", "--qrels", "10M=human.qrels")
    data = evaluated(*own)
    assert [(one["name"], one["labeler"], one["runs_from"]) for one in data["qrels"]] == [
        ("10M", "10M", "10M"),
        ("1M", "1M", "1M"),
    ]
    expected = [
        {tag: mean(by_query(run, HUMAN, "nDCG@10")) for tag, run in RUNS.items()},
        {tag: mean(by_query(random_run(seed), LLM, "nDCG@10")) for seed, tag in enumerate("abd", 11)},
    ]
    assert [means_of(one) for one in data["qrels"]] == [pytest.approx(one) for one in expected]
    # Other runs and other qrels: no two rankings of the same systems.
    assert data["rank_correlation"] == []
    table = {row["System"]: row for row in systems_table(cli, *own)}
    assert set(table) == set("abcd")
    for run_tag in "ab":
        difference = expected[1][run_tag] - expected[0][run_tag]
        assert float(table[run_tag]["Difference to the first"]) == pytest.approx(difference)
    assert (table["c"]["1M"], table["d"]["10M"], table["d"]["Difference to the first"]) == ("", "", "")
    assert float(table["d"]["1M"]) == pytest.approx(expected[1]["d"])


def test_sets_of_runs_go_all_under_qrels_of_other_names(sets: Path, cli: Cli, evaluated: Evaluated) -> None:
    """The paper's Table 7: both corpora under the qrels of one."""
    data = evaluated(*SETS, "--qrels", "1M=llm.qrels")
    assert [one["name"] for one in data["qrels"]] == ["10M, 1M", "1M, 1M"]
    assert {row["System"] for row in systems_table(cli, *SETS, "--qrels", "1M=llm.qrels")} == set("abcd")
    data = evaluated(*SETS, "--qrels", "human=human.qrels", "--qrels", "llm=llm.qrels")
    assert [one["name"] for one in data["qrels"]] == ["10M, human", "10M, llm", "1M, human", "1M, llm"]
    assert [(one["a"], one["b"]) for one in data["rank_correlation"]] == [
        ("10M, human", "10M, llm"),
        ("1M, human", "1M, llm"),
    ]


# ---- measures, tests and depth


def test_measures_by_option(files: Path, evaluated: Evaluated) -> None:
    data = evaluated(*ONE, "--measures", "R@100, nDCG(dcg='exp-log2')@10", "--measures", "MAP", "--measures", "R@100")
    assert data["measures"] == ["R@100", "nDCG(dcg='exp-log2')@10", "AP"]
    assert list(data["qrels"][0]["comparisons"]) == ["R@100"]
    # Bounds are those of the linear gain.
    assert data["qrels"][0]["runs"][0]["bounds"] == {}


def differences(a: str, b: str, measure: str) -> list[float]:
    one, other = (by_query(RUNS[run_tag], HUMAN, measure) for run_tag in (a, b))
    return [round(one[query] - other[query], 12) for query in QUERIES]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_the_paired_tests_equal_scipy_with_holm(files: Path, evaluated: Evaluated, test: str) -> None:
    data = evaluated(*ONE, "--measures", "nDCG@10, P@5", "--baseline", "b", "--test", test)
    assert (data["test"], data["baseline"]) == (test, "b")
    for measure in ("nDCG@10", "P@5"):
        found = data["qrels"][0]["against_baseline"][measure]
        assert {(one["a"], one["b"]) for one in found} == {("a", "b"), ("c", "b")}
        for one in found:
            by = differences(one["a"], "b", measure)
            other = [value for value in by if value]
            expected = {
                "t": lambda by=by: stats.ttest_1samp(by, 0).pvalue,
                "wilcoxon": lambda other=other: stats.wilcoxon(other).pvalue,
                "randomisation": lambda by=by: (
                    stats.permutation_test(
                        (by, [0] * 6), lambda x, y: sum(x) - sum(y), permutation_type="samples", n_resamples=10**4
                    ).pvalue
                ),
            }[test]()
            assert one["p"] == pytest.approx(expected)
            assert one["difference"] == pytest.approx(sum(by) / 6)
        lower, higher = sorted(found, key=lambda one: one["p"])
        assert lower["p_holm"] == pytest.approx(min(1, 2 * lower["p"]))
        assert higher["p_holm"] == pytest.approx(max(lower["p_holm"], higher["p"]))


def test_alpha_decides_what_is_significant(files: Path, evaluated: Evaluated) -> None:
    # b is a's ranking turned round, with the relevant document first in one and last in the other.
    first = {query: {DOCS[0]: 9.0, "x": 8.0, "y": 7.0 + n} for n, query in enumerate(QUERIES)}
    last = {
        query: {DOCS[0]: 1.0, **dict.fromkeys("xy", 2.0), **({"z": 3.0} if n % 2 else {})}
        for n, query in enumerate(QUERIES)
    }
    write_run(files / "f.run", "first", first)
    write_run(files / "l.run", "last", last)
    arguments = ("--run", "f.run", "--run", "l.run", "--qrels", "human=human.qrels", "--measures", "RR(rel=3)")
    (one,) = evaluated(*arguments)["qrels"][0]["comparisons"]["RR(rel=3)"]
    assert one["significant"] is True
    for alpha, groups in ((one["p_holm"] / 2, [["a"], ["a"]]), (min(one["p_holm"] * 2, 0.5), [["a"], ["b"]])):
        condition = evaluated(*arguments, "--alpha", alpha)["qrels"][0]
        assert [run["group"] for run in condition["runs"]] == groups


def test_pool_depth_adds_what_each_run_left_out_changes(files: Path, evaluated: Evaluated) -> None:
    condition = evaluated(*ONE)["qrels"][0]
    assert (condition["leave_out"], condition["grades"]) == (None, None)
    assert "--pool-depth" in condition["undefined"]["leave_out"]
    condition = evaluated(*ONE, "--pool-depth", 4)["qrels"][0]
    pooled = {
        run_tag: {
            (query, doc)
            for query, scores in run.items()
            for doc in sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:4]
        }
        for run_tag, run in RUNS.items()
    }
    graded = {(query, doc) for query, of in HUMAN.items() for doc in of}
    left_out = {one["run_tag"]: one for one in condition["leave_out"]["systems"]["runs"]}
    for run_tag, pairs in pooled.items():
        others = set().union(*(theirs for other, theirs in pooled.items() if other != run_tag))
        own = (pairs - others) & graded
        assert left_out[run_tag]["unique_pairs"] == len(own)
        reduced = {q: {d: g for d, g in of.items() if (q, d) not in own} for q, of in HUMAN.items()}
        change = left_out[run_tag]["measures"]["nDCG@10"]
        assert change["before"] == pytest.approx(mean(by_query(RUNS[run_tag], HUMAN, "nDCG@10")))
        assert change["after"] == pytest.approx(mean(by_query(RUNS[run_tag], reduced, "nDCG@10")))
    # The paper's Table 2, of what any returned and of what one did.
    union = set().union(*pooled.values())
    for row in condition["grades"]["rows"][:-1]:
        pairs = [p for p in union & graded if HUMAN[p[0]][p[1]] == int(row["grade"])]
        single = [p for p in pairs if sum(p in theirs for theirs in pooled.values()) == 1]
        assert (row["pairs"], row["unique"]) == (len(pairs), len(single))
    assert condition["grades"]["ungraded"] == len(union - graded)


def test_without_resamples_there_are_no_intervals_and_the_reason_is_given(
    files: Path, cli: Cli, evaluated: Evaluated
) -> None:
    data = evaluated(*TWO, "--draws", 0)
    found = data["qrels"][0]["runs"][0]["measures"]["nDCG@10"]
    assert (found["low"], found["high"]) == (None, None)
    assert found["undefined"] == {"low": "no resamples were drawn", "high": "no resamples were drawn"}
    compared = data["rank_correlation"][0]
    assert compared["intervals"]["tau"] is None
    assert compared["undefined"]["intervals.tau"] == "no resamples were drawn"
    assert [means_of(one) for one in data["qrels"]] == [means_of(one) for one in evaluated(*TWO)["qrels"]]
    assert "95 % intervals" not in cli("evaluate", *ONE, "--draws", 0).out
    one = evaluated(*TWO, "--draws", 1)["qrels"][0]["runs"][0]["measures"]["nDCG@10"]
    assert one["low"] == one["high"]


def test_the_seed_decides_the_intervals_alone(files: Path, evaluated: Evaluated) -> None:
    one, same, other = (evaluated(*ONE, "--seed", seed)["qrels"][0] for seed in (1, 1, 2))
    assert one == same
    assert means_of(one) == means_of(other)
    assert one["runs"][0]["measures"] != other["runs"][0]["measures"]


# ---- little data


def test_one_query_has_no_test_and_says_so(files: Path, cli: Cli, evaluated: Evaluated) -> None:
    write_qrels(files / "human.qrels", {"q1": HUMAN["q1"]})
    condition = evaluated(*ONE, "--baseline", "a", "--pool-depth", 3)["qrels"][0]
    for one in condition["comparisons"]["nDCG@10"]:
        assert (one["p"], one["p_holm"], one["significant"]) == (None, None, False)
        assert one["undefined"] == {"p": "fewer than two queries"}
    assert {run["queries"] for run in condition["runs"]} == {1}
    done = cli("evaluate", "--full", *ONE, "--draws", 5)
    assert "Means over 1 judged query, 0 without a relevant pair" in done.out
    assert "Queries of a run that are not judged count nowhere: " in done.out
    assert "Undefined, and not significant: fewer than two queries." in done.out


def test_one_run_is_compared_with_nothing(files: Path, cli: Cli, evaluated: Evaluated) -> None:
    arguments = ("--run", "runs/a.run", *TWO[2:], "--baseline", "a")
    data = evaluated(*arguments)
    assert data["rank_correlation"] == []
    assert data["qrels"][0]["comparisons"] == {"nDCG@10": []}
    assert data["qrels"][0]["runs"][0]["group"] == ["a"]
    assert "Systems compared" not in cli("evaluate", *arguments, "--draws", 5).out


def test_judged_queries_that_a_run_lacks_count_0_and_others_nowhere(
    files: Path, cli: Cli, evaluated: Evaluated
) -> None:
    part = {**{query: RUNS["a"][query] for query in QUERIES[:2]}, "x1": {"d01": 1.0}, "x2": {"d01": 1.0}}
    write_run(files / "part.run", "part", part)
    arguments = ("--run", "part.run", "--qrels", "human=human.qrels")
    found = evaluated(*arguments)["qrels"][0]["runs"][0]
    assert (found["missing_queries"], found["unjudged_queries"], found["queries"]) == (4, 2, 6)
    assert found["measures"]["nDCG@10"]["mean"] == pytest.approx(mean(by_query(part, HUMAN, "nDCG@10")))
    out = cli("evaluate", "--full", *arguments, "--draws", 5).out
    assert "Queries of a run that are not judged count nowhere: part 2." in out
    assert "a query that a run lacks counts 0" in out


def test_grades_of_trec_qrels_need_no_scale(files: Path, evaluated: Evaluated) -> None:
    grades = {query: {doc: (n % 6) - 1 for n, doc in enumerate(of)} for query, of in HUMAN.items()}
    write_qrels(files / "human.qrels", grades)
    condition = evaluated(*ONE, "--measures", "nDCG@10, P@5", "--pool-depth", 10)["qrels"][0]
    for run_tag, run in RUNS.items():
        for measure in ("nDCG@10", "P@5"):
            expected = mean(by_query(run, grades, measure))
            assert runs_of(condition)[run_tag]["measures"][measure]["mean"] == pytest.approx(expected)
    assert [row["grade"] for row in condition["grades"]["rows"]] == ["-1", "0", "1", "2", "3", "4", "≥ 1"]


def test_qrels_without_a_name_have_that_of_their_file(files: Path, evaluated: Evaluated) -> None:
    (files / "nist.qrels.gz").write_bytes(gzip.compress((files / "human.qrels").read_bytes()))
    found = evaluated("--run", "runs", "--qrels", "nist.qrels.gz", "--qrels", "x=llm.qrels", "--qrels", "llm.qrels")
    assert [condition["name"] for condition in found["qrels"]] == ["nist", "x", "llm"]
    assert found["qrels"][0]["runs"] == evaluated(*ONE)["qrels"][0]["runs"]


def test_rows_that_repeat_others_count_once_and_are_told(files: Path, cli: Cli, evaluated: Evaluated) -> None:
    expected = evaluated(*ONE)["qrels"]
    path = files / "human.qrels"
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    lines = len(path.read_text(encoding="utf-8").splitlines())
    with path.open("a", encoding="utf-8") as file:
        file.write(first + "\n")
    data = evaluated(*ONE)
    # The file is another, its grades are the same.
    assert [{**one, "version": None} for one in data["qrels"]] == [{**one, "version": None} for one in expected]
    assert [one["lines"] for one in data["duplicates"]] == [[1, lines + 1]]
    assert "1 row repeats another and does not count." in cli("evaluate", "--full", *ONE, "--draws", 5).out


# ---- bad input

BAD: dict[str, tuple[tuple[object, ...], str]] = {
    "an unknown measure": ((*ONE, "--measures", "nDGC@10"), "there is no measure 'nDGC@10'; did you mean 'nDCG@10'?"),
    "no measure": ((*ONE, "--measures", " , "), "no measure is named; name some, such as nDCG@10"),
    "an empty run": (
        ("--run", "empty.run", *ONE),
        "empty.run: holds no rows; expected query_id Q0 doc_id rank score run_tag",
    ),
    "empty qrels": (
        ("--run", "runs", "--qrels", "h=empty.run"),
        "empty.run: is empty; expected labels",
    ),
    "two runs of one run_tag": (
        ("--run", "twin.run", *ONE),
        "twin.run and runs/a.run hold runs of one run_tag, 'a'; rename one, or put them into sets ([SET=]FILE)",
    ),
    "a run that is named twice": (("--run", "runs/a.run", *ONE), "--run names runs/a.run twice; name it once"),
    "a set of nothing": (("--run", "10M=", *ONE), "--run 10M=: names no file; expected [SET=]FILE"),
    "a set without a name": (("--run", "=runs", *ONE), "=runs: there is no such file; check the path"),
    "a run that is not there": (("--run", "runs/x.run", *ONE), "runs/x.run: there is no such file; check the path"),
    "a pattern that nothing matches": (
        ("--run", "runs/*.trec", *ONE),
        "runs/*.trec: there is no run here; name a file, a folder, or a pattern in quotes",
    ),
    "a folder without runs": (
        ("--run", "nothing", *ONE),
        "nothing: there is no run here; name a file, a folder, or a pattern in quotes",
    ),
    "qrels that are not there": (
        ("--run", "runs", "--qrels", "h=x.qrels"),
        "x.qrels: there is no such file; check the path",
    ),
    "qrels for a run": (
        ("--run", "human.qrels", *ONE),
        "human.qrels:1: 4 columns; expected 6: query_id Q0 doc_id rank score run_tag",
    ),
    "an unknown baseline": ((*ONE, "--baseline", "aa"), "--baseline aa: no such run; did you mean 'a'?"),
    "alpha 0": ((*ONE, "--alpha", 0), "alpha is 0.0; give a number between 0 and 1, such as 0.05"),
    "conflicting duplicates": (
        ("--run", "runs", "--qrels", "h=conflict.qrels"),
        "conflict.qrels:3: query_id 'q1' and doc_id 'd1' have the grade 2 here and 3 in line 1; keep the correct row",
    ),
    "a grade that is no integer": (
        ("--run", "runs", "--qrels", "h=half.qrels"),
        "half.qrels:2: relevance '1.5' is not an integer; expected a grade such as 0 or 3",
    ),
    "runs for other queries": (
        ("--run", "other.run", "--qrels", "human=human.qrels"),
        "other: 0 of its 2 queries (q01, q02) are among the 6 judged ones (q1, q2, q3, …); "
        "give the run and the qrels of the same queries",
    ),
    "no qrels": (("--run", "runs"), "there is no pool.yaml; name qrels with --qrels FILE, or a workspace with -c"),
    "no runs": (ONE[2:], "there is no pool.yaml; name runs with --run FILE, or a workspace with -c"),
    "a file for the tables": ((*ONE, "-o", "human.qrels"), "human.qrels is not a folder; name one with -o"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_is_one_line(files: Path, cli: Cli, fault: str) -> None:
    (files / "empty.run").write_text("", encoding="utf-8")
    (files / "nothing").mkdir()
    write_run(files / "twin.run", "a", RUNS["b"])
    write_run(files / "other.run", "other", {"q01": {"d01": 1.0}, "q02": {"d01": 1.0}})
    (files / "conflict.qrels").write_text("q1 0 d1 3\nq1 0 d2 1\nq1 0 d1 2\n", encoding="utf-8")
    (files / "half.qrels").write_text("q1 0 d1 3\nq1 0 d2 1.5\n", encoding="utf-8")
    before = sorted(files.rglob("*"))
    arguments, expected = BAD[fault]
    assert refused(cli("evaluate", *arguments)) == expected
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--run", "runs", "--qrels", "human.qrels", "--qrels", "old/human.qrels.gz"),
            "human.qrels and old/human.qrels.gz are both named human; give each its own: NAME=FILE",
        ),
        ((*ONE, "--draws", -1), "--draws"),
        ((*ONE, "--pool-depth", 0), "--pool-depth"),
        ((*ONE, "--test", "u"), "'randomisation'"),
        ((*ONE, "--scale", "0"), "expected at least two grades, such as 0,1"),
    ],
)
def test_bad_usage_exits_with_2(files: Path, cli: Cli, arguments: tuple[object, ...], expected: str) -> None:
    assert expected in refused(cli("evaluate", *arguments), status=2)


# ---- files that are written


def test_the_folder_holds_tables_and_figures_with_sidecars_and_stays_the_same(files: Path, cli: Cli) -> None:
    arguments = ("evaluate", *TWO, "--draws", 20, "-o", "out")
    done = cli(*arguments, "--format", "json")
    assert done.status == 0
    assert done.err.startswith("evaluation: wrote evaluation.md, evaluation.tex, evaluation.json, ")
    names = {path.name for path in (files / "out").iterdir() if path.name[0] != "."}
    made = {name for name in names if not name.endswith(".meta.json")}
    assert {f"{name}.meta.json" for name in made} == names - made
    assert {"evaluation.md", "evaluation.tex", "evaluation.json", "evaluation-by-query.csv"} < made
    assert {f"leaderboard--{qrels}.{suffix}" for qrels in ("human", "llm") for suffix in ("svg", "png")} < made
    assert {"ranks--human--llm.svg", "ranks--human--llm.png"} < made
    assert json.loads((files / "out" / "evaluation.json").read_bytes()) == json.loads(done.out)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (files / "out").iterdir()}
    assert cli(*arguments).err == "evaluation: out is up to date\n"
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (files / "out").iterdir()} == before


def test_the_csv_by_query_adds_up_to_the_means(files: Path, cli: Cli, sketched: None) -> None:
    done = cli("evaluate", *TWO, "--draws", 0, "--measures", "nDCG@10, AP", "-o", "out", "--format", "json")
    data = json.loads(done.out)
    with (files / "out" / "evaluation-by-query.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3 * 6
    assert list(rows[0]) == ["condition", "qrels", "run_tag", "query_id", "missing", "nDCG@10", "AP"]
    for condition in data["qrels"]:
        for run_tag, run in runs_of(condition).items():
            own = [row for row in rows if (row["condition"], row["run_tag"]) == (condition["name"], run_tag)]
            for name, found in run["measures"].items():
                assert sum(float(row[name]) for row in own) / len(own) == pytest.approx(found["mean"])
            assert sum(int(row["missing"]) for row in own) == run["missing_queries"]


# ---- the workspace

POOL_YAML = """\
name: tiny
seed: 3
corpus: {path: corpus.jsonl}
queries: {path: queries.tsv}
systems:
  a: {retriever: run, path: runs-of-others/a.run, family: one}
  b: {retriever: run, path: runs-of-others/b.run, family: one}
  c: {retriever: run, path: runs-of-others/c.run}
pool: {depth: 4, extra: extra.tsv}
judges:
  gold: {judge: replay, path: gold.qrels}
measures: [nDCG@10, P@5]
"""
# What a alone returned of q1 at depth 4, and nobody of q2.
EXTRA = [("q1", "d03"), ("q2", "d19")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of the three runs, built and judged; three pairs of the pool failed."""
    tmp_path = tmp_path_factory.mktemp("finished")
    for run_tag, run in RUNS.items():
        write_run(tmp_path / "runs-of-others" / f"{run_tag}.run", run_tag, run)
    rows = [json.dumps({"doc_id": doc, "text": f"passage {doc}"}) + "\n" for doc in DOCS]
    (tmp_path / "corpus.jsonl").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("".join(f"{q}\tquestion {q}\n" for q in QUERIES), encoding="utf-8")
    (tmp_path / "extra.tsv").write_text("# by hand\n" + "".join(f"{q}\t{d}\n" for q, d in EXTRA), encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(POOL_YAML, encoding="utf-8")
    pairs = sorted(pooled_pairs())
    write_qrels(tmp_path / "gold.qrels", by_pair({pair: place % 4 for place, pair in enumerate(pairs[:-3])}))
    with mock.patch("quati_pool.reporting.figures.build.heat_map", return_value=Sketch()):
        build(tmp_path / "pool.yaml", Listener())
    judge(tmp_path / "pool.yaml", "gold", Listener())
    return tmp_path


class Sketch:
    """A stand-in for the figure of a build."""

    def render_all(self) -> dict[str, bytes]:
        return {"svg": b"a sketch", "png": b"a sketch"}


@pytest.fixture
def workspace(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sketched: None) -> Path:
    """The current folder: a copy of the finished workspace, in which figures are sketched."""
    folder = Path(shutil.copytree(finished, tmp_path / "workspace"))
    monkeypatch.chdir(folder)
    return folder


def top(run_tag: str, depth: int) -> set[tuple[str, str]]:
    return {
        (query, doc)
        for query, scores in RUNS[run_tag].items()
        for doc in sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:depth]
    }


def pooled_pairs() -> set[tuple[str, str]]:
    return top("a", 4) | top("b", 4) | top("c", 4) | set(EXTRA)


def by_pair(grades: Mapping[tuple[str, str], int]) -> Grades:
    found: Grades = {}
    for (query, doc), grade in grades.items():
        found.setdefault(query, {})[doc] = grade
    return found


def test_a_workspace_is_measured_by_its_labelers_with_its_measures_and_depths(
    workspace: Path, cli: Cli, evaluated: Evaluated
) -> None:
    pairs = sorted(pooled_pairs())
    grades = by_pair({pair: place % 4 for place, pair in enumerate(pairs[:-3])})
    data = evaluated()
    assert (data["measures"], data["seed"]) == (["nDCG@10", "P@5"], 3)
    (condition,) = data["qrels"]
    assert (condition["name"], condition["pairs"], condition["without_grade"]) == (
        "gold",
        len(pairs) - 3,
        {"failed": 3},
    )
    expected = {run_tag: mean(by_query(run, grades, "nDCG@10")) for run_tag, run in RUNS.items()}
    assert means_of(condition) == pytest.approx(expected)
    systems = {one["run_tag"]: one for one in condition["leave_out"]["systems"]["runs"]}
    graded = {(query, doc) for query, of in grades.items() for doc in of}
    fed = {run_tag: top(run_tag, 4) for run_tag in RUNS}
    # A pair that was named by hand would have been pooled without the system.
    extra = set(EXTRA)
    assert systems["a"]["unique_pairs"] == len((fed["a"] - fed["b"] - fed["c"] - extra) & graded)
    assert systems["c"]["unique_pairs"] == len((fed["c"] - fed["a"] - fed["b"] - extra) & graded)
    families = {one["run_tag"]: one for one in condition["leave_out"]["families"]["runs"]}
    assert (families["a"]["left_out"], families["b"]["left_out"], families["c"]["left_out"]) == ("one", "one", "c")
    assert families["a"]["unique_pairs"] == len(((fed["a"] | fed["b"]) - fed["c"] - extra) & graded)
    done = cli("evaluate", "--full", "--draws", 5)
    assert "3 pairs have no grade by gold (3 failed): unjudged where runs return them." in done.out
    for title in ("Each system left out of the pool", "Each family left out", "Pairs that only one system returned"):
        assert title in done.out
    assert {"evaluation.md", "leaderboard--gold.png"} <= {path.name for path in (workspace / "reports").iterdir()}


def test_one_labeler_of_the_workspace_or_a_file_for_its_runs(workspace: Path, evaluated: Evaluated) -> None:
    write_qrels(workspace / "human.qrels", HUMAN)
    assert [one["name"] for one in evaluated("gold")["qrels"]] == ["gold"]
    (condition,) = evaluated("--qrels", "human=human.qrels")["qrels"]
    expected = {run_tag: mean(by_query(run, HUMAN, "nDCG@10")) for run_tag, run in RUNS.items()}
    assert means_of(condition) == pytest.approx(expected)
    assert {one["name"] for one in evaluated("gold", "--qrels", "human=human.qrels")["qrels"]} == {"gold", "human"}


def test_a_bad_measure_of_pool_yaml_is_found_there(workspace: Path, cli: Cli) -> None:
    (workspace / "pool.yaml").write_text(POOL_YAML.replace("P@5", "PP@5"), encoding="utf-8")
    done = refused(cli("evaluate"))
    assert done.startswith("pool.yaml: measures: there is no measure 'PP@5'; ")
    # Another is asked for: what pool.yaml says is not needed.
    assert cli("evaluate", "--measures", "P@5", "--draws", 0).status == 0


def test_a_system_that_is_not_built_is_named_and_its_absence_considered(
    workspace: Path, cli: Cli, evaluated: Evaluated
) -> None:
    more = "  c: {retriever: run, path: runs-of-others/c.run}\n"
    late = more + "  late: {retriever: run, path: late.run}\n"
    (workspace / "pool.yaml").write_text(POOL_YAML.replace(more, late), encoding="utf-8")
    (condition,) = evaluated()["qrels"]
    assert condition["absent_runs"] == {"late": "not there yet"}
    assert condition["leave_out"] is None
    assert condition["undefined"]["leave_out"].startswith("late contributed to the pool but is missing")
    out = cli("evaluate", "--full", "--draws", 5).out
    assert "Without late (not there yet)." in out
    assert "Results that leave out one system at a time are missing: late contributed to the pool but is missing" in out
    # One that feeds no pool hides nothing of the others.
    (workspace / "pool.yaml").write_text(
        POOL_YAML.replace(more, late.replace("late.run", "late.run, pool: false")), encoding="utf-8"
    )
    assert evaluated()["qrels"][0]["leave_out"] is not None


def test_nothing_built_and_nothing_graded_are_refused(tiny: Path, cli: Cli) -> None:
    assert "run: quati-pool build" in refused(cli("evaluate"))
    assert cli("build").status == 0
    done = refused(cli("evaluate"))
    assert done == "nobody has graded anything; run: quati-pool judge, or name qrels with --qrels FILE"


def test_a_human_sample_of_few_queries_stands_beside_the_judge(workspace: Path, cli: Cli, evaluated: Evaluated) -> None:
    """c found nothing for q6, the one query that people graded: no run for other queries, but a missing one."""
    (workspace / "ana.tsv").write_text(
        "query_id\tdoc_id\trelevance\n" + "".join(f"q6\t{doc}\t{grade}\n" for doc, grade in HUMAN["q6"].items()),
        encoding="utf-8",
    )
    (workspace / "pool.yaml").write_text(
        POOL_YAML + "labels: {files: {ana: {path: ana.tsv, person: true}}}\n", encoding="utf-8"
    )
    data = evaluated()
    found = {condition["name"]: condition for condition in data["qrels"]}
    runs = runs_of(found["ana"])
    assert {run_tag: run["missing_queries"] for run_tag, run in runs.items()} == {"a": 0, "b": 0, "c": 1}
    for run_tag in "ab":
        expected = by_query(RUNS[run_tag], {"q6": HUMAN["q6"]}, "nDCG@10")["q6"]
        assert runs[run_tag]["measures"]["nDCG@10"]["mean"] == pytest.approx(expected)
    assert runs["c"]["measures"]["nDCG@10"]["mean"] == 0
    assert runs["c"]["unjudged"]["10"]["share"] is None
    (compared,) = data["rank_correlation"]
    assert compared["queries"] == {"a": 1, "b": 6, "common": 1}
    # Files for no query of the workspace are still refused.
    (workspace / "other.qrels").write_text("x1 0 d01 1\n", encoding="utf-8")
    assert refused(cli("evaluate", "--qrels", "x=other.qrels")).startswith("a: 0 of its 6 queries")


# ---- what a number is of


def test_the_bounds_under_one_qrels_owe_nothing_to_another(files: Path, evaluated: Evaluated) -> None:
    """A binary qrels' unjudged documents can be 0 or 1, whatever grades another file has."""
    binary = {query: {doc: min(grade, 1) for doc, grade in of.items()} for query, of in HUMAN.items()}
    write_qrels(files / "binary.qrels", binary)
    alone = ("--run", "runs/a.run", "--run", "runs/b.run", "--qrels", "binary=binary.qrels", "--measures", "nDCG@10")
    first, *_ = evaluated(*alone)["qrels"]
    beside, _ = evaluated(*alone, "--qrels", "human=human.qrels")["qrels"]
    assert [run["bounds"] for run in first["runs"]] == [run["bounds"] for run in beside["runs"]]
    declared, *_ = evaluated(*alone, "--scale", "0,1,2,3")["qrels"]
    assert [run["bounds"] for run in first["runs"]] != [run["bounds"] for run in declared["runs"]]


def test_one_query_has_no_interval(files: Path, cli: Cli, evaluated: Evaluated) -> None:
    write_qrels(files / "one.qrels", {"q1": HUMAN["q1"]})
    write_qrels(files / "two.qrels", {"q1": LLM["q1"]})
    arguments = ("--run", "runs/a.run", "--run", "runs/b.run", "--qrels", "one=one.qrels", "--qrels", "two=two.qrels")
    data = evaluated(*arguments)
    for condition in data["qrels"]:
        for run in condition["runs"]:
            assert all(one["low"] is None and one["high"] is None for one in run["measures"].values())
    [ranking] = data["rank_correlation"]
    assert set(ranking["intervals"].values()) == {None}
    assert set(ranking["undefined"]) >= {f"intervals.{name}" for name in ranking["intervals"]}
    assert "One judged query only" in cli("evaluate", "--full", *arguments, "--draws", 5).out


def test_qrels_of_different_queries_are_told_apart_from_each_other(files: Path, cli: Cli) -> None:
    write_qrels(files / "fewer.qrels", {query: LLM[query] for query in QUERIES[2:]})
    arguments = (
        "--run",
        "runs/a.run",
        "--run",
        "runs/b.run",
        "--qrels",
        "human=human.qrels",
        "--qrels",
        "fewer=fewer.qrels",
    )
    out = cli("evaluate", "--full", *arguments, "--draws", 5).out
    assert "Each mean is over the judged queries of its own qrels (human 6, fewer 4)" in out
