"""``quati-pool replay pools`` as a user runs it, on files."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, Done

QUERIES = [f"q{number:02}" for number in range(8)]
DOCS = [f"d{number:02}" for number in range(25)]
SYSTEMS = {"good": 0.3, "fair": 1.0, "poor": 3.0, "reversed": 0.5}
Grades = dict[tuple[str, str], int]


def people() -> Grades:
    chance = random.Random(0)
    return {(query, doc): chance.choice([0, 0, 0, 0, 1, 2, 3]) for query in QUERIES for doc in DOCS}


def judge() -> Grades:
    chance = random.Random(1)
    return {pair: min(3, max(0, grade + chance.choice([-1, 0, 0, 1]))) for pair, grade in people().items()}


def write(folder: Path, name: str, grades: Grades) -> None:
    rows = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()]
    (folder / name).write_text("".join(rows), encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with four runs, one of which ranks the worst first, and the grades of people and judge."""
    monkeypatch.chdir(tmp_path)
    chance, grades = random.Random(2), people()
    (tmp_path / "runs").mkdir()
    for run_tag, error in SYSTEMS.items():
        sign = -1 if run_tag == "reversed" else 1
        rows = [f"{q} Q0 {d} 1 {sign * grade + chance.gauss(0, error)} {run_tag}\n" for (q, d), grade in grades.items()]
        (tmp_path / f"runs/{run_tag}.run").write_text("".join(rows), encoding="utf-8")
    write(tmp_path, "nist.qrels", grades)
    write(tmp_path, "llm.qrels", judge())
    return tmp_path


def replayed(cli: Cli, *arguments: object, people: str = "nist.qrels", judge: str | None = "llm.qrels") -> Done:
    of_judge = () if judge is None else ("--judge", judge)
    fixed = ("--run", "runs", "--people", people, *of_judge, "--workers", 1, "--seeds", 2)
    return cli("replay", "pools", *fixed, *arguments)


def data(done: Done) -> Any:
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.mark.slow
def test_the_answer_and_its_files(files: Path, cli: Cli) -> None:
    done = replayed(cli, "-o", "out", "--steered-by", "people", "--steered-by", "judge")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert done.out.startswith("At 20 % of the pool (")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    text = " ".join(done.out.split())
    assert "times as many as the" in text
    assert "Kendall's τ to the ranking of 4 systems by all grades is" in text
    assert "llm alone, without a label of nist, ranks them with τ" in text
    assert "Pools of 20 % of the candidates, replayed" in text
    names = [f"replay-pools.{suffix}" for suffix in ("md", "tex", "csv", "json", "svg", "png")]
    assert all((files / "out" / name).exists() for name in names)
    found = json.loads((files / "out/replay-pools.json").read_text(encoding="utf-8"))
    # For each share depth once, active sampling with a fixed budget by both steerings, three methods with both budgets
    # by both, and the judge's order, which grades change only where the budget moves.
    assert len(found["methods"]) == 4 * (1 + 2 + 3 * 4 + 3)
    assert "Not shown here: the columns" in text
    with (files / "out/replay-pools.csv").open(encoding="utf-8") as lines_of:
        rows = list(csv.reader(lines_of))
    first = next(row for row in rows if row[:2] == ["depth", "per query"])
    assert first[3] == "5 %"


@pytest.mark.slow
def test_json(files: Path, cli: Cli) -> None:
    found = data(replayed(cli, "--format", "json", "--method", "mm-ns", "--method", "active-sampling", "--share", 50))
    assert (found["people"], found["judge"], found["measure"]) == ("nist", "llm", "nDCG@10")
    assert (found["relevant"], found["judge_relevant"], found["shares"], found["depth"]) == (2, 2, [0.5], 10)
    assert (found["n_queries"], found["n_families"], found["seed"], found["seeds"]) == (8, 4, 0, 2)
    keys = [(one["method"], one["budget"], one["steered_by"], one["seeds"]) for one in found["methods"]]
    assert keys == [
        ("depth", "per-query", None, 1), ("mm-ns", "per-query", "people", 1), ("mm-ns", "moving", "people", 1),
        ("active-sampling", "per-query", "people", 2),
    ]  # fmt: skip
    depth, fixed, *_ = found["methods"]
    assert depth["undefined"] == {"steered_by": "no grade changes what the method chooses"}
    assert (depth["times_depth"], depth["labels"]) == (1, round(0.5 * found["n_candidates"]))
    assert fixed["recall"] == pytest.approx(fixed["found"] / found["n_relevant"])
    assert fixed["times_depth"] == pytest.approx(fixed["found"] / depth["found"])
    low, high = fixed["times_depth_interval"]
    assert low <= fixed["times_depth"] <= high
    assert list(fixed["rankings"]) == ["unjudged-as-0", "condensed", "hybrid"]
    assert set(fixed["left_out"]) >= {"tau", "tau_ap", "top_tau", "bias", "error"}
    assert [one["run_tag"] for one in found["systems"]] == ["fair", "good", "poor", "reversed"]
    assert found["parameters"]["mm-ns"]["forgetting"] == 0.9


@pytest.mark.slow
def test_without_a_judge(files: Path, cli: Cli) -> None:
    found = data(replayed(cli, "--format", "json", "--no-leave-out", judge=None))
    assert "judge-order" not in {one["method"] for one in found["methods"]}
    assert (found["judge"], found["judge_alone"]) == (None, None)
    assert found["undefined"] == {
        "judge": "there is no judge", "judge_alone": "there is no judge", "n_families": "families were not left out",
    }  # fmt: skip
    one = found["methods"][0]
    assert list(one["rankings"]) == ["unjudged-as-0", "condensed"]
    assert one["left_out"] is None
    assert one["undefined"]["left_out"] == "families were not left out"
    assert "judge" not in replayed(cli, "--no-leave-out", judge=None).out.replace("unjudged", "")


@pytest.mark.slow
def test_a_random_share_and_families_of_a_file(files: Path, cli: Cli) -> None:
    (files / "families.tsv").write_text("good\tone\nfair\tone\nreversed\ttwo\n", encoding="utf-8")
    found = data(
        replayed(
            cli, "--format", "json", "--families", "families.tsv", "--random-share", 50, "--method", "max-mean",
            "--share", 40,
        )
    )  # fmt: skip
    # The run that the file does not name is a family of its own.
    assert (found["n_families"], found["random_share"]) == (3, 0.5)
    assert {one["seeds"] for one in found["methods"]} == {2}
    assert {one["labels"] for one in found["methods"]} == {round(0.4 * found["n_candidates"])}


@pytest.mark.slow
@pytest.mark.parametrize("output_format", ["markdown", "latex", "csv"])
def test_formats_for_files(files: Path, cli: Cli, output_format: str) -> None:
    done = replayed(cli, "--format", output_format, "--method", "mm-ns", "--no-leave-out")
    assert done.status == 0, done.err
    assert "mm-ns" in done.out
    assert "Times depth" in done.out


@pytest.mark.slow
def test_pairs_without_a_grade_are_counted(files: Path, cli: Cli) -> None:
    graded = dict(list(people().items())[10:])
    write(files, "nist.qrels", graded)
    write(files, "llm.qrels", dict(list(judge().items())[5:]))
    done = replayed(cli, "--format", "json", "--method", "mm-ns", "--depth", 25, "--no-leave-out")
    found = data(done)
    assert found["lacking"] == {"people": 10, "judge": 5}
    assert found["warnings"] == [
        "nist has no grade of 10 of 200 candidates, which count as not relevant; a lower --depth leaves fewer of them",
        "llm has no grade of 5 of 200 candidates, which come last in its order and gain nothing by its grades; have it "
        "grade them",
    ]
    assert all(f"warning: {warning}" in done.err for warning in found["warnings"])


@pytest.mark.slow
def test_a_judge_on_another_scale(files: Path, cli: Cli) -> None:
    """People's lowest relevant grade of 0 to 3 is 2, that of a judge who gives 0 to 9 is 5."""
    write(files, "llm.qrels", {pair: 3 * grade for pair, grade in judge().items()} | {("q00", "d00"): 5})
    found = data(replayed(cli, "--format", "json", "--method", "mm-ns", "--steered-by", "judge", "--no-leave-out"))
    assert (found["relevant"], found["judge_relevant"]) == (2, 5)


@pytest.mark.slow
def test_a_workspace(files: Path, cli: Cli) -> None:
    lines = [json.dumps({"doc_id": doc, "text": f"Passage {doc} tells of ferries."}) + "\n" for doc in DOCS]
    (files / "corpus.jsonl").write_text("".join(lines), encoding="utf-8")
    (files / "queries.tsv").write_text("".join(f"{query}\tferries {query}\n" for query in QUERIES), encoding="utf-8")
    systems = "".join(
        f"  {run_tag}: {{retriever: run, path: runs/{run_tag}.run, family: {'odd' if run_tag == 'poor' else 'even'}}}\n"
        for run_tag in SYSTEMS
    )
    (files / "pool.yaml").write_text(
        "name: ferries\nseed: 6\ncorpus: {path: corpus.jsonl}\nqueries: {path: queries.tsv}\n"
        f"systems:\n{systems}pool: {{depth: 15}}\n"
        "labels: {files: {nist: {path: nist.qrels}, llm: {path: llm.qrels}}}\n",
        encoding="utf-8",
    )
    assert cli("build").status == 0
    arguments = ("--people", "nist", "--judge", "llm", "--method", "mm-ns", "--workers", 1)
    found = data(cli("replay", "pools", *arguments, "--format", "json"))
    assert (found["seed"], found["n_families"]) == (6, 2)
    assert (files / "reports/replay-pools.md").exists()
    done = cli("replay", "pools", "--people", "nist", "--judge", "lm")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "did you mean 'llm'" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--share", 0], "--share 0: give a percentage of the pool above 0, at most 100"),
        (["--share", 101], "--share 101: give a percentage of the pool above 0, at most 100"),
        (["--share", "nan"], "--share nan: give a percentage of the pool above 0, at most 100"),
        (["--random-share", 100], "--random-share 100: give a percentage of the budget from 0, below 100"),
        (["--depth", 0], "--depth 0: give 1 or more"),
        (["--seeds", 0], "--seeds 0: give 1 or more"),
        (["--relevant", 0], "--relevant 0: give 1 or more"),
        (["--relevant", 4], "nist gave none of the "),
        (["--method", "mm-n"], "there is no pool method 'mm-n'; did you mean 'mm-ns'?"),
        (["--measure", "AP"], "--measure AP: pools are replayed for nDCG with a cutoff only; give one such as nDCG@10"),
        (["--measure", "nDCG"], "--measure nDCG: pools are replayed for nDCG with a cutoff only; give one such as"),
        (["--measure", "nDCG@10 AP"], "--measure nDCG@10 AP: one measure is replayed at a time; name one"),
        (["--families", "nowhere.tsv"], "nowhere.tsv"),
        (["--families", "f.tsv", "--no-leave-out"], "--families says which systems are left out, and --no-leave-out"),
        (["--run", "b=runs/good.run"], "--run names several sets of runs"),
    ],
)
def test_what_is_refused(files: Path, cli: Cli, arguments: list[object], message: str) -> None:
    done = replayed(cli, *arguments)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert message in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--method", "judge-order"],
            "--method judge-order orders documents by a judge's grades; name one with --judge",
        ),
        (["--steered-by", "judge"], "--steered-by judge: there is no judge; name one with --judge"),
    ],
)
def test_what_needs_a_judge(files: Path, cli: Cli, arguments: list[object], message: str) -> None:
    assert replayed(cli, *arguments, judge=None) == (1, "", f"quati-pool: {message}\n")


def test_one_system(files: Path, cli: Cli) -> None:
    done = cli("replay", "pools", "--run", "runs/good.run", "--people", "nist.qrels")
    assert (done.status, done.err) == (
        1, "quati-pool: a replay compares how systems rank, and there is one; name two or more with --run\n",
    )  # fmt: skip


def test_runs_of_other_queries(files: Path, cli: Cli) -> None:
    write(files, "nist.qrels", {(f"x{query}", doc): grade for (query, doc), grade in people().items()})
    done = replayed(cli)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "give the run and the qrels of the same queries" in done.err


def test_people_who_found_nothing(files: Path, cli: Cli) -> None:
    write(files, "nist.qrels", dict.fromkeys(people(), 0))
    done = replayed(cli)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "nist found nothing relevant" in done.err


def test_a_judge_of_other_pairs(files: Path, cli: Cli) -> None:
    write(files, "llm.qrels", {(query, f"x{doc}"): 1 for query, doc in people()})
    done = replayed(cli)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "llm graded none of the " in done.err
    assert "name a judge that did, or leave out --judge" in done.err


def test_one_labeler_for_both(files: Path, cli: Cli) -> None:
    done = replayed(cli, judge="nist=llm.qrels")
    assert done.status in (1, 2)
    assert "both" in done.err


def test_labelers_need_a_workspace(files: Path, cli: Cli) -> None:
    assert replayed(cli, people="anna", judge=None) == (
        1,
        "",
        "quati-pool: --people anna: there is no such file, and no pool.yaml with a labeler of this name; name a file: "
        "--people FILE\n",
    )
