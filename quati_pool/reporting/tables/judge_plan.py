"""The table of ``judge --dry-run``, and the same as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from quati_pool.commands.judge.plan import JudgePlan
from quati_pool.reporting.formats.tables import Cell, Column, Table


def table(made: JudgePlan) -> Table:
    headings = ("Judge", "Pairs", "No text", "To ask", "Shared", "In batches", "Calls", "Tokens in", "Tokens out")
    row: list[Cell] = [made.judge, made.pairs, made.no_text, made.to_ask, made.shared, made.in_batches, made.calls]
    row += [made.input_tokens, made.output_tokens]
    columns = [*map(Column, headings), Column("US$", 2), Column("Minutes", 1)]
    cost = "unknown" if made.cost is None else made.cost
    minutes = None if made.seconds is None else made.seconds / 60
    return Table("What a run would ask", columns, [[*row, cost, minutes]], "; ".join(made.notes))


def as_data(made: JudgePlan) -> dict[str, Any]:
    data = asdict(made)
    undefined = {}
    if made.cost is None:
        undefined["cost"] = "the model's price is unknown"
    if made.seconds is None:
        undefined["seconds"] = "no limit and no earlier call bounds the time"
    return {**data, "notes": list(made.notes), **({"undefined": undefined} if undefined else {})}
