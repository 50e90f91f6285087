"""``quati-pool train judge`` as a user runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from quati_pool.reporting.formats.answers import LINES, PIPE
from tests.cli.conftest import Cli
from tests.tiny_models.cross_encoder import cross_encoder

pytestmark = pytest.mark.neural


def test_a_judge_is_trained_used_and_left_as_it_is(
    finished_demo: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    monkeypatch.chdir(folder)
    cross_encoder(Path("start"), positions=96, initializer_range=0.1)
    command = ["train", "judge", "--from", "lexical", "--model", "start", "-o", "models/mine", "--epochs", 1]
    command += ["--learning-rate", 1e-3, "--device", "cpu"]
    done = cli(*command)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= PIPE
    assert lines[0].startswith("On ")
    assert "  mine: {judge: distilled, model: models/mine}" in lines

    config = Path("pool.yaml").read_text()
    Path("pool.yaml").write_text(
        config.replace("judges:\n", "judges:\n  mine: {judge: distilled, model: models/mine, device: cpu}\n", 1)
    )
    assert cli("judge", "mine").status == 0
    report = json.loads(cli("agree", "--format", "json", "--draws", 0).out)
    derived = {one["labeler"]: one["members"] for one in report["sources"] if one["derived"]}
    assert derived == {"mine": ["lexical"]}
    shared = [pair["shared_members"] for pair in report["pairs"] if {pair["a"], pair["b"]} == {"mine", "lexical"}]
    assert shared == [["lexical"]]

    again = cli(*command, "--format", "json")
    data = json.loads(again.out)
    assert (again.status, data["trained"], data["augmentation"]["mode"]) == (0, False, "full")
    other = cli(*command, "--target", "binary")
    assert other.status == 1
    assert "quati-pool: models/mine holds a training of other settings (target was " in other.err
    # A checkpoint is no part of the model.
    assert not list(Path("models/mine").glob("checkpoint*"))
    assert Path("models/mine.meta.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--model", "start", "-o", "m"], 2, "Missing option '--from'"),
        (["--from", "lexical", "--model", "start", "-o", "m", "--target", "best"], 2, "'best' is not one of"),
        (["--from", "lexicl", "--model", "start", "-o", "m"], 1, "there is no labeler 'lexicl'"),
        (
            ["--from", "lexical", "--model", "start", "-o", "m", "--precision", "bf16", "--device", "cpu"],
            1,
            "bf16 needs",
        ),
        (["--from", "lexical", "--model", "start", "-o", "labels.tsv"], 1, "labels.tsv is a file; name a folder"),
    ],
)
def test_a_mistake_is_said_in_a_line(
    arguments: list[str], status: int, message: str, finished_demo: Path, tmp_path: Path, cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = Path(shutil.copytree(finished_demo, tmp_path / "demo"))
    monkeypatch.chdir(folder)
    cross_encoder(Path("start"), positions=96)
    done = cli("train", "judge", *arguments)
    assert done.status == status
    assert message in " ".join(done.err.split())
