"""``audit --labels``: judges by their grades alone, from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quati_pool.reporting.formats.answers import LINES, PIPE
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.shared_data import shared

RUNS = "dl21-runs-top20-judged53.txt.gz"
# What the small models gave that is on no scale.
OFF_SCALE = [part for grade in (4, 5, 6, 8, 9) for part in ("--grade", f"{grade}=none")]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Grades of people and of two judges, and two runs."""
    monkeypatch.chdir(tmp_path)
    people = {(query, doc): int((query + doc) % 3 == 0) for query in range(6) for doc in range(4)}
    others = {
        "nist": people,
        "gpt": {(query, doc): 1 if query == doc else grade for (query, doc), grade in people.items()},
        "other": {(query + 50, doc): grade for (query, doc), grade in people.items()},
    }
    for name, grades in others.items():
        rows = [f"q{query} 0 d{doc} {grade}" for (query, doc), grade in grades.items()]
        (tmp_path / f"{name}.qrels").write_text("\n".join(rows) + "\n")
    for tag, step in (("up", 1), ("down", -1), ("gpt-rerank", 1)):
        rows = [f"q{q} Q0 d{d} {r} {-r} {tag}" for q in range(6) for r, d in enumerate(range(4)[::step], 1)]
        (tmp_path / f"{tag}.trec").write_text("\n".join(rows) + "\n")
    return tmp_path


GIVEN = ["--people", "nist=nist.qrels", "--labels", "gpt=gpt.qrels"]
WITH_RUNS = [*GIVEN, "--run", "up.trec", "--run", "down.trec", "--run", "gpt-rerank.trec"]


def test_no_workspace_is_needed_and_nothing_is_written(files: Path, cli: Cli) -> None:
    before = sorted(files.iterdir())
    done = cli("audit", *WITH_RUNS)
    assert done.status == 0, done.err
    assert done.out.startswith("gpt: ")
    assert "Nothing was asked: label files were read.\n" in done.out
    assert sorted(files.iterdir()) == before
    data = json.loads(cli("audit", *WITH_RUNS, "--format", "json").out)
    assert (data["judge"], data["people"], data["order"]["systems"]) == ("gpt", "nist", 3)
    assert data["judge_family"] == {"family": "openai", "guessed": True}
    assert data["kinship"][-1]["systems"] == {"gpt-rerank": "by its name"}


def test_families_of_systems_and_judges(files: Path, cli: Cli) -> None:
    (files / "families.tsv").write_text("up\tours\ndown\ttheirs\ngpt-rerank\ttheirs\n")
    given = ["--families", "families.tsv", "--judge-family", "gpt=ours", "--measure", "P@2"]
    data = json.loads(cli("audit", *WITH_RUNS, *given, "--format", "json").out)
    assert data["measure"] == "P@2"
    assert data["judge_family"] == {"family": "ours", "guessed": False}
    assert data["kinship"][0]["systems"] == {"up": "family ours"}


def test_people_may_be_one_of_the_labels(files: Path, cli: Cli) -> None:
    named = ["--labels", "nist=nist.qrels", "--labels", "gpt=gpt.qrels", "--people", "nist"]
    one, other = (json.loads(cli("audit", *given, "--format", "json").out) for given in (named, GIVEN))
    assert one == other
    assert one["order"] is None


def test_a_judge_of_other_queries_is_not_compared_and_the_others_are(files: Path, cli: Cli) -> None:
    done = cli("audit", *GIVEN, "--labels", "other=other.qrels")
    assert done.status == 0, done.err
    assert "other was not compared: other and nist graded no pair in common." in " ".join(done.out.split())
    alone = cli("audit", "--people", "nist.qrels", "--labels", "other.qrels")
    assert alone.status == 1
    assert alone.err.startswith("quati-pool: no two labelers graded a common pair (other has 24, such as 'q50' 'd0'")


def test_grades_off_the_scale_are_warned_of(files: Path, cli: Cli) -> None:
    text = (files / "gpt.qrels").read_text().replace("d3 0", "d3 9", 1)
    (files / "gpt.qrels").write_text(text)
    assert "warning: " in cli("audit", *GIVEN).err
    assert "--grade 9=none" in cli("audit", *GIVEN).err
    said = cli("audit", *GIVEN, "--grade", "9=none", "--format", "json")
    assert (said.err, json.loads(said.out)["overrating"]["n"]) == ("", 23)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([*GIVEN, "--pairs", "3"], "--pairs: is about changed passages, which files cannot be asked about"),
        ([*GIVEN, "--dry-run"], "--dry-run: is about changed passages"),
        ([*GIVEN, "--max-age", "3"], "--max-age: is about changed passages"),
        ([*GIVEN, "--reask", "2"], "--reask: is about changed passages"),
        ([*GIVEN, "lexical"], "JUDGE: is about changed passages"),
        (["--grade", "9=none"], "--grade: says how files of labels are read; add --labels"),
        (["--probe", "repeat", "--measure", "P@5"], "--measure: compares grades, which --probe leaves out"),
        (["--dry-run", "--run", "up.trec"], "--run: compares grades, which asks nothing"),
        (["--people", "nist=nist.qrels"], "--people: is a file; add the judge's: --labels"),
        (["--labels", "gpt.qrels", "--people", "nobody"], "nobody is neither a file nor one of --labels"),
        ([*GIVEN, "--judge-family", "gpt"], "'gpt' is not NAME=FAMILY"),
        ([*GIVEN, "--judge-family", "gpt=a", "--judge-family", "gpt=b"], "gpt has two families; give one"),
    ],
)
def test_bad_usage_says_why(files: Path, cli: Cli, arguments: list[str], reason: str) -> None:
    done = cli("audit", *arguments)
    assert (done.status, done.out) == (2, "")
    assert reason in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--labels", "gpt.qrels"], "no labeler is a person; name whose grades are the truth with --people NAME"),
        (["--labels", "gpt.qrels", "--people", "gpt"], "no label file holds a judge's grades"),
        ([*GIVEN, "--judge-family", "gtp=openai"], "there is no judge 'gtp'; did you mean 'gpt'?"),
        ([*GIVEN, "--run", "a=up.trec", "--run", "b=down.trec"], "--run names 2 sets of runs"),
        ([*GIVEN, "--families", "none.tsv"], "none.tsv"),
        ([*GIVEN, "--measure", "nDGC@10"], "nDGC@10"),
    ],
)
def test_what_is_refused(files: Path, cli: Cli, arguments: list[str], reason: str) -> None:
    done = cli("audit", *arguments)
    assert (done.status, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert reason in done.err


@pytest.mark.slow
def test_two_judges_of_trec_dl_2021(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared("trec-dl-2021")
    monkeypatch.chdir(tmp_path)
    given = ["--people", f"nist={folder / 'nist.qrels.gz'}", "--run", folder / RUNS, *OFF_SCALE]
    one, other = (["--labels", f"{name}={folder / f'{name}.qrels.gz'}"] for name in ("gpt-4o", "mistral-7b"))
    done = cli("audit", *given, *one)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "gpt-4o: usable for ordering systems (τ 0.94); its nDCG@10 is 0.10 too high (0.06\n"
        "to 0.14): use quati-pool estimate; do not rank systems that rerank by it.\n"
    )
    assert "it would be 1st of 64 under itself and 1st under people." in " ".join(done.out.split())
    both = cli("audit", *given, *one, *other)
    said = " ".join(both.out.split())
    assert "mistral-7b: not shown to be usable for ordering systems (τ 0.85, 0.77 to 0.90); " in said
    for text in (done.out, both.out):
        assert len(text.splitlines()) <= LINES
        assert max(map(columns, text.splitlines())) <= PIPE
        assert "Not shown here" not in text
    data = json.loads(cli("audit", *given, *one, *other, "--format", "json").out)["audits"]
    assert [round(one["level"]["value"], 2) for one in data] == [0.10, 0.08]
    assert [one["oracle"]["rank_people"] for one in data] == [1, 5]
    full = cli("audit", *given, *one, "--full").out
    assert "Grades of gpt-4o by the grades of nist\n" in full
