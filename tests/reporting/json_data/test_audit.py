"""The JSON of an audit has the shape that others rely on, with reasons for what is undefined."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from quati_pool.audit.base import PairTexts
from quati_pool.audit.cases import Case
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.commands.judge.judging_run import Calls
from quati_pool.errors import QuatiPoolError
from quati_pool.reporting.json_data.audit import as_data, plan_data
from tests.reporting.audit_reports import STUFFED, probed, report, unasked, way

HOSTILE = "\x1b[31m<script>|\u200b\u202e"


def data(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def test_a_probe() -> None:
    found = data(as_data([report(STUFFED)]))
    assert (found["judge"], found["grader"], found["asked"], found["left"], found["cost"]) == ("gpt", "llm", 0, 0, 0)
    assert (found["repeat"], found["runs"]) == (None, [])
    (probe,) = found["probes"]
    share = {"n": 100, "fooled": 34, "share": 0.34, "low": 0.25, "high": 0.44}
    controls = {"n": 100, "fooled": 3, "share": 0.03, "low": 0.0, "high": 0.05}
    first, other = probe.pop("variants")
    assert probe == {
        "probe": "stuffing",
        "danger": "keyword stuffing",
        "expected": "not_rise",
        "drawn": "irrelevant",
        **share,
        "control": controls,
        "excess": {"value": 0.31, "low": 0.22, "high": 0.4},
        "bound": 0.1,
        "verdict": "fooled",
        "mean_change": 0.5,
        "control_mean_change": 0.25,
        "ungraded": 0,
        "ungraded_controls": 0,
        "by_people": 0,
        "cases": 100,
        "pairs": 100,
        "fooled_by": [],
        "controls_move": False,
        "worst": [],
        "problem": None,
        "advice": "compare systems whose passages may repeat the query's words",
        "paper": "Alaofi et al., SIGIR-AP 2024 (arXiv 2501.17969)",
    }
    assert first == {
        "variant": "query first",
        **share,
        "control": controls,
        "excess": {"value": 0.31, "low": 0.22, "high": 0.4},
    }
    assert (other["share"], other["excess"]) == (None, None)
    assert set(other["undefined"]) == {"share", "low", "high"}


def test_what_is_undefined_has_its_reason() -> None:
    undecided = probed("question", "undecided", 10, ends=(0.05, 0.2))
    made = report(unasked("language", "no translations"), undecided, probed("repeat", "not asked", n=0, ungraded=5))
    language, question, repeat = (found := data(as_data([made])))["probes"]
    assert (language["verdict"], language["n"], language["share"]) == ("not asked", 0, None)
    assert language["problem"] == "no translations"
    assert set(language["undefined"].values()) == {"no translations"}
    assert language.keys() - {"undefined"} == question.keys() - {"undefined"}
    assert question["undefined"] == {"control_mean_change": "no control has a grade"}
    assert (repeat["excess"], repeat["ungraded"], repeat["low"]) == (None, 5, None)
    assert repeat["undefined"]["share"] == "no text of it has a grade yet"
    assert found["repeat"]["share"] is None


def test_a_judge_with_itself() -> None:
    again = probed("repeat", "cleared", 6, 200, (0.01, 0.06), pairs=100)
    assert as_data([report(again)])["repeat"] == {
        "n": 200, "changed": 6, "share": 0.03, "low": 0.01, "high": 0.06, "kappa": 0.87,
    }  # fmt: skip
    undefined = as_data([report(again, kappa=None)])["repeat"]
    assert undefined["kappa"] is None
    assert undefined["undefined"] == {"kappa": "all grades before and after are the same one"}


def test_the_worst_cases_have_their_texts_as_they_are() -> None:
    case = Case("q1", "d1", "query first", 0, 1, PairTexts("q", HOSTILE), PairTexts("q", "other", "in town"), None)
    made = report(probed("stuffing", "fooled", 34, worst=[case]))
    (worst,) = data(as_data([made]))["probes"][0]["worst"]
    assert worst == {
        "query_id": "q1", "doc_id": "d1", "variant": "query first", "before": 0, "people": 1, "repetition": 0,
        "after": 3, "control_grade": None,
        "original": {"query": "q", "text": HOSTILE, "narrative": None},
        "changed": {"query": "q", "text": "other", "narrative": "in town"},
        "control": None,
    }  # fmt: skip


def test_what_was_asked_and_what_it_cost() -> None:
    calls = Calls()
    calls.attempts, calls.retries, calls.cost = 14, 2, 0.25
    asked = Asked("gpt", 12, 3, calls, ended="budget", error=QuatiPoolError("no"))
    found = as_data([report(STUFFED, runs=[asked])])
    assert (found["asked"], found["left"], found["cost"]) == (12, 3, 0.25)
    assert found["runs"] == [{
        "judge": "gpt", "asked": 12, "left": 3, "ended": "budget", "attempts": 14, "retries": 2, "known_cost": 0.25,
        "attempts_of_unknown_cost": 0, "error": "no",
    }]  # fmt: skip
    calls.unknown = 2
    found = as_data([report(STUFFED, runs=[asked])])
    assert found["cost"] is None
    assert found["undefined"]["cost"] == "the cost of 2 attempts is unknown"


def test_several_judges() -> None:
    found = as_data([report(STUFFED, judge=judge) for judge in ("a", "b")])
    assert [one["judge"] for one in found.pop("audits")] == ["a", "b"]
    assert found == {"not_started": []}


def test_what_fools_the_judge_is_named() -> None:
    shuffled = way("shuffled words", 26, 26, (0.87, 1.0))
    made = probed("missing", "fooled", 9, ends=(0.05, 0.2), fooled_by=[shuffled], controls_move=True)
    (probe,) = as_data([report(made)])["probes"]
    assert (probe["fooled_by"], probe["controls_move"]) == (["shuffled words"], True)


def test_judges_that_were_asked_for_and_not_started() -> None:
    found = as_data([report(STUFFED)], ["b", "c"])
    assert [one["judge"] for one in found["audits"]] == ["gpt"]
    assert found["not_started"] == ["b", "c"]


def test_a_plan() -> None:
    plan = AuditPlan(
        audited="gpt", judge="gpt", probes=[STUFFED, unasked("language", "no translations")], texts=3, to_ask=2,
        calls=2, input_tokens=9, output_tokens=8, cost=None, seconds=None, notes=("one",),
    )  # fmt: skip
    found = data(plan_data([plan]))
    assert found["probes"][0] == {"probe": "stuffing", "pairs": 100, "by_people": 0, "problem": None, "cases": 100}
    assert (found["cost"], found["undefined"]["cost"]) == (None, "the model's price is unknown")
    several = data(plan_data([plan, replace(plan, cost=0.5, seconds=60.0)]))
    assert several["plans"][0] == found
    assert several["total"] == {
        "texts": 6, "to_ask": 4, "calls": 4, "input_tokens": 18, "output_tokens": 16, "cost": None,
        "known_cost": 0.5, "seconds": None,
        "undefined": {
            "cost": "the price of a model is unknown",
            "seconds": "no limit and no earlier call bounds the time of a judge",
        },
    }  # fmt: skip
