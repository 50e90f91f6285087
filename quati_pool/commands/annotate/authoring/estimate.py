"""Estimates as the reports of authoring give them, with intervals over clusters of units that are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quati_pool.agreement.overall import overall
from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Qrels, code_ids
from quati_pool.stats.clustered_means import clustered_mean
from quati_pool.stats.shares import clustered_share

_NONE = "there are none yet"


class Estimate(NamedTuple):
    """A share from 0 to 1, a mean or a coefficient, with its 95 % interval; ``why`` says why a part of it is undefined
    (None)."""

    value: float | None
    low: float | None
    high: float | None
    why: str | None = None


class Rating(NamedTuple):
    """What a person said of a question, as a value of a scale; questions of one ``cluster`` are alike."""

    cluster: str
    question: str
    value: int


class Agreement(NamedTuple):
    """Krippendorff's alpha, ordinal for scales and else nominal, and Gwet's AC1, over ``n`` questions that two or more
    people evaluated; ``why`` says why one is None."""

    alpha: Estimate
    ac1: Estimate
    n: int


def share_of(hits: Sequence[bool], clusters: npt.NDArray[Any], alone: str, units: Any = None) -> Estimate:
    """A share with its interval over ``clusters``, by number (``stats.shares``); ``units``, by number, where some were
    asked about repeatedly. ``alone`` says why a single cluster has no interval."""
    if not hits:
        return Estimate(None, None, None, _NONE)
    found = clustered_share(np.array(hits, dtype=bool), clusters, units=units)
    if len(set(clusters.tolist())) < 2:
        return Estimate(found.share, None, None, alone)
    return Estimate(found.share, found.low, found.high)


def mean_of(values: Sequence[float], clusters: npt.NDArray[Any], alone: str) -> Estimate:
    """A mean with its interval over ``clusters``, by number (``stats.clustered_means``)."""
    if not values:
        return Estimate(None, None, None, _NONE)
    found = clustered_mean(np.array(values, dtype=np.float64), clusters)
    return Estimate(found.value, found.low, found.high, alone if found.low is None else None)


def agreement(
    ratings: Mapping[str, Sequence[Rating]],
    scale: Sequence[int],
    level: Literal["nominal", "ordinal"],
    alone: str,
    *,
    seed: int = 0,
) -> Agreement:
    """The agreement of people, whose ``ratings`` are by name; clusters are resampled. ``alone`` says why a single
    cluster has no interval."""
    people = {person: qrels(ratings[person]) for person in sorted(ratings)}
    found = overall(Ratings.join(people, scale, people=people), seed=seed)
    clusters = len({one.cluster for of_person in ratings.values() for one in of_person})

    def estimate(coefficient: str) -> Estimate:
        ends = found.intervals[coefficient]
        why = found.undefined.get(coefficient)
        if why is None and (without := found.undefined.get(f"intervals.{coefficient}")) is not None:
            why = alone if clusters < 2 else without
        return Estimate(found.values[coefficient], ends.low, ends.high, None if why is None else str(why))

    alpha = f"alpha_{level}"
    return Agreement(estimate(alpha), estimate("gwet_ac1"), found.n[alpha])


def qrels(ratings: Sequence[Rating]) -> Qrels:
    """A person's ratings with the clusters as queries, since these are what agreement resamples."""
    cluster_ids, (cluster,) = code_ids([pa.array([one.cluster for one in ratings])])
    question_ids, (question,) = code_ids([pa.array([one.question for one in ratings])])
    return Qrels(cluster_ids, question_ids, cluster, question, np.array([one.value for one in ratings], dtype=np.int64))
