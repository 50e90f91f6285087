"""The tables of ``labels``, and the same as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from quati_pool.commands.labels import LabelsReport
from quati_pool.labels.base import Graded
from quati_pool.labels.failures import shown
from quati_pool.labels.qrels import outside
from quati_pool.records import State
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.judge import (
    call_row,
    call_table,
    coverage_data,
    grade_table,
    latency_data,
    models_shown,
    state_table,
)
from quati_pool.store.failed_answers import FailedAnswer
from quati_pool.store.records import Usage


def tables(report: LabelsReport, missing: bool = False) -> list[Table]:
    """Grades, states and calls; ``missing`` adds the pairs without a grade by name."""
    grades = grade_table(report.coverages, report.config.grades)
    beyond = [
        f"{labeler.name} has {count:,} more, of pairs that are not pooled"
        for labeler in report.labelers
        if (count := outside(labeler, report.coverages[labeler.name]))
    ]
    unread = [
        f"{name}: {count:,} answers were read by other rules than today's; run: quati-pool judge {name} --reread"
        for name, count in report.unread.items()
    ]
    note = "; ".join(filter(None, [grades.note, *beyond, *unread]))
    made = [replace(grades, note=f"{note}." if note else ""), state_table(report.coverages)]
    aspects = _aspect_rows(report)
    if aspects:
        columns = [Column("Labeler"), Column("Aspect"), Column("Answers"), Column("Mean", 2), Column("By value")]
        note = "What answers say besides the grade, each sample counted; in no other figure."
        made.append(Table("Aspects", columns, aspects, note))
    calls = [
        call_row(name, used.attempts, used.retries, _tokens(used), used.cost, used.unknown_cost, used.seconds)
        for name, used in report.usage.items()
        if used.attempts
    ]
    if calls:
        made.append(call_table(calls, "All that the store holds, earlier versions' too."))
    if report.earlier:
        columns = [Column("Labeler"), Column("Version"), Column("Labels")]
        rows: list[list[Cell]] = [[name, version[:12], count] for name, version, count in report.earlier]
        note = "Given under another model, prompt or parameters: kept, and in none of the counts above."
        made.append(Table("Earlier versions", columns, rows, note))
    if missing:
        headings = ("Labeler", "query_id", "doc_id", "State", "Problem", "Answer")
        columns = [Column(name) for name in headings]
        rows = [
            [name, graded.query_id, graded.doc_id, graded.status.value if graded.status else "never asked",
             *_told(graded, report.failures.get((name, graded.query_id, graded.doc_id)))]
            for name, coverage in report.coverages.items()
            for graded in coverage.lacking
        ]  # fmt: skip
        made.append(Table("Pairs without a grade", columns, rows))
    return made


def as_data(report: LabelsReport, missing: bool = False) -> dict[str, Any]:
    return {
        "collection": report.config.name,
        "labelers": [
            {
                "labeler": labeler.name,
                "kind": labeler.kind,
                "version": labeler.version,
                **coverage_data(report.coverages[labeler.name]),
                "cut_passages": report.coverages[labeler.name].cut,
                "calls": _calls(report.usage.get(labeler.name)),
                "unread_answers": report.unread.get(labeler.name, 0),
                **({"aspects": _aspects(report.aspects[labeler.name])} if labeler.name in report.aspects else {}),
                **({"missing": _missing(report, labeler.name)} if missing else {}),
            }
            for labeler in report.labelers
        ],
        "problems": report.problems,
        "earlier_versions": [
            {"labeler": name, "version": version, "labels": count} for name, version, count in report.earlier
        ],
    }


def _aspect_rows(report: LabelsReport) -> list[list[Cell]]:
    def given(counts: Counter[int]) -> str:
        return ", ".join(f"{value}: {count:,}" for value, count in counts.items() if count)

    return [
        [name, aspect, counts.total(), _mean(counts), given(counts)]
        for name, found in report.aspects.items()
        for aspect, counts in found.items()
        if counts.total()
    ]


def _aspects(found: dict[str, Counter[int]]) -> dict[str, Any]:
    return {
        aspect: {
            "answers": counts.total(),
            "mean": _mean(counts),
            "counts": {str(value): count for value, count in counts.items()},
        }
        for aspect, counts in found.items()
    }


def _mean(counts: Counter[int]) -> float | None:
    total = counts.total()
    return sum(value * count for value, count in counts.items()) / total if total else None


def _missing(report: LabelsReport, name: str) -> list[dict[str, Any]]:
    made = []
    for graded in report.coverages[name].lacking:
        failed = report.failures.get((name, graded.query_id, graded.doc_id))
        made.append(
            {
                "query_id": graded.query_id,
                "doc_id": graded.doc_id,
                "state": graded.status and graded.status.value,
                "problem": _problem(graded, failed),
                "answer": None if failed is None else failed.answer,
                "thoughts": None if failed is None else failed.thoughts,
                "notes": [] if failed is None else list(failed.notes),
            }
        )
    return made


def _problem(graded: Graded, failed: FailedAnswer | None) -> str | None:
    if failed is None:
        return "the passage has no text" if graded.status is State.no_text else None
    return failed.problem


def _told(graded: Graded, failed: FailedAnswer | None) -> list[Cell]:
    return [_problem(graded, failed) or "", "" if failed is None else shown(failed)]


def _tokens(used: Usage) -> list[int | None]:
    return [used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens]


def _calls(used: Usage | None) -> dict[str, Any] | None:
    if used is None or not used.attempts:
        return None
    return {
        "attempts": used.attempts,
        "retries": used.retries,
        "tokens": dict(zip(("input", "cached", "output", "reasoning"), _tokens(used), strict=True)),
        "cost": None if used.unknown_cost else used.cost,
        "known_cost": used.cost,
        "attempts_of_unknown_cost": used.unknown_cost,
        "latency": latency_data(used.seconds),
        "models": models_shown(used.models),
    }
