"""The table of ``estimate --plan``: whole queries and pairs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quati_pool.commands.estimates.plan import LabelPlan, PlanReport
from quati_pool.estimation.planning import LEAST_PAIRS, Minimum, PlannedDesign
from quati_pool.estimation.results import Unit
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.estimate import TARGETS
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.text.pluralize import counted, listed

_DESIGNS: dict[Unit, str] = {"queries": "whole queries", "pairs": "pairs"}
_MINIMA: dict[Minimum, str] = {
    "queries": f"{FEWEST_QUERIES} whole queries are the fewest from which an interval is estimated",
    "pairs": f"{LEAST_PAIRS} pairs are the fewest that are planned",
    "ideal": "the ideal ranking of nDCG needs this many pairs",
}


def tables(report: PlanReport) -> list[Table]:
    """One table, with a row for each measure, target and design."""
    columns = [
        Column("Measure"),
        Column("Design"),
        Column("For"),
        Column("Number"),
        Column("Labels"),
        Column("Hours", 1),
        Column("Half-width" if report.settings.half_width is not None else "Difference", 4),
        Column("Queries"),
    ]
    rows = [_row(report, plan, design) for plan in report.plans for design in plan.designs]
    sentences = [tried_out(report), *minima(report.plans), basis(report), times(report), f"Judge: {report.judge}."]
    note = " ".join(sentences)
    return [Table(_title(report), columns, rows, note)]


def _title(report: PlanReport) -> str:
    settings = report.settings
    if settings.half_width is not None:
        return f"Labels by people for a half-width of {settings.half_width:g}"
    power = f"a power of {100 * settings.planned_power:.3g} %"
    return f"Labels by people for finding a difference of {settings.difference:g} with {power}"


def _row(report: PlanReport, plan: LabelPlan, design: PlannedDesign) -> list[Cell]:
    return [
        plan.measure,
        _DESIGNS[design.unit],
        TARGETS[plan.target],
        design.count,
        design.labels,
        report.effort.hours(design),
        design.figure,
        design.queries,
    ]


def tried_out(report: PlanReport) -> str:
    """The note on the column of half-widths, or differences."""
    figure = "Half-width" if report.settings.half_width is not None else "Difference"
    average = f"on average over {counted(report.systems, 'system', 'systems')}"
    if report.settings.half_width is None:
        average = "the smallest that is found with this power, on average over pairs of systems"
    note = f"{figure}: as this number gave it when tried out on grades that people might give, {average}."
    if any(design.count is None for plan in report.plans for design in plan.designs):
        note += " No number: not even all would do, and the row is that of all."
    return note


def minima(plans: Iterable[LabelPlan]) -> Iterator[str]:
    """A sentence on the minima for which more is planned than the goal takes, if there are any."""
    found = dict.fromkeys(one.minimum for plan in plans for one in plan.designs if one.minimum is not None)
    if found:
        yield f"Fewer would reach the goal, but {listed([_MINIMA[one] for one in found])}."


def basis(report: PlanReport) -> str:
    """What was planned from: people's labels, or a correlation."""
    if report.correlation is None:
        labels = counted(report.labels, "label", "labels")
        return (
            f"Planned from {labels} of {counted(report.labelled, 'query', 'queries')} by {report.people}, which count "
            "towards these numbers as far as they were drawn in this way."
        )
    assumed = ", an assumption (--correlation)" if report.correlation_from == "assumed" else ""
    return f"Planned for a correlation of {report.correlation:.2f} between people's and the judge's grades{assumed}."


def times(report: PlanReport) -> str:
    """How long a label and reading into a query take, and where that is from."""
    effort = report.effort
    seconds, minutes = f"{effort.seconds_per_label:.3g} s", f"{effort.minutes_per_query:.3g} min"
    of_labels = {
        "seen": f"the median of {counted(effort.timed, 'label', 'labels')}",
        "given": "given",
        "assumed": "an assumption: --seconds-per-label",
    }[effort.seconds_from]
    of_queries = "given" if effort.minutes_from == "given" else "an assumption: --minutes-per-query"
    return f"Hours: {seconds} for each label ({of_labels}) and {minutes} to read into each query ({of_queries})."
