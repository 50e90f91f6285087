"""The JSON of estimate has the shape that others rely on, with reasons for what is undefined."""

from __future__ import annotations

import json
import math

from quati_pool.estimation.results import Figure
from quati_pool.reporting.json_data.estimate import as_data
from tests.reporting.estimate_reports import PAIRS, difference, estimate, four, report, system


def test_the_first_estimate_is_the_top_level_and_others_have_the_same_shape() -> None:
    made = report(four(warnings=("own",)), four("queries-like-these"), warnings=("whole",))
    data = json.loads(json.dumps(as_data(made), allow_nan=False))
    (other,) = data.pop("others")
    assert data.keys() == other.keys()
    assert (data["target"], other["target"]) == ("these-queries", "queries-like-these")
    assert (data["measure"], data["people"], data["judge"]) == ("nDCG@10", "nist", "llm")
    assert (data["n_queries"], data["n_labelled"], data["n_labels"]) == (53, 15, 3065)
    assert (data["alpha"], data["delta"], data["looks"], data["seed"]) == (0.05, 0.02, 1, 0)
    assert data["design"] == "design 3 (random queries, seed 7)"
    assert data["statement"] == made.statement(made.estimates[0])
    assert data["warnings"] == ["whole", "own"]
    assert other["warnings"] == []


def test_a_system_and_a_difference() -> None:
    data = as_data(report(four()))
    assert data["systems"][0] == {
        "run_tag": "e5",
        "estimate": 0.612,
        "low": 0.612 - 0.04,
        "high": 0.612 + 0.04,
        "standard_error": 0.02,
        "people_only": {"mean": 0.612 - 0.01, "low": 0.612 - 0.09, "high": 0.612 + 0.07},
        "judge_only": {"mean": 0.612 + 0.1},
        "lambda": 0.83,
        "own_lambda": 0.79,
        "effective_queries": 31.4,
        "bounds": None,
    }
    value = 0.612 - 0.55
    assert data["differences"][1] == {
        "a": "e5",
        "b": "lsa",
        "estimate": value,
        "low": value - 0.05,
        "high": value + 0.05,
        "p": 0.1,
        "p_adjusted": 0.2,
        "verdict": "inconclusive",
        "queries_needed": 12,
        "pairs_needed": None,
        "reason": None,
    }


def test_what_is_undefined_has_its_reason() -> None:
    a = system("a", 0.5, judge_weight=None, own_weight=None, effective_queries=None, bounds=(0.4, 0.6))
    b = system("b", 0.4, people_only=Figure(math.nan, None, None), judge_only=math.nan)
    found = [
        difference(a, b, "inconclusive"),
        difference(a, b, "inconclusive", p=None, p_adjusted=None, reason="people's grades make no difference"),
        difference(a, b, "tie"),
    ]
    data = as_data(report(estimate([a, b], differences=tuple(found)), drawn=PAIRS))
    one, other = data["systems"]
    assert one["lambda"] is one["own_lambda"] is one["effective_queries"] is None
    assert one["undefined"].keys() == {"lambda", "own_lambda", "effective_queries"}
    assert one["bounds"] == {"low": 0.4, "high": 0.6}
    assert other["people_only"]["undefined"].keys() == {"mean", "low", "high"}
    assert other["judge_only"]["undefined"].keys() == {"mean"}
    open_one, unknown, tie = data["differences"]
    assert open_one["undefined"] == {
        "pairs_needed": "not even all pairs would find a difference of 0.02 with a power of 80 %"
    }
    assert unknown["undefined"] == dict.fromkeys(
        ("p", "p_adjusted", "pairs_needed"), "people's grades make no difference"
    )
    assert "undefined" not in tie
