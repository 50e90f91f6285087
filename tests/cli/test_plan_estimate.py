"""``estimate --plan``: its options, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.estimates.plan import Effort, LabelPlan, PlanReport
from quati_pool.commands.estimates.plan_settings import PlanSettings
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
    assert asked.settings == PlanSettings(difference=0.02)
    assert asked.settings.planned_power == 0.8


NOT_A_PLAN = "the option is for plans only; add --plan, or leave it out"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--half-width", "0.03"), f"--half-width: {NOT_A_PLAN}"),
        (("--difference", "0.03"), f"--difference: {NOT_A_PLAN}"),
        (("--power", "0.8"), f"--power: {NOT_A_PLAN}"),
        (("--correlation", "0.8"), f"--correlation: {NOT_A_PLAN}"),
        (("--seconds-per-label", "8"), f"--seconds-per-label: {NOT_A_PLAN}"),
        (("--minutes-per-query", "0"), f"--minutes-per-query: {NOT_A_PLAN}"),
        (("--plan", "--half-width", "0.1", "-o", "out"), "a plan is only printed; leave -o out"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(
    cli: Cli, asked: Asked, options: tuple[str, ...], message: str
) -> None:
    done = cli("estimate", *options)
    assert done.status == 2
    assert message in line(done.err)
    assert not hasattr(asked, "settings")


ONE_GOAL = "a plan needs one goal; give either --half-width or --difference"
ABOVE_0 = "give a number above 0, such as 0.05"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), ONE_GOAL),
        (("--half-width", "0.1", "--difference", "0.1"), ONE_GOAL),
        (("--half-width", "0"), f"--half-width is 0; {ABOVE_0}"),
        (("--half-width", "-0.1"), f"--half-width is -0.1; {ABOVE_0}"),
        (("--half-width", "nan"), f"--half-width is nan; {ABOVE_0}"),
        (("--half-width", "inf"), f"--half-width is inf; {ABOVE_0}"),
        (("--difference", "0"), f"--difference is 0; {ABOVE_0}"),
        (("--difference", "nan"), f"--difference is nan; {ABOVE_0}"),
        (("--difference", "0.1", "--power", "0"), "--power is 0; give a probability between 0 and 1, such as 0.8"),
        (("--difference", "0.1", "--power", "1"), "--power is 1; give a probability between 0 and 1, such as 0.8"),
        (("--difference", "0.1", "--power", "nan"), "--power is nan; give a probability between 0 and 1, such as 0.8"),
        (
            ("--half-width", "0.1", "--power", "0.9"),
            "--power is the probability of finding a --difference; give one, or leave --power out",
        ),
        (
            ("--half-width", "0.1", "--correlation", "1.1"),
            "--correlation is 1.1; give a number from 0 to 1, such as 0.6",
        ),
        (("--half-width", "0.1", "--seconds-per-label", "-1"), "--seconds-per-label is -1; give 0 or more"),
        (("--half-width", "0.1", "--minutes-per-query", "nan"), "--minutes-per-query is nan; give 0 or more"),
        (("--half-width", "0.1", "--alpha", "0"), "alpha is 0.0; give a number between 0 and 1, such as 0.05"),
    ],
)
def test_values_that_nothing_can_be_planned_with_are_refused_in_one_line(
    cli: Cli, options: tuple[str, ...], message: str
) -> None:
    done = cli("estimate", "--plan", *options)
    assert (done.status, done.err) == (1, f"quati-pool: {message}\n")


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


def test_what_is_planned_because_of_a_minimum_is_said(cli: Cli, asked: Asked) -> None:
    least = replace(WHOLE, count=8, minimum="queries")
    asked.report = report(LabelPlan("nDCG@10", "these-queries", least, replace(PAIRS, minimum="ideal"), 0))
    said = (
        "Fewer would reach the goal, but 8 whole queries are the fewest from which an interval is estimated and the "
        "ideal ranking of nDCG needs this many pairs."
    )
    assert said in line(printed(cli))
    assert said in line(printed(cli, "--format", "markdown"))
    [one] = json.loads(printed(cli, "--format", "json"))["plans"]
    assert (one["queries"]["minimum"], one["pairs"]["minimum"]) == ("queries", "ideal")


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
        "minimum": None,
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
