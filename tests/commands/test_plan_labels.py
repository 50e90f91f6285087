"""``plan-labels``: money and hours as labels, recall from a replay, half-widths as ``estimate --plan`` has them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.build import build
from quati_pool.commands.estimates.plan import plan_estimate
from quati_pool.commands.estimates.plan_settings import PlanSettings
from quati_pool.commands.judge.plan import plan as judge_plan
from quati_pool.commands.plan_labels.judge_cost import judge_cost
from quati_pool.commands.plan_labels.means import Means, PersonCost
from quati_pool.commands.plan_labels.plan_labels import (
    PlanLabelsReport,
    PlanLabelsSettings,
    Strategy,
    StrategyName,
    plan_labels,
)
from quati_pool.commands.plan_labels.recall import Curve, own_recalls, read_recalls
from quati_pool.commands.replay.pools import PoolReplaySettings, replay_pools
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.pools import read_pool
from quati_pool.files.qrels import read_qrels
from quati_pool.labels.gathered import LabelSource
from quati_pool.pooling.candidates import candidates
from quati_pool.project.config import load_config
from quati_pool.project.events import Listener
from quati_pool.project.runs import run_sets
from quati_pool.records import Qrels
from tests.estimated_workspace import JUDGE, QUERIES, judged_workspace, label
from tests.shared_data import shared

# ---- money and hours


def means(dollars: float, cost: str, hours: float | None = None, seconds: float = 30, minutes: float = 2) -> Means:
    return Means(
        dollars=dollars, hours=hours, cost=PersonCost.of(cost), seconds_per_label=seconds, minutes_per_query=minutes
    )


@pytest.mark.parametrize(
    ("budget", "labels"),
    [
        # US$ 500 at 20 an hour are 25 h = 90,000 s; reading into 50 queries takes 6,000 s; 84,000 s / 30 s.
        (means(500, "20/h"), 2800),
        # 20 h = 72,000 s are less than the money's; 66,000 s / 30 s.
        (means(500, "20/h", hours=20), 2200),
        # Paid by the label, reading costs nothing: 500 / 0.25. It takes time: 66,000 s / 30 s are more.
        (means(500, "0.25/label", hours=20), 2000),
        # 0.5 h = 1,800 s do not reach for all queries: labels that take 30 s and 120 s each, 1,800 / 150.
        (means(10, "20/h"), 12),
        # Volunteers grade all.
        (means(1, "0/h"), 10_000),
        (means(1, "0/h", hours=20), 2200),
    ],
)
def test_labels_that_money_and_hours_buy(budget: Means, labels: int) -> None:
    assert budget.labels(50, 10_000) == labels


def test_what_the_judge_costs_is_not_there_for_people() -> None:
    # US$ 100 are 5 h = 18,000 s; of what is left after 6,000 s of reading, 30 s a label.
    assert means(500, "20/h").labels(50, 10_000, spent=400) == 400
    assert means(500, "20/h").labels(50, 10_000, spent=501) == 0
    # A query of 200 pairs takes 6,000 s + 120 s; 18,000 s are 2 of them.
    assert means(500, "20/h").whole_queries(200, 50, spent=400) == 2


def test_hours_and_dollars_of_labels() -> None:
    # 2,800 labels × 30 s + 50 queries × 2 min = 84,000 s + 6,000 s.
    assert means(500, "20/h").hours_of(2800, 50) == pytest.approx(25)
    assert means(500, "20/h").dollars_of(2800, 50) == pytest.approx(500)
    assert means(500, "0.25/label").dollars_of(2800, 50) == pytest.approx(700)


@given(
    st.floats(0.1, 5000), st.none() | st.floats(0.1, 200), st.floats(0.01, 60), st.sampled_from(["h", "label"]),
    st.floats(1, 120), st.floats(0, 10), st.integers(1, 60), st.floats(0, 500),
)  # fmt: skip
def test_one_label_more_would_exceed_a_limit(
    dollars: float, hours: float | None, cost: float, unit: str, seconds: float, minutes: float, queries: int,
    spent: float,
) -> None:  # fmt: skip
    budget = means(dollars, f"{cost:.4f}/{unit}", hours, seconds, minutes)
    most = 3000
    labels = budget.labels(queries, most, spent)

    def fits(count: int) -> bool:
        read = min(count, queries)
        money = spent + budget.dollars_of(count, read) <= dollars + 1e-6
        return money and (hours is None or budget.hours_of(count, read) <= hours + 1e-6)

    assert 0 <= labels <= most
    assert labels == 0 or fits(labels)
    assert labels == most or not fits(labels + 1) or spent > dollars


@pytest.mark.parametrize("cost", ["20h", "20", "/h", "-2/h", "20/day", "20 dollars/h", "1e3/h", "nan/h"])
def test_a_malformed_cost_is_refused(cost: str) -> None:
    with pytest.raises(ConfigError, match=r"--cost-person .*: give US dollars per hour or per label, such as 20/h"):
        PersonCost.of(cost)


# ---- recall


def test_recall_is_linear_between_shares_and_unknown_beyond_them() -> None:
    curve = Curve("depth", "per-query", None, (0.1, 0.2, 0.4), (0.3, 0.5, 0.6))
    assert curve.at(0.05) == pytest.approx(0.15)
    assert curve.at(0.1) == pytest.approx(0.3)
    assert curve.at(0.25) == pytest.approx(0.525)
    assert curve.at(0.41) is None
    assert curve.at(1) == 1


def outcome(method: str, budget: str, steered_by: str | None, share: float, recall: float) -> dict[str, Any]:
    return {"method": method, "budget": budget, "steered_by": steered_by, "share": share, "recall": recall}


REPLAY = {
    "people": "nist",
    "methods": [
        outcome("depth", "per-query", None, 0.2, 0.3),
        outcome("depth", "per-query", None, 0.1, 0.2),
        outcome("mm-ns", "per-query", "people", 0.2, 0.4),
        outcome("max-mean", "per-query", "people", 0.2, 0.45),
        outcome("mm-ns", "moving", "people", 0.2, 0.6),
        outcome("mm-ns", "moving", "judge", 0.2, 0.55),
        outcome("judge-order", "per-query", None, 0.2, 0.5),
        outcome("judge-order", "moving", "people", 0.2, 0.7),
    ],
}


def test_a_replay_elsewhere_is_read(tmp_path: Path) -> None:
    path = tmp_path / "replay-pools.json"
    path.write_text(json.dumps(REPLAY), encoding="utf-8")
    found = read_recalls(path)
    assert (found.truth, found.replay) == ("nist", path)
    depth = found.of("depth", "per-query", "people")
    assert depth is not None
    assert (list(depth.shares), list(depth.recalls)) == ([0.1, 0.2], [0.2, 0.3])
    best = found.best_adaptive("per-query", 0.2)
    assert best is not None
    assert (best.method, best.at(0.2)) == ("max-mean", 0.45)
    moving = found.best_adaptive("moving", 0.2)
    assert moving is not None
    assert moving.at(0.2) == 0.6
    # The judge's order moves by the judge's grades, as pool.yaml has it: that steered by people is another.
    assert found.of("judge-order", "moving", "judge") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"people": "a", "methods": []}', '{"methods": [{"method": "depth"}]}']
)
def test_another_file_is_no_replay(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.json: is no result of quati-pool replay pools"):
        read_recalls(path)
    with pytest.raises(InputError, match=r"gone\.json: .*; name a replay-pools\.json"):
        read_recalls(tmp_path / "gone.json")


def test_recall_on_trec_dl_2021_is_that_of_replay_pools() -> None:
    """docs/pooling.md, What to read from it: 20 % of the top-10 pool, 1,489 labels."""
    (runs,) = run_sets([str(shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz"))])
    heads = [run.head(10) for run in runs.runs]
    frame = candidates(heads, {run.run_tag: 10 for run in heads})
    people, judge = (
        LabelSource(name, "file", read_qrels(shared(f"trec-dl-2021/{name}.qrels.gz")), None, grader=grader)
        for name, grader in (("nist", "people"), ("gpt-4o", "file"))
    )
    found = own_recalls(heads, frame, people, judge, [0, 1, 2, 3], 2, [0.2])
    assert found is not None

    def at(method: str, budget: Any) -> float | None:
        curve = found.of(method, budget, "judge" if method == "judge-order" else "people")
        assert curve is not None
        return curve.at(0.2)

    assert at("depth", "per-query") == pytest.approx(585 / 1946)
    assert at("mm-ns", "moving") == pytest.approx(990 / 1946)
    assert at("judge-order", "per-query") == pytest.approx(882 / 1946)
    assert at("judge-order", "moving") == pytest.approx(981 / 1946)
    half = people.qrels
    half = Qrels(half.queries, half.docs, half.query[::2], half.doc[::2], half.relevance[::2])
    assert own_recalls(heads, frame, replace(people, qrels=half), judge, [0, 1, 2, 3], 2, [0.2]) is None


# ---- a workspace


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that nobody but the judge has graded; not to be changed."""
    return judged_workspace(tmp_path_factory.mktemp("judged") / "workspace").parent


@pytest.fixture
def config(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "workspace")) / "pool.yaml"


def planned(config: Path, **changes: Any) -> PlanLabelsReport:
    usual: dict[str, Any] = {"budget": 10.0, "cost_person": "0.1/label", "cost_judge": JUDGE}
    return plan_labels(config, PlanLabelsSettings(**{**usual, **changes}))


def row(report: PlanLabelsReport, name: StrategyName) -> Strategy:
    return next(one for one in report.strategies if one.name == name)


def pool_size(config: Path) -> int:
    return sum(map(len, read_pool(config.with_name("pool.jsonl.gz"))))


def test_half_widths_are_those_of_estimate_plan(made: Path) -> None:
    config = made / "pool.yaml"
    (plan,) = plan_estimate(config, PlanSettings(half_width=0.15)).plans
    assert plan.queries is not None
    assert plan.pairs is not None
    assert plan.pairs.count is not None
    assert plan.queries.count is not None
    pairs = row(planned(config, budget=plan.pairs.count * 0.1), "pairs-for")
    assert (pairs.labels_people, pairs.half_width) == (plan.pairs.count, plan.pairs.figure)
    # Half a query's pairs to spare.
    budget = 0.1 * (plan.queries.count + 0.5) * pool_size(config) / QUERIES
    whole = row(planned(config, budget=budget), "random-queries")
    assert (whole.queries, whole.half_width) == (plan.queries.count, plan.queries.figure)
    assert whole.labels_people == plan.queries.labels
    assert whole.recall == pytest.approx(plan.queries.count / QUERIES)
    assert whole.commands[0] == f"quati-pool assign --random-queries {plan.queries.count}"


def test_the_judges_grades_are_the_truth_until_people_have_graded_the_pool(made: Path) -> None:
    report = planned(made / "pool.yaml")
    assert (report.recalls.truth, report.recalls.by_people, report.recalls.replay) == (JUDGE, False, None)
    assert report.correlation == 0.6
    depth, order = row(report, "depth"), row(report, "judge-order")
    assert depth.labels_people == 100
    assert depth.dollars == pytest.approx(10)
    assert depth.half_width is None
    assert depth.undefined["half_width"] == "no interval covers the documents that nobody graded"
    assert order.recall is None
    assert "its own order is right by them" in order.undefined["recall"]
    # The judge has graded everything.
    assert (order.labels_judge, order.dollars_judge) == (report.candidates, 0)


def test_recall_on_peoples_grades_is_that_of_a_replay(config: Path) -> None:
    label(config, "ana")
    report = planned(config)
    assert (report.recalls.truth, report.recalls.by_people) == ("ana", True)
    assert report.people == "ana"
    share = 100 * 100 / report.candidates
    replayed = replay_pools(
        config, PoolReplaySettings(people="ana", judge=JUDGE, depth=5, shares=[share], steered_by=["people", "judge"],
                                   leave_out=False, workers=1)
    ).replay.outcomes  # fmt: skip
    for one in report.strategies[:5]:
        steered = {"judge", None} if one.method == "judge-order" else {"people", None}
        same = [
            other.recall
            for other in replayed
            if (other.method, other.budget) == (one.method, one.budget) and other.steered_by in steered
        ]
        assert same == [pytest.approx(one.recall)]


def test_a_budget_for_all_finds_all(made: Path) -> None:
    report = planned(made / "pool.yaml", budget=1000.0)
    for one in report.strategies[:3]:
        assert (one.labels_people, one.recall, one.half_width) == (report.candidates, 1.0, 0.0)
    assert row(report, "random-queries").half_width == 0
    assert row(report, "random-queries").recall == 1
    like_these = planned(made / "pool.yaml", budget=1000.0, target="queries-like-these")
    assert (row(like_these, "random-queries").half_width or 0) > 0
    assert row(like_these, "depth").half_width is None


def test_an_unused_judge_costs_what_judge_dry_run_says(tmp_path: Path, made: Path) -> None:
    config = Path(shutil.copytree(made, tmp_path / "new")) / "pool.yaml"
    (config.parent / "labels.db").unlink()
    dry_run = judge_plan(config, JUDGE, Listener())
    replay = tmp_path / "replay-pools.json"
    replay.write_text(json.dumps(REPLAY), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run: quati-pool judge, or name a replay of another collection: --replay"):
        planned(config)
    cost = dry_run.cost
    assert cost is not None
    assert cost > 0
    report = planned(config, budget=cost + 5.0, replay=replay)
    assert report.recalls.truth == "nist"
    pairs = row(report, "pairs-for")
    assert pairs.dollars_judge == pytest.approx(cost)
    assert pairs.labels_people == 50
    assert pairs.dollars == pytest.approx(cost + 5)
    assert pairs.half_width is None
    assert "no judge has graded the pool" in pairs.undefined["half_width"]
    depth = row(report, "depth")
    share = (depth.labels_people or 0) / report.candidates
    assert share < 0.2 or depth.recall is None
    # Too dear: everything is null with the reason, and no number of labels is negative.
    for name in ("judge-order", "judge-order-moving", "random-queries", "pairs-for"):
        dear = row(planned(config, budget=5.0, cost_judge="1", replay=replay), name)  # type: ignore[arg-type]
        assert (dear.labels_people, dear.dollars, dear.half_width, dear.recall) == (None, None, None, None)
        assert dear.undefined["labels_people"] == f"the judge alone costs US$ {dear.dollars_judge:,.2f}"
        assert dear.dollars_judge == pytest.approx(report.candidates)


def test_beyond_a_replay_recall_is_undefined(made: Path, tmp_path: Path) -> None:
    replay = tmp_path / "replay-pools.json"
    replay.write_text(json.dumps(REPLAY), encoding="utf-8")
    config = made / "pool.yaml"
    total = planned(config, replay=replay).candidates
    inside = planned(config, budget=0.1 * round(0.1 * total), replay=replay)
    assert row(inside, "depth").recall == pytest.approx(0.2, abs=0.02)
    # From nothing to 0.45 with 20 %.
    assert row(inside, "adaptive").recall == pytest.approx(0.45 / 2, abs=0.02)
    assert row(inside, "adaptive").method == "max-mean"
    moving = row(inside, "judge-order-moving")
    assert moving.recall is None
    assert moving.undefined["recall"].endswith("steered by the judge; replay it with --steered-by judge")
    beyond = row(planned(config, budget=0.1 * round(0.5 * total), replay=replay), "depth")
    assert beyond.recall is None
    assert "more than the replay's 20 %, with which 0.300 was found" in beyond.undefined["recall"]


def test_pool_yaml_takes_the_lines_that_are_given(config: Path) -> None:
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["judges"]["panel"] = {"people": "majority"}
    config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    label(config, "ana")
    lines = [one.pool for one in planned(config).strategies if one.pool is not None]
    assert len(lines) == 5
    for line in lines:
        config.write_text(yaml.safe_dump({**settings, **yaml.safe_load(line)}, sort_keys=False), encoding="utf-8")
        limit = load_config(config).pool
        assert limit.limited
        assert (limit.budget or QUERIES * (limit.per_query or 0)) <= 100


def test_people_steer_a_pool_round_by_round(config: Path) -> None:
    """What the row of an adaptive pool says to do, done."""
    (config.parent / "labels.db").unlink()
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["judges"]["panel"] = {"people": "majority"}
    settings["pool"] = {"method": "mm-ns", "depth": 5, "budget": 60, "steered_by": "panel", "per_round": 2}
    config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    sizes = [0]
    for _ in range(40):
        build(config, Listener())
        sizes.append(pool_size(config))
        if sizes[-1] == sizes[-2]:
            break
        assign(config, AssignOptions(everything=True))
        label(config, "ana")
    assert sizes[-1] == 60
    assert len(sizes) > 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost_person": "20"}, "--cost-person 20: give US dollars per hour or per label"),
        ({"cost_judge": "gpt-4"}, "--cost-judge gpt-4: there is no such judge; did you mean 'gpt-4o'"),
        ({"cost_judge": "-1"}, "--cost-judge -1: give US dollars per pair from 0"),
        ({"cost_judge": "nan"}, "--cost-judge nan: give US dollars per pair from 0"),
        ({"budget": 0.0}, "--budget is 0; give a number above 0"),
        ({"budget": float("nan")}, "--budget is nan; give a number above 0"),
        ({"hours": -1.0}, "--hours is -1; give a number above 0"),
        ({"seconds_per_label": -1.0}, "--seconds-per-label is -1; give 0 or more"),
        ({"budget": 0.05}, r"--budget 0\.05 and the hours pay for no label: one, .* takes US\$ 0\.10 and 2\.5 min"),
        ({"measure": "nDCG@10 P@5"}, "one measure is planned at a time"),
    ],
)
def test_what_cannot_be_planned_is_refused(made: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(QuatiPoolError, match=message):
        planned(made / "pool.yaml", **changes)


def test_a_price_that_is_not_known_is_asked_for(config: Path) -> None:
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["judges"] = {"mine": {"model": "my-own-model", "prompt": "quati-en"}}
    config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with pytest.raises(ConfigError, match="the price of mine is not known; give --cost-judge USD-PER-PAIR"):
        judge_cost(load_config(config), "mine", Listener())


def test_runs_come_first(tmp_path: Path, made: Path) -> None:
    config = tmp_path / "pool.yaml"
    shutil.copy(made / "pool.yaml", config)
    for path in (*made.glob("*.run"), made / "corpus.jsonl", made / "queries.tsv"):
        shutil.copy(path, tmp_path)
    with pytest.raises(QuatiPoolError, match="run: quati-pool build"):
        planned(config)


def test_measures_that_are_no_sums_over_pairs_have_no_half_width(made: Path) -> None:
    report = planned(made / "pool.yaml", measure="AP")
    assert row(report, "pairs-for").labels_people is None
    assert row(report, "pairs-for").undefined["half_width"] == "drawn pairs cannot serve AP"
    assert "no sum over pairs" in row(report, "random-queries").undefined["half_width"]
