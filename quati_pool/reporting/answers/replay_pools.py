"""The answer of ``replay pools``: how much more each method finds than depth pooling, and how systems rank then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quati_pool.commands.replay.pools import PoolReplayReport
from quati_pool.pooling.replay.results import Budget, Outcome, Ranking, Scoring
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.replay_pools import key_cells, key_columns, percent

FILES = "replay-pools"
_SHARE = 0.2
_WITH: dict[Budget, str] = {"per-query": "a fixed budget per query", "moving": "a moving budget"}


def answer(report: PoolReplayReport, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    share = min(report.plan.shares, key=lambda one: abs(one - _SHARE))
    outcomes = [one for one in report.replay.outcomes if one.share == share]
    depth, *others = outcomes
    best = max(others, key=_number, default=depth)
    sentences = [*_found(report, depth, others), *_ranked(report, depth, best), *_judge(report)]
    folder = report_folder(report.config, output)
    return Answer(sentences, _board(report, share, outcomes), wording.files(folder, FILES))


def _found(report: PoolReplayReport, depth: Outcome, others: Sequence[Outcome]) -> Iterator[str]:
    """How many relevant documents the best method finds, with either budget, and depth pooling."""
    found = report.replay
    budget = f"At {percent(depth.share)} of the pool ({depth.labels:,.0f} of {found.candidates:,} labels)"
    by_budget = [[one for one in others if one.budget == budget] for budget in _WITH]
    best = sorted((max(of_budget, key=_number) for of_budget in by_budget if of_budget), key=_number, reverse=True)
    if not best:
        yield f"{budget}, depth pooling finds {depth.found:,.0f} of {found.relevant:,} relevant documents."
        return
    first, *rest = best
    yield (
        f"{budget}, {first.method} with {_WITH[first.budget]} finds {first.found:,.0f} of {found.relevant:,} relevant "
        f"documents{_times(first, f' as the {depth.found:,.0f} of depth pooling')}."
    )
    for one in rest:
        yield f"With {_WITH[one.budget]}, {one.method} finds most: {one.found:,.0f}{_times(one)}."


def _number(one: Outcome) -> float:
    return one.found


def _times(one: Outcome, compared: str = "") -> str:
    value, low, high = one.times_depth
    if value is None:
        return ""
    interval = "" if low is None or high is None else f" (95 % interval over queries {low:.2f} to {high:.2f})"
    return f", {value:.2f} times as many{compared}{interval}"


def _ranked(report: PoolReplayReport, depth: Outcome, best: Outcome) -> Iterator[str]:
    """How systems rank by the pool of depth pooling and of the method that finds most."""
    shown = [depth] if best is depth else [depth, best]

    def each(scoring: Scoring) -> str:
        found = [f"{_tau(one.rankings[scoring])} ({_name(one)})" for one in shown]
        return " and ".join(found)

    hybrid = f", and {each('hybrid')} with the judge's grades there" if report.judge is not None else ""
    yield (
        f"Kendall's τ to the ranking of {len(report.replay.truth):,} systems by all grades is "
        f"{each('unjudged-as-0')} with unjudged documents as 0{hybrid}."
    )


def _name(one: Outcome) -> str:
    return one.method if one.budget == "per-query" else f"{one.method}, {_WITH[one.budget]}"


def _tau(ranking: Ranking) -> str:
    return "undefined" if ranking.tau is None else wording.number(ranking.tau, 3)


def _judge(report: PoolReplayReport) -> Iterator[str]:
    alone = report.replay.judge_alone
    if alone is None or report.judge is None:
        return
    yield (
        f"{wording.name(report.judge.name)} alone, without a label of {wording.name(report.people.name)}, ranks them "
        f"with τ {_tau(alone)}, and puts them {abs(alone.bias):.3f} too {'high' if alone.bias > 0 else 'low'} on "
        "average."
    )


def _board(report: PoolReplayReport, share: float, outcomes: Sequence[Outcome]) -> Table:
    """Each method with one share."""
    scorings: dict[Scoring, str] = {"unjudged-as-0": "τ as 0", "hybrid": "τ hybrid", "condensed": "τ condensed"}
    shown = {scoring: name for scoring, name in scorings.items() if scoring in outcomes[0].rankings}
    left_out = outcomes[0].left_out is not None
    columns = [
        *key_columns(report),
        *(Column("Labels", 0), Column("Found", 0), Column("Recall", 3), Column("Times", 2)),
        *(Column(name, 3) for name in shown.values()),
        *([Column("τ left out", 3)] if left_out else []),
        *(Column(f"Error {name.removeprefix('τ ')}", 3) for name in shown.values()),
        *(Column(f"Top-10 {name}", 3) for name in shown.values()),
    ]
    rows = [_row(report, one, list(shown)) for one in outcomes]
    title = f"Pools of {percent(share)} of the candidates, replayed"
    others = (
        ", taken out (condensed), or by the judge's grades (hybrid)"
        if "hybrid" in shown
        else " or taken out (condensed)"
    )
    note = (
        f"Times: as many as depth pooling. τ: to the ranking of systems by all grades of {report.people.name}, with "
        f"unjudged documents as 0{others}."
    )
    left = " Left out: each system by a pool without its family." if left_out else ""
    return Table(title, columns, rows, f"{note}{left}")


def _row(report: PoolReplayReport, one: Outcome, scorings: Sequence[Scoring]) -> list[Cell]:
    rankings = [one.rankings[scoring] for scoring in scorings]
    return [
        *key_cells(report, one),
        *(one.labels, one.found, one.recall, one.times_depth.value),
        *(ranking.tau for ranking in rankings),
        *([one.left_out.tau] if one.left_out is not None else []),
        *(ranking.error for ranking in rankings),
        *(ranking.top_tau for ranking in rankings),
    ]
