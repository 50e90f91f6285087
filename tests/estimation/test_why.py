"""The figures of TREC DL 2021 on which the choice of estimators rests, replayed: 53 queries, 63 runs, nDCG@10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from quati_pool.estimation.estimated import Estimated
from quati_pool.estimation.pair_estimates import PairEstimator, PairSample, folds
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight
from tests.estimation.dl_2021 import DL2021, dl_2021

BASELINE = "p_bm25"
SCALE = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def collection() -> DL2021:
    return dl_2021()


@pytest.fixture(scope="module")
def third(collection: DL2021) -> DL2021:
    """Every third run by sorted tag."""
    kept = np.arange(0, len(collection.run_tags), 3)
    frame = collection.frame
    entries = np.isin(frame.system, kept)
    return DL2021(
        [collection.run_tags[system] for system in kept],
        collection.people[:, kept],
        collection.judge[:, kept],
        PairFrame(
            frame.query, frame.queries, frame.judge, len(kept), frame.pair[entries], frame.system[entries] // 3,
            frame.rank[entries],
        ),
        collection.relevance,
    )  # fmt: skip


def to_baseline(one: DL2021) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the other systems, and that of the baseline, as often."""
    base = one.run_tags.index(BASELINE)
    others = np.delete(np.arange(len(one.run_tags)), base)
    return others, np.full(len(others), base)


@dataclass(frozen=True)
class Replayed:
    """Coverage and mean half-width over draws and columns; ``error``: the standard error of the coverage."""

    coverage: float
    half_width: float
    bias: float
    lowest: float
    error: float


def replayed(found: list[Estimated], truth: np.ndarray) -> Replayed:
    halves = np.array([one.half_width(0.05) for one in found])
    errors = np.array([one.estimate for one in found]) - truth
    covered = np.abs(errors) <= halves
    return Replayed(
        covered.mean(),
        halves.mean(),
        errors.mean(),
        covered.mean(axis=0).min(),
        covered.mean(axis=1).std() / np.sqrt(len(found)),
    )


# What the judge alone says.


def test_the_judge_orders_systems_like_people_and_scores_them_too_high(collection: DL2021) -> None:
    assert collection.people.shape == (53, 63)
    people, judge = collection.people.mean(axis=0), collection.judge.mean(axis=0)
    assert stats.kendalltau(people, judge).statistic == pytest.approx(0.938, abs=0.0005)
    assert (judge - people).mean() == pytest.approx(0.102, abs=0.0005)


@pytest.mark.parametrize(
    ("name", "covered", "half_width", "error"), [("third", 1, 0.0575, 0.0288), ("collection", 3, 0.0574, 0.0264)]
)
def test_intervals_from_the_judges_grades_alone_miss_the_mean(
    name: str, covered: int, half_width: float, error: float, request: pytest.FixtureRequest
) -> None:
    # The reading that gives the figures: the t interval of the judge's 53 values, which contains people's mean for 1 of
    # 21 runs and for 3 of 63: 5 %. Differences are right: coverage 1.00, half-width .058 (where that of the baseline to
    # itself, 0, counts as well), root mean squared error .029.
    one: DL2021 = request.getfixturevalue(name)
    truth = one.people.mean(axis=0)
    half = stats.t.ppf(0.975, 52) * stats.sem(one.judge, axis=0)
    assert np.count_nonzero(np.abs(one.judge.mean(axis=0) - truth) <= half) == covered
    others, base = to_baseline(one)
    differences = one.judge[:, others] - one.judge[:, base]
    errors = differences.mean(axis=0) - (truth[others] - truth[base])
    half = stats.t.ppf(0.975, 52) * stats.sem(differences, axis=0)
    assert (np.abs(errors) <= half).all()
    assert half.sum() / len(one.run_tags) == pytest.approx(half_width, abs=0.0001)
    assert np.sqrt((errors**2).mean()) == pytest.approx(error, abs=0.0001)


# Whole queries.


def whole_queries(one: DL2021, n: int, draws: int) -> dict[str, tuple[Replayed, Replayed]]:
    """By method, the systems and their differences to the baseline; λ of differences is their own."""
    others, base = to_baseline(one)
    values = (
        (one.people, one.judge),
        (one.people[:, others] - one.people[:, base], one.judge[:, others] - one.judge[:, base]),
    )
    generator = np.random.default_rng(n)
    samples = [QuerySample(generator.permutation(53)[:n], np.zeros(53, dtype=int)) for _ in range(draws)]
    found: dict[str, list[Replayed]] = {"people": [], "own": [], "pooled": [], "plug-in": []}
    for people, judge in values:
        estimates: dict[str, list[Estimated]] = {name: [] for name in found}
        for sample in samples:
            drawn = people[sample.drawn]
            sums = sample.judge_weights(drawn, judge)
            estimates["people"].append(sample.alone(drawn, like_these=False))
            for name, weight in (("own", clipped(*sums)), ("pooled", shared_weight(*sums))):
                estimates[name].append(sample.means(drawn, judge, weight, like_these=False))
            estimates["plug-in"].append(plug_in(drawn, judge, sample))
        truth = people.mean(axis=0)
        for name, many in estimates.items():
            found[name].append(replayed(many, truth))
    return {name: (systems, differences) for name, (systems, differences) in found.items()}


def plug_in(drawn: np.ndarray, judge: np.ndarray, sample: QuerySample) -> Estimated:
    """λ from all drawn queries."""
    n = len(drawn)
    judged = judge[sample.drawn]
    y, f = drawn - drawn.mean(axis=0), judged - judged.mean(axis=0)
    weight = np.clip((y * f).sum(axis=0) / (f * f).sum(axis=0), 0, 1)
    residuals = y - weight * f
    rows = residuals * np.sqrt((1 - n / len(judge)) / (n * (n - 1)))
    estimate = drawn.mean(axis=0) - weight * (judged.mean(axis=0) - judge.mean(axis=0))
    return Estimated(estimate, rows, rows, n - 1.0, rows[0])


def agrees(found: Replayed, coverage: float, half_width: float, draws: int) -> bool:
    """Whether both agree with a figure of 1,000 draws within three standard errors, and rounding."""
    error = found.error * np.sqrt(1 + draws / 1000)
    return bool(
        abs(found.coverage - coverage) <= 3 * error + 0.0005 and abs(found.half_width - half_width) <= 0.0035
    )  # fmt: skip


DRAWS = 1000
QUICK = 200

replays = pytest.mark.parametrize(
    ("name", "draws"),
    [("third", QUICK), *(pytest.param(name, DRAWS, marks=pytest.mark.slow) for name in ("third", "collection"))],
)


def within(found: Replayed, low: float, high: float, draws: int) -> bool:
    """Whether the coverage is; over few draws, within two standard errors."""
    wide = 2 * found.error if draws < DRAWS else 0.0
    return low - wide <= found.coverage <= high + wide


@pytest.mark.slow
def test_whole_queries(third: DL2021) -> None:
    ten, fifteen = (whole_queries(third, n, DRAWS) for n in (10, 15))
    for name, coverage, half_width in (("people", 0.944, 0.140), ("own", 0.937, 0.109), ("pooled", 0.944, 0.106)):
        assert agrees(ten[name][0], coverage, half_width, DRAWS), (name, ten[name][0])
    for name, systems, differences in (
        ("people", (0.946, 0.103), (0.95, 0.095)),
        ("own", (0.942, 0.079), (0.951, 0.057)),
        ("pooled", (0.944, 0.077), (0.954, 0.056)),
        ("plug-in", (0.928, 0.074), (0.937, 0.053)),
    ):
        assert agrees(fifteen[name][0], *systems, DRAWS), (name, fifteen[name][0])
        assert agrees(fifteen[name][1], *differences, DRAWS), (name, fifteen[name][1])
    # Of the same draws, the plug-in covers less.
    assert fifteen["plug-in"][0].coverage < fifteen["own"][0].coverage - 0.005


@replays
def test_the_default_for_whole_queries(name: str, draws: int, request: pytest.FixtureRequest) -> None:
    found = whole_queries(request.getfixturevalue(name), 15, draws)
    systems, differences = found["pooled"]
    assert within(systems, 0.935, 0.96, draws)
    assert within(differences, 0.935, 0.96, draws)
    assert systems.half_width <= 0.77 * found["people"][0].half_width
    assert differences.half_width <= 0.60 * found["people"][1].half_width
    if draws == DRAWS:
        assert systems.lowest >= 0.90


# Pairs over all queries.


def pairs(one: DL2021, expected: float, draws: int) -> tuple[Replayed, Replayed]:
    measure = parse_pair_measure("nDCG@10")
    inclusion = probabilities(one.frame, measure, expected)
    others, base = to_baseline(one)
    means, differences = [], []
    for seed in range(draws):
        drawn = np.flatnonzero(np.random.default_rng(seed).random(len(inclusion)) < inclusion)
        sample = PairSample(
            drawn,
            one.relevance[drawn],
            inclusion[drawn],
            np.zeros(len(drawn), dtype=int),
            np.array([len(inclusion)]),
            poisson=True,
        )
        estimator = PairEstimator(one.frame, measure, SCALE, folds(len(inclusion), seed))
        found = estimator.estimate(sample).means(like_these=False)
        means.append(found)
        differences.append(found.differences(others, base))
    truth = one.people.mean(axis=0)
    return replayed(means, truth), replayed(differences, truth[others] - truth[base])


def test_people_grade_all_pairs(collection: DL2021) -> None:
    assert len(collection.frame) == 10_828
    estimator = PairEstimator(collection.frame, parse_pair_measure("nDCG@10"), SCALE, folds(10_828, 1))
    np.testing.assert_allclose(estimator.under(collection.relevance), collection.people, atol=1e-12)
    np.testing.assert_allclose(estimator.under(collection.frame.judge), collection.judge, atol=1e-12)


@replays
def test_3065_pairs(name: str, draws: int, request: pytest.FixtureRequest) -> None:
    systems, differences = pairs(request.getfixturevalue(name), 15 * 10_828 / 53, draws)
    assert within(systems, 0.93, 0.97, draws)
    assert within(differences, 0.93, 0.97, draws)
    assert systems.half_width <= 0.030
    assert differences.half_width <= 0.035
    assert abs(systems.bias) <= 0.006
    assert abs(differences.bias) <= 0.006


@replays
def test_1500_pairs(name: str, draws: int, request: pytest.FixtureRequest) -> None:
    systems, differences = pairs(request.getfixturevalue(name), 1500, draws)
    assert within(systems, 0.93, 0.985, draws)
    assert within(differences, 0.93, 0.985, draws)
    assert systems.half_width <= 0.055
    assert differences.half_width <= 0.060
