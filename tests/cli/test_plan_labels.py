"""``plan-labels``: what is printed and written, in a workspace of its own and in the demo's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.estimated_workspace import JUDGE, judged_workspace
from tests.shared_data import shared

pytestmark = pytest.mark.slow

PLAN = ("plan-labels", "--cost-person", "0.1/label")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_workspace(tmp_path_factory.mktemp("judged") / "workspace")


def line(text: str) -> str:
    return " ".join(text.split())


def test_the_answer_comes_first_and_fits_a_screen(cli: Cli, made: Path, tmp_path: Path) -> None:
    # US$ 12 at 0.10 a label are 120 labels; 120 × 30 s and 14 × 2 min are 5,280 s.
    done = cli(*PLAN, "--budget", 12, "-c", made, "-o", tmp_path)
    assert done.status == 0, done.err
    text = line(done.out)
    assert text.startswith("With US$ 12, at US$ 0.1 a label, people can give 120 labels (1.5 h) of the ")
    assert "For ranking systems by nDCG@5, these queries: " in text
    assert "For finding relevant documents: " in text
    assert f"Recall is a replay on {JUDGE}'s grades of this pool: of what it finds relevant, not people." in text
    assert f"a correlation of 0.60 between people's and {JUDGE}'s grades, an assumption" in text
    assert "no interval covers the documents that nobody graded" in text
    assert "steered_by: panel}  # and under judges:  panel: {people: majority}" in done.out
    assert len(done.out.splitlines()) <= 40
    # Commands to copy are never cut.
    assert max(len(row) for row in done.out.splitlines() if not row.startswith("  ")) <= 80


def test_files_and_formats(cli: Cli, made: Path, tmp_path: Path) -> None:
    done = cli(*PLAN, "--budget", 12, "--hours", 1, "-c", made, "-o", tmp_path, "--format", "json")
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert json.loads((tmp_path / "plan-labels.json").read_text(encoding="utf-8")) == data
    assert {path.suffix for path in tmp_path.glob("plan-labels.*")} == {".md", ".tex", ".csv", ".json"}
    assert (data["budget"], data["hours"], data["cost_person"], data["target"]) == (12, 1, "0.1/label", "these-queries")
    assert data["from"] == {"grades_of": JUDGE, "by_people": False, "replay": None}
    names = [one["strategy"] for one in data["strategies"]]
    assert names == [
        "depth", "adaptive", "adaptive-moving", "judge-order", "judge-order-moving", "random-queries", "pairs-for",
    ]  # fmt: skip
    depth, order = data["strategies"][0], data["strategies"][3]
    # An hour is 3,600 s; 14 × 2 min of reading leave 1,920 s, of 30 s a label.
    assert (depth["labels_people"], depth["labels_judge"]) == (64, 0)
    assert depth["hours"] == pytest.approx(1)
    assert depth["dollars"] == pytest.approx(6.4)
    assert depth["half_width"] is None
    assert depth["undefined"]["half_width"]
    assert order["recall"] is None
    assert "right by them" in order["undefined"]["recall"]
    for output_format in ("markdown", "latex", "csv"):
        assert "judge-order" in cli(*PLAN, "--budget", 12, "-c", made, "--format", output_format).out
    assert "US$ judge" in cli(*PLAN, "--budget", 12, "-c", made, "--full").out


def test_errors_are_one_line(cli: Cli, made: Path, tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text("{}", encoding="utf-8")
    for options, message in (
        (("--cost-person", "20h"), "--cost-person 20h: give US dollars per hour or per label, such as 20/h"),
        (("--cost-person", "20/h", "--cost-judge", "gpt-4"), "there is no such judge; did you mean 'gpt-4o'"),
        (("--cost-person", "20/h", "--replay", tmp_path / "some.json"), "some.json: is no result of quati-pool replay"),
        (("--cost-person", "20/h", "-c", tmp_path / "pool.yaml"), "pool.yaml"),
    ):
        done = cli("plan-labels", "--budget", 12, "-c", made, *options)
        assert done.status == 1
        assert done.err.startswith("quati-pool: ")
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    assert cli("plan-labels", "--budget", 12).status == 2


def test_the_demo(cli: Cli, tmp_path: Path, sketched: None) -> None:
    folder = tmp_path / "demo"
    assert cli("demo", folder).status == 0
    done = cli("plan-labels", "--budget", 20, "--cost-person", "20/h", "-c", folder / "pool.yaml")
    assert done.status == 0, done.err
    # An hour: 24 queries × 2 min of reading leave 720 s, 24 labels of 30 s.
    assert "people can give 24 labels (1.0 h) of the" in line(done.out)
    assert "Recall is a replay on lexical's grades" in line(done.out)


DL_2021 = """\
name: dl21
systems: {official: {retriever: run, runs: RUNS}}
queries: {only: nist.qrels.gz}
run_depth: 20
pool: {depth: 10}
labels: {files: {gpt-4o: {path: gpt-4o.qrels.gz}, nist: {path: nist.qrels.gz, person: true}}}
measures: [nDCG@10]
"""


def test_the_page_on_pooling_shows_what_is_printed(cli: Cli, tmp_path: Path, sketched: None) -> None:
    runs = shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz")
    for name in ("nist", "gpt-4o"):
        shutil.copy(shared(f"trec-dl-2021/{name}.qrels.gz"), tmp_path)
    config = tmp_path / "pool.yaml"
    config.write_text(DL_2021.replace("RUNS", str(runs)), encoding="utf-8")
    assert cli("build", "-c", config).status == 0
    done = cli("plan-labels", "--budget", 500, "--cost-person", "20/h", "-c", config)
    page = (Path(__file__).parents[2] / "docs" / "pooling.md").read_text(encoding="utf-8")
    section = page.partition("## How far the money goes")[2]
    shown = [row.removeprefix("    ") for row in section.splitlines() if row.startswith("    ")]
    shown = [row for row in shown if not row.startswith("quati-pool")]
    assert len(shown) > 15
    assert set(shown) <= set(done.out.splitlines())
