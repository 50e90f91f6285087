"""Estimates in Python: the command's figures as frames, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quati_pool as qp
from quati_pool.text.display_width import columns
from tests.cli.conftest import Cli
from tests.estimated_workspace import JUDGE, PERSON

pytestmark = pytest.mark.filterwarnings("ignore::quati_pool.QuatiPoolWarning")

BOTH: Any = ("these-queries", "queries-like-these")


@pytest.fixture
def c(finished_estimates: Path) -> qp.Collection:
    return qp.open(finished_estimates, progress=False)


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (
            ["--target", BOTH[0], "--target", BOTH[1], "--measures", "P(rel=2)@5 nDCG@5", "--baseline", "bm25",
             "--alpha", "0.1", "--delta", "0.05", "--looks", "2", "--design", "1", "--aggregate", "mean", "--people",
             PERSON, "--judge", JUDGE, "--seed", "5", "--revealed"],
            {"target": BOTH, "measures": ["P(rel=2)@5", "nDCG@5"], "baseline": "bm25", "alpha": 0.1, "delta": 0.05,
             "looks": 2, "design": 1, "aggregate": "mean", "people": PERSON, "judge": JUDGE, "seed": 5,
             "revealed": True},
        ),
    ],
)  # fmt: skip
def test_the_results_are_those_of_the_command(
    c: qp.Collection, cli: Cli, tmp_path: Path, arguments: list[str], options: dict[str, Any]
) -> None:
    found = c.estimate(**options)
    command = ("estimate", "-c", str(c.path), "-o", str(tmp_path), *arguments)
    assert json.loads(cli(*command, "--format", "json").out) == found.to_dict()
    assert cli(*command, "--format", "latex").out == found.to_latex()


def test_frames_have_one_block_of_rows_per_measure_and_target(c: qp.Collection) -> None:
    found = c.estimate(measures=["nDCG@5", "P(rel=2)@5"], target=BOTH)
    assert (found.measures, found.targets) == (("nDCG@5", "P(rel=2)@5"), BOTH)
    data = found.to_dict()
    assert len(found.systems) == len(data["systems"]) * 4 == 16
    assert len(found.differences) == len(data["differences"]) * 4 == 24
    for place, one in enumerate(data["systems"]):
        row = found.systems.iloc[place]
        assert (row.measure, row.target, row.run_tag) == ("nDCG@5", "these-queries", one["run_tag"])
        assert (row.estimate, row.low, row.high) == (one["estimate"], one["low"], one["high"])
        assert (row.people_only, row.judge_only) == (one["people_only"]["mean"], one["judge_only"]["mean"])
        assert (row["lambda"], row.effective_queries) == (one["lambda"], one["effective_queries"])
        assert pd.isna(row.lowest)
    for place, one in enumerate(data["differences"]):
        row = found.differences.iloc[place]
        assert (row.a, row.b, row.verdict, row.p_adjusted) == (one["a"], one["b"], one["verdict"], one["p_adjusted"])
        assert (None if pd.isna(row.needed) else row.needed) == one["queries_needed"]
    assert found.to_frame().equals(found.systems)
    dtypes = found.differences.dtypes
    assert [str(dtypes[name]) for name in ("measure", "estimate", "needed")] == ["str", "float64", "Int64"]


def test_one_system_the_statement_and_a_figure(c: qp.Collection) -> None:
    found = c.estimate(target=BOTH)
    one = found.system("bm25")
    [row] = found.systems.query("run_tag == 'bm25' and target == 'these-queries'").itertuples()
    assert (one.value, one.low, one.high, one.n) == (row.estimate, row.low, row.high, 9)
    wider = found.system("bm25", target="queries-like-these")
    assert float(wider.low or 1) < float(one.low or 0)
    assert found.statement() == found.to_dict()["statement"]
    assert "queries like these" in found.statement(target="queries-like-these")
    assert found.plot()._repr_png_()  # type: ignore[attr-defined]
    with pytest.raises(qp.QuatiPoolError, match="there is no system 'bm52' here; did you mean 'bm25'"):
        found.system("bm52")
    with pytest.raises(qp.QuatiPoolError, match="there is no measure 'AP' here; "):
        found.statement("AP")


def test_the_answer_prints_within_a_screen_and_is_saved_where_asked(c: qp.Collection, tmp_path: Path) -> None:
    found = c.estimate()
    lines = str(found).splitlines()
    assert 3 < len(lines) <= 40
    assert max(map(columns, lines)) <= 80
    assert "Judge alone" in found._repr_html_()
    assert not (c.folder / "reports" / "estimate.json").exists()
    found.save(tmp_path)
    assert json.loads((tmp_path / "estimate.json").read_text("utf-8")) == found.to_dict()


def test_labels_of_people_that_the_caller_has(c: qp.Collection) -> None:
    people = c.labels(PERSON)
    drawn = people[people.relevance.notna()][["query_id", "doc_id", "relevance"]]
    found = c.estimate(people="theirs", labels={"theirs": drawn}, sampled="queries")
    assert found.systems.estimate.tolist() == pytest.approx(c.estimate().systems.estimate.tolist())
    with pytest.raises(qp.QuatiPoolError, match="theirs does not say how its queries or pairs were chosen"):
        c.estimate(people="theirs", labels={"theirs": drawn})


def test_what_is_in_doubt_is_a_warning(c: qp.Collection) -> None:
    said = "in the first 10 ranks are outside the pool, and count as not relevant"
    with pytest.warns(qp.QuatiPoolWarning, match=said):
        c.estimate(measures=["nDCG@10"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "all"}, "target is 'all'; there are: "),
        ({"sampled": "documents"}, "sampled is 'documents'; there are: "),
        ({"aggregate": "median"}, "aggregate is 'median'; did you mean 'mean'"),
        ({"target": []}, "there is no target; name these-queries and queries-like-these, or one of them"),
        ({"alpha": 0}, "alpha is 0; give a number between 0 and 1, such as 0.05"),
        ({"delta": -0.1}, "delta is -0.1; give the largest difference that counts as a tie, such as 0.02"),
        ({"looks": 0}, "looks is 0; give the planned number of looks, 1 or more"),
        ({"design": 7}, "there is no such design; there are: 1"),
    ],
)
def test_bad_arguments_are_refused(c: qp.Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(qp.QuatiPoolError, match=message):
        c.estimate(**options)


def test_without_a_random_design_there_is_no_estimate(demo: qp.Collection) -> None:
    with pytest.raises(qp.QuatiPoolError, match="assign --random-queries"):
        demo.estimate()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--half-width", "0.2"], {"half_width": 0.2}),
        (
            ["--difference", "0.3", "--power", "0.9", "--correlation", "0.5", "--seconds-per-label", "10",
             "--minutes-per-query", "1", "--target", BOTH[0], "--target", BOTH[1], "--measures", "P(rel=2)@5 nDCG@5",
             "--baseline", "bm25", "--alpha", "0.1", "--looks", "2", "--people", PERSON, "--judge", JUDGE, "--seed",
             "5"],
            {"difference": 0.3, "power": 0.9, "correlation": 0.5, "seconds_per_label": 10, "minutes_per_query": 1,
             "target": BOTH, "measures": ["P(rel=2)@5", "nDCG@5"], "baseline": "bm25", "alpha": 0.1, "looks": 2,
             "people": PERSON, "judge": JUDGE, "seed": 5},
        ),
    ],
)  # fmt: skip
def test_plans_are_those_of_the_command(
    c: qp.Collection, cli: Cli, arguments: list[str], options: dict[str, Any]
) -> None:
    found = c.plan_estimate(**options)
    data = found.to_dict()
    assert json.loads(cli("estimate", "--plan", "-c", str(c.path), *arguments, "--format", "json").out) == data
    assert "To find a difference" in str(found) or "For a half-width of 0.2 in nDCG@5" in str(found)
    plans = [(plan, unit) for plan in data["plans"] for unit in ("queries", "pairs") if plan[unit]]
    assert len(found.to_frame()) == len(plans)
    goal = next(iter(options))
    for row, (plan, unit) in zip(found.to_frame().itertuples(), plans, strict=True):
        assert (row.measure, row.target, row.design) == (plan["measure"], plan["target"], unit)
        assert (None if pd.isna(row.count) else row.count) == plan[unit]["count"]
        assert (row.labels, row.hours, getattr(row, goal)) == tuple(plan[unit][n] for n in ("labels", "hours", goal))
        assert (row.minimum or None) == plan[unit]["minimum"]


def test_plans_without_a_goal_are_refused(c: qp.Collection) -> None:
    with pytest.raises(qp.QuatiPoolError, match="a plan needs one goal; give either --half-width or --difference"):
        c.plan_estimate()


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_replays_are_those_of_the_command(demo: qp.Collection, cli: Cli, tmp_path: Path) -> None:
    found = demo.replay_estimate(
        people="sample-gold", judge="lexical", queries=12, pairs=120, draws=4, baseline="bm25s", seed=3, workers=1
    )
    command = (
        "replay", "estimate", "-c", str(demo.path), "--people", "sample-gold", "--judge", "lexical", "--queries", 12,
        "--pairs", 120, "--draws", 4, "--baseline", "bm25s", "--seed", 3, "--workers", 1, "-o", tmp_path / "command",
    )  # fmt: skip
    data = found.to_dict()
    assert json.loads(cli(*command, "--format", "json").out) == data
    assert len(found.methods) == len(data["methods"]) == 10
    first, row = data["methods"][0], found.methods.iloc[0]
    assert (row.method, row.draws, row.refused, row.labels) == (first["method"], 4, 0, first["labels"])
    assert (row.coverage, row.decided) == (first["systems"]["coverage"], first["decisions"]["decided"])
    assert row.simultaneous_coverage == first["simultaneous_coverage"]
    each = first["systems"]["each"][1]
    system = found.systems.iloc[1]
    assert (system.run_tag, system.coverage, system.error) == (each["run_tag"], each["coverage"], each["error"])
    assert set(found.differences.b) == {"bm25s"}
    assert found.to_frame().equals(found.methods)
    found.save(tmp_path / "api")
    saved = (tmp_path / "api" / "replay-estimate.json").read_text("utf-8")
    assert saved == (tmp_path / "command" / "replay-estimate.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": ()}, "there is no target; name these-queries and queries-like-these, or one of them"),
        ({"draws": 0}, "draws is 0; give 1 or more"),
        ({"delta": float("nan")}, "delta is nan; give the largest difference that counts as a tie, such as 0.02"),
        ({"judge": "lexcal"}, "did you mean 'lexical'"),
    ],
)
def test_bad_arguments_of_replays_are_refused(demo: qp.Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(qp.QuatiPoolError, match=message):
        demo.replay_estimate(**{"people": "sample-gold", "judge": "lexical", **options})
