"""The JSON of ``judge``, with and without --dry-run, and of ``batch``."""

from __future__ import annotations

from typing import Any

import numpy as np

from quati_pool.commands.batch.batch import BatchRow, Collected
from quati_pool.commands.judge.judge import JudgeReport
from quati_pool.commands.judge.judging_run import Calls
from quati_pool.commands.judge.plan import JudgePlan
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.failures import shortened
from quati_pool.labels.rereading import Rereading
from quati_pool.records import State
from quati_pool.reporting.json_data.build import pool_members
from quati_pool.reporting.json_data.serializer import Undefined, Views, fields, pick, serialize
from quati_pool.reporting.tables import batch as batch_tables
from quati_pool.reporting.tables import judge as judge_tables
from quati_pool.store.failed_answers import FailedAnswer


def as_data(result: JudgeReport | JudgePlan | Collected | dict[str, list[BatchRow]]) -> Any:
    """The JSON object of ``judge``, of ``judge --dry-run``, and of the commands of ``batch``."""
    return serialize(result, VIEWS)


def _report(report: JudgeReport) -> dict[str, Any]:
    calls = report.calls
    return {
        "judge": report.judge,
        "summary": judge_tables.summary(report),
        **pick(report, "example_failure=example version"),
        **coverage_members(report.pending.coverage),
        **({} if report.pool is None else {"pool": pool_members(report.pool)}),
        **pick(report.pending, "asked shared truncated_passages=truncated in_batches with_template_tokens=with_tokens"),
        "reread": report.reread,
        "cost": _cost(calls),
        "seconds": round(report.seconds, 3),
        **pick(report, "ended output?=written"),
        **({} if calls is None else {"calls": calls, **pick(report, "budget?=money")}),
    }


def _cost(calls: Calls | None) -> float | Undefined:
    """The cost of a run in US dollars, undefined if that of any attempt is unknown."""
    if calls is None:
        return 0.0
    return Undefined(f"the cost of {calls.unknown} attempts is unknown") if calls.unknown else calls.cost


def _calls(calls: Calls) -> dict[str, Any]:
    return {
        **pick(calls, "attempts retries"),
        "tokens": {kind: calls.tokens[kind] for kind in judge_tables.TOKENS},
        **pick(calls, "known_cost=cost attempts_of_unknown_cost=unknown"),
        "latency": judge_tables.latency(np.frombuffer(calls.seconds)),
        "models": judge_tables.models_shown(calls.models),
        "output": calls.outputs,
    }


def coverage_members(coverage: LabelCoverage) -> dict[str, Any]:
    """The members for a labeler's coverage: the number of pairs by state and by grade."""
    samples = {"unanimous": coverage.unanimous, "mean_range": coverage.mean_range}
    return {
        "pairs": coverage.pairs,
        "states": {state: coverage.states[state] for state in State if coverage.states[state]},
        "unasked": coverage.unasked,
        "grades": dict(sorted(coverage.grades.items())),
        **({} if coverage.unanimous is None else {"samples": samples}),
    }


def _rereading(reread: Rereading) -> dict[str, Any]:
    cost = None if reread.unknown_cost else reread.cost
    return {**pick(reread, "answers=total as_before in_doubt graded another_grade to_ask"), "cost": cost}


def _failed(failed: FailedAnswer) -> dict[str, Any]:
    return {
        **pick(failed, "query_id doc_id state=status problem"),
        "answer": None if failed.answer is None else shortened(failed.answer),
        "thoughts": None if failed.thoughts is None else shortened(failed.thoughts),
        "notes": failed.notes,
    }


def _batch(row: BatchRow) -> dict[str, Any]:
    provider = row.provider
    return {
        **pick(row.batch, "key judge=labeler_id created_at state=status"),
        "provider_state": provider and provider.status,
        **pick(row.batch, "batch_id requests"),
        "answered": provider and provider.completed,
        "failed": provider and provider.failed,
    }


def _collected(collected: Collected) -> dict[str, Any]:
    return {
        "judge": collected.judge,
        "summary": batch_tables.summary(collected),
        **pick(collected, "example_failure=example batches=rows states"),
        "grades": dict(sorted(collected.grades.items())),
        "cost": collected.cost,
    }


VIEWS: Views = {
    JudgeReport: _report,
    Calls: _calls,
    Rereading: _rereading,
    FailedAnswer: _failed,
    JudgePlan: fields(
        "judge pairs no_text with_template_tokens to_ask shared in_batches calls input_tokens output_tokens "
        "cost seconds notes",
        cost="the model's price is unknown",
        seconds="no limit and no earlier call bounds the time",
    ),
    BatchRow: _batch,
    Collected: _collected,
}
