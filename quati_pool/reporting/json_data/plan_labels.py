"""The JSON of ``plan-labels``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.plan_labels.plan_labels import PlanLabelsReport, Strategy
from quati_pool.reporting.json_data.serializer import Undefined, known, pick, serialize
from quati_pool.reporting.tables.plan_labels import PURPOSES

_NO_LIMIT = "no limit was given"
_FIELDS = "labels_people labels_judge queries dollars dollars_people dollars_judge hours recall half_width"


def as_data(report: PlanLabelsReport) -> Any:
    """The JSON object of ``plan-labels``. Undefined values are null, with the reason under ``undefined``."""
    settings, price, recalls = report.settings, report.cost_judge, report.recalls
    return serialize(
        {
            "budget": settings.budget,
            "hours": known(settings.hours, _NO_LIMIT),
            "cost_person": str(report.cost_person),
            "cost_judge": known(
                None if price is None else price.dollars,
                "no judge was named" if price is None else "the judge has nothing left to ask about",
            ),
            "judge": known(report.judge, "there is no judge"),
            "from": {
                "grades_of": recalls.truth,
                "by_people": recalls.by_people,
                "replay": recalls.replay,
            },
            **pick(report, "measure target=settings.target n_candidates=candidates n_queries=queries"),
            "people": known(report.people, "half-widths were not planned from people's labels"),
            **pick(report, "n_labels=labels n_labelled=labelled"),
            "correlation": known(report.correlation, "half-widths were not planned from a correlation"),
            **pick(report.effort, "seconds_per_label seconds_from minutes_per_query minutes_from timed_labels=timed"),
            "strategies": [_strategy(one) for one in report.strategies],
            "warnings": report.warnings,
        }
    )


def _strategy(one: Strategy) -> dict[str, Any]:
    method, budget = one.method, one.budget
    figures = {name: known(value, one.undefined.get(name)) for name, value in pick(one, _FIELDS).items()}
    return {
        "strategy": one.name,
        "method": known(method, "pairs are drawn at random"),
        "method_budget": known(budget, "pairs are drawn at random"),
        **figures,
        "serves": PURPOSES[one.name].words,
        "pool": Undefined("the pool stays as it is") if one.pool is None else one.pool,
        "command": " && ".join(one.commands),
    }
