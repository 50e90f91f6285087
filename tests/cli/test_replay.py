"""``quati-pool replay estimate`` as a user runs it, on files."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, Done

QUERIES = [f"q{number:02}" for number in range(12)]
DOCS = [f"d{number:02}" for number in range(15)]
SYSTEMS = {"good": 0.3, "fair": 1.0, "poor": 3.0}
Grades = dict[tuple[str, str], int]


def people() -> Grades:
    chance = random.Random(0)
    return {(query, doc): chance.choice([0, 0, 0, 1, 2, 3]) for query in QUERIES for doc in DOCS}


def judge() -> Grades:
    chance = random.Random(1)
    return {pair: min(3, max(0, grade + chance.choice([-1, 0, 0, 1]))) for pair, grade in people().items()}


def write(folder: Path, name: str, grades: Grades) -> None:
    rows = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()]
    (folder / name).write_text("".join(rows), encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with three runs and the grades of people and judge."""
    monkeypatch.chdir(tmp_path)
    chance, grades = random.Random(2), people()
    (tmp_path / "runs").mkdir()
    for run_tag, error in SYSTEMS.items():
        rows = [f"{q} Q0 {d} 1 {grade + chance.gauss(0, error)} {run_tag}\n" for (q, d), grade in grades.items()]
        (tmp_path / f"runs/{run_tag}.run").write_text("".join(rows), encoding="utf-8")
    write(tmp_path, "nist.qrels", grades)
    write(tmp_path, "llm.qrels", judge())
    return tmp_path


def replayed(cli: Cli, *arguments: object, people: str = "nist.qrels", judge: str = "llm.qrels") -> Done:
    fixed = ("--run", "runs", "--people", people, "--judge", judge, "--draws", 5, "--queries", 8, "--workers", 1)
    return cli("replay", "estimate", *fixed, *arguments)


def data(done: Done) -> Any:
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.mark.slow
def test_the_answer_and_its_files(files: Path, cli: Cli) -> None:
    done = replayed(cli, "-o", "out")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    first = "Over 5 draws, the 95 % intervals from 8 whole queries (120 labels) cover the\ntrue nDCG@10 of these 12"
    assert done.out.startswith(first)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "Those from 12" in done.out
    assert "Estimates of nDCG@10 of 3 systems, replayed" in done.out
    names = ["replay-estimate.md", "replay-estimate.tex", "replay-estimate.svg", "replay-estimate.png"]
    assert all((files / "out" / name).exists() for name in names)
    found = json.loads((files / "out/replay-estimate.json").read_text(encoding="utf-8"))
    with (files / "out/replay-estimate-systems.csv").open(encoding="utf-8") as lines_of:
        systems = list(csv.DictReader(lines_of))
    assert len(systems) == len(found["methods"]) * 3
    with (files / "out/replay-estimate-differences.csv").open(encoding="utf-8") as lines_of:
        differences = list(csv.DictReader(lines_of))
    assert len(differences) == len(found["methods"]) * 3
    assert float(systems[0]["coverage"]) == found["methods"][0]["systems"]["each"][0]["coverage"]


@pytest.mark.slow
def test_json(files: Path, cli: Cli) -> None:
    found = data(replayed(cli, "--format", "json", "--baseline", "fair", "--seed", 4, "--target", "these-queries"))
    assert (found["people"], found["judge"], found["measure"]) == ("nist", "llm", "nDCG@10")
    assert (found["n_queries"], found["n_pairs"], found["drawn_queries"], found["expected_pairs"]) == (12, 180, 8, 120)
    assert (found["draws"], found["seed"], found["baseline"]) == (5, 4, "fair")
    assert found["targets"] == ["these-queries"]
    methods = {one["method"]: one for one in found["methods"]}
    assert list(methods) == ["people-only", "queries", "pairs", "uniform-pairs", "judge-only"]
    queries = methods["queries"]
    assert queries["labels"] == 120
    assert [(one["a"], one["b"]) for one in queries["differences"]["each"]] == [("good", "fair"), ("poor", "fair")]
    lowest = min(one["coverage"] for one in queries["systems"]["each"])
    assert queries["systems"]["lowest"]["coverage"] == lowest
    assert methods["people-only"]["systems"]["ratio_to_people_only"] == 1
    assert (found["simultaneous_draws"], queries["refused"]) == (5, {})
    assert 0 <= queries["simultaneous_coverage"] <= 1
    assert set(queries["decisions"]) >= {"decided", "ordered", "tied", "wrong_order_draws", "wrong_orders"}
    again = data(replayed(cli, "--format", "json", "--baseline", "fair", "--seed", 4, "--target", "these-queries"))
    assert again == found


@pytest.mark.slow
def test_all_queries_have_no_ratio(files: Path, cli: Cli) -> None:
    found = data(replayed(cli, "--format", "json", "--queries", 12, "--system", "good", "--system", "poor"))
    assert [one["run_tag"] for one in found["systems"]] == ["good", "poor"]
    first = found["methods"][0]["systems"]
    assert (first["half_width"], first["ratio_to_people_only"]) == (0, None)
    assert first["undefined"] == {"ratio_to_people_only": "people alone have intervals without a width"}


@pytest.mark.slow
def test_other_weightings_of_pairs(files: Path, cli: Cli) -> None:
    write(files, "other.qrels", {pair: 3 - grade for pair, grade in judge().items()})
    arguments = ("--judge", "other.qrels", "--by", "uncertainty", "--by", "disagreement", "--pilot", 100)
    done = replayed(cli, *arguments, "-o", "out")
    assert done.status == 0, done.err
    text = " ".join(done.out.split())
    assert "From as many pairs drawn by uncertainty " in text
    assert " times as wide (coverage " in text
    assert len(done.out.splitlines()) <= 40
    assert max(map(len, done.out.splitlines())) <= 80
    found = json.loads((files / "out/replay-estimate.json").read_text(encoding="utf-8"))
    assert (found["by"], found["pilot"]) == (["uncertainty", "disagreement"], 100)
    assert [one["name"] for one in found["further_judges"]] == ["other"]
    methods = [one["method"] for one in found["methods"] if one["target"] == "these-queries"]
    assert methods[2:5] == ["pairs", "pairs-by-uncertainty", "pairs-by-disagreement"]
    tables = (files / "out/replay-estimate.md").read_text(encoding="utf-8")
    assert "By uncertainty: times the spread of people's grades given llm's, by 100 other pairs." in tables
    assert "By disagreement: times the spread of the grades of llm and other." in tables


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--by", "disagreement"), "judges that may disagree are given by --by disagreement and a second --judge"),
        (("--judge", "other.qrels"), "judges that may disagree are given by --by disagreement and a second --judge"),
        (("--pilot", 200), "--pilot says how uncertain the judge is; add --by uncertainty"),
        (("--by", "uncertainty", "--pilot", 20), "--pilot 20: so few grades do not say how uncertain the judge is"),
        (("--by", "uncertainty", "--pilot", 200), "--pilot 200: people graded 180 pairs; give at most that"),
        (("--by", "uncertainty", "--measure", "AP"), "--by is about samples of pairs, which AP cannot be estimated"),
        (("--by", "disagreement", "--judge", "none.qrels"), "none graded none of the pairs that nist graded"),
    ],
)
def test_weightings_that_cannot_be_replayed(files: Path, cli: Cli, arguments: tuple[object, ...], problem: str) -> None:
    write(files, "other.qrels", judge())
    write(files, "none.qrels", {("q99", "d99"): 1})
    done = replayed(cli, *arguments)
    assert done.status == 1
    assert problem in " ".join(done.err.split())
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_refused_draws(files: Path, cli: Cli) -> None:
    done = replayed(cli, "--pairs", 30, "-o", "out")
    assert done.status == 0, done.err
    text = " ".join(done.out.split())
    assert "pairs of all queries, estimate would have refused in all 5 draws: fewer than 50 pairs." in text
    assert "; pairs refused in 5 draws." in text
    pairs = json.loads((files / "out/replay-estimate.json").read_text(encoding="utf-8"))["methods"][2]
    assert (pairs["method"], pairs["refused"]) == ("pairs", {"few-pairs": 5})
    assert pairs["systems"]["coverage"] is pairs["systems"]["lowest"] is pairs["simultaneous_coverage"] is None
    assert pairs["systems"]["undefined"]["coverage"] == "estimate would have refused in all draws"
    assert pairs["decisions"]["undefined"]["decided"] == "estimate would have refused in all draws"
    some = " ".join(replayed(cli, "--pairs", 56, "--draws", 20, "--target", "these-queries").out.split())
    assert "draws that estimate would have refused (" in some


@pytest.mark.slow
@pytest.mark.parametrize("output_format", ["markdown", "latex", "csv"])
def test_formats_for_files(files: Path, cli: Cli, output_format: str) -> None:
    done = replayed(cli, "--format", output_format, "--target", "these-queries")
    assert done.status == 0, done.err
    assert "whole queries" in done.out
    assert "Half-width" in done.out


@pytest.mark.slow
def test_a_measure_for_whole_queries_only(files: Path, cli: Cli) -> None:
    done = replayed(cli, "--measure", "AP", "--format", "json")
    assert {one["method"] for one in data(done)["methods"]} == {"people-only", "queries", "judge-only"}
    assert "AP cannot be estimated from a sample of pairs, so that only whole queries are drawn" in done.err


@pytest.mark.slow
def test_pairs_without_the_judges_grade_are_counted(files: Path, cli: Cli) -> None:
    some = dict(list(judge().items())[3:])
    write(files, "llm.qrels", some)
    done = replayed(cli, "--format", "json")
    said = "llm has no grade of 3 of 180 pairs, which count with their query's mean grade"
    assert said in done.err
    assert data(done)["warnings"] == [said]
    assert data(done)["n_pairs"] == 180


@pytest.mark.slow
def test_a_workspace(files: Path, cli: Cli) -> None:
    lines = [json.dumps({"doc_id": doc, "text": f"Passage {doc} tells of ferries."}) + "\n" for doc in DOCS]
    (files / "corpus.jsonl").write_text("".join(lines), encoding="utf-8")
    (files / "queries.tsv").write_text("".join(f"{query}\tferries {query}\n" for query in QUERIES), encoding="utf-8")
    systems = "".join(f"  {run_tag}: {{retriever: run, path: runs/{run_tag}.run}}\n" for run_tag in SYSTEMS)
    (files / "pool.yaml").write_text(
        "name: ferries\nseed: 6\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.tsv}\n"
        f"systems:\n{systems}pool: {{depth: 15}}\n"
        "labels: {files: {nist: {path: nist.qrels}, llm: {path: llm.qrels}}}\n",
        encoding="utf-8",
    )
    assert cli("build").status == 0
    arguments = ("--people", "nist", "--judge", "llm", "--queries", 8, "--draws", 5, "--workers", 1)
    found = data(cli("replay", "estimate", *arguments, "--format", "json"))
    assert (found["seed"], found["n_pairs"]) == (6, 180)
    assert [one["run_tag"] for one in found["systems"]] == list(SYSTEMS)
    assert (files / "reports/replay-estimate.md").exists()
    done = cli("replay", "estimate", "--people", "nist", "--judge", "lm")
    assert done.status == 1
    assert "did you mean 'llm'" in done.err


def test_people_must_have_graded_all(files: Path, cli: Cli) -> None:
    some = dict(list(people().items())[:-2])
    write(files, "nist.qrels", some)
    assert replayed(cli) == (
        1,
        "",
        "quati-pool: nist lacks 2 of the 180 pairs that llm graded (first: query q11, d13); a replay needs people's "
        "grades of all: give the judge's of queries that people graded in full\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", 7], "7 queries cannot be drawn from 12: give --queries from 8, the fewest that an interval"),
        (["--queries", 13], "13 queries cannot be drawn from 12: give --queries from 8, the fewest that an interval"),
        (["--pairs", 181], "the pool has 180 pairs to choose from, not 181; ask for at most 180"),
        (["--baseline", "god"], "--baseline god: no such run; did you mean 'good'?"),
        (["--system", "god"], "--system god: no such run; did you mean 'good'?"),
        (["--system", "good"], "a replay tells systems apart, and there is one; name two or more"),
        (["--measure", "nDCG@10 AP"], "--measure nDCG@10 AP: one measure is replayed at a time; name one"),
        (["--run", "b=runs/good.run"], "--run names several sets of runs"),
        (["--alpha", 0], "alpha is 0.0; give a number between 0 and 1, such as 0.05"),
    ],
)
def test_what_is_refused(files: Path, cli: Cli, arguments: list[object], message: str) -> None:
    done = replayed(cli, *arguments)
    assert done.status == 1
    assert message in done.err
    assert done.err.count("\n") == 1


def test_people_who_found_nothing(files: Path, cli: Cli) -> None:
    write(files, "nist.qrels", dict.fromkeys(people(), 0))
    done = replayed(cli)
    assert (done.status, done.err) == (
        1, "quati-pool: nist found nothing relevant, so that there is nothing to estimate\n",
    )  # fmt: skip


def test_one_labeler_for_both(files: Path, cli: Cli) -> None:
    done = replayed(cli, judge="nist=llm.qrels")
    assert done.status in (1, 2)
    assert "both" in done.err


def test_labelers_need_a_workspace(files: Path, cli: Cli) -> None:
    assert replayed(cli, people="anna", judge="llm") == (
        1,
        "",
        "quati-pool: --people anna: there is no such file, and no pool.yaml with a labeler of this name; name a file: "
        "--people FILE\n",
    )


def test_two_files_with_the_same_runs_are_refused_in_one_line(files: Path, cli: Cli) -> None:
    both = "".join((files / f"runs/{run_tag}.run").read_text(encoding="utf-8") for run_tag in SYSTEMS)
    (files / "all.run").write_text(both, encoding="utf-8")
    (files / "copy.run").write_text(both, encoding="utf-8")
    done = cli(
        "replay",
        "estimate",
        "--run",
        "all.run",
        "--run",
        "copy.run",
        "--people",
        "nist.qrels",
        "--judge",
        "j=llm.qrels",
    )
    assert (done.status, done.err) == (
        1,
        "quati-pool: all.run and copy.run both hold runs of 3 run_tags, such as 'good'; name one of the files, or put "
        "them into sets ([SET=]FILE)\n",
    )
