"""The tables of ``batch submit``, ``status`` and ``collect``, and the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.batch.batch import BatchRow, Collected
from quati_pool.labels import failures
from quati_pool.llm.faults import one_line
from quati_pool.reporting.formats.tables import Column, Table


def row_table(rows: Sequence[BatchRow]) -> Table:
    """Our state of a batch, and beside it the provider's."""
    headings = ("Batch", "Judge", "Made", "State", "At the provider", "Its id", "Requests", "Answered", "Failed")
    cells = [
        [
            row.batch.key[:8],
            row.batch.labeler_id,
            f"{row.batch.created_at:%Y-%m-%d %H:%M} UTC" if row.batch.created_at else None,
            row.batch.status,
            row.provider.status if row.provider else None,
            one_line(row.batch.batch_id, most=80) or None,
            row.batch.requests,
            row.provider.completed if row.provider else None,
            row.provider.failed if row.provider else None,
        ]
        for row in rows
    ]
    return Table("Batches", [*map(Column, headings)], cells)


def row_data(rows: Sequence[BatchRow]) -> list[dict[str, Any]]:
    return [
        {
            "key": row.batch.key,
            "judge": row.batch.labeler_id,
            "created_at": row.batch.created_at.isoformat() if row.batch.created_at else None,
            "state": row.batch.status,
            "provider_state": row.provider.status if row.provider else None,
            "batch_id": row.batch.batch_id,
            "requests": row.batch.requests,
            "answered": row.provider.completed if row.provider else None,
            "failed": row.provider.failed if row.provider else None,
        }
        for row in rows
    ]


def summary(made: Collected) -> str | None:
    """How many of the collected answers are a grade, and what the others are; None where all are."""
    return failures.summary(made.judge, "collected answers", sum(made.states.values()), made.states)


def collected_tables(made: Collected) -> list[Table]:
    """The batches, then the verdicts that were collected by state and grade."""
    rows = [[state.value, None, count] for state, count in made.states.items()]
    rows += [["ok", grade, count] for grade, count in sorted(made.grades.items())]
    cost = "unknown" if made.cost is None else f"US$ {made.cost:.4f}"
    columns = [Column("State"), Column("Grade"), Column("Verdicts")]
    return [row_table(made.rows), Table("Collected now", columns, rows, f"Cost: {cost}.")]


def collected_data(made: Collected) -> dict[str, Any]:
    return {
        "judge": made.judge,
        "summary": summary(made),
        "example_failure": failures.as_data(made.example),
        "batches": row_data(made.rows),
        "states": {state.value: count for state, count in made.states.items()},
        "grades": {str(grade): count for grade, count in sorted(made.grades.items())},
        "cost": made.cost,
    }
