"""The JSON of ``labels``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from quati_pool.commands.labels import LabelsReport
from quati_pool.labels.base import TIED, Graded, Labeler
from quati_pool.reporting.json_data.judge import coverage_members
from quati_pool.reporting.json_data.serializer import Views, pick, serialize
from quati_pool.reporting.tables.judge import TOKENS, latency, models_shown
from quati_pool.reporting.tables.labels import mean_value, problem_of
from quati_pool.store.failed_answers import FailedAnswer
from quati_pool.store.records import Usage


def as_data(report: LabelsReport, missing: bool = False) -> Any:
    """The JSON object of ``labels``; ``missing`` adds a list of the pairs without a grade."""
    data = {
        "collection": report.config.name,
        "labelers": [_labeler(report, labeler, missing) for labeler in report.labelers],
        "problems": report.problems,
        "earlier_versions": [
            {"labeler": name, "version": version, "labels": count} for name, version, count in report.earlier
        ],
    }
    return serialize(data, VIEWS)


def _labeler(report: LabelsReport, labeler: Labeler, missing: bool) -> dict[str, Any]:
    name, coverage = labeler.name, report.coverages[labeler.name]
    data = {
        **pick(labeler, "labeler=name kind version"),
        **coverage_members(coverage),
        **pick(coverage, "tied not_given"),
        "cut_passages": coverage.cut,
        "calls": report.usage.get(name),
        "unread_answers": report.unread.get(name, 0),
        **({} if labeler.note is None else {"note": labeler.note}),
    }
    if name in report.hybrids:
        data["hybrid"] = report.hybrids[name].as_json()
    if name in report.aspects:
        data["aspects"] = {aspect: _aspect(counts) for aspect, counts in report.aspects[name].items()}
    if missing:
        data["missing"] = [
            _missing(pair, report.failures.get((name, pair.query_id, pair.doc_id))) for pair in coverage.lacking
        ]
    return data


def _aspect(counts: Counter[int]) -> dict[str, Any]:
    return {"answers": counts.total(), "mean": mean_value(counts), "counts": counts}


def _missing(pair: Graded, failed: FailedAnswer | None) -> dict[str, Any]:
    return {
        **pick(pair, "query_id doc_id"),
        "state": TIED if pair.tied else pair.status,
        "problem": problem_of(pair, failed),
        "answer": failed and failed.answer,
        "thoughts": failed and failed.thoughts,
        "notes": failed.notes if failed else [],
    }


def _usage(used: Usage) -> dict[str, Any] | None:
    if not used.attempts:
        return None
    return {
        **pick(used, "attempts retries"),
        "tokens": {kind: getattr(used, f"{kind}_tokens") for kind in TOKENS},
        "cost": None if used.unknown_cost else used.cost,
        **pick(used, "known_cost=cost attempts_of_unknown_cost=unknown_cost"),
        "latency": latency(used.seconds),
        "models": models_shown(used.models),
    }


VIEWS: Views = {Usage: _usage}
