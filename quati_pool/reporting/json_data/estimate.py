"""The JSON of ``estimate``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Difference, Estimate, SystemEstimate
from quati_pool.reporting.json_data.serializer import known, pick, serialize
from quati_pool.reporting.tables.estimate import POWER, smallest

_CALIBRATED = "pairs were drawn; the judge's grades are calibrated instead"


def as_data(report: EstimateReport) -> Any:
    """The JSON object of ``estimate``: the first estimate, and those of further measures and targets under ``others``.
    Undefined values are null, with the reason under ``undefined``."""
    first, *others = report.estimates
    data = _estimate(report, first)
    data["warnings"] = [*report.warnings, *first.warnings]
    data["others"] = [_estimate(report, one) for one in others]
    return serialize(data)


def _estimate(report: EstimateReport, estimate: Estimate) -> dict[str, Any]:
    return {
        **pick(estimate, "target measure"),
        **pick(report, "people judge judge_version"),
        **pick(report, "n_queries=drawn.queries n_labelled=drawn.labelled n_labels=drawn.labels"),
        **pick(report, "design=drawn.design drawn=drawn.unit n_pairs=drawn.pairs n_judged=drawn.covered"),
        **pick(report, "not_judged=drawn.not_judged left_out=drawn.left_out revealed seed simulation_seed"),
        **pick(estimate, "alpha delta looks baseline degrees_of_freedom=degrees critical"),
        "systems": [_system(one) for one in estimate.systems],
        "differences": [_difference(one, estimate) for one in estimate.differences],
        "statement": report.statement(estimate),
        "warnings": estimate.warnings,
    }


def _system(one: SystemEstimate) -> dict[str, Any]:
    people, few = one.people_only, "too few of people's grades"
    return {
        **pick(one, "run_tag estimate low high standard_error"),
        "people_only": {
            "mean": known(people.estimate, few),
            "low": known(people.low, few),
            "high": known(people.high, few),
        },
        "judge_only": {"mean": known(one.judge_only, "the judge graded none of the pairs")},
        "lambda": known(one.judge_weight, _CALIBRATED),
        "own_lambda": known(one.own_weight, _CALIBRATED),
        "effective_queries": known(one.effective_queries, "an interval has no width, or is undefined"),
        "bounds": one.bounds and dict(zip(("low", "high"), one.bounds, strict=True)),
    }


def _difference(one: Difference, estimate: Estimate) -> dict[str, Any]:
    unit, needed = estimate.unit, one.needed
    missing = one.reason or f"not even all {unit} would find {smallest(estimate)} {POWER}"
    shown = known(needed, missing) if one.verdict == "inconclusive" else needed
    return {
        **pick(one, "a b estimate"),
        "low": known(one.low, one.reason or ""),
        "high": known(one.high, one.reason or ""),
        "p": known(one.p, one.reason or "the difference has no standard error"),
        "p_adjusted": known(one.p_adjusted, one.reason or "the difference has no standard error"),
        "verdict": one.verdict,
        "queries_needed": shown if unit == "queries" else None,
        "pairs_needed": shown if unit == "pairs" else None,
        "reason": one.reason,
    }
