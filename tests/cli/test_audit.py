"""``audit``: what it prints, asks and refuses; by the judge of the demo, which is free."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from quati_pool.commands.audit import audit as command
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.errors import QuatiPoolError
from quati_pool.registry import PROBES
from quati_pool.reporting.formats.answers import LINES, PIPE
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.reporting.audit_reports import STUFFED, report

HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]")
FORMATS = ["table", "markdown", "latex", "csv"]


@pytest.fixture
def demo(finished_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the demo, as the current folder."""
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    monkeypatch.chdir(folder)
    return folder


def files(folder: Path) -> dict[Path, bytes]:
    """All but the cache, which remembers hashes of inputs."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts}


def test_the_card_of_the_lexical_judge(demo: Path, cli: Cli) -> None:
    done = cli("audit", "--pairs", "30")
    assert done.status == 0, done.err
    assert done.out.startswith("lexical is fooled by keyword stuffing (")
    said, table, rest = done.out.split("\n\n")
    said = " ".join(said.split())
    assert "do not compare systems whose passages may repeat the query's words" in said
    assert "Not asked: change of language (no translations)." in said
    assert len(table.splitlines()) == 3 + len(PROBES.names()) + 4
    assert "its κ with itself (first repetition) is 1.00." in " ".join(rest.split())
    lines = done.out.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= PIPE
    assert not HIDDEN.search(done.out)


def test_a_second_run_asks_nothing_and_says_the_same(demo: Path, cli: Cli) -> None:
    first = json.loads(cli("audit", "--pairs", "10", "--format", "json").out)
    again = json.loads(cli("audit", "lexical", "--pairs", "10", "--format", "json").out)
    assert first["asked"] > 100
    assert (again["asked"], again["left"]) == (0, 0)
    assert again["probes"] == first["probes"]
    assert "This run asked nothing: all answers were there.\n" in cli("audit", "--pairs", "10").out
    redrawn = json.loads(cli("audit", "--pairs", "10", "--redraw", "--format", "json").out)
    assert (redrawn["asked"], redrawn["probes"]) == (0, first["probes"])


def test_grades_are_compared_with_those_of_people_once_there_are_any(demo: Path, cli: Cli) -> None:
    alone = " ".join(cli("audit", "--pairs", "5").out.split())
    assert (
        "Its grades were not compared with people's: no person has graded anything yet; --people sample-gold takes "
        "those of sample-gold for people's."
    ) in alone
    done = cli("audit", "--pairs", "5", "--people", "sample-gold")
    assert done.status == 0, done.err
    # Which systems there are, and so τ, depends on what is installed.
    assert re.match(r"lexical: not usable for ordering systems \(τ 0\.\d\d, -0\.\d\d to 0\.\d\d\); ", done.out), (
        done.out
    )
    said = " ".join(done.out.split())
    assert "Its own grades, not people's, chose the irrelevant and relevant pairs (see --redraw). " in said
    assert "This run asked nothing: all answers were there.\n" in done.out
    assert "Not shown here" not in done.out
    assert len(done.out.splitlines()) <= LINES
    assert max(map(columns, done.out.splitlines())) <= PIPE
    given = ["--pairs", "5", "--format", "json"]
    data = json.loads(cli("audit", *given, "--people", "sample-gold").out)
    assert (data["people"], data["asked"]) == ("sample-gold", 0)
    assert data["overlap"]["low"] > 3
    assert data["length"]["low"] < 0 < data["length"]["high"]
    assert json.loads(cli("audit", *given, "--probe", "repeat").out)["order"] is None
    assert "it is the one whose grades count as people's" in cli("audit", *given, "--people", "lexical").out
    assert cli("audit", "--pairs", "5", "--people", "sampl-gold").err == (
        "quati-pool: there is no labeler 'sampl-gold'; did you mean 'sample-gold'?\n"
    )


def test_runs_measure_and_bounds_may_be_given(demo: Path, cli: Cli) -> None:
    text = (demo / "pool.yaml").read_text(encoding="utf-8")
    bounds = "\naudit: {people: sample-gold, pairs: 5, bounds: {order: 0.2, level: 0.3}}\n"
    (demo / "pool.yaml").write_text(text + bounds, encoding="utf-8")
    runs = [part for tag in ("bm25s", "lsa", "rrf") for part in ("--run", f"runs/{tag}.trec.gz")]
    data = json.loads(cli("audit", "--measure", "P@5", *runs, "--format", "json").out)
    assert (data["measure"], data["order"]["systems"]) == ("P@5", 3)
    assert {one["danger"]: one["bound"] for one in data["grade_lines"]}["order of systems"] == 0.2
    (demo / "pool.yaml").write_text(text + bounds.replace("0.2", "2"), encoding="utf-8")
    assert "order" in cli("audit").err


def test_answers_are_kept_apart_from_grades(demo: Path, cli: Cli) -> None:
    before = cli("labels", "--format", "json").out
    assert cli("audit", "--pairs", "5").status == 0
    assert cli("labels", "--format", "json").out == before
    assert (demo / "audits" / "lexical" / "stuffing.jsonl.gz").exists()


def test_a_dry_run_writes_nothing(demo: Path, cli: Cli) -> None:
    before = files(demo)
    done = cli("audit", "--dry-run", "--pairs", "10")
    assert done.status == 0, done.err
    assert re.match(r"lexical would be asked about (\d+) of \1 texts, at no cost; nothing was asked\.\n", done.out)
    data = json.loads(cli("audit", "--dry-run", "--pairs", "10", "--format", "json").out)
    assert data["to_ask"] == data["texts"] > 100
    assert {name: after for name, after in files(demo).items() if before.get(name) != after} == {}
    asked = json.loads(cli("audit", "--pairs", "10", "--format", "json").out)["asked"]
    assert asked == data["to_ask"]


def test_only_some_probes(demo: Path, cli: Cli) -> None:
    done = cli("audit", "--probe", "stuffing", "--probe", "repeat", "--probe", "stuffing", "--pairs", "5")
    assert "Probes left out: question, instruction, missing," in done.out
    data = json.loads(cli("audit", "--probe", "repeat", "--pairs", "5", "--format", "json").out)
    assert [one["probe"] for one in data["probes"]] == ["repeat"]
    assert data["repeat"]["changed"] == 0


@pytest.mark.parametrize("how", FORMATS)
def test_hostile_texts_of_probes_do_not_act(demo: Path, cli: Cli, how: str) -> None:
    pool = yaml.safe_load((demo / "pool.yaml").read_text(encoding="utf-8"))
    pool["audit"] = {"probes": {"instruction": {"bound": 0.001}}}
    (demo / "pool.yaml").write_text(yaml.safe_dump(pool, allow_unicode=True), encoding="utf-8")
    done = cli("audit", "--full", "--format", how, "--pairs", "30")
    assert done.status == 0, done.err
    assert not HIDDEN.search(done.out)


@pytest.mark.parametrize("how", ["table", "json", "markdown", "latex", "csv"])
def test_the_probes_are_listed(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("audit", "--probes", "--full", "--format", how)
    assert (done.status, done.err) == (0, "")
    assert all(name in done.out for name in [*PROBES.names(), "bound", "arXiv 2501.17969"])
    short = cli("audit", "--probes").out
    assert short.startswith("8 probes; all can run here.\n")
    assert max(map(columns, short.splitlines())) <= PIPE


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--probe", "stufing"], "there is no probe 'stufing'; did you mean 'stuffing'?"),
        (["lexcal"], "did you mean 'lexical'?"),
        (["sample-gold"], "sample-gold is a label file, which cannot be asked about changed passages; audit a judge"),
        (["panel"], "panel are people, and probes are for judges; how people agree: quati-pool agree"),
        (["-c", "none.yaml"], "none.yaml"),
    ],
)
def test_what_is_refused(demo: Path, cli: Cli, arguments: list[str], reason: str) -> None:
    pool = yaml.safe_load((demo / "pool.yaml").read_text(encoding="utf-8"))
    pool["judges"]["panel"] = {"people": "majority"}
    (demo / "pool.yaml").write_text(yaml.safe_dump(pool, allow_unicode=True), encoding="utf-8")
    done = cli("audit", *arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("quati-pool: ")
    assert len(done.err.splitlines()) == 1
    assert reason in done.err


@pytest.mark.parametrize("arguments", [["--pairs", "0"], ["--budget", "-1"], ["--format", "xml"]])
def test_bad_usage(demo: Path, cli: Cli, arguments: list[str]) -> None:
    assert cli("audit", *arguments).status == 2


def test_a_judge_without_grades_is_to_judge_first(demo: Path, cli: Cli) -> None:
    (demo / "labels.db").unlink()
    done = cli("audit")
    assert (done.status, done.out) == (1, "")
    assert "lexical has graded no pair of the pool; judge first: quati-pool judge lexical" in done.err


def ends(made: AuditReport, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setattr(command, "audit", lambda *asked: [made])
    return cli("audit", "gpt")


def test_an_audit_that_ends_early_shows_its_card_and_then_why(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = Asked("gpt", 0, 7, ended="budget")
    status, out, err = ends(report(STUFFED, runs=[spent]), cli, monkeypatch)
    assert status == 1
    assert out.startswith("gpt is fooled by keyword stuffing")
    assert err == (
        "quati-pool: the budget is spent: 7 texts are still to be asked about; run the same command again with a "
        "larger --budget\n"
    )
    stopped = Asked("gpt", 5, 7, ended="interrupted")
    status, out, err = ends(report(STUFFED, runs=[stopped]), cli, monkeypatch)
    assert status == 130
    assert out.startswith("gpt is fooled by keyword stuffing")
    assert err.startswith("quati-pool: stopped; kept: all answers so far (7 texts are still to be asked about)")
    failed = Asked("gpt", 5, 7, error=QuatiPoolError("the key is refused"))
    status, out, err = ends(report(STUFFED, runs=[failed]), cli, monkeypatch)
    assert (status, err) == (1, "quati-pool: the key is refused\n")
    assert out.startswith("gpt is fooled by keyword stuffing")


def test_judges_that_were_not_started_are_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = report(STUFFED, runs=[Asked("gpt", 5, 7, ended="interrupted")])
    monkeypatch.setattr(command, "audit", lambda *asked: [stopped])
    assert "The run ended before it came to b and c.\n" in cli("audit", "gpt", "b", "c", "b").out
    assert json.loads(cli("audit", "gpt", "b", "--format", "json").out)["not_started"] == ["b"]


def test_help_says_what_the_command_finds(cli: Cli) -> None:
    said = " ".join(cli("audit", "--help").out.split())
    assert "Find out what fools a judge" in said
    assert "[JUDGE]..." in said
    assert "[[" not in said


def test_an_error_before_the_first_answer_is_all_that_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Asked("gpt", 0, 7, error=QuatiPoolError("the key is refused"))
    made = report(STUFFED, runs=[failed])
    assert ends(made, cli, monkeypatch) == (1, "", "quati-pool: the key is refused\n")
