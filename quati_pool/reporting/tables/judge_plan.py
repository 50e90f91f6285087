"""The table of ``judge --dry-run``."""

from __future__ import annotations

from quati_pool.commands.judge.plan import JudgePlan
from quati_pool.reporting.formats.tables import Cell, Column, Table


def table(plan: JudgePlan) -> Table:
    headings = ("Judge", "Pairs", "No text", "To ask", "Shared", "In batches", "Calls", "Tokens in", "Tokens out")
    row: list[Cell] = [plan.judge, plan.pairs, plan.no_text, plan.to_ask, plan.shared, plan.in_batches, plan.calls]
    row += [plan.input_tokens, plan.output_tokens]
    columns = [*map(Column, headings), Column("US$", 2), Column("Minutes", 1)]
    cost = "unknown" if plan.cost is None else plan.cost
    minutes = None if plan.seconds is None else plan.seconds / 60
    return Table("What a run would ask", columns, [[*row, cost, minutes]], "; ".join(plan.notes))
