"""The options of estimate: what is passed on, what is refused, what is printed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.cli.estimate import TargetName
from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.estimation.results import TARGETS
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from tests.cli.conftest import Cli
from tests.reporting.estimate_reports import four, report

pytestmark = pytest.mark.usefixtures("sketched")


class Asked:
    """What the command was called with; it answers with a report made by hand."""

    def __init__(self) -> None:
        self.report: EstimateReport = report(four())

    def __call__(
        self, config: Path, settings: EstimateSettings, files: LabelFiles, runs: Sequence[str], **others: Any
    ) -> EstimateReport:
        self.config, self.settings, self.files, self.runs, self.others = config, settings, files, runs, others
        return self.report

    def file(self, name: str) -> LabelFileConfig:
        found = self.files.files[name]
        assert isinstance(found, LabelFileConfig)
        return found


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """In a folder with two label files."""
    for name in ("sub.qrels", "llm.qrels"):
        (tmp_path / name).write_text("q1 0 d1 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked = Asked()
    monkeypatch.setattr("quati_pool.commands.estimates.estimate.estimate", asked)
    return asked


def test_without_options_all_is_left_to_the_command(cli: Cli, asked: Asked) -> None:
    assert cli("estimate").status == 0
    assert asked.settings == EstimateSettings()
    assert not asked.files.files
    assert list(asked.runs) == []
    assert asked.config == Path("pool.yaml")


def test_all_options_are_passed_on(cli: Cli, asked: Asked) -> None:
    done = cli(
        "estimate", "--run", "a.run", "--run", "runs", "--measures", "AP", "--target", "queries-like-these", "--target",
        "these-queries", "--baseline", "bm25", "--alpha", "0.1", "--delta", "0.03", "--looks", "3", "--design", "4",
        "--aggregate", "mean", "--revealed", "--seed", "9", "--people", "ana", "--judge", "gpt-4.1",
        "--sampled", "pairs", "--pool", "pool.jsonl", "--database", "sqlite:///x.db",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert asked.settings == EstimateSettings(
        measures=["AP"], targets=("queries-like-these", "these-queries"), people="ana", judge="gpt-4.1",
        aggregate="mean", design=4, sampled="pairs", baseline="bm25", alpha=0.1, delta=0.03, looks=3,
        revealed=True, seed=9,
    )  # fmt: skip
    assert list(asked.runs) == ["a.run", "runs"]
    assert (asked.others["pool"], asked.others["database"]) == (Path("pool.jsonl"), "sqlite:///x.db")


def test_the_pool_yaml_of_c_has_measure_and_seed_for_files_too(cli: Cli, asked: Asked, tiny: Path) -> None:
    yaml = (tiny / "pool.yaml").read_text(encoding="utf-8") + "seed: 5\nmeasures: [AP, nDCG@10]\n"
    (tiny / "pool.yaml").write_text(yaml, encoding="utf-8")
    files = ["--run", "a.run", "--people", "a=a.qrels", "--judge", "b=b.qrels"]
    assert cli("estimate", *files, "-c", "pool.yaml").status == 0
    assert (asked.settings.measures, asked.settings.seed) == (["AP"], 5)
    assert cli("estimate", *files).status == 0
    assert (asked.settings.measures, asked.settings.seed) == (None, None)


def test_targets_are_those_that_can_be_estimated() -> None:
    assert tuple(TargetName) == TARGETS


@pytest.mark.parametrize(
    ("people", "judge", "named", "filed"),
    [
        ("nist=sub.qrels", "gpt=llm.qrels", ("nist", "gpt"), {"nist": "sub.qrels", "gpt": "llm.qrels"}),
        ("sub.qrels", "llm.qrels", ("sub", "llm"), {"sub": "sub.qrels", "llm": "llm.qrels"}),
        ("sub.qrels", "gpt-4.1", ("sub", "gpt-4.1"), {"sub": "sub.qrels"}),
        ("ana", "llm.qrels", ("ana", "llm"), {"llm": "llm.qrels"}),
        ("ana", "gpt-4.1", ("ana", "gpt-4.1"), {}),
        ("nist=not-there.qrels", "gpt-4.1", ("nist", "gpt-4.1"), {"nist": "not-there.qrels"}),
    ],
)
def test_people_and_judge_are_files_or_labelers(
    cli: Cli, asked: Asked, people: str, judge: str, named: tuple[str, str], filed: dict[str, str]
) -> None:
    assert cli("estimate", "--people", people, "--judge", judge).status == 0
    assert (asked.settings.people, asked.settings.judge) == named
    assert {name: asked.file(name).path for name in asked.files.files} == filed
    assert [name for name in filed if asked.file(name).person] == [name for name in filed if name == named[0]]


def test_one_annotator_of_a_file(cli: Cli, asked: Asked) -> None:
    assert cli("estimate", "--people", "sub.qrels#ana").status == 0
    assert asked.settings.people == "ana"
    assert (asked.file("ana").path, asked.file("ana").annotator) == ("sub.qrels", "ana")


def test_a_folder_of_a_labelers_name_is_no_file(cli: Cli, asked: Asked) -> None:
    Path("ana").mkdir()
    assert cli("estimate", "--people", "ana").status == 0
    assert asked.settings.people == "ana"
    assert not asked.files.files


def test_how_files_are_read(cli: Cli, asked: Asked) -> None:
    done = cli(
        "estimate", "--people", "nist=sub.qrels", "--judge", "llm.qrels", "--column", "nist.relevance=grade", "--grade",
        "8=none", "--scale", "0,1,2,3", "--queries", "queries.tsv",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert asked.file("nist").columns == {"relevance": "grade"}
    assert asked.file("llm").columns == {}
    assert asked.file("llm").grades == {"8": None}
    assert list(asked.files.scale or ()) == [0, 1, 2, 3]
    assert asked.files.queries == Path("queries.tsv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--people", "labels/sub.qrels"], "'labels/sub.qrels' is neither a file nor the name of a labeler"),
        (["--people", "a=sub.qrels", "--judge", "a=llm.qrels"], "sub.qrels and llm.qrels are both named a; give each"),
        (["--people", "ana", "--column", "query=q"], "says how to read files, and none is named"),
        (["--sampled", "documents"], "'documents' is not one of"),
        (["--target", "all-queries"], "'all-queries' is not one of"),
        (["--aggregate", "median"], "'median' is not one of"),
        (["--looks", "0"], "'--looks': Input should be greater than or equal to 1"),
        (["--delta", "-1"], "'--delta': Input should be greater than or equal to 0"),
        (["--scale", "1"], "expected at least two grades"),
    ],
)
def test_bad_usage_is_refused(cli: Cli, asked: Asked, arguments: list[str], message: str) -> None:
    done = cli("estimate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())
    assert not hasattr(asked, "settings")


def test_the_answer_goes_to_stdout_and_warnings_to_stderr(cli: Cli, asked: Asked) -> None:
    asked.report = report(four(warnings=("λ is 0",)), four(measure="AP", warnings=("λ is 0",)), warnings=("odd",))
    done = cli("estimate")
    assert done.out.startswith("e5 has the highest nDCG@10 ")
    assert done.err == "warning: odd\nwarning: λ is 0\n"


@pytest.mark.parametrize("output_format", ["json", "markdown", "latex", "csv"])
def test_in_every_format(cli: Cli, asked: Asked, output_format: str) -> None:
    done = cli("estimate", "--format", output_format)
    assert (done.status, done.err) == (0, "")
    if output_format == "json":
        assert json.loads(done.out)["systems"][0]["run_tag"] == "e5"
    elif output_format == "csv":
        title, _, first = done.out.split("\n\n")[0].partition("\n")
        assert title == "# Estimates of nDCG@10 under the grades of nist, for these 53 queries"
        assert [row["System"] for row in csv.DictReader(io.StringIO(first))] == ["e5", "rrf", "lsa", "bm25"]
    else:
        assert done.out.count("used as covariate, never as truth") == 2


def test_full_prints_all_tables_and_files_go_to_the_output(cli: Cli, asked: Asked, tmp_path: Path) -> None:
    done = cli("estimate", "--full", "-o", "out")
    assert done.out.count("under the grades of nist, for these 53 queries\n") == 2
    assert "What was drawn: design 3" in done.out
    assert json.loads((tmp_path / "out" / "estimate.json").read_text(encoding="utf-8"))["people"] == "nist"
    assert "estimate: wrote estimate.md" in done.err
