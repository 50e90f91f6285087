"""The JSON of ``audit``, with and without --dry-run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.audit.outcomes import VariantResult, no_findings
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.reporting.json_data.audit_grades import grades_data, paraphrases_data
from quati_pool.reporting.json_data.drift import drift_data
from quati_pool.reporting.json_data.near_duplicates import duplicates_data
from quati_pool.reporting.json_data.serializer import Undefined, known, pick, serialize
from quati_pool.reporting.tables import audit as tables
from quati_pool.stats.shares import Share


def as_data(reports: Sequence[AuditReport], not_started: Sequence[str] = ()) -> Any:
    """The JSON object of ``audit``; where several judges were asked for, those of each under ``audits``, and the names
    of those to which the run did not come under ``not_started``. Undefined values are null, with the reason under
    ``undefined``."""
    audits = [_report(report) for report in reports]
    several = len(audits) + len(not_started) > 1
    return serialize({"audits": audits, "not_started": [*not_started]} if several else audits[0])


def _report(report: AuditReport) -> dict[str, Any]:
    unknown = report.unknown_costs
    return {
        **pick(report, "judge grader"),
        **_scale(report),
        "pairs": report.pairs,
        "probes": [_probe(one) for one in report.probes],
        "repeat": _repeat(report),
        **grades_data(report),
        "paraphrases": paraphrases_data(report),
        "near_duplicates": duplicates_data(report),
        "drift": Undefined(_no_drift(report)) if report.drift is None else drift_data(report.drift),
        **pick(report, "asked left"),
        "cost": Undefined(f"the cost of {unknown} attempts is unknown") if unknown else report.cost,
        "runs": [_run(run) for run in report.runs],
    }


def _no_drift(report: AuditReport) -> str | None:
    return "label files cannot be asked again" if report.of_files else report.no_drift


def _scale(report: AuditReport) -> dict[str, Any]:
    if report.scale is None:
        return dict.fromkeys(("lowest", "answers_from"), Undefined("no probe is run on label files"))
    return pick(report.scale, "lowest answers_from")


def _run(run: Asked) -> dict[str, Any]:
    calls = run.calls
    counts = {} if calls is None else pick(calls, "attempts retries known_cost=cost attempts_of_unknown_cost=unknown")
    return {**pick(run, "judge asked left ended"), **counts, "error": None if run.error is None else str(run.error)}


def _probe(one: AuditedProbe) -> dict[str, Any]:
    missing = tables.problem(one) or ""
    found = one.findings or no_findings(one.probe.parameters.bound)
    no_control = "no control has a grade" if one.findings else missing
    named = {"probe": one.name, **pick(one.probe, "danger expected drawn")}
    ends = {"problem": one.problem, **pick(one.probe, "advice paper")}
    return {
        **named,
        **_share(found.fooled, missing),
        "control": found.control and _share(found.control, missing),
        "excess": found.excess and found.excess._asdict(),
        **pick(found, "bound verdict"),
        "mean_change": known(found.mean_change, missing),
        "control_mean_change": known(found.control_change, no_control),
        "ungraded": found.ungraded,
        "ungraded_controls": tables.ungraded_controls(one),
        "by_people": one.by_people,
        "cases": len(one.cases),
        "pairs": one.pairs,
        "variants": [_variant(each) for each in found.variants],
        "fooled_by": [each.name for each in found.fooled_by],
        "controls_move": found.controls_move,
        "worst": [_case(one, place) for place in found.worst],
        **ends,
    }


def _share(found: Share, missing: str) -> dict[str, Any]:
    ends = (found.low, found.high) if found.n else (None, None)
    return {
        "n": found.n,
        "fooled": found.hits,
        "share": known(found.share, missing),
        "low": known(ends[0], missing),
        "high": known(ends[1], missing),
    }


def _variant(each: VariantResult) -> dict[str, Any]:
    missing = "no pair that was changed so has a grade"
    return {
        "variant": each.name,
        **_share(each.fooled, missing),
        "control": each.control and _share(each.control, missing),
        "excess": each.excess and each.excess._asdict(),
    }


def _case(one: AuditedProbe, place: int) -> dict[str, Any]:
    case = one.cases[place].as_json()
    texts = {name: case.pop(name) for name in ("original", "changed", "control")}
    grades = {"after": tables.grade_after(one, place), "control_grade": tables.grade_of_control(one, place)}
    return {**case, **grades, **texts}


def _repeat(report: AuditReport) -> dict[str, Any] | None:
    """How consistent the judge is with itself; None if the probe was left out."""
    one = report.repeat
    if one is None:
        return None
    missing = tables.problem(one) or ""
    share = _share((one.findings or no_findings(one.probe.parameters.bound)).fooled, missing)
    constant = "all grades before and after are the same one"
    return {
        "n": share["n"],
        "changed": share["fooled"],
        **{name: share[name] for name in ("share", "low", "high")},
        "kappa": known(report.kappa, missing or constant),
    }


def plan_data(plans: Sequence[AuditPlan]) -> Any:
    """The JSON object of ``audit --dry-run``, those of several judges under ``plans``, with their ``total``."""
    found = [_plan(plan) for plan in plans]
    return serialize(found[0] if len(found) == 1 else {"plans": found, "total": _total(plans)})


def _total(plans: Sequence[AuditPlan]) -> dict[str, Any]:
    total = tables.plan_total(plans)
    return {
        **pick(total, "texts to_ask calls input_tokens output_tokens"),
        "cost": known(total.cost, "the price of a model is unknown"),
        "known_cost": total.known_cost,
        "seconds": known(total.seconds, "no limit and no earlier call bounds the time of a judge"),
    }


def _plan(plan: AuditPlan) -> dict[str, Any]:
    return {
        **pick(plan, "audited judge texts to_ask calls input_tokens output_tokens"),
        "cost": known(plan.cost, "the model's price is unknown"),
        "seconds": known(plan.seconds, "no limit and no earlier call bounds the time"),
        "probes": [
            {"probe": one.name, **pick(one, "pairs by_people problem"), "cases": len(one.cases)} for one in plan.probes
        ],
        "notes": plan.notes,
    }
