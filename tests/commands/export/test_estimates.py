"""The estimates under people's grades in a release's data card."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.export.collection import export
from quati_pool.project.events import Listener
from tests.estimated_workspace import JUDGE, draw, grade, judged_workspace, label, relevance

pytestmark = pytest.mark.slow


class Lines(Listener):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


@pytest.fixture
def config(finished_estimates: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished_estimates, tmp_path / "workspace")) / "pool.yaml"


def card(config: Path, format_name: str = "bundle", labelers: tuple[str, ...] = ()) -> str:
    """The card, without backslashes."""
    made = export(config, format_name, Listener(), labelers=labelers, allow_missing=True)
    return (made.path / "README.md").read_text(encoding="utf-8").replace("\\", "")


@pytest.mark.parametrize("format_name", ["bundle", "hf"])
def test_the_card_has_the_estimates_and_their_statement(config: Path, format_name: str) -> None:
    text = card(config, format_name)
    found = estimate(config, EstimateSettings())
    [first] = found.estimates
    assert f"## Estimates\n\n{found.statement(first)}\n\n| System | nDCG@5 | 95 % interval |" in text
    for one in first.systems:
        assert f"| {one.run_tag} | {one.estimate:.3f} | {one.low:.3f} to {one.high:.3f} | " in text
    assert f"Judge alone: under the grades of {JUDGE}, which is no estimate of people's." in text


def test_a_release_of_a_judge_that_was_named_has_no_estimates_of_people(config: Path) -> None:
    assert "## Estimates" not in card(config, labelers=(JUDGE,))
    assert "## Estimates" in card(config, labelers=(JUDGE, "ana"))


def test_without_a_design_or_enough_grades_there_is_no_such_part(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    assert "## Estimates" not in card(config)
    order = draw(config, 9)
    label(config, "ana", queries=order[:7])
    assert "## Estimates" not in card(config)
    label(config, "ana", queries=order[7:])
    assert "## Estimates" in card(config)


def test_what_prevents_estimates_is_reported(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    label(config, "ana", queries=draw(config, 9)[:7])
    lines = Lines()
    export(config, "bundle", lines, allow_missing=True)
    [line] = [one for one in lines.said if "estimates" in one]
    assert line.startswith("no estimates under people's grades are exported: design 1 (random queries, seed 0): 7 ")


def test_pairs_without_a_majority_are_in_the_card(tmp_path: Path) -> None:
    config = judged_workspace(tmp_path / "workspace")
    draw(config, 9, overlap=2)
    grade(config, "ana", queries=9)
    grade(config, "bia", queries=9, relevance_of=lambda pair: min(relevance(pair), 2))
    said = estimate(config, EstimateSettings()).drawn.without_majority
    assert f"\n\n{said}.\n\n| System |" in card(config, labelers=("ana",))


def test_an_export_of_the_same_state_is_not_written_again(config: Path) -> None:
    assert export(config, "bundle", Listener(), allow_missing=True).made
    assert not export(config, "bundle", Listener(), allow_missing=True).made
