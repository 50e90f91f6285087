"""The answer of ``plan-labels``: what the budget buys for ranking systems, and for finding relevant documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quati_pool.commands.plan_labels.plan_labels import PlanLabelsReport, Strategy
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.estimate import TARGETS
from quati_pool.reporting.tables.plan_labels import dollars, strategy_words, tables
from quati_pool.text.pluralize import counted


def answer(report: PlanLabelsReport, output: Path | None = None) -> Answer:
    ranking, finding = _best_for_ranking(report), _best_for_finding(report)
    results = [_labels(report), *_judge(report), _ranking(report, ranking), _finding(report, finding)]
    (table,) = tables(report, details=False)
    best = [one for one in (ranking, finding) if one is not None]
    return Answer([*results, *_basis(report)], table, "\n".join(_rest(report, best, output)))


def _best_for_ranking(report: PlanLabelsReport) -> Strategy | None:
    found = [one for one in report.strategies if one.half_width is not None and not one.method]
    return min(found, key=lambda one: one.half_width or 0.0, default=None)


def _best_for_finding(report: PlanLabelsReport) -> Strategy | None:
    found = [one for one in report.strategies if one.recall is not None and one.method]
    return max(found, key=lambda one: one.recall or 0.0, default=None)


def _labels(report: PlanLabelsReport) -> str:
    settings, first = report.settings, report.strategies[0]
    limit = "" if settings.hours is None else f" and {settings.hours:g} h"
    per = "an hour" if report.cost_person.unit == "h" else "a label"
    # Little is left over wherever the money is the limit, as it does not pay for another label.
    left = settings.budget - (first.dollars or 0.0)
    rest = f"; US$ {dollars(round(left, 2))} are left over" if left > 0.1 * settings.budget else ""
    return (
        f"With US$ {dollars(settings.budget)}{limit}, at US$ {report.cost_person.dollars:g} {per}, people can give "
        f"{first.labels_people:,} labels ({first.hours:.1f} h{rest}) of the {report.candidates:,} candidates of "
        f"{counted(report.queries, 'query', 'queries')}, without a judge."
    )


def _judge(report: PlanLabelsReport) -> Iterator[str]:
    """What a judge that has still to grade costs, and the labels by people that it leaves."""
    found = next(one for one in report.strategies if one.name == "pairs-for")
    if not found.dollars_judge:
        return
    said = f"{report.judge or 'The judge'} costs US$ {found.dollars_judge:,.2f} for what it has still to grade"
    if found.dollars_judge > report.settings.budget:
        yield f"{said}, more than the budget."
    elif found.labels_people is not None:
        yield f"{said}, which leaves {found.labels_people:,} labels by people."


def _ranking(report: PlanLabelsReport, best: Strategy | None) -> str:
    start = f"For ranking systems by {report.measure}, {TARGETS[report.settings.target]}"
    random = [one for one in report.strategies if not one.method]
    if best is None:
        return f"{start}, nothing is known: {random[-1].undefined['half_width']}."
    others = [one for one in random if one is not best and one.half_width is not None]
    but = "".join(f", {_with_labels(report, one)} ± {one.half_width:.3f}" for one in others)
    return (
        f"{start}: {_with_labels(report, best)} give ± {best.half_width:.3f}{but} (95 % intervals, for what is drawn: "
        "not for documents outside the pool, nor for people who disagree)."
    )


def _with_labels(report: PlanLabelsReport, one: Strategy) -> str:
    if one.name == "random-queries":
        return f"{counted(one.queries or 0, 'whole query', 'whole queries')} ({one.labels_people:,} labels)"
    return f"{one.labels_people:,} random pairs"


def _finding(report: PlanLabelsReport, best: Strategy | None) -> str:
    start = "For finding relevant documents"
    depth = report.strategies[0]
    if best is None:
        return f"{start}, nothing is known: {depth.undefined['recall']}."
    words = "depth pooling" if best is depth else strategy_words(best, report.measure)
    found = f"{start}: {words} finds {_percent(best.recall)} of them with {best.labels_people:,} labels"
    if best is depth or depth.recall is None:
        return f"{found}."
    return f"{found}, depth pooling {_percent(depth.recall)} with {depth.labels_people:,}."


def _percent(recall: float | None) -> str:
    share = 100 * (recall or 0.0)
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def _basis(report: PlanLabelsReport) -> Iterator[str]:
    recalls = report.recalls
    if recalls.replay is not None:
        yield f"Recall is read from {recalls.replay}, a replay on grades of {recalls.truth}, not on this collection."
    elif recalls.by_people:
        yield f"Recall is a replay on {recalls.truth}'s grades of this pool."
    else:
        yield f"Recall is a replay on {recalls.truth}'s grades of this pool: of what it finds relevant, not people."
    if report.people is not None:
        labels = counted(report.labels, "label", "labels")
        yield (
            f"Half-widths are planned from {labels} of {counted(report.labelled, 'query', 'queries')} by "
            f"{report.people}."
        )
    elif report.correlation is not None:
        yield (
            f"Half-widths are planned for a correlation of {report.correlation:.2f} between people's and "
            f"{report.judge}'s grades, an assumption."
        )
    effort = report.effort
    seen = {"seen": f"median of {effort.timed:,}", "given": "given", "assumed": "assumed"}[effort.seconds_from]
    yield (
        f"A label takes {effort.seconds_per_label:.3g} s ({seen}), reading into a query {effort.minutes_per_query:.3g} "
        f"min ({effort.minutes_from})."
    )
    if report.labels:
        yield "Labels that people have given already are not deducted."


def _rest(report: PlanLabelsReport, best: list[Strategy], output: Path | None) -> Iterator[str]:
    for one in best:
        yield f"{strategy_words(one, report.measure)}{', with this in pool.yaml' if one.pool else ''}:"
        if one.pool:
            yield f"  {one.pool}"
        yield f"  {' && '.join(one.commands)}"
        if one.name in ("adaptive", "adaptive-moving"):
            yield "  # again and again, until build has nothing to add"
    folder = report_folder(report.config, output)
    yield f"--full prints all columns; plan-labels.md in {folder} has them too (.tex, .csv, .json)."
