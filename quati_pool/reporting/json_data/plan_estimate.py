"""The JSON of ``estimate --plan``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.estimates.plan import LabelPlan, PlanReport
from quati_pool.estimation.planning import PlannedDesign
from quati_pool.reporting.json_data.serializer import known, pick, serialize


def as_data(report: PlanReport) -> Any:
    """The JSON object of ``estimate --plan``. Undefined values are null, with the reason under ``undefined``."""
    settings = report.settings
    return serialize(
        {
            **pick(settings, "half_width difference"),
            "power": settings.planned_power if settings.difference is not None else None,
            **pick(settings, "alpha=estimate.alpha looks=estimate.looks baseline=estimate.baseline"),
            **pick(report, "people judge judge_version n_queries=queries n_pairs=pairs n_systems=systems"),
            **pick(report, "n_labels=labels n_labelled=labelled seed"),
            "correlation": known(report.correlation, "planned from people's labels"),
            **pick(report.effort, "seconds_per_label seconds_from minutes_per_query minutes_from timed_labels=timed"),
            "plans": [_plan(report, one) for one in report.plans],
            "warnings": report.warnings,
        }
    )


def _plan(report: PlanReport, plan: LabelPlan) -> dict[str, Any]:
    queries, pairs = plan.queries, plan.pairs
    return {
        **pick(plan, "measure target comparisons"),
        "queries": known(queries and _design(report, queries), "too few queries to draw whole ones"),
        "pairs": known(pairs and _design(report, pairs), "drawn pairs cannot serve this measure"),
    }


def _design(report: PlanReport, design: PlannedDesign) -> dict[str, Any]:
    figure = "half_width" if report.settings.half_width is not None else "difference"
    return {
        "count": known(design.count, "not even all would do; the other figures are those of all"),
        **pick(design, "labels queries"),
        "hours": report.effort.hours(design),
        figure: design.figure,
        "minimum": design.minimum,
    }
