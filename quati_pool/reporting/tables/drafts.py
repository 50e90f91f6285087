"""The tables of ``questions draft``."""

from __future__ import annotations

from dataclasses import replace

from quati_pool.commands.annotate.drafts.checking import THRESHOLDS
from quati_pool.commands.annotate.drafts.estimate import DraftPlan
from quati_pool.commands.annotate.drafts.report import DraftReport, Outcome
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.tables import Cell, Column, Table


def outcomes(report: DraftReport) -> Table:
    """How many drafts became what, with the reasons."""
    counts = report.statuses
    rows: list[tuple[Cell, ...]] = [
        ("new, wait for people", counts["added"], ""),
        ("were there, wait for people", report.waiting - counts["added"], ""),
        ("were there, decided", report.decided, ""),
        *(
            (f"held back: {reason}", count, THRESHOLDS.get(reason, ""))
            for reason, count in report.held_back.most_common()
        ),
        *((f"no draft: {state}", count, "") for state, count in report.failed.most_common()),
        ("not asked for", report.not_asked, ""),
    ]
    columns = [Column("drafts"), Column("n"), Column("threshold", prose=True)]
    return Table(f"Drafts from {report.origin}", columns, [row for row in rows if row[1]])


def tables(report: DraftReport) -> list[Table]:
    """All tables of ``questions draft``."""
    columns = [Column("source"), Column("became"), Column("why", prose=True), Column("draft", prose=True)]
    rows = [(one.source_id, one.status, _why(one), _text(one)) for one in report.outcomes]
    spent = f"{report.drafter}: {wording.asked_cost(report.calls, report.cost, report.unknown)}"
    return [replace(outcomes(report), note=spent), Table("Each draft", columns, rows)]


def plan(found: DraftPlan) -> Table:
    """The table of ``--dry-run``."""
    cost: Cell = "unknown" if found.cost is None else found.cost
    row: tuple[Cell, ...] = (
        *(found.model, found.sources, found.to_ask, found.input_tokens, found.output_tokens),
        cost,
    )
    headings = ("Model", "Sources", "To ask", "Tokens in", "Tokens out")
    return Table("What a run would ask", [*map(Column, headings), Column("US$", 2)], [row], "; ".join(found.notes))


def _why(one: Outcome) -> str:
    if one.held is not None:
        figure = "" if one.held.figure is None else f" {one.held.figure:.2f}"
        words = "" if one.held.words is None else f": {one.held.words}"
        return f"{one.held.reason}{figure}{words}"
    return "" if one.state is None else f"{one.state}: {one.problem}"


def _text(one: Outcome) -> str:
    return "" if one.draft is None else next(iter(one.draft.values()))
