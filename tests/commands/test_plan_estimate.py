"""``estimate --plan``: what is planned from, in a workspace and from files, and what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.estimates.estimate import estimate
from quati_pool.commands.estimates.plan import PlanReport, plan_estimate
from quati_pool.commands.estimates.plan_settings import CORRELATION, PlanSettings
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation.planning import PlannedDesign
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from tests.estimated_workspace import DRAWN, GRADED, JUDGE, NOISE, QUERIES, draw, grade, judged_workspace, label


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that nobody but the judge has graded; not to be changed."""
    return judged_workspace(tmp_path_factory.mktemp("judged") / "workspace").parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def plan(config: Path, files: LabelFiles | None = None, runs: list[str] | None = None, **changes: Any) -> PlanReport:
    return plan_estimate(config, replace(PlanSettings(half_width=0.15), **changes), files, runs or [])


def designs(report: PlanReport) -> tuple[PlannedDesign, PlannedDesign]:
    [found] = report.plans
    assert found.queries is not None
    assert found.pairs is not None
    return found.queries, found.pairs


def test_before_any_label_a_correlation_and_times_are_assumed(made: Path) -> None:
    report = plan(made / "pool.yaml")
    assert (report.people, report.labels, report.correlation) == (None, 0, CORRELATION)
    assert (report.queries, report.systems, report.judge) == (QUERIES, len(NOISE), JUDGE)
    assert report.plans[0].measure == "nDCG@5"
    effort = report.effort
    assert (effort.seconds_from, effort.minutes_from) == ("assumed", "assumed")
    queries, pairs = designs(report)
    assert queries.count is not None
    assert 8 <= queries.count <= QUERIES
    assert effort.hours(queries) == pytest.approx(queries.labels * 30 / 3600 + queries.count * 2 / 60)
    assert effort.hours(pairs) == pytest.approx(pairs.labels * 30 / 3600 + pairs.queries * 2 / 60)


def test_a_design_that_nobody_has_begun_changes_nothing(config: Path) -> None:
    before = plan(config)
    draw(config, DRAWN)
    assert designs(plan(config)) == designs(before)


def test_labels_are_planned_from_and_their_times_seen(finished_estimates: Path) -> None:
    report = plan(finished_estimates / "pool.yaml")
    assert (report.people, report.correlation) == ("ana", None)
    assert report.labelled >= GRADED
    assert report.labels >= 100
    assert report.warnings == ()


def test_times_that_the_app_counted_are_seen(config: Path) -> None:
    draw(config, DRAWN)
    grade(config, queries=GRADED)
    effort = plan(config).effort
    assert (effort.seconds_per_label, effort.seconds_from) == (4.25, "seen")
    assert effort.timed > 0
    given = plan(config, seconds_per_label=12.0, minutes_per_query=0.0).effort
    assert (given.seconds_per_label, given.seconds_from, given.minutes_from) == (12.0, "given", "given")


def test_a_correlation_takes_the_place_of_labels(finished_estimates: Path) -> None:
    report = plan(finished_estimates / "pool.yaml", correlation=0.9)
    assert (report.correlation, report.correlation_from) == (0.9, "given")
    assert "are not used, as --correlation is given" in report.warnings[-1]


def test_few_labels_are_not_planned_from(config: Path) -> None:
    label(config, "ana", queries=draw(config, DRAWN)[:3])
    report = plan(config)
    assert report.correlation == CORRELATION
    assert "of 3 queries by people are too few to plan from" in report.warnings[-1]


def test_labels_of_queries_chosen_by_hand_are_planned_from(config: Path) -> None:
    chosen = [f"q{number:02}" for number in range(9)]
    assign(config, AssignOptions(queries=chosen))
    label(config, "ana", queries=chosen)
    with pytest.raises(QuatiPoolError, match="no design drew pairs at random"):
        estimate(config, EstimateSettings())
    report = plan(config)
    assert (report.correlation, report.labelled) == (None, 9)


def test_measures_that_pairs_cannot_serve_are_planned_from_an_estimate(finished_estimates: Path) -> None:
    config = finished_estimates / "pool.yaml"
    wanted = EstimateSettings(measures=["AP"], targets=("these-queries", "queries-like-these"))
    these, like_these = plan(config, estimate=wanted, half_width=0.1).plans
    assert these.pairs is None
    assert these.queries is not None
    assert these.queries.count is not None
    found = estimate(config, EstimateSettings(measures=["AP"]))
    width = sum(one.high - one.low for one in found.estimates[0].systems) / 2 / len(NOISE)
    assert (these.queries.count > found.drawn.labelled) == (width > 0.1)
    assert like_these.queries is not None
    assert like_these.queries.figure > these.queries.figure


@pytest.mark.parametrize("correlation", [None, 0.5])
def test_such_measures_are_refused_without_labels(
    made: Path, finished_estimates: Path, correlation: float | None
) -> None:
    folder = made if correlation is None else finished_estimates
    with pytest.raises(ConfigError, match="AP is no sum over pairs"):
        plan(folder / "pool.yaml", estimate=EstimateSettings(measures=["AP"]), correlation=correlation)


def test_differences_are_planned_for_all_pairs_of_systems_or_those_with_the_baseline(made: Path) -> None:
    config = made / "pool.yaml"
    everything = plan(config, half_width=None, difference=0.3)
    baseline = plan(config, half_width=None, difference=0.3, estimate=EstimateSettings(baseline="bm25"))
    assert (everything.plans[0].comparisons, baseline.plans[0].comparisons) == (6, 3)
    with pytest.raises(ConfigError, match="no such run"):
        plan(config, estimate=EstimateSettings(baseline="bm52"))


def _files(folder: Path, queries: int = 10, runs: int = 2) -> tuple[LabelFiles, list[str]]:
    """People's and a judge's grades of 20 documents of each query, and runs that rank them."""
    grades = [f"q{query} 0 d{doc} {(query + doc) % 4}\n" for query in range(queries) for doc in range(20)]
    (folder / "llm.qrels").write_text("".join(grades))
    (folder / "people.qrels").write_text("".join(grades[: 20 * (queries - 1)]))
    for run in range(runs):
        rows = [
            f"q{query} Q0 d{(7 * run + doc) % 20} {doc + 1} {20 - doc} s{run}\n"
            for query in range(queries)
            for doc in range(20)
        ]
        (folder / f"s{run}.run").write_text("".join(rows))
    given = {name: LabelFileConfig(path=str(folder / f"{name}.qrels")) for name in ("llm", "people")}
    return LabelFiles(given), [str(folder / f"s{run}.run") for run in range(runs)]


def test_files_need_runs_and_a_judge_only(tmp_path: Path) -> None:
    files, runs = _files(tmp_path)
    without = LabelFiles({"llm": files.files["llm"]})
    report = plan(tmp_path / "pool.yaml", without, runs[:1], estimate=EstimateSettings(judge="llm"))
    assert (report.people, report.queries, report.pairs, report.systems) == (None, 10, 200, 1)
    assert report.plans[0].measure == "nDCG@10"
    with_people = plan(tmp_path / "pool.yaml", files, runs[:1], estimate=EstimateSettings(judge="llm", people="people"))
    assert (with_people.people, with_people.labels, with_people.labelled) == ("people", 180, 9)
    assert with_people.correlation is None
    with pytest.raises(ConfigError, match="needs two systems"):
        plan(
            tmp_path / "pool.yaml", files, runs[:1], estimate=EstimateSettings(judge="llm"), half_width=None,
            difference=0.1,
        )  # fmt: skip


def test_of_fewer_than_8_queries_only_pairs_are_planned(tmp_path: Path) -> None:
    files, runs = _files(tmp_path, queries=6)
    report = plan(tmp_path / "pool.yaml", files, runs[:1], estimate=EstimateSettings(judge="llm"))
    assert report.plans[0].queries is None
    assert report.plans[0].pairs is not None


def test_sampled_qrels_are_planned_from_without_a_word_on_other_measures(tmp_path: Path) -> None:
    files, runs = _files(tmp_path)
    rows = (tmp_path / "people.qrels").read_text().splitlines()
    (tmp_path / "people.qrels").write_text(
        "".join(f"{row.split()[0]} {row.split()[2]} {row.split()[3]} 1 0.5\n" for row in rows)
    )
    report = plan(tmp_path / "pool.yaml", files, runs, estimate=EstimateSettings(judge="llm", people="people"))
    assert report.labels == 180
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"there is no .*pool.yaml, and outside a workspace --run, --people and --judge name files; add --judge$"),
        ({"judge": "llm.qrels"}, r"^--judge llm.qrels: there is no such file, and no .*pool.yaml with a labeler of"),
        ({"judge": "llm", "people": "ana"}, r"^--people ana: there is no such file, .*; name a file: --people FILE$"),
    ],
)
def test_outside_a_workspace_files_are_asked_for(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    files, runs = _files(tmp_path)
    with pytest.raises(ConfigError, match=message):
        plan(tmp_path / "pool.yaml", files, runs, estimate=EstimateSettings(**settings))
