"""The tables of ``replay estimate``, and its systems and differences as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from quati_pool.commands.replay.estimate import ReplayReport
from quati_pool.estimation.pair_refusals import LEAST_BY_CHANCE
from quati_pool.estimation.replay.results import Intervals, Method, MethodReplay
from quati_pool.reporting.formats.tables import Cell, Column, Table, to_csv
from quati_pool.reporting.tables.estimate import TARGETS
from quati_pool.text.pluralize import counted, listed

METHODS: dict[Method, str] = {
    "queries": "whole queries",
    "people-only": "people only",
    "pairs": "pairs",
    "pairs-by-uncertainty": "by uncertainty",
    "pairs-by-disagreement": "by disagreement",
    "uniform-pairs": "uniform pairs",
    "judge-only": "judge alone",
}


def tables(report: ReplayReport) -> list[Table]:
    """How the intervals of systems and of differences did, the verdicts, and each system."""
    return [_systems(report), _differences(report), _decisions(report), _each_system(report)]


def interval(report: ReplayReport) -> str:
    """``95 %``, the level of the intervals."""
    return f"{100 * (1 - report.replay.plan.alpha):.3g} %"


def explained(report: ReplayReport) -> str:
    """What the methods do."""
    plan, judge = report.replay.plan, report.judge.name
    whole = f"Whole queries: {plan.queries:,} at random, with all their pairs; people only: without {judge}."
    alone = f"Judge alone: means by {judge}, with t intervals."
    if report.pairs_replayed:
        pairs = f"Pairs: drawn by what they weigh in {report.measure}; uniform pairs: all with one probability."
        return " ".join([whole, pairs, *_weightings(report), alone])
    return f"{whole} {alone}"


def _weightings(report: ReplayReport) -> Iterator[str]:
    """What the weights of pairs are multiplied by."""
    plan, judge = report.replay.plan, report.judge.name
    if "uncertainty" in plan.by:
        known = f"by {plan.pilot:,} other pairs" if plan.pilot else f"if both correlate by {plan.correlation:g}"
        yield f"By uncertainty: times the spread of people's grades given {judge}'s, {known}."
    if "disagreement" in plan.by:
        judges = listed([judge, *(one.name for one in report.further)])
        yield f"By disagreement: times the spread of the grades of {judges}."


def refusals(report: ReplayReport, one: MethodReplay) -> str:
    """Why ``estimate`` would give nothing from some draws, with their numbers where there are several reasons."""
    said = {
        "few-pairs": f"fewer than {LEAST_BY_CHANCE} pairs",
        "unsure-ideal": f"too few for the ideal ranking of {report.measure}",
    }
    if len(one.refused) == 1:
        return said[next(iter(one.refused))]
    return " and ".join(f"{said[reason]} ({count:,})" for reason, count in one.refused.items())


def at_once_of(report: ReplayReport) -> str:
    """``the 100 draws``, or ``the first 200 draws``: those in which simultaneous intervals were computed."""
    plan = report.replay.plan
    first = "first " if plan.simultaneous_draws < plan.draws else ""
    return f"the {first}{counted(plan.simultaneous_draws, 'draw', 'draws')}"


def lowest(coverage: Sequence[float] | np.ndarray) -> int:
    """The position of the lowest coverage."""
    return int(np.argmin(coverage))


def compared(report: ReplayReport, place: int) -> str:
    """The name of a difference: both systems, or the one that is compared to the baseline."""
    a = report.run_tags[report.replay.a[place]]
    return a if report.replay.plan.baseline is not None else f"{a} and {report.run_tags[report.replay.b[place]]}"


def _key(one: MethodReplay) -> list[Cell]:
    return [METHODS[one.method], TARGETS[one.target]]


_KEY = [Column("Method"), Column("For")]


def _systems(report: ReplayReport) -> Table:
    columns = [*_KEY, Column("Labels", 0), Column("Refused", 1, percent=True), *_interval_columns("Lowest system")]
    rows = [
        [
            *_key(one),
            one.labels,
            sum(one.refused.values()) / one.draws,
            *_summary(one.systems, report.run_tags, report.replay.relative_width(one)[0]),
        ]
        for one in report.replay.methods
    ]
    plan = report.replay.plan
    note = (
        f"{explained(report)} Coverage: the share of {interval(report)} intervals that contain the mean of all "
        f"{report.queries:,} queries under the grades of {report.people.name}, averaged over systems. Refused: the "
        "share of draws from which estimate would give nothing, and which no other figure counts. Ratio: the "
        "half-width as a share of that of people only. For queries like these, each draw first takes as many queries "
        f"with replacement. {plan.draws:,} draws, seed {plan.seed}, from which a system's coverage is known to within "
        f"±{_known_to(report):.3f}; the judge alone, for these queries, is the same in each."
    )
    title = f"{report.measure} of {len(report.run_tags):,} systems, replayed"
    return Table(title, columns, rows, note)


def _known_to(report: ReplayReport) -> float:
    """Half the width of the 95 % interval of a coverage that is as it should be."""
    plan = report.replay.plan
    return float(1.96 * np.sqrt(plan.alpha * (1 - plan.alpha) / plan.draws))


def _differences(report: ReplayReport) -> Table:
    plan = report.replay.plan
    names = [compared(report, place) for place in range(len(report.replay.a))]
    columns = [*_KEY, Column("At once", 3), *_interval_columns("Lowest difference")]
    rows = [
        [*_key(one), one.simultaneous_coverage, *_summary(one.differences, names, report.replay.relative_width(one)[1])]
        for one in report.replay.methods
    ]
    against = f"to {report.run_tags[plan.baseline]}" if plan.baseline is not None else "of all pairs of systems"
    note = (
        f"At once: the share of {at_once_of(report)} in which the simultaneous {interval(report)} intervals, which are "
        "those that estimate prints, all contain the truth. The other columns are as those of the systems, for "
        "intervals of single differences."
    )
    return Table(f"Differences in {report.measure} {against}, replayed", columns, rows, note)


def _interval_columns(lowest_name: str) -> list[Column]:
    return [
        Column("Coverage", 3),
        Column("Lowest", 3),
        Column(lowest_name),
        Column("Half-width", 4),
        Column("Ratio", 2),
        Column("Bias", 4),
        Column("Largest bias", 4),
        Column("Error (RMSE)", 4),
    ]


def _summary(found: Intervals, names: Sequence[str], ratio: float | None) -> list[Cell]:
    place = lowest(found.coverage)
    return [
        float(found.coverage.mean()),
        float(found.coverage[place]),
        None if np.isnan(found.coverage[place]) else names[place],
        float(found.half_width.mean()),
        ratio,
        float(found.bias.mean()),
        float(found.bias[np.argmax(np.abs(found.bias))]),
        float(found.error.mean()),
    ]


def _decisions(report: ReplayReport) -> Table:
    plan, systems = report.replay.plan, len(report.run_tags)
    columns = [
        *_KEY,
        Column("Decided", 1, percent=True),
        Column("Better or worse", 1, percent=True),
        Column("Tie", 1, percent=True),
        Column("Draws with a wrong order", 1, percent=True),
        Column("Wrong orders", 3, percent=True),
        Column("Draws with a wrong tie", 1, percent=True),
    ]
    rows: list[list[Cell]] = [
        [
            *_key(one),
            one.decisions.decided,
            one.decisions.ordered,
            one.decisions.tied,
            one.decisions.wrong_order_draws,
            one.decisions.wrong_orders,
            one.decisions.wrong_tie_draws,
        ]
        for one in report.replay.methods
    ]
    note = (
        f"Shares of the {systems * (systems - 1) // 2:,} pairs of systems, Holm-adjusted over all of them (alpha "
        f"{plan.alpha:g}; ties within ±{plan.delta:.3g}). Draws with a wrong order: in which a system is found better "
        "than one that it is not better than; wrong orders: their share of all orders found; draws with a wrong tie: "
        "in which systems that differ by more are found to tie."
    )
    return Table(f"Verdicts on pairs of systems by {report.measure}, replayed", columns, rows, note)


def _each_system(report: ReplayReport) -> Table:
    columns = [
        *(Column(name) for name in ("System", "Method", "For")),
        *(Column(name, 4) for name in ("True mean", "Coverage", "Half-width", "Bias", "Error (RMSE)")),
    ]
    truth = report.replay.truth
    order = np.argsort(-truth, kind="stable").tolist()
    rows: list[list[Cell]] = [
        [report.run_tags[place], *_key(one), float(truth[place]), *_values(one.systems, place)]
        for place in order
        for one in report.replay.methods
    ]
    return Table(f"Each system's {report.measure}, replayed", columns, rows)


def _values(found: Intervals, place: int) -> list[Cell]:
    return [float(values[place]) for values in (found.coverage, found.half_width, found.bias, found.error)]


def systems_csv(report: ReplayReport) -> str:
    """CSV with one row for each method, target and system."""

    def rows() -> Iterator[list[Cell]]:
        for one in report.replay.methods:
            for place, run_tag in enumerate(report.run_tags):
                truth = float(report.replay.truth[place])
                yield [one.method, one.target, run_tag, truth, *_values(one.systems, place)]

    return _csv("method target run_tag truth coverage half_width bias error", list(rows()))


def differences_csv(report: ReplayReport) -> str:
    """CSV with one row for each method, target and difference."""
    a, b, truth = report.replay.a, report.replay.b, report.replay.truth
    names = [(report.run_tags[x], report.run_tags[y], float(truth[x] - truth[y])) for x, y in zip(a, b, strict=True)]
    rows: list[list[Cell]] = [
        [one.method, one.target, *names[place], *_values(one.differences, place)]
        for one in report.replay.methods
        for place in range(len(names))
    ]
    return _csv("method target a b truth coverage half_width bias error", rows)


def _csv(heading: str, rows: Sequence[Sequence[Cell]]) -> str:
    return to_csv(Table("", [Column(name) for name in heading.split()], rows))
