"""``audit --compare``: which of two judges to take, of a workspace and of files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from quati_pool.commands.audit import audit as command
from quati_pool.commands.audit.asking import Asked
from quati_pool.reporting.formats.answers import LINES, PIPE
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.cli.test_audit_files import GIVEN, OFF_SCALE, RUNS
from tests.cli.test_audit_files import files as files
from tests.reporting.audit_reports import STUFFED, report
from tests.shared_data import shared


@pytest.fixture
def two(finished_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    """A copy of the demo with a second judge, as the current folder."""
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    monkeypatch.chdir(folder)
    pool = yaml.safe_load((folder / "pool.yaml").read_text(encoding="utf-8"))
    pool["judges"]["other"] = pool["judges"]["lexical"]
    pool["audit"] = {"pairs": 10, "people": "sample-gold"}
    (folder / "pool.yaml").write_text(yaml.safe_dump(pool, allow_unicode=True), encoding="utf-8")
    assert cli("judge", "other").status == 0
    return folder


def fits(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= LINES and max(map(columns, lines)) <= PIPE and "Not shown here" not in text


def test_two_equal_judges_that_do_not_order_systems_as_people_do(two: Path, cli: Cli) -> None:
    done = cli("audit", "--compare", "lexical", "other")
    assert done.status == 0, done.err
    assert fits(done.out)
    said = " ".join(done.out.split())
    # Which systems there are, and so τ, depends on what is installed.
    said_of_both = r"Take neither lexical nor other: neither orders systems as sample-gold does \(τ (\S+) and \1\);"
    assert re.match(said_of_both, said)
    assert "no difference of lexical's κ with sample-gold is shown (+0.00, 0.00 to 0.00)." in said
    data = json.loads(cli("audit", "--compare", "lexical", "other", "--format", "json").out)
    assert list(data) == ["compare", "audits", "not_started"]
    assert [one["judge"] for one in data["audits"]] == data["compare"]["judges"] == ["lexical", "other"]
    assert (data["compare"]["take"], data["compare"]["by"]) == (None, None)
    assert data["compare"]["undefined"]["take"] == "neither orders systems as people do"
    assert data["compare"]["kappa_of_both"] == 1
    assert data["compare"]["cost_per_1000_pairs"] == [0, 0]
    stuffing = next(one for one in data["compare"]["dangers"] if one["probe"] == "stuffing")
    assert (stuffing["same_texts"], stuffing["difference"]["value"], stuffing["shown_of"]) == (True, 0, None)


def test_one_probe_alone(two: Path, cli: Cli) -> None:
    done = cli("audit", "--compare", "lexical", "other", "--probe", "stuffing")
    assert done.out.startswith(
        "Neither lexical nor other is shown to be better: in no danger are they shown to\ndiffer.\n"
    )
    data = json.loads(cli("audit", "--compare", "lexical", "other", "--probe", "stuffing", "--format", "json").out)
    assert [one["probe"] for one in data["compare"]["dangers"]] == ["stuffing"]
    assert data["compare"]["undefined"]["order"] == "only some probes were run"


def test_a_dry_run_is_that_of_both(two: Path, cli: Cli) -> None:
    given = ["lexical", "other", "--dry-run", "--format", "json"]
    assert cli("audit", "--compare", *given).out == cli("audit", *given).out


def test_all_figures_in_every_format(two: Path, cli: Cli) -> None:
    for how in ("table", "markdown", "latex", "csv"):
        done = cli("audit", "--compare", "lexical", "other", "--probe", "repeat", "--full", "--format", how)
        assert done.status == 0, done.err
        assert "Dangers of lexical and other" in done.out
        assert "inconsistent grades" in done.out


@pytest.mark.parametrize(
    ("judges", "reason"),
    [([], "none is named"), (["a"], "1 is named"), (["a", "a"], "1 is named"), (["a", "b", "c"], "3 are named")],
)
def test_it_takes_two_judges(tmp_path: Path, cli: Cli, judges: list[str], reason: str) -> None:
    done = cli("audit", "--compare", *judges, "-c", tmp_path / "pool.yaml")
    assert (done.status, done.out) == (1, "")
    assert done.err == f"quati-pool: --compare takes two judges, and {reason}\n"


def test_a_run_that_ends_before_the_second_judge_compares_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = report(STUFFED, runs=[Asked("gpt", 0, 7, ended="budget")])
    monkeypatch.setattr(command, "audit", lambda *asked: [spent])
    done = cli("audit", "--compare", "gpt", "b")
    assert done.status == 1
    assert done.out.startswith("gpt is fooled by keyword stuffing")
    assert "The run ended before it came to b.\n" in done.out
    assert "the budget is spent: 7 texts are still to be asked about" in done.err


def test_it_takes_two_files(files: Path, cli: Cli) -> None:
    done = cli("audit", "--compare", *GIVEN)
    assert (done.status, done.err) == (1, "quati-pool: --compare takes two judges, and 1 is named\n")
    done = cli("audit", "--compare", *GIVEN, "--labels", "other=other.qrels")
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert said.startswith("Neither gpt nor other is shown to be better.")
    assert "Grades were not compared with people's (other: other and nist graded no pair in common)." in said


@pytest.mark.slow
def test_gpt_4o_and_mistral_on_trec_dl_2021(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared("trec-dl-2021")
    monkeypatch.chdir(tmp_path)
    judges = [part for name in ("gpt-4o", "mistral-7b") for part in ("--labels", f"{name}={folder / name}.qrels.gz")]
    given = [*judges, "--people", f"nist={folder / 'nist.qrels.gz'}", "--run", folder / RUNS, *OFF_SCALE]
    done = cli("audit", "--compare", *given)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "Take gpt-4o rather than mistral-7b: its τ with the order of systems under nist\n"
        "is 0.09 higher (95 % interval 0.03 to 0.16); its κ with nist is 0.13 higher\n"
        "(0.09 to 0.16); but it is beyond its bound of significance, and mistral-7b is\n"
        "not.\n"
    )
    assert fits(done.out)
    data = json.loads(cli("audit", "--compare", *given, "--format", "json").out)["compare"]
    assert (data["take"], data["by"], data["cost_per_1000_pairs"]) == ("gpt-4o", "order", [None, None])
    assert round(data["level"]["difference"], 2) == 0.02
