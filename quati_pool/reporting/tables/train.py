"""The tables of ``train judge``."""

from __future__ import annotations

from quati_pool.commands.train.judge import TrainedJudgeReport
from quati_pool.reporting.formats.tables import Cell, Column, Table

MEASURES = {
    "auc": "AUC, relevant against the others",
    "kappa_relevant": "κ of relevant or not",
    "kappa": "κ of grades",
    "kappa_quadratic": "quadratic κ of grades",
    "agreement": "same grade",
    "difference": "mean grade less the labelers'",
}
"""What is measured on held-out queries, in words."""


def measures(report: TrainedJudgeReport) -> Table:
    """The measures on held-out queries, with 95 % intervals over queries."""
    found = report.card.held_out
    rows: list[list[Cell]] = []
    for name, words in MEASURES.items():
        if name in found:
            one = found[name]
            ends = None if one["low"] is None else (one["low"], one["high"])
            rows.append([words, one["value"], ends])
    columns = [Column("Measure"), Column("Value", 3), Column("95 % interval", 3)]
    return Table(f"{report.folder.name} on queries that it was not trained on", columns, rows)


def teachers(report: TrainedJudgeReport) -> Table:
    """From whose grades the judge learned."""
    scale = report.card.scale
    rows: list[list[Cell]] = [
        [one.name, one.kind, (one.version or "")[:12], *(one.grades.get(grade, 0) for grade in scale)]
        for one in report.card.teachers
    ]
    if report.card.negatives["training"]:
        rows.append(
            ["(ungraded)", "counted as irrelevant", "", report.card.negatives["training"], *[None] * (len(scale) - 1)]
        )
    columns = [Column("Labeler"), Column("What"), Column("Version"), *(Column(f"Grade {grade}") for grade in scale)]
    return Table("Grades of the training pairs", columns, rows)


def losses(report: TrainedJudgeReport) -> Table:
    """The held-out loss after each check."""
    steps = report.card.steps
    rows: list[list[Cell]] = [
        [int(step), loss, "kept" if int(step) == steps["kept"] else ""]
        for step, loss in steps["held_out_losses"].items()
    ]
    return Table("Held-out loss", [Column("Step"), Column("Loss", 4), Column("")], rows)


def tables(report: TrainedJudgeReport) -> list[Table]:
    return [table for table in (measures(report), teachers(report), losses(report)) if table.rows]
