"""The JSON of ``replay estimate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from quati_pool.commands.replay.estimate import ReplayReport
from quati_pool.estimation.replay import Intervals, MethodReplay
from quati_pool.reporting.json_data.serializer import known, pick, serialize

_NO_WIDTH = "people alone have intervals without a width"


def as_data(report: ReplayReport) -> Any:
    """The JSON object of ``replay estimate``. Undefined values are null, with the reason under ``undefined``."""
    replay = report.replay
    plan = replay.plan
    data = {
        **pick(report, "measure people=people.name people_version=people.version"),
        **pick(report, "judge=judge.name judge_version=judge.version n_queries=queries n_pairs=pairs"),
        "drawn_queries": plan.queries,
        "expected_pairs": plan.pairs,
        **pick(plan, "draws seed targets alpha delta"),
        "baseline": None if plan.baseline is None else report.run_tags[plan.baseline],
        "systems": [
            {"run_tag": run_tag, "mean": mean} for run_tag, mean in zip(report.run_tags, replay.truth, strict=True)
        ],
        "methods": [_method(report, one) for one in replay.methods],
        "warnings": report.warnings,
    }
    return serialize(data)


def _method(report: ReplayReport, one: MethodReplay) -> dict[str, Any]:
    a, b = report.replay.a, report.replay.b
    of_systems = [{"run_tag": run_tag} for run_tag in report.run_tags]
    of_differences = [{"a": report.run_tags[x], "b": report.run_tags[y]} for x, y in zip(a, b, strict=True)]
    ratio, ratio_of_differences = report.replay.relative_width(one)
    return {
        **pick(one, "method target draws labels"),
        "systems": _intervals(one.systems, of_systems, ratio),
        "differences": _intervals(one.differences, of_differences, ratio_of_differences),
        "decisions": {
            **pick(one.decisions, "decided ordered tied wrong_order_draws"),
            "wrong_orders": known(one.decisions.wrong_orders, "no order was found"),
            **pick(one.decisions, "wrong_tie_draws"),
        },
    }


def _intervals(found: Intervals, names: list[dict[str, str]], ratio: float | None) -> dict[str, Any]:
    each = [
        {**name, "coverage": coverage, "half_width": half_width, "bias": bias, "error": error}
        for name, coverage, half_width, bias, error in zip(
            names, found.coverage, found.half_width, found.bias, found.error, strict=True
        )
    ]
    lowest = int(np.argmin(found.coverage))
    return {
        "coverage": found.coverage.mean(),
        "lowest": {**names[lowest], "coverage": found.coverage[lowest]},
        "half_width": found.half_width.mean(),
        "ratio_to_people_only": known(ratio, _NO_WIDTH),
        "bias": found.bias.mean(),
        "error": found.error.mean(),
        "each": each,
    }
