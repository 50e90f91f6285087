"""The tables of ``train reader``."""

from __future__ import annotations

from quati_pool.commands.train.reader import ReaderResult, TrainedStage
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.shares import independent_share


def tables(result: ReaderResult) -> list[Table]:
    """The measures on held-out questions, the stages, the held-out losses, and notes."""
    found = [table for table in (measures(result), stages(result), _losses(result)) if table is not None]
    if result.notes:
        found.append(Table("Notes", [Column("About this reader")], [[note] for note in result.notes]))
    return found


def measures(result: ReaderResult) -> Table | None:
    """A row for each measure on the held-out questions; None without any. Shares of right answers have an interval."""
    rows: list[list[Cell]] = []
    for row in result.rows:
        for name, value in row.measures.items():
            case = " ".join(filter(None, row.case))
            rows.append([case, row.n, name, value, interval(name, value, row.n) or ""])
    if not rows:
        return None
    columns = [Column("Held out"), Column("n"), Column("Measure"), Column("Value", 2), Column("95 % interval", 2)]
    return Table("Measures on held-out questions", columns, rows, "In percent.")


def interval(name: str, value: float | None, n: int) -> tuple[float, float] | None:
    """The 95 % Wilson interval of an accuracy, in percent; None for other measures."""
    if name != "accuracy" or value is None or not n:
        return None
    share = independent_share(round(value / 100 * n), n)
    return 100 * share.low, 100 * share.high


def stages(result: ReaderResult) -> Table:
    """A row for each stage of training."""
    rows = [_stage(number, stage) for number, stage in enumerate(result.stages, 1)]
    columns = [
        Column("Stage"), Column("Data"), Column("Method"), Column("Examples"), Column("Held out"), Column("Epochs"),
        Column("Steps"), Column("Kept step"), Column("Held-out loss", 4),
    ]  # fmt: skip
    note = "The kept step is that of the lowest held-out loss, or the last where nothing is held out."
    return Table("Stages of training", columns, rows, note)


def _stage(number: int, stage: TrainedStage) -> list[Cell]:
    lowest: Cell = dict(stage.losses).get(stage.step, "")
    return [
        number, stage.name, stage.method or "", stage.examples, stage.held_out, stage.epochs, stage.steps, stage.step,
        lowest,
    ]  # fmt: skip


def _losses(result: ReaderResult) -> Table | None:
    rows: list[list[Cell]] = [
        [number, step, loss] for number, stage in enumerate(result.stages, 1) for step, loss in stage.losses
    ]
    if not rows:
        return None
    return Table("Held-out loss", [Column("Stage"), Column("Step"), Column("Loss", 4)], rows)
