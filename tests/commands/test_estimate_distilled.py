"""``estimate`` by a judge that was distilled from grades: not from those that are to correct it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.commands.judge.judge import judge
from quati_pool.errors import QuatiPoolError, TranslatableText, message_of
from quati_pool.files.digests import query_sha
from quati_pool.project.events import Listener
from tests.estimated_workspace import PERSON, QUERIES

_CODE = """\
from quati_pool.judging.base import Judge
from quati_pool.judging.verdict import Verdict
from quati_pool.records import State


class Pupil(Judge):
    def identity(self):
        return {**super().identity(), "learned": {"labelers": LABELERS, "queries": QUERIES}}

    def grade(self, pairs):
        return [Verdict(State.ok, len(pair.text + pair.query) % 4) for pair in pairs]
"""


def by_pupil(finished: Path, folder: Path, labelers: list[str], queries: list[str]) -> Path:
    """A workspace in which a judge has graded all, which learned from the grades of these labelers of these queries."""
    config = Path(shutil.copytree(finished, folder)) / "pool.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["judges"]["pupil"] = {"judge": "mine.py:Pupil"}
    config.write_text(yaml.safe_dump(settings, sort_keys=False))
    code = _CODE.replace("LABELERS", repr(labelers)).replace("QUERIES", repr([query_sha(one) for one in queries]))
    (folder / "mine.py").write_text(code)
    judge(config, "pupil", Listener())
    return config


def asked(*numbers: int) -> list[str]:
    return [f"what is q{number:02}?" for number in numbers]


@pytest.mark.parametrize("labelers", [[PERSON], ["gpt-4o", PERSON]])
def test_the_grades_that_it_learned_from_do_not_correct_it(
    finished_estimates: Path, labelers: list[str], tmp_path: Path
) -> None:
    config = by_pupil(finished_estimates, tmp_path / "workspace", labelers, asked(0, 3))
    with pytest.raises(QuatiPoolError) as refused:
        estimate(config, EstimateSettings(judge="pupil"))
    said = message_of(refused.value)
    assert said == (
        f"pupil was distilled from people's grades of 2 of these {QUERIES} queries, and grades that it learned from "
        "cannot show how it errs on others; name a judge that learned from others' grades, or from other queries"
    )
    assert isinstance(said, TranslatableText)
    assert (said.keyword, said.values) == ("judge_of_the_same_grades", {"judge": "pupil"})


@pytest.mark.parametrize(
    ("labelers", "queries"),
    [
        (["gpt-4o"], asked(*range(QUERIES))),  # a model's grades of these queries
        ([PERSON], ["and what of others?"]),  # people's grades of other queries
    ],
)
def test_a_judge_that_learned_from_others_or_elsewhere_is_a_covariate_as_any(
    finished_estimates: Path, labelers: list[str], queries: list[str], tmp_path: Path
) -> None:
    config = by_pupil(finished_estimates, tmp_path / "workspace", labelers, queries)
    report = estimate(config, EstimateSettings(judge="pupil"))
    assert report.judge == "pupil"
    assert all(one.low is not None for one in report.estimates[0].systems)
