"""Which pairs are weighted, and how: against all samples of small populations."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

from quati_pool.agreement.pair_designs import PairSampling, UnknownProbabilitiesError
from tests.agreement.designs import Population

SEVEN = Population([0, 1, 2, 3, 3, 0, 1], [0, 1, 1, 3, 2, 2, 1])
FIVE = Population([0, 1, 3, 3, 2], [0, 2, 3, 1, 2])


def at(*places: int) -> np.ndarray:
    return np.array(places, dtype=np.int64)


# ---- weighted counts are unbiased: their mean over all samples is the population's confusion matrix


def test_fixed_sizes_within_strata() -> None:
    stratum, inclusion = [0, 0, 0, 0, 1, 1, 1], np.array([0.5] * 4 + [1 / 3] * 3)
    drawn = [at(*first, *second) for first, second in product(combinations(range(4), 2), combinations((4, 5, 6), 1))]
    found = [SEVEN.weighted_counts(SEVEN.design(one, inclusion, stratum)) for one in drawn]
    np.testing.assert_allclose(np.mean(found, axis=0), SEVEN.counts)


def test_poisson_sampling() -> None:
    inclusion = np.array([0.2, 0.9, 0.5, 1, 0.35, 0.6, 0.75])
    mean = np.zeros((4, 4))
    for chosen in product([False, True], repeat=7):
        chance = np.prod(np.where(chosen, inclusion, 1 - inclusion))
        if chance:
            mean += chance * SEVEN.weighted_counts(SEVEN.design(np.flatnonzero(chosen), inclusion, poisson=True))
    np.testing.assert_allclose(mean, SEVEN.counts)


def test_whole_queries() -> None:
    population = Population([0, 1, 2, 3, 3, 0, 1], [0, 1, 1, 3, 2, 2, 1], query_of=[0, 0, 1, 2, 2, 3, 4])
    queries, stratum = np.array([0, 0, 1, 2, 2, 3, 4]), [0, 0, 0, 0, 0, 1, 1]
    inclusion = np.array([2 / 3] * 5 + [0.5] * 2)
    drawn = [
        np.flatnonzero(np.isin(queries, [*first, second])) for first in combinations((0, 1, 2), 2) for second in (3, 4)
    ]
    found = [
        population.weighted_counts(population.design(one, inclusion, stratum, whole_queries=True)) for one in drawn
    ]
    np.testing.assert_allclose(np.mean(found, axis=0), population.counts)


FOUR = Population([0, 1, 3, 3], [0, 2, 3, 1])
FIRST, SECOND = np.array([0.2, 0.8, 0.5, 0.6]), np.array([0.5, 0.4, 0.5, 0.1])


@pytest.mark.parametrize("dependence", ["one seed", "independent"])
def test_two_designs_by_rate(dependence: str) -> None:
    """With one seed a pair enters both where its number is at most the smaller probability."""
    both = np.minimum(FIRST, SECOND) if dependence == "one seed" else FIRST * SECOND
    chances = {(True, True): both, (True, False): FIRST - both, (False, True): SECOND - both}
    chances[False, False] = 1 - sum(chances.values())
    mean, total = np.zeros((4, 4)), 0.0
    for outcome in product(chances, repeat=4):
        chance = np.prod([chances[one][place] for place, one in enumerate(outcome)])
        if chance == 0:
            continue
        drawn = np.array(outcome)
        first = FOUR.design(np.flatnonzero(drawn[:, 0]), FIRST, poisson=True, key="1")
        seed = 0 if dependence == "one seed" else 1
        second = FOUR.design(np.flatnonzero(drawn[:, 1]), SECOND, poisson=True, key="2", seed=seed)
        mean += chance * FOUR.weighted_counts(first, second)
        total += chance
    assert total == pytest.approx(1)
    np.testing.assert_allclose(mean, FOUR.counts)


@pytest.mark.parametrize("dependence", ["one order", "independent"])
def test_two_designs_of_fixed_size(dependence: str) -> None:
    """The designs take the first pairs of each of their strata, in one random order or in two."""
    one, other = [0, 0, 0, 1, 1], [0, 1, 1, 1, 1]
    first_inclusion, second_inclusion = np.array([1 / 3] * 3 + [0.5] * 2), np.array([1] + [0.5] * 4)

    def taken(order: tuple[int, ...], stratum: list[int], sizes: tuple[int, int]) -> np.ndarray:
        return at(*(place for code in (0, 1) for place in [i for i in order if stratum[i] == code][: sizes[code]]))

    orders = list(permutations(range(5)))
    firsts, seconds = ([taken(order, *of) for order in orders] for of in ((one, (1, 1)), (other, (1, 2))))
    pairs, seed = list(zip(firsts, seconds, strict=True)), 0
    if dependence == "independent":
        pairs, seed = list(product(_distinct(firsts), _distinct(seconds))), 1
    found = [
        FIVE.weighted_counts(
            FIVE.design(a, first_inclusion, one, key="1"), FIVE.design(b, second_inclusion, other, key="2", seed=seed)
        )
        for a, b in pairs
    ]
    np.testing.assert_allclose(np.mean(found, axis=0), FIVE.counts)


def _distinct(samples: list[np.ndarray]) -> list[np.ndarray]:
    """Each sample once: all are equally probable."""
    return [at(*places) for places in sorted({tuple(sorted(one.tolist())) for one in samples})]


# ---- what is weighted at all

STRATA, UNEQUAL = [0, 0, 0, 0, 1, 1, 1], np.array([0.25] * 4 + [1.0] * 3)
HALF, ONE = np.full(7, 0.5), np.ones(7)


def test_equal_probabilities_need_no_weights() -> None:
    assert SEVEN.sample(SEVEN.design(at(0, 4, 5), HALF)) is None
    assert SEVEN.sample(SEVEN.design(np.arange(7), ONE, equal_in_frame=True)) is None


def test_labelers_without_a_design_need_no_weights() -> None:
    ratings = SEVEN.graded([], also=[0, 1])
    assert PairSampling(ratings, {}).sample("ana", "llm") is None


def test_pairs_outside_the_design_are_left_out_and_counted() -> None:
    sample = SEVEN.sample(SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA), also=[0, 2])
    assert sample is not None
    assert sample.left_out == 2
    np.testing.assert_allclose(sample.weight, [4, 1, 1, 1])
    assert sample.draws[0].sizes.tolist() == [4, 3]


def test_a_finished_census_or_a_larger_sample_of_one_seed_replaces_a_smaller_one() -> None:
    small = SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA, key="1")
    census = SEVEN.design(np.arange(7), ONE, key="2", seed=9)
    assert SEVEN.sample(small, census) is None
    larger = SEVEN.design(at(1, 2, 4, 5, 6), np.array([0.5] * 4 + [1.0] * 3), STRATA, key="2")
    sample = SEVEN.sample(small, larger)
    assert sample is not None
    assert [draw.design.key for draw in sample.draws] == ["2"]
    np.testing.assert_allclose(sample.weight, [2, 2, 1, 1, 1])
    # Of another seed it is a sample of its own.
    other = SEVEN.design(at(1, 2, 4, 5, 6), np.array([0.5] * 4 + [1.0] * 3), STRATA, key="2", seed=1)
    sample = SEVEN.sample(small, other)
    assert sample is not None
    np.testing.assert_allclose(sample.weight, [2 / 0.75, 1 / 0.75, 1, 1, 1])


def test_two_samples_of_equal_probabilities_from_one_frame_need_no_weights() -> None:
    first = SEVEN.design(at(0, 4, 5), np.full(7, 3 / 7), key="1", equal_in_frame=True, framed=False)
    second = SEVEN.design(at(0, 1), np.full(7, 2 / 7), key="2", seed=1, equal_in_frame=True, framed=False)
    assert SEVEN.sample(first, second) is None


def test_a_design_without_its_frame_is_weighted_alone_but_not_with_another() -> None:
    stratified = SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA, key="1", framed=False)
    sample = SEVEN.sample(stratified)
    assert sample is not None
    np.testing.assert_allclose(sample.weight, [4, 1, 1, 1])
    active = SEVEN.design(at(0, 4), HALF * 0.5, key="2", poisson=True, seed=1)
    with pytest.raises(UnknownProbabilitiesError, match="under design 1, stratified are not stored"):
        SEVEN.sample(stratified, active)


def test_the_probability_of_a_random_sample_without_its_frame_is_that_of_all_pairs() -> None:
    stratified = SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA, key="1")
    random = SEVEN.design(at(0, 4), HALF, key="2", seed=1, framed=False, equal_in_frame=True)
    sample = SEVEN.sample(stratified, random)
    assert sample is not None
    np.testing.assert_allclose(sample.weight, [1 / 0.75, 1 / 0.75, 2 / 1.5, 1 / 1.5, 1 / 1.5])
    elsewhere = SEVEN.design(at(0, 4), HALF, key="2", seed=1, framed=False, equal_in_frame=True, frame_key="another")
    with pytest.raises(UnknownProbabilitiesError):
        SEVEN.sample(stratified, elsewhere)


def test_of_an_unfinished_design_the_graded_share_counts() -> None:
    stratified = SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA, key="1")
    census = SEVEN.design(np.arange(7), ONE, key="2", seed=1, framed=False, equal_in_frame=True)
    ratings = SEVEN.graded([stratified], also=[0])
    sample = PairSampling(ratings, {"ana": [stratified, census]}).sample("ana", "llm")
    assert sample is not None
    share = 5 / 7
    expected = [1 / (0.25 + share), 2 / (0.25 + share), *[2 / (1 + share)] * 3]
    np.testing.assert_allclose(sample.weight, expected)


def test_people_are_weighted_by_the_designs_that_they_share() -> None:
    shared = SEVEN.design(at(1, 4, 5, 6), UNEQUAL, STRATA, key="1")
    own = SEVEN.design(
        at(
            0,
        ),
        HALF * 0.2,
        key="2",
        poisson=True,
    )
    ratings = SEVEN.graded([shared, own])
    sample = PairSampling(ratings, {"ana": [shared, own], "llm": [shared]}).sample("ana", "llm")
    assert sample is not None
    assert sample.left_out == 1
    np.testing.assert_allclose(sample.weight, [4, 1, 1, 1])
    with pytest.raises(UnknownProbabilitiesError, match="different designs"):
        PairSampling(ratings, {"ana": [own], "llm": [shared]}).sample("ana", "llm")
