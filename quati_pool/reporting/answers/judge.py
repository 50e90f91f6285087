"""The answers of ``judge``, ``judge --dry-run`` and ``batch``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.batch.batch import BatchRow, Collected
from quati_pool.commands.judge.judge import JudgeReport
from quati_pool.commands.judge.plan import JudgePlan
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.records import State
from quati_pool.reporting.answers import wording
from quati_pool.reporting.answers.build import pooled, rounds
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.batch import row_table
from quati_pool.reporting.tables.judge_plan import table as plan_table
from quati_pool.reporting.tables.plan import dollars
from quati_pool.text.pluralize import counted, listed


def answer(report: JudgeReport) -> Answer:
    rest = "--full prints all tables."
    if report.written is None and lacking(report.pending.coverage):
        rest += f" Pairs without a grade, and why: quati-pool labels {report.judge} --missing."
    return Answer([graded(report), *_pool(report), *_cost(report)], _grades(report), rest)


def graded(report: JudgeReport) -> str:
    """How many pairs have a grade by the judge, and why the others have none."""
    coverage = report.pending.coverage
    done = sum(coverage.grades.values())
    all_of_them = done == coverage.pairs > 1
    how_many = f"all {done:,}" if all_of_them else f"{done:,} of {coverage.pairs:,}"
    said = f"{wording.name(report.judge)} has graded {how_many} {'pair' if coverage.pairs == 1 else 'pairs'}"
    missing = lacking(coverage)
    return f"{said}; without a grade: {missing}." if missing else f"{said}."


def lacking(coverage: LabelCoverage) -> str:
    """The pairs without a grade by state, such as ``3 unparsed, 12 never asked``; empty if there are none."""
    return wording.counts((name.replace("_", " "), count) for name, count in coverage.lacks.items())


def _pool(report: JudgeReport) -> list[str]:
    """The pool that the grades chose."""
    return [] if report.pool is None else [pooled(report.pool), *rounds(report.pool)]


def _cost(report: JudgeReport) -> list[str]:
    calls = report.calls
    if calls is None or not calls.attempts:
        return []
    cost = f"US$ {calls.cost:.4f}" if calls.cost or not calls.unknown else "an unknown cost"
    at_least = " at least" if calls.unknown and calls.cost else ""
    retries = f", {counted(calls.retries, 'retry', 'retries')} among them" if calls.retries else ""
    return [f"This run made {counted(calls.attempts, 'call', 'calls')}{retries}, for {cost}{at_least}."]


def _grades(report: JudgeReport) -> Table:
    coverage, scale = report.pending.coverage, report.config.grades
    done = sum(coverage.grades.values())
    rows: list[list[Cell]] = [
        [grade, scale.get(grade, ""), coverage.grades[grade], coverage.grades[grade] / done if done else None]
        for grade in sorted({*scale, *coverage.grades})
    ]
    columns = [Column("Grade"), Column("Meaning"), Column("Pairs"), Column("Share", 1, percent=True)]
    return Table(f"Grades by {report.judge}", columns, rows)


def plan_answer(plan: JudgePlan) -> Answer:
    """The answer of ``--dry-run``: what a run would ask, and what it would cost."""
    if not plan.to_ask:
        said = f"{wording.name(plan.judge)} has nothing left to ask."
    else:
        cost = "at an unknown price" if plan.cost is None else f"for about {dollars(plan.cost)}"
        time = "" if plan.seconds is None else f" in about {plan.seconds / 60:,.1f} min"
        pairs, calls = counted(plan.pairs, "pair", "pairs"), counted(plan.calls, "call", "calls")
        said = (
            f"{wording.name(plan.judge)} would be asked about {plan.to_ask:,} of {pairs} in {calls}, {cost}{time}; "
            "nothing was asked."
        )
    table = plan_table(plan)
    (row,) = table.rows
    facts: list[list[Cell]] = [
        [column.heading, column.show(cell)] for column, cell in zip(table.columns[1:], row[1:], strict=True)
    ]
    return Answer([said], Table(table.title, [Column("What"), Column("Estimate")], facts), ". ".join(plan.notes))


def batches_answer(rows: Sequence[BatchRow]) -> Answer:
    """The answer of ``batch submit`` and ``batch status``."""
    if not rows:
        return Answer(["There are no batches."])
    states: dict[str, int] = {}
    for row in rows:
        states[row.batch.status] = states.get(row.batch.status, 0) + 1
    requests = counted(sum(row.batch.requests for row in rows), "request", "requests")
    said = f"{counted(len(rows), 'batch', 'batches')} with {requests}: {wording.counts(states.items())}."
    return Answer([said], _batches(rows), "--full prints all columns.")


def collected_answer(collected: Collected) -> Answer:
    verdicts = sum(collected.states.values())
    grades = [f"{count:,} of grade {grade}" for grade, count in sorted(collected.grades.items())]
    others = [
        f"{count:,} {state.value}" for state, count in collected.states.items() if state is not State.ok and count
    ]
    cost = "an unknown cost" if collected.cost is None else f"US$ {collected.cost:.4f}"
    said = f"{counted(verdicts, 'answer', 'answers')} by {wording.name(collected.judge)} collected, for {cost}"
    sentence = f"{said}: {listed([*grades, *others])}." if verdicts else f"{said}."
    return Answer([sentence], _batches(collected.rows), "--full prints all columns.")


def _batches(rows: Sequence[BatchRow]) -> Table:
    """The batches without the provider's ids, which are long."""
    table = row_table(rows)
    kept = [position for position, column in enumerate(table.columns) if column.heading not in ("Its id", "Made")]
    return Table(
        table.title,
        [table.columns[position] for position in kept],
        [[row[position] for position in kept] for row in table.rows],
    )
