"""Robustness: the mean over clusters of related queries of the worst query's score, compared with the plain mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.evaluation.leaderboard import order
from quati_pool.evaluation.scores import Scores
from quati_pool.evaluation.system_ranks import ranks, rounded
from quati_pool.stats.bootstrap import DRAWS, Interval, interval, multiplicities, summable
from quati_pool.stats.clusters import cluster_minima, cluster_sizes
from quati_pool.stats.rank_correlation import kendall_tau

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


class Estimate(NamedTuple):
    """A value and its bootstrap interval over clusters."""

    value: float
    interval: Interval


class Robustness(NamedTuple):
    """A run's robustness by one measure.

    ``mean`` is over the queries in clusters, ``minimum`` is the mean over clusters of the lowest value in each, and
    ``drop`` is ``mean`` minus ``minimum``: negative if large clusters do worse than small ones.
    """

    mean: Estimate
    minimum: Estimate
    drop: Estimate


@dataclass(frozen=True)
class RobustRow:
    """A run's results by measure over all clusters, and over those with at least two queries (``of_several``, empty
    if there are none); ``rank`` is by the first measure's cluster minimum, ``rank_by_mean`` by its mean."""

    run_tag: str
    rank: int
    rank_by_mean: int
    measures: dict[str, Robustness]
    of_several: dict[str, Robustness]


@dataclass(frozen=True)
class Robust:
    """Runs sorted by the mean over clusters of the first measure's lowest value, best first.

    ``queries`` counts the judged queries in ``clusters``, ``single`` the clusters with a single query, which say
    nothing about robustness; ``without_cluster`` the judged queries left out, ``unknown`` those among them that the
    queries file lacks. ``tau`` holds, by measure, Kendall's τ-b between the rankings of the runs by mean and by cluster
    minimum, or the reason why it is undefined.
    """

    measures: tuple[str, ...]
    rows: tuple[RobustRow, ...]
    queries: int
    clusters: int
    single: int
    without_cluster: int
    unknown: int
    tau: dict[str, float | str]


def robust(scores: Scores, cluster_ids: Mapping[str, str | None], draws: int = DRAWS, seed: int = 0) -> Robust | None:
    """For each run and measure, the mean over clusters of the lowest value among the judged queries of the cluster
    (Zhong et al., RoMQA, arXiv 2210.14353, on robustness), with 95 % bootstrap intervals over clusters.

    ``cluster_ids`` gives the cluster_id of every known query_id, None for a query in no cluster; such queries are left
    out. Returns None if no judged query is in a cluster.
    """
    unknown = sum(query_id not in cluster_ids for query_id in scores.query_ids)
    found = [cluster_ids.get(query_id) for query_id in scores.query_ids]
    kept = np.array([cluster_id is not None for cluster_id in found], dtype=bool)
    if not kept.any():
        return None
    codes = {cluster_id: code for code, cluster_id in enumerate(dict.fromkeys(one for one in found if one is not None))}
    cluster = np.array([codes[one] for one in found if one is not None], dtype=np.int64)
    values = scores.values[:, :, kept]
    sizes = cluster_sizes(cluster)
    of_all = _robustness(scores, values, cluster, draws, seed)
    several = sizes[cluster] > 1
    of_several = _robustness(scores, values[:, :, several], cluster[several], draws, seed) if several.any() else None
    means, minima = values.mean(axis=2), cluster_minima(values, cluster).mean(axis=2)
    by_minimum, by_mean = ranks(minima[:, 0]), ranks(means[:, 0])
    rows = tuple(
        RobustRow(
            scores.run_tags[run],
            int(by_minimum[run]),
            int(by_mean[run]),
            of_all[run],
            {} if of_several is None else of_several[run],
        )
        for run in order(scores.run_tags, minima[:, 0])
    )
    return Robust(
        scores.measures,
        rows,
        int(kept.sum()),
        len(codes),
        int((sizes == 1).sum()),
        int((~kept).sum()),
        unknown,
        {name: _tau(means[:, place], minima[:, place]) for place, name in enumerate(scores.measures)},
    )


def _robustness(scores: Scores, values: Values, cluster: Codes, draws: int, seed: int) -> list[dict[str, Robustness]]:
    """Each run's robustness by measure; ``values`` has shape (runs, measures, queries), ``cluster`` (queries,)."""
    runs, measures, queries = values.shape
    flat = values.reshape(runs * measures, queries)
    minima = cluster_minima(flat, cluster)
    clusters = minima.shape[1]
    member = np.unique(cluster, return_inverse=True)[1]
    sums = np.stack([np.bincount(member, weights=row, minlength=clusters) for row in flat])
    sizes = cluster_sizes(cluster)
    drawn_means, drawn_minima = [np.empty((0, len(flat)))], [np.empty((0, len(flat)))]
    of_means, of_minima = summable(sums.T), summable(minima.T)
    for block in multiplicities(clusters, draws, seed):
        drawn_means.append(block @ of_means / (block @ sizes)[:, None])
        drawn_minima.append(block @ of_minima / clusters)
    mean, minimum = np.concatenate(drawn_means), np.concatenate(drawn_minima)
    value_mean, value_minimum = flat.mean(axis=1), minima.mean(axis=1)
    # The two are summed in different orders; rounding makes the drop exactly 0 if all clusters have one query.
    value_drop, drop = rounded(value_mean - value_minimum) + 0.0, rounded(mean - minimum) + 0.0

    def estimate(value: float, drawn: Values) -> Estimate:
        # A single cluster is the same in every draw, so its interval would wrongly have no width.
        return Estimate(float(value), interval(drawn if clusters > 1 else drawn[:0]))

    found = [
        Robustness(
            estimate(value_mean[at], mean[:, at]),
            estimate(value_minimum[at], minimum[:, at]),
            estimate(value_drop[at], drop[:, at]),
        )
        for at in range(runs * measures)
    ]
    return [{name: found[run * measures + place] for place, name in enumerate(scores.measures)} for run in range(runs)]


def _tau(means: Values, minima: Values) -> float | str:
    if len(means) < 2:
        return "fewer than two systems"
    tied = [name for name, values in (("mean", means), ("cluster minimum", minima)) if np.ptp(rounded(values)) == 0]
    if tied:
        return f"all systems are tied by {' and by '.join(tied)}"
    return float(kendall_tau(rounded(minima)[None], rounded(means)[None])[0])
