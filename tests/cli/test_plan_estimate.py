"""``estimate --plan``: its options, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.estimates.plan import Effort, LabelPlan, PlanReport, PlanSettings
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.estimation.planning import PlannedDesign
from quati_pool.labels.gathered import LabelFiles
from tests.cli.conftest import Cli

WHOLE = PlannedDesign(unit="queries", count=41, labels=8400, queries=41, figure=0.0294)
PAIRS = PlannedDesign(unit="pairs", count=2100, labels=2100, queries=53, figure=0.0297)
ALL = PlannedDesign(unit="queries", count=None, labels=10_828, queries=53, figure=0.0541)


def report(*plans: LabelPlan, **changes: Any) -> PlanReport:
    usual: dict[str, Any] = {
        "settings": PlanSettings(half_width=0.03),
        "people": None,
        "judge": "llm",
        "judge_version": None,
        "queries": 53,
        "pairs": 10_828,
        "systems": 63,
        "labels": 0,
        "labelled": 0,
        "correlation": 0.6,
        "correlation_from": "assumed",
        "plans": plans or (LabelPlan("nDCG@10", "these-queries", WHOLE, PAIRS, 0),),
        "effort": Effort(seconds_per_label=30, seconds_from="assumed", minutes_per_query=2, minutes_from="assumed"),
        "seed": 0,
    }
    return PlanReport(**{**usual, **changes})


class Asked:
    """What the command was called with; it answers with ``report``."""

    def __init__(self) -> None:
        self.report = report()

    def __call__(
        self, config: Path, settings: PlanSettings, files: LabelFiles, runs: Sequence[str], **others: Any
    ) -> PlanReport:
        self.config, self.settings, self.files, self.runs, self.others = config, settings, files, runs, others
        return self.report


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.chdir(tmp_path)
    asked = Asked()
    monkeypatch.setattr("quati_pool.commands.estimates.plan.plan_estimate", asked)
    return asked


def printed(cli: Cli, *options: str) -> str:
    done = cli("estimate", "--plan", "--half-width", "0.03", *options)
    assert done.status == 0, done.err
    return done.out


def line(text: str) -> str:
    return " ".join(text.split())


def test_the_options_are_passed_on(cli: Cli, asked: Asked) -> None:
    done = cli(
        "estimate", "--plan", "--difference", "0.02", "--power", "0.9", "--correlation", "0.4", "--seconds-per-label",
        "12", "--minutes-per-query", "0", "--looks", "3", "--alpha", "0.1", "--baseline", "bm25", "--measures", "P@10",
        "--target", "queries-like-these", "--seed", "4", "--run", "a.run", "--pool", "pool.jsonl",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert asked.settings == PlanSettings(
        estimate=EstimateSettings(
            measures=["P@10"], targets=("queries-like-these",), baseline="bm25", alpha=0.1, looks=3, seed=4
        ),
        difference=0.02,
        power=0.9,
        correlation=0.4,
        seconds_per_label=12,
        minutes_per_query=0,
    )
    assert (list(asked.runs), asked.others["pool"]) == (["a.run"], Path("pool.jsonl"))


def test_the_power_is_80_percent_by_default(cli: Cli, asked: Asked) -> None:
    assert cli("estimate", "--plan", "--difference", "0.02").status == 0
    assert asked.settings == PlanSettings(difference=0.02, power=0.8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--half-width", "0.03"), "--half-width: is for plans; add --plan"),
        (("--difference", "0.03"), "--difference: is for plans; add --plan"),
        (("--power", "0.8"), "--power: is for plans; add --plan"),
        (("--correlation", "0.8"), "--correlation: is for plans; add --plan"),
        (("--seconds-per-label", "8"), "--seconds-per-label: is for plans; add --plan"),
        (("--minutes-per-query", "0"), "--minutes-per-query: is for plans; add --plan"),
        (("--plan",), "give the goal: either --half-width or --difference"),
        (("--plan", "--half-width", "0.1", "--difference", "0.1"), "either --half-width or --difference"),
        (("--plan", "--half-width", "0.1", "--power", "0.9"), "add --difference"),
        (("--plan", "--half-width", "0.1", "-o", "out"), "a plan is only printed"),
        (("--plan", "--half-width", "0.1", "--correlation", "1.1"), "--correlation"),
    ],
)
def test_options_that_do_not_belong_together_are_refused_in_one_line(
    cli: Cli, asked: Asked, options: tuple[str, ...], message: str
) -> None:
    done = cli("estimate", *options)
    assert done.status == 2
    assert message in line(done.err)
    assert not hasattr(asked, "settings")


def test_the_first_sentence_has_both_designs_with_hours(cli: Cli, asked: Asked) -> None:
    text = printed(cli)
    assert line(text).startswith(
        "For a half-width of 0.03 in nDCG@10, for these 53 queries (95 % intervals of 63 systems): 41 whole queries "
        "(8,400 labels, about 71 h) or 2,100 pairs over all 53 queries (about 19 h). Planned for a correlation of 0.60 "
        "between people's and the judge's grades, an assumption (--correlation). Hours: 30 s for each label "
        "(an assumption: --seconds-per-label) and 2 min to read into each query (an assumption: --minutes-per-query)."
    )
    assert "  quati-pool assign --random-queries 41\n" in text
    assert "  quati-pool assign --pairs-for nDCG@10 --expect 2100\n" in text
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 80


def test_differences_and_labels_with_their_times(cli: Cli, asked: Asked) -> None:
    asked.report = report(
        LabelPlan("nDCG@10", "these-queries", WHOLE, PAIRS, 1953),
        settings=PlanSettings(difference=0.05, estimate=EstimateSettings(looks=2)),
        people="nist", labels=3065, labelled=15, correlation=None,
        effort=Effort(seconds_per_label=8.5, seconds_from="seen", minutes_per_query=0, minutes_from="given", timed=150),
    )  # fmt: skip
    text = line(printed(cli))
    assert text.startswith(
        "To find a difference of 0.05 in nDCG@10 with a power of 80 %, for these 53 queries (1,953 comparisons, alpha "
        "0.025 for all together): 41 whole queries (8,400 labels, about 20 h) or 2,100 pairs"
    )
    assert "Planned from 3,065 labels of 15 queries by nist" in text
    assert "8.5 s for each label (the median of 150 labels) and 0 min to read into each query (given)" in text


def test_what_cannot_be_reached_is_said(cli: Cli, asked: Asked) -> None:
    asked.report = report(
        LabelPlan("nDCG@10", "queries-like-these", ALL, ALL, 0), LabelPlan("AP", "these-queries", WHOLE, None, 0)
    )
    text = line(printed(cli))
    assert text.startswith(
        "For a half-width of 0.03 in nDCG@10, for queries like these 53 (95 % intervals of 63 systems), not even all "
        "10,828 pairs would do: the half-width is then 0.054. It takes more queries."
    )
    assert "Drawn pairs cannot serve AP." in text
    assert "assign" not in text


def test_too_few_queries_to_draw_whole_ones(cli: Cli, asked: Asked) -> None:
    asked.report = report(LabelPlan("nDCG@10", "these-queries", None, PAIRS, 0))
    assert "There are too few queries to draw whole ones." in line(printed(cli))


def test_json(cli: Cli, asked: Asked) -> None:
    asked.report = report(
        LabelPlan("nDCG@10", "these-queries", WHOLE, PAIRS, 0), LabelPlan("AP", "queries-like-these", ALL, None, 0)
    )
    data = json.loads(printed(cli, "--format", "json"))
    first, second = data["plans"]
    assert data["half_width"] == 0.03
    assert (data["n_queries"], data["n_systems"], data["correlation"]) == (53, 63, 0.6)
    assert first["queries"] == {
        "count": 41, "labels": 8400, "queries": 41, "hours": pytest.approx(71.3667, abs=1e-3), "half_width": 0.0294,
    }  # fmt: skip
    assert first["pairs"]["count"] == 2100
    assert second["pairs"] is None
    assert second["undefined"]["pairs"] == "drawn pairs cannot serve this measure"
    assert second["queries"]["count"] is None
    assert "not even all would do" in second["queries"]["undefined"]["count"]


@pytest.mark.parametrize("output_format", ["markdown", "latex", "csv"])
def test_the_table_in_other_formats(cli: Cli, asked: Asked, output_format: str) -> None:
    text = printed(cli, "--format", output_format)
    assert "whole queries" in text
    assert "0.0294" in text


def test_a_plan_before_any_label_end_to_end(cli: Cli, finished_estimates: Path) -> None:
    done = cli("estimate", "--plan", "--half-width", "0.2", "--config", str(finished_estimates / "pool.yaml"))
    assert done.status == 0, done.err
    assert "labels of" in line(done.out)
    assert "the median of" in line(done.out)
