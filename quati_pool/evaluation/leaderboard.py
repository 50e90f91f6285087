"""Leaderboards: means over queries with intervals, ranks, and counts of the queries."""

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
    """A run's rank by the first measure, its measures by name, and the number of judged queries that it lacks;
    ``queries`` counts those that its means are over."""

    run_tag: str
    rank: int
    measures: dict[str, Mean]
    missing_queries: int
    unjudged_queries: int
    queries: int


@dataclass(frozen=True)
class Leaderboard:
    """Runs, best first, by the mean of the first measure; runs with the same mean share a rank.

    ``queries`` counts the queries of the scores, ``without_relevant`` those of them without a grade above 0.
    """

    measures: tuple[str, ...]
    rows: tuple[LeaderboardRow, ...]
    queries: int
    without_relevant: int


class ConditionResult(NamedTuple):
    """A system under a condition: its mean, its rank among the condition's systems, and its mean less
    that under the first condition (None there, and where the first condition lacks the system)."""

    mean: float
    rank: int
    difference: float | None


@dataclass(frozen=True)
class Conditions:
    """Systems under several conditions; a cell is None where the condition lacks the system."""

    measure: str
    conditions: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ConditionResult | None, ...]], ...]


def leaderboard(scores: Scores, draws: int = DRAWS, seed: int = 0) -> Leaderboard:
    """Means and 95 % intervals of every run and measure, all from the same draws of queries; draws=0 leaves the
    intervals out."""
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
    # A single query is the same in every draw, which does not make the mean certain.
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
    """Positions of the runs, the highest mean first, equal ones by run_tag."""
    values = rounded(means).tolist()
    return sorted(range(len(run_tags)), key=lambda run: (-values[run], run_tags[run]))


def systems_by_condition(conditions: Mapping[str, Scores], measure: str) -> Conditions:
    """The layout of the Quati paper's Tables 6 and 7: a row per system, a column per condition (runs under some
    qrels). Rows are in the order of the first condition, then those that only later ones have."""
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
