"""The JSON of an audit's second part."""

from __future__ import annotations

import json
from dataclasses import replace

from quati_pool.reporting.json_data.audit import as_data
from tests.reporting.audit_reports import STUFFED, report
from tests.reporting.grade_audits import all_beyond, grades

KEYS = {
    "people", "measure", "order", "level", "decisions", "overrating", "length", "overlap", "kinship", "judge_family",
    "oracle", "alike",
}  # fmt: skip


def test_all_figures() -> None:
    found = json.loads(json.dumps(as_data([report(STUFFED, grades=all_beyond())])))
    assert set(found) >= KEYS
    assert (found["people"], found["measure"]) == ("nist", "nDCG@10")
    assert found["order"] == {
        "tau": 0.4, "low": -0.3, "high": 0.5, "systems": 4, "queries": 20, "swaps": 0,
        "without_kin": {"tau": 0.9, "low": 0.8, "high": 1.0, "systems": 2, "queries": 20, "swaps": 0},
    }  # fmt: skip
    assert found["level"] == {"value": -0.12, "low": -0.15, "high": -0.09, "n": 20}
    assert found["decisions"] == {
        "pairs": 6, "both": 3, "opposed": 1, "only_judge": 1, "only_people": 0, "neither": 1, "false": 0.4,
        "missed": 0.0,
    }  # fmt: skip
    assert found["overrating"]["by_grade"][0] == {"grade": 0, "n": 300, "judge": 0.8, "implied": 0.3}
    assert (found["length"]["value"], found["overlap"]["value"]) == (0.3, 3.7)
    assert found["judge_family"] == {"family": "openai", "guessed": True}
    assert [one["family"] for one in found["kinship"]] == ["ours", "c", "d", None]
    assert found["kinship"][0] == {
        "family": "ours",
        "kin": True,
        "systems": {"a": "by its name", "b": "uses gpt"},
        "shift": {"value": 0.06, "low": 0.03, "high": 0.09, "n": 20},
    }
    assert found["kinship"][1]["systems"] == {"c": None}
    assert (found["oracle"]["rank_judge"], found["oracle"]["rank_people"], found["oracle"]["systems"]) == (1, 3, 5)
    assert found["alike"] == [
        {
            "judge": "mistral",
            "n": 500,
            "with_judge": 0.4,
            "with_people": 0.25,
            "excess": 0.15,
            "low": 0.11,
            "high": 0.19,
        }
    ]
    assert {one["verdict"] for one in found["grade_lines"]} == {"beyond"}
    assert len(found["grade_lines"]) == 9


def test_what_was_not_compared_is_null_with_the_reason() -> None:
    found = as_data([report(STUFFED, no_grades="nobody has graded")])
    assert {found[name] for name in KEYS} == {None}
    assert {found["undefined"][name] for name in KEYS} == {"nobody has graded"}
    assert found["grade_lines"] == []
    named = as_data([report(STUFFED)])
    assert named["undefined"]["order"] == "only some probes were run"
    bare = as_data([report(STUFFED, grades=grades(gap=None, rankings=None, decisions=None, kinship=None, oracle=None))])
    assert bare["undefined"]["order"].startswith("systems were not compared")
    assert bare["overrating"]["value"] == 0.05
    assert bare["undefined"]["length"].startswith("the texts are not known")


def test_files_have_no_scale_of_probes() -> None:
    found = as_data([replace(report(grades=grades()), grader="file", scale=None)])
    assert (found["lowest"], found["answers_from"], found["probes"]) == (None, None, [])
    assert found["undefined"]["lowest"] == "no probe is run on label files"
