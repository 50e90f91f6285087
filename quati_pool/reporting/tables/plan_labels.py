"""The table of ``plan-labels``: what each way to spend the budget buys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quati_pool.commands.plan_labels.plan_labels import PlanLabelsReport, Strategy, StrategyName
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.estimate import TARGETS
from quati_pool.text.pluralize import counted


class _Purpose(NamedTuple):
    word: str
    words: str


_LATER = _Purpose("later systems", "a pool that later systems can be measured with")
_FINDING = _Purpose("finding", "as many relevant documents as the labels can find")
_RANKING = _Purpose("ranking", "means and rankings of these systems with intervals")
PURPOSES: dict[StrategyName, _Purpose] = {
    "depth": _LATER,
    "adaptive": _FINDING,
    "adaptive-moving": _FINDING,
    "judge-order": _FINDING,
    "judge-order-moving": _FINDING,
    "random-queries": _RANKING,
    "pairs-for": _RANKING,
}
_BUDGETS = {"per-query": "per query", "moving": "moving"}


_DETAILS = 3
_UNDEFINED_COLUMNS = {"recall": "Recall", "half_width": "±"}


def tables(report: PlanLabelsReport, *, details: bool = True) -> list[Table]:
    """One table, with a row for each strategy, and columns of ``details``."""
    columns = [
        Column("Strategy"),
        Column("People"),
        Column("Judge"),
        Column("US$"),
        Column("Hours", 1),
        Column("Recall", 3),
        Column("±", 3),
        Column("Serves"),
        Column("US$ people", 2, detail=True),
        Column("US$ judge", 2, detail=True),
        Column("Queries", detail=True),
    ]
    kept = len(columns) - (0 if details else _DETAILS)
    rows = [_row(report, one)[:kept] for one in report.strategies]
    note = " ".join([_columns(report), *_reasons(report)])
    return [Table(_title(report), columns[:kept], rows, note)]


def strategy_words(strategy: Strategy, measure: str) -> str:
    """``mm-ns, moving``, ``random queries``."""
    if strategy.name == "random-queries":
        return (
            "random queries"
            if strategy.queries is None
            else counted(strategy.queries, "random query", "random queries")
        )
    if strategy.name == "pairs-for":
        return f"pairs for {measure}"
    if strategy.name == "depth":
        return "depth"
    assert strategy.budget is not None
    return f"{strategy.method}, {_BUDGETS[strategy.budget]}"


def _reasons(report: PlanLabelsReport) -> Iterator[str]:
    """A sentence for each reason why figures are undefined: for a strategy that buys nothing its name, for others the
    column."""
    found: dict[str, dict[str, None]] = {}
    for one in report.strategies:
        for name, reason in one.undefined.items():
            place = strategy_words(one, report.measure) if one.labels_people is None else _UNDEFINED_COLUMNS[name]
            found.setdefault(reason, {})[place] = None
    for reason, places in found.items():
        yield f"– ({', '.join(places)}): {reason}."


def dollars(amount: float) -> str:
    """``1,234`` from 100 on, else with cents where there are any."""
    return f"{amount:,.0f}" if amount >= 100 or amount == round(amount) else f"{amount:,.2f}"


def _title(report: PlanLabelsReport) -> str:
    hours = "" if report.settings.hours is None else f" and {report.settings.hours:g} h"
    return f"What US$ {dollars(report.settings.budget)}{hours} buy"


def _row(report: PlanLabelsReport, one: Strategy) -> list[Cell]:
    return [
        strategy_words(one, report.measure),
        one.labels_people,
        one.labels_judge,
        None if one.dollars is None else dollars(one.dollars),
        one.hours,
        one.recall,
        one.half_width,
        PURPOSES[one.name].word,
        one.dollars_people,
        one.dollars_judge,
        one.queries,
    ]


def _columns(report: PlanLabelsReport) -> str:
    return (
        "People, Judge: pairs that they grade. Recall: the share of the relevant candidates that people see. ±: half a "
        f"95 % interval of {report.measure}, {TARGETS[report.settings.target]}."
    )
