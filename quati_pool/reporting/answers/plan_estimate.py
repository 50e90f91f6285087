"""The answer of ``estimate --plan``: how many whole queries, or how many pairs, and how many hours of people's time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quati_pool.commands.estimates.plan import LabelPlan, PlanReport
from quati_pool.estimation.planning import PlannedDesign
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.plan_estimate import basis, minima, tables, times, tried_out
from quati_pool.text.pluralize import counted

_OTHERS = 3


def answer(report: PlanReport) -> Answer:
    first, *others = report.plans
    sentences = [_sentence(report, first), *minima([first]), basis(report), times(report)]
    for one in others[:_OTHERS]:
        sentences += [_sentence(report, one), *minima([one])]
    (table,) = tables(report)
    return Answer(sentences, replace(table, note=tried_out(report)), "\n".join(_commands(first)))


def _sentence(report: PlanReport, plan: LabelPlan) -> str:
    """``For a half-width of 0.03 in nDCG@10, …: 41 whole queries (…) or 2,100 pairs over all 53 queries (…).``"""
    settings = report.settings
    alpha = settings.estimate.alpha / settings.estimate.looks
    queries = counted(report.queries, "query", "queries")
    target = f"these {queries}" if plan.target == "these-queries" else f"queries like these {report.queries:,}"
    if settings.half_width is not None:
        goal, figure = f"For a half-width of {settings.half_width:g} in {plan.measure}", "the half-width is"
        surely = f"{100 * (1 - alpha):.4g} % intervals of {counted(report.systems, 'system', 'systems')}"
    else:
        power = f"a power of {100 * settings.planned_power:.3g} %"
        goal = f"To find a difference of {settings.difference:g} in {plan.measure} with {power}"
        figure = "the smallest difference found is"
        surely = f"{counted(plan.comparisons, 'comparison', 'comparisons')}, alpha {alpha:.3g} for all together"
    said = f"{goal}, for {target} ({surely})"
    reached = [one for one in plan.designs if one.count is not None]
    if reached:
        return f"{said}: {' or '.join(_design(report, one) for one in reached)}.{_missing(plan)}"
    left = min(one.figure for one in plan.designs)
    return f"{said}, not even all {report.pairs:,} pairs would do: {figure} then {left:.3f}. It takes more queries."


def _design(report: PlanReport, design: PlannedDesign) -> str:
    """``41 whole queries (8,400 labels, about 71 h)``, or ``2,100 pairs over all 53 queries (about 19 h)``."""
    time = f"about {_hours(report.effort.hours(design))}"
    if design.unit == "queries":
        count = counted(design.labels, "label", "labels")
        which = "all " if design.count == report.queries else ""
        return f"{which}{design.count:,} whole queries ({count}, {time})"
    every = "all " if design.queries == report.queries else ""
    pairs = f"{'all ' if design.count == report.pairs else ''}{design.count:,} pairs"
    return f"{pairs} over {every}{counted(design.queries, 'query', 'queries')} ({time})"


def _missing(plan: LabelPlan) -> str:
    """Why one of both kinds of design is not planned."""
    if plan.pairs is None:
        return f" Drawn pairs cannot serve {plan.measure}."
    return "" if plan.queries is not None else " There are too few queries to draw whole ones."


def _hours(hours: float) -> str:
    if hours < 0.95:
        return f"{max(round(60 * hours), 1)} min"
    return f"{hours:.1f} h" if hours < 9.95 else f"{hours:,.0f} h"


def _commands(plan: LabelPlan) -> Iterator[str]:
    """How to draw what was planned."""
    drawing = []
    if plan.queries is not None and plan.queries.count is not None:
        drawing.append(f"  quati-pool assign --random-queries {plan.queries.count}")
    if plan.pairs is not None and plan.pairs.count is not None:
        drawing.append(f"  quati-pool assign --pairs-for {plan.measure} --expect {plan.pairs.count}")
    if drawing:
        yield "To draw them:" if len(drawing) == 1 else "To draw them, either of:"
        yield from drawing
