"""The JSON of ``replay estimate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from quati_pool.commands.replay.estimate import ReplayReport
from quati_pool.estimation.replay.results import Intervals, MethodReplay
from quati_pool.reporting.json_data.serializer import known, pick, serialize
from quati_pool.reporting.tables.replay import lowest

_NO_WIDTH = "people alone have intervals without a width"
_REFUSED = "estimate would have refused in all draws"


def as_data(report: ReplayReport) -> Any:
    """The JSON object of ``replay estimate``. Undefined values are null, with the reason under ``undefined``."""
    replay = report.replay
    plan = replay.plan
    data = {
        **pick(report, "measure people=people.name people_version=people.version"),
        **pick(report, "judge=judge.name judge_version=judge.version n_queries=queries n_pairs=pairs"),
        "drawn_queries": plan.queries,
        "expected_pairs": plan.pairs,
        **({"by": plan.by, "pilot": plan.pilot} if report.weighted else {}),
        **({"further_judges": [pick(one, "name version") for one in report.further]} if report.further else {}),
        **pick(plan, "draws simultaneous_draws seed targets alpha delta"),
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
        **pick(one, "method target draws refused labels"),
        "systems": _intervals(one.systems, of_systems, ratio),
        "differences": _intervals(one.differences, of_differences, ratio_of_differences),
        "simultaneous_coverage": known(one.simultaneous_coverage, _REFUSED),
        "decisions": {
            **_defined(one.decisions, "decided ordered tied wrong_order_draws"),
            "wrong_orders": known(one.decisions.wrong_orders, "no order was found"),
            **_defined(one.decisions, "wrong_tie_draws"),
        },
    }


def _defined(value: Any, names: str) -> dict[str, Any]:
    return {name: known(member, _REFUSED) for name, member in pick(value, names).items()}


def _intervals(found: Intervals, names: list[dict[str, str]], ratio: float | None) -> dict[str, Any]:
    each = [
        {**name, **{figure: known(values[place], _REFUSED) for figure, values in vars(found).items()}}
        for place, name in enumerate(names)
    ]
    refused = bool(np.isnan(found.coverage).all())
    place = lowest(found.coverage)
    return {
        "coverage": known(found.coverage.mean(), _REFUSED),
        "lowest": known(None if refused else {**names[place], "coverage": found.coverage[place]}, _REFUSED),
        "half_width": known(found.half_width.mean(), _REFUSED),
        "ratio_to_people_only": known(ratio, _REFUSED if refused else _NO_WIDTH),
        "bias": known(found.bias.mean(), _REFUSED),
        "error": known(found.error.mean(), _REFUSED),
        "each": each,
    }
