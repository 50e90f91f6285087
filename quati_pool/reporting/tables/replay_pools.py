"""The tables of ``replay pools``."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.commands.replay.pools import PoolReplayReport
from quati_pool.pooling.replay.results import Budget, Outcome, Ranking, Scoring
from quati_pool.reporting.formats.tables import Cell, Column, Table

BUDGETS: dict[Budget, str] = {"per-query": "per query", "moving": "moving"}
SCORINGS: dict[Scoring, str] = {
    "unjudged-as-0": "unjudged documents as 0",
    "condensed": "unjudged documents taken out",
    "hybrid": "the judge's grades where people's are not known",
}


def tables(report: PoolReplayReport) -> list[Table]:
    """What each method found, how systems rank in each way of scoring them, and their true means."""
    rankings = [_rankings(report, scoring) for scoring in SCORINGS if scoring in report.replay.outcomes[0].rankings]
    left_out = [] if report.replay.outcomes[0].left_out is None else [_left_out(report)]
    return [_found(report), *rankings, *left_out, _systems(report)]


def percent(share: float) -> str:
    """``20 %``."""
    return f"{100 * share:g} %"


def key_columns(report: PoolReplayReport) -> list[Column]:
    """The columns that say which outcome a row is; whose grades steered, only where there were several."""
    steering = [Column("Steered by")] if len(report.plan.steered_by) > 1 else []
    return [Column("Method"), Column("Budget"), *steering]


def key_cells(report: PoolReplayReport, one: Outcome) -> list[Cell]:
    steering: list[Cell] = [one.steered_by] if len(report.plan.steered_by) > 1 else []
    return [one.method, BUDGETS[one.budget], *steering]


def explained(report: PoolReplayReport) -> str:
    """What the figures of rankings are."""
    return (
        f"τ, τ_AP and τ of the ten best systems compare the ranking of {len(report.replay.truth):,} systems by "
        f"{report.measure} with that by all grades of {report.people.name}; bias is the mean error of the systems' "
        f"{report.measure}, error its root mean square."
    )


def _found(report: PoolReplayReport) -> Table:
    columns = [
        *key_columns(report),
        *(Column("Share"), Column("Labels", 0), Column("Found", 0), Column("Recall", 3)),
        *(Column("Times depth", 2), Column("95 % interval", 2), Column("Seeds")),
    ]
    rows = [
        [
            *key_cells(report, one),
            *(percent(one.share), one.labels, one.found, one.recall, one.times_depth.value, _interval(one), one.seeds),
        ]
        for one in report.replay.outcomes
    ]
    found, plan = report.replay, report.plan
    note = (
        f"{found.candidates:,} candidates of {found.queries:,} queries: the first {plan.depth:,} documents of "
        f"{len(found.truth):,} systems; {found.relevant:,} are relevant, with a grade of {plan.relevant} or more by "
        f"{report.people.name}. Times depth: how many times as many relevant documents as depth pooling found with as "
        "many labels; the interval is over queries. A draw that repeats a document uses budget and no label. Methods "
        f"that draw at random: means over {plan.seeds:,} seeds from {plan.seed}."
    )
    return Table("Relevant documents found, replayed", columns, rows, note)


def _interval(one: Outcome) -> Cell:
    low, high = one.times_depth.low, one.times_depth.high
    return None if low is None or high is None else (low, high)


def _rankings(report: PoolReplayReport, scoring: Scoring) -> Table:
    title = f"Systems by {report.measure}, {SCORINGS[scoring]}"
    rows = [(one, one.rankings[scoring]) for one in report.replay.outcomes]
    alone = report.replay.judge_alone if scoring == "hybrid" else None
    return _of_rankings(report, title, rows, alone)


def _left_out(report: PoolReplayReport) -> Table:
    title = f"Systems by {report.measure}, each by a pool without its family"
    rows = [(one, one.left_out) for one in report.replay.outcomes if one.left_out is not None]
    return _of_rankings(report, title, rows)


def _of_rankings(
    report: PoolReplayReport, title: str, rows: list[tuple[Outcome, Ranking]], judge_alone: Ranking | None = None
) -> Table:
    columns = [
        *key_columns(report),
        *(Column("Share"), Column("τ", 3), Column("τ_AP", 3), Column("τ of top 10", 3)),
        *(Column("Bias", 4), Column("Error (RMSE)", 4)),
    ]
    cells: list[list[Cell]] = [
        [*key_cells(report, one), percent(one.share), *ranking_cells(ranking)] for one, ranking in rows
    ]
    if judge_alone is not None:
        keys: list[Cell] = ["judge alone", *([None] * (len(key_columns(report)) - 1))]
        cells.append([*keys, percent(0), *ranking_cells(judge_alone)])
    return Table(title, columns, cells, explained(report))


def ranking_cells(one: Ranking) -> list[Cell]:
    return [one.tau, one.tau_ap, one.top_tau, one.bias, one.error]


def _systems(report: PoolReplayReport) -> Table:
    def rows() -> Iterator[list[Cell]]:
        for run_tag, mean in sorted(report.replay.truth.items(), key=lambda one: -one[1]):
            family = None if report.plan.families is None else report.plan.families[run_tag]
            yield [run_tag, family, mean]

    title = f"Systems by all grades of {report.people.name}"
    return Table(title, [Column("System"), Column("Family"), Column(report.measure, 4)], list(rows()))
