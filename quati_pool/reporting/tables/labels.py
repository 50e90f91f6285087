"""The tables of ``labels``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from quati_pool.commands.labels import LabelsReport
from quati_pool.labels.base import Graded
from quati_pool.labels.failures import shown
from quati_pool.labels.qrels import outside
from quati_pool.records import State
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.judge import (
    call_row,
    call_table,
    grade_table,
    state_table,
)
from quati_pool.store.failed_answers import FailedAnswer
from quati_pool.store.records import Usage


def tables(report: LabelsReport, missing: bool = False) -> list[Table]:
    """Grades, states, aspects and calls; ``missing`` adds a list of the pairs without a grade."""
    grades = grade_table(report.coverages, report.config.grades)
    beyond = [
        f"{labeler.name} has {count:,} more, of pairs that are not pooled"
        for labeler in report.labelers
        if (count := outside(labeler, report.coverages[labeler.name]))
    ]
    unread = [
        f"{name}: {count:,} answers were read by older rules; run: quati-pool judge {name} --reread"
        for name, count in report.unread.items()
    ]
    note = "; ".join(filter(None, [grades.note, *beyond, *unread]))
    tables = [replace(grades, note=f"{note}." if note else ""), state_table(report.coverages)]
    aspects = _aspect_rows(report)
    if aspects:
        columns = [Column("Labeler"), Column("Aspect"), Column("Answers"), Column("Mean", 2), Column("By value")]
        note = "What answers say besides the grade, each sample counted; in no other figure."
        tables.append(Table("Aspects", columns, aspects, note))
    calls = [
        call_row(name, used.attempts, used.retries, _tokens(used), used.cost, used.unknown_cost, used.seconds)
        for name, used in report.usage.items()
        if used.attempts
    ]
    if calls:
        tables.append(call_table(calls, "All that the store holds, earlier versions' too."))
    if report.earlier:
        columns = [Column("Labeler"), Column("Version"), Column("Labels")]
        rows: list[list[Cell]] = [[name, version[:12], count] for name, version, count in report.earlier]
        note = "Given under another model, prompt or parameters: kept, and in none of the counts above."
        tables.append(Table("Earlier versions", columns, rows, note))
    if missing:
        tables.append(missing_table(report))
    return tables


def missing_table(report: LabelsReport) -> Table:
    """The pairs without a grade, with why and the answer."""
    headings = ("Labeler", "query_id", "doc_id", "State", "Problem", "Answer")
    columns = [Column(name) for name in headings]
    rows = [
        [name, graded.query_id, graded.doc_id, graded.state_name,
         *_told(graded, report.failures.get((name, graded.query_id, graded.doc_id)))]
        for name, coverage in report.coverages.items()
        for graded in coverage.lacking
    ]  # fmt: skip
    return Table("Pairs without a grade", columns, rows)


def _aspect_rows(report: LabelsReport) -> list[list[Cell]]:
    def given(counts: Counter[int]) -> str:
        return ", ".join(f"{value}: {count:,}" for value, count in counts.items() if count)

    return [
        [name, aspect, counts.total(), mean_value(counts), given(counts)]
        for name, found in report.aspects.items()
        for aspect, counts in found.items()
        if counts.total()
    ]


def mean_value(counts: Counter[int]) -> float | None:
    """The mean of an aspect's values; None if no answer gave any."""
    total = counts.total()
    return sum(value * count for value, count in counts.items()) / total if total else None


def problem_of(graded: Graded, failed: FailedAnswer | None) -> str | None:
    """Why a pair has no grade; None if that is not known."""
    if graded.tied:
        return f"the grades are {', '.join(map(str, graded.samples))}"
    if failed is None:
        return "the passage has no text" if graded.status is State.no_text else None
    return failed.problem


def _told(graded: Graded, failed: FailedAnswer | None) -> list[Cell]:
    return [problem_of(graded, failed) or "", "" if failed is None else shown(failed)]


def _tokens(used: Usage) -> list[int | None]:
    return [used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens]
