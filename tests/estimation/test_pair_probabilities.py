"""Inclusion probabilities of pairs: their sum and bounds, the formula solved by a root finder, weights by loops."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from quati_pool.errors import QuatiPoolError
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from tests.estimation.small_frames import Collection, collection, collections

measures = st.sampled_from(["nDCG@10", "nDCG@3", "DCG@5", "P@10"])
uniform_shares = st.sampled_from([0.01, 0.2, 0.7, 1.0])


def most(frame: PairFrame, name: str, uniform: float) -> float:
    """The most pairs that can be expected: those that weigh surely, each other one with the uniform probability."""
    if name.startswith("nDCG") or uniform == 1:
        return float(len(frame))
    cutoff = int(name.split("@")[1])
    ranked = len(np.unique(frame.pair[frame.rank <= cutoff]))
    return ranked / (1 - uniform * (len(frame) - ranked) / len(frame))


def direct_weights(frame: PairFrame, name: str, share: np.ndarray | None = None) -> np.ndarray:
    """The square root of the mean over systems of δ², and for nDCG of the mean weight in two ideals: δ² averaged over
    the ranks that pairs of one judge's grade fill, and over all pairs of the query."""
    measure = parse_pair_measure(name)
    importance = np.ones(frame.systems) if share is None else share

    def squared(rank: int) -> float:
        return measure.discounts[rank - 1] ** 2 if rank <= measure.cutoff else 0.0

    found = np.zeros(len(frame))
    for pair, system, rank in zip(frame.pair.tolist(), frame.system.tolist(), frame.rank.tolist(), strict=True):
        found[pair] += importance[system] * squared(rank) / importance.sum()
    if measure.normalized:
        for query in range(frame.queries):
            of_query = np.flatnonzero(frame.query == query)
            ideal = sorted(of_query.tolist(), key=lambda pair: -frame.judge_or_mean[pair])
            by_pair = {pair: squared(rank) for rank, pair in enumerate(ideal, 1)}
            for pair in of_query.tolist():
                alike = [one for one in ideal if frame.judge_or_mean[one] == frame.judge_or_mean[pair]]
                judged = np.mean([by_pair[one] for one in alike])
                found[pair] += (judged + np.mean(list(by_pair.values()))) / 2
    return np.sqrt(found)


@given(collections, measures, uniform_shares, st.floats(0.01, 1))
def test_they_sum_to_the_expected_pairs_within_their_bounds(
    one: Collection, name: str, uniform: float, part: float
) -> None:
    expected = part * most(one.frame, name, uniform)
    found = probabilities(one.frame, parse_pair_measure(name), expected, uniform=uniform)
    assert found.sum() == pytest.approx(expected)
    assert (found <= 1).all()
    assert (found >= uniform * expected / len(one.frame) * (1 - 1e-12)).all()


@given(collections, measures, st.floats(0.01, 0.99))
def test_they_are_proportional_to_weights_up_to_1(one: Collection, name: str, part: float) -> None:
    frame, uniform = one.frame, 0.2
    expected = part * most(frame, name, uniform)
    weight, least = direct_weights(frame, name), uniform * expected / len(frame)

    def excess(factor: float) -> float:
        return float(np.minimum(1, least + factor * weight).sum() - expected)

    largest = 1 / weight[weight > 0].min()
    factor = brentq(excess, 0, largest, xtol=1e-14 * largest, rtol=1e-14)
    found = probabilities(frame, parse_pair_measure(name), expected)
    np.testing.assert_allclose(found, np.minimum(1, least + factor * weight), atol=1e-9)


@given(collections, measures, st.floats(0.01, 1), st.floats(0.01, 1))
def test_more_pairs_have_no_lower_probability(one: Collection, name: str, a: float, b: float) -> None:
    limit, measure = most(one.frame, name, 0.2), parse_pair_measure(name)
    fewer, more = (probabilities(one.frame, measure, part * limit) for part in sorted((a, b)))
    assert (more >= fewer - 1e-12).all()


@given(collections, measures, st.integers(0, 100))
def test_weights_of_systems_keep_every_probability_above_0(one: Collection, name: str, seed: int) -> None:
    frame, measure = one.frame, parse_pair_measure(name)
    importance = np.random.default_rng(seed).random(frame.systems) * 4
    expected = 0.3 * most(frame, name, 0.2)
    found = probabilities(frame, measure, expected, weights=importance)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(expected)
    # Equal weights are none; only their proportions count.
    equal = probabilities(frame, measure, expected, weights=np.full(frame.systems, 3.0))
    np.testing.assert_allclose(equal, probabilities(frame, measure, expected))
    np.testing.assert_allclose(probabilities(frame, measure, expected, weights=7 * importance), found)


def test_what_the_important_system_ranks_is_more_probable() -> None:
    frame = collection(1, queries=8, pairs=40, systems=4, depth=8).frame
    measure = parse_pair_measure("DCG@8")
    equal = probabilities(frame, measure, 60)
    found = probabilities(frame, measure, 60, weights=np.array([5.0, 1, 1, 1]))
    np.testing.assert_allclose(
        found - 0.2 * 60 / 320,
        0.8 * 60 * direct_weights(frame, "DCG@8", np.array([5.0, 1, 1, 1])) / direct_weights(
            frame, "DCG@8", np.array([5.0, 1, 1, 1])
        ).sum(),
    )  # fmt: skip
    own = np.setdiff1d(frame.pair[frame.system == 0], frame.pair[frame.system != 0])
    assert (found[own] > equal[own]).all()


def test_beyond_the_first_ranks_dcg_leaves_the_uniform_part() -> None:
    frame = collection(2, queries=5, pairs=30, depth=20).frame
    ranked = np.unique(frame.pair[frame.rank <= 5])
    assert 0 < len(ranked) < len(frame)
    found = probabilities(frame, parse_pair_measure("DCG@5"), 40)
    others = np.delete(found, ranked)
    np.testing.assert_allclose(others, 0.2 * 40 / len(frame))
    assert (found[ranked] > others.max()).all()


def test_the_ideal_makes_what_the_judge_grades_higher_more_probable() -> None:
    # No system ranks the last ten pairs.
    judge = np.array([0] * 10 + [0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    ranks = np.arange(1, 11)
    frame = PairFrame(np.zeros(20, dtype=int), 1, judge, 1, np.arange(10), np.zeros(10, dtype=int), ranks)
    found = probabilities(frame, parse_pair_measure("nDCG@5"), 6)[10:]
    assert found[0] == found[1] == found[2] < found[3] == found[5] < found[6] == found[7] < found[8] == found[9]
    # Grade 1 fills places 5 to 7, of which one counts.
    assert found[0] > 0.2 * 6 / 20


def test_without_a_judge_pairs_that_are_ranked_alike_are_equally_probable() -> None:
    frame = collection(3, queries=4, pairs=30, systems=2, depth=10, ungraded=1.0).frame
    assert (frame.judge == NO_GRADE).all()
    found = probabilities(frame, parse_pair_measure("nDCG@10"), 50)
    unranked = np.setdiff1d(np.arange(len(frame)), frame.pair)
    assert len(unranked)
    np.testing.assert_allclose(found[unranked], found[unranked[0]])
    assert (np.delete(found, unranked) > found[unranked[0]]).all()
    # A judge who says the same of all pairs is none.
    same = replace(frame, judge=np.full(len(frame), 2))
    np.testing.assert_allclose(probabilities(same, parse_pair_measure("nDCG@10"), 50), found)


def test_a_census_and_a_uniform_design() -> None:
    frame = collection(4).frame
    ndcg = parse_pair_measure("nDCG@10")
    assert (probabilities(frame, ndcg, len(frame)) == 1).all()
    np.testing.assert_allclose(probabilities(frame, ndcg, 30, uniform=1), 30 / len(frame))


def test_the_variance_that_they_are_made_for_is_least() -> None:
    # Σ weight²/π − Σ weight², over all π with the same sum and the same uniform part: any shift between two pairs that
    # are neither at 1 nor at the least raises it.
    frame = collection(5, queries=4, pairs=30).frame
    weight = direct_weights(frame, "nDCG@10")
    found = probabilities(frame, parse_pair_measure("nDCG@10"), 60, uniform=1e-9)
    free = np.flatnonzero(found < 0.99)
    generator = np.random.default_rng(6)
    for _ in range(200):
        a, b = generator.choice(free, 2, replace=False)
        shift = min(1e-3, found[b] / 2)
        other = found.copy()
        other[a] += shift
        other[b] -= shift
        assert (weight**2 / other).sum() > (weight**2 / found).sum()


@pytest.mark.parametrize("expected", [0, -3, 121, float("nan")])
def test_more_pairs_than_there_are_are_refused(expected: float) -> None:
    frame = collection(6).frame
    assert len(frame) == 120
    with pytest.raises(QuatiPoolError, match="the pool has 120 pairs"):
        probabilities(frame, parse_pair_measure("nDCG@10"), expected)


@pytest.mark.parametrize("uniform", [0, -0.1, 1.1, float("nan")])
def test_an_impossible_uniform_share_is_refused(uniform: float) -> None:
    with pytest.raises(ValueError, match="uniform share"):
        probabilities(collection(6).frame, parse_pair_measure("nDCG@10"), 10, uniform=uniform)


@given(collections, st.sampled_from(["DCG@2", "P@1"]), st.sampled_from([0.05, 0.2, 0.9]))
def test_more_pairs_than_matter_are_refused_and_as_many_as_the_message_says_are_not(
    one: Collection, name: str, uniform: float
) -> None:
    frame, measure = one.frame, parse_pair_measure(name)
    assume(most(frame, name, uniform) < len(frame) - 1e-6)
    with pytest.raises(QuatiPoolError, match="pairs matter for") as refused:
        probabilities(frame, measure, len(frame), uniform=uniform)
    advised = int(re.search(r"ask for at most ([0-9,]+) pairs", str(refused.value))[1].replace(",", ""))
    assert most(frame, name, uniform) - 1 < advised <= most(frame, name, uniform) + 1e-9
    assert probabilities(frame, measure, advised, uniform=uniform).sum() == pytest.approx(advised)
