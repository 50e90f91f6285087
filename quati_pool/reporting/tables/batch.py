"""The tables of ``batch submit``, ``status`` and ``collect``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.batch.batch import BatchRow, Collected
from quati_pool.labels import failures
from quati_pool.llm.faults import one_line
from quati_pool.reporting.formats.tables import Column, Table


def row_table(rows: Sequence[BatchRow]) -> Table:
    """The state of each batch, as stored here and at the provider."""
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


def summary(collected: Collected) -> str | None:
    """How many of the collected answers are grades, and what the others are; None if all are grades."""
    return failures.summary(collected.judge, "collected answers", sum(collected.states.values()), collected.states)


def collected_tables(collected: Collected) -> list[Table]:
    """The batches, then the number of collected verdicts by state and grade."""
    rows = [[state.value, None, count] for state, count in collected.states.items()]
    rows += [["ok", grade, count] for grade, count in sorted(collected.grades.items())]
    cost = "unknown" if collected.cost is None else f"US$ {collected.cost:.4f}"
    columns = [Column("State"), Column("Grade"), Column("Verdicts")]
    return [row_table(collected.rows), Table("Collected now", columns, rows, f"Cost: {cost}.")]
