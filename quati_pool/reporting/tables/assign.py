"""The tables of ``assign``."""

from __future__ import annotations

from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.commands.annotate.assigning.training_file import TrainingReport
from quati_pool.commands.annotate.assigning.withdraw import WithdrawReport
from quati_pool.reporting.formats.tables import Cell, Column, Table

_METHODS = {
    "all": "all pairs",
    "random": "random pairs",
    "stratified": "random pairs within strata",
    "random-queries": "random queries",
    "active": "pairs for {measure}, Poisson",
    "queries": "chosen queries",
}
# The number of strata in a table; JSON and CSV contain all.
_SHOWN = 40


def tables(report: AssignReport, whole: bool = False) -> list[Table]:
    """The design, its strata (only the first ones, unless ``whole``; a queue has none), and the number of pairs per
    person."""
    chosen = Table(
        "Assignment",
        [Column(name) for name in ("Method", "Seed", "Pairs in the pool", "Chosen", "People per pair", "New slots")],
        [[method(report), report.seed, report.frame_pairs, len(report.sample), report.overlap, report.added_slots]],
        _told(report),
    )
    tables = [chosen] if report.queue is not None else [chosen, _strata(report, whole)]
    if report.people:
        rows: list[list[Cell]] = [[_who(name), count] for name, count in report.people.items()]
        tables.append(Table("Who grades them", [Column("For"), Column("Pairs")], rows))
    return tables


def method(report: AssignReport) -> str:
    """How the pairs were chosen, in words."""
    if report.queue is not None:
        return f"queue of {report.queue}, no sample"
    measure = report.measure if report.by is None else f"{report.measure} by {report.by}"
    return _METHODS[report.method].format(measure=measure)


def _strata(report: AssignReport, whole: bool) -> Table:
    shown = report.strata if whole else report.strata[:_SHOWN]
    more = len(report.strata) - len(shown)
    inclusion = "Inclusion probability" if report.sample.probabilities is None else "Mean inclusion probability"
    columns = [Column("Stratum"), Column("N"), Column("n"), Column(inclusion, 4)]
    rows: list[list[Cell]] = [[one.name, one.pairs, one.selected, one.inclusion] for one in shown]
    if report.queries:
        columns[1:1] = [Column("Queries in the pool"), Column("Queries drawn")]
        for row, one in zip(rows, shown, strict=True):
            row[1:1] = report.queries[one.name]
    return Table("Strata", columns, rows, f"{more:,} more strata are in the JSON and CSV." if more else "")


def training_table(report: TrainingReport, dry_run: bool) -> Table:
    columns = [Column("In the file"), Column("New or changed"), Column("In all")]
    note = "Nothing was written, for this is a dry run." if dry_run else ""
    return Table(
        "Gold pairs" if report.gold else "Training", columns, [[report.pairs, report.added, report.total]], note
    )


def withdrawn_table(report: WithdrawReport) -> Table:
    columns = [Column("Design"), Column("Withdrawn"), Column("Done")]
    note = "Nothing was written, for this is a dry run." if report.dry_run else ""
    return Table("Withdrawn", columns, [[report.design_id, report.withdrawn, report.done]], note)


def _told(report: AssignReport) -> str:
    if report.known is not None:
        return f"This is design {report.known} already: nothing was added."
    if report.queue is not None and not len(report.sample):
        return f"There are no {report.queue} to look at, so nothing was added."
    if not len(report.sample):
        return "No pair was chosen, so nothing was added: ask for a higher rate, or for a number of pairs."
    if report.dry_run:
        return "Nothing was written, for this is a dry run."
    if not report.added_slots:
        return f"Written as design {report.design_id}: all its pairs have their people already, so no slot is new."
    return f"Written as design {report.design_id}: {report.added_slots:,} new slots, of {report.added_pairs:,} pairs."


def _who(name: str | None) -> str:
    return "anyone" if name is None else name
