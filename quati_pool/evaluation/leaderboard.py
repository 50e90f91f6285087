"""Leaderboards: means over queries with intervals, ranks, and query counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.evaluation.scores import Scores
from quati_pool.evaluation.system_ranks import ranks, rounded
from quati_pool.stats.bootstrap import DRAWS, Interval, interval, multiplicities, summable
from quati_pool.stats.ratio import ratio


@dataclass(frozen=True)
class Mean:
    """A measure's mean over queries and its bootstrap interval over queries."""

    mean: float
    interval: Interval


@dataclass(frozen=True)
class LeaderboardRow:
    """A run's rank by the first measure, and its means by measure.

    ``missing_queries`` counts the judged queries that the run lacks, ``unjudged_queries`` its queries without
    judgements, and ``queries`` those that its means are taken over.
    """

    run_tag: str
    rank: int
    measures: dict[str, Mean]
    missing_queries: int
    unjudged_queries: int
    queries: int


@dataclass(frozen=True)
class Leaderboard:
    """Runs sorted by the mean of the first measure, best first; runs with the same mean share a rank.

    ``queries`` counts the queries of the scores, ``without_relevant`` those among them without a grade above 0.
    """

    measures: tuple[str, ...]
    rows: tuple[LeaderboardRow, ...]
    queries: int
    without_relevant: int


class ConditionResult(NamedTuple):
    """A system under one condition: its mean, its rank among the systems of that condition, and its mean minus
    its mean under the first condition (None for the first condition, and if that one lacks the system)."""

    mean: float
    rank: int
    difference: float | None


@dataclass(frozen=True)
class Conditions:
    """Systems under several conditions: per row a run_tag and its result per condition, None if the condition lacks
    the system."""

    measure: str
    conditions: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ConditionResult | None, ...]], ...]


def leaderboard(scores: Scores, draws: int = DRAWS, seed: int = 0) -> Leaderboard:
    """The leaderboard with means and 95 % intervals for every run and measure, all from the same draws of queries;
    draws=0 leaves out the intervals."""
    runs, measures, queries = scores.values.shape
    means, averaged = scores.means(), scores.averaged
    flat = summable(np.where(averaged[:, None], scores.values, 0).reshape(runs * measures, queries).T)
    weights = averaged.T.astype(np.float64)
    blocks = [
        ratio(block @ flat, np.repeat(block @ weights, measures, axis=1))
        for block in multiplicities(queries, draws, seed)
    ]
    drawn = np.concatenate([np.empty((0, runs * measures)), *blocks])
    counts = averaged.sum(axis=1).tolist()
    # A single query is the same in every draw, so its interval would wrongly have no width.
    intervals = [
        interval(column if counts[place // measures] > 1 else column[:0]) for place, column in enumerate(drawn.T)
    ]
    places = ranks(means[:, 0])
    missing = scores.missing.sum(axis=1)
    rows = tuple(
        LeaderboardRow(
            run_tag=scores.run_tags[run],
            rank=int(places[run]),
            measures={
                measure: Mean(float(means[run, place]), intervals[run * measures + place])
                for place, measure in enumerate(scores.measures)
            },
            missing_queries=int(missing[run]),
            unjudged_queries=scores.unjudged_queries[run],
            queries=counts[run],
        )
        for run in order(scores.run_tags, means[:, 0])
    )
    return Leaderboard(scores.measures, rows, queries, int(scores.without_relevant.sum()))


def order(run_tags: Sequence[str], means: npt.NDArray[np.float64]) -> list[int]:
    """Positions of the runs sorted by descending mean, ties by run_tag."""
    values = rounded(means).tolist()
    return sorted(range(len(run_tags)), key=lambda run: (-values[run], run_tags[run]))


def systems_by_condition(conditions: Mapping[str, Scores], measure: str) -> Conditions:
    """Arranges systems as in Tables 6 and 7 of the Quati paper: one row per system, one column per condition (runs
    under some qrels). Rows follow the ranking under the first condition, then come systems that only later conditions
    have."""
    means: list[dict[str, float]] = []
    places: list[dict[str, int]] = []
    rows: dict[str, None] = {}
    for scores in conditions.values():
        values = scores.means_of(measure)
        means.append(dict(zip(scores.run_tags, values.tolist(), strict=True)))
        places.append(dict(zip(scores.run_tags, ranks(values).tolist(), strict=True)))
        rows |= dict.fromkeys(scores.run_tags[run] for run in order(scores.run_tags, values))

    def cell(run_tag: str, place: int) -> ConditionResult | None:
        if run_tag not in means[place]:
            return None
        mean, first = means[place][run_tag], means[0].get(run_tag)
        return ConditionResult(mean, places[place][run_tag], None if place == 0 or first is None else mean - first)

    cells = tuple((run_tag, tuple(cell(run_tag, place) for place in range(len(means)))) for run_tag in rows)
    return Conditions(measure, tuple(conditions), cells)
