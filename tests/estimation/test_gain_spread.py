"""What the weights of pairs are multiplied by: numbers by hand, distributions written out, numpy's variance, and the
least variance that the product is made for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.sampling import hash_unit
from quati_pool.estimation.gain_spread import assumed, by_grade, gains, labelled, mixed, of_answers
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.synthetic_grades import grades_by_correlation
from tests.estimation.small_frames import SCALE, Collection, collection, collections

NDCG = parse_pair_measure("nDCG@10")


def test_gains_are_those_of_the_measure() -> None:
    grades = np.array([[0, 1, 2], [3, NO_GRADE, 9]])
    # trec_eval's gain is the grade; above the scale there is no gain to add.
    np.testing.assert_array_equal(gains(NDCG, SCALE, grades), [[0, 1, 2], [3, np.nan, 3]])
    np.testing.assert_array_equal(gains(parse_pair_measure("P(rel=2)@10"), SCALE, grades), [[0, 0, 1], [1, np.nan, 1]])


def test_the_assumed_spread_is_that_of_people_who_give_the_judges_gain_or_that_of_a_random_pair() -> None:
    gain = np.array([0.0, 0, 0, 1, 1, 2, 3, 3])
    rho = 0.6
    # The distribution of people's gain of each pair, written out: ρ on its own gain, (1 − ρ)/8 on that of each pair.
    values = np.concatenate([np.tile(gain, (8, 1)), gain[:, None]], axis=1)
    chance = np.concatenate([np.full((8, 8), (1 - rho) / 8), np.full((8, 1), rho)], axis=1)
    mean = (chance * values).sum(axis=1, keepdims=True)
    variance = (chance * (values - mean) ** 2).sum(axis=1)
    np.testing.assert_allclose(assumed(gain, rho), np.sqrt((variance + variance.mean()) / 2))


def test_the_assumption_is_that_of_plans() -> None:
    one = collection(7, queries=30, pairs=12)
    judge = one.frame.judge_or_mean
    generator = np.random.default_rng(0)
    drawn = np.stack([grades_by_correlation(one.frame, 0.6, generator) for _ in range(3000)])
    simulated = drawn.var(axis=0)
    found = assumed(gains(NDCG, SCALE, judge), 0.6) ** 2
    for grade in np.unique(judge):
        of_grade = judge == grade
        # A variance of a bounded gain over 3,000 draws is known to within some percent, a mean over pairs better.
        expected = (simulated[of_grade].mean() + simulated.mean()) / 2
        assert found[of_grade] == pytest.approx(expected, rel=0.03)


def test_the_spread_in_labels_by_hand() -> None:
    # Grade 0: 0 0 0 2, mean ½, squares 3; grade 2: 1 3, mean 2, squares 2; grade 3: 3. Within: 5 of 7 − 3 degrees.
    judge, gain = np.array([0, 2, 0, 3, 0, 2, 0]), np.array([0.0, 1, 0, 3, 0, 3, 2])
    found = by_grade(judge, gain)
    within = 5 / 4
    assert found == pytest.approx({0: ((3 + within) / 4) ** 0.5, 2: ((2 + within) / 2) ** 0.5, 3: within**0.5})
    # A grade without a label has the root of the mean square of the others.
    of_pairs = labelled(np.array([3, 0, 1]), found)
    other = ((found[0] ** 2 + found[2] ** 2 + found[3] ** 2) / 3) ** 0.5
    assert of_pairs == pytest.approx([found[3], found[0], other])


def test_people_who_always_agree_with_the_judge_leave_the_weights_as_they_are() -> None:
    judge = np.array([0, 0, 3, 3, 1])
    assert set(by_grade(judge, judge.astype(float)).values()) == {0.0}
    assert labelled(judge, by_grade(judge, judge.astype(float))).tolist() == [1] * 5
    assert assumed(np.full(4, 2.0), 0.6).tolist() == [1] * 4
    assert of_answers(np.array([[1.0, 2.0], [1.0, 2.0]])).tolist() == [1, 1]
    assert of_answers(np.array([[1.0, 2.0]])).tolist() == [1, 1]
    assert mixed(np.array([])).tolist() == []


answers = st.integers(1, 4).flatmap(
    lambda rows: st.lists(
        st.lists(st.sampled_from([0.0, 1, 2, 3, np.nan]), min_size=rows, max_size=rows), min_size=1, max_size=12
    )
)


@given(answers)
def test_the_spread_of_answers_is_numpys_half_of_it_equal(rows: list[list[float]]) -> None:
    values = np.array(rows).T
    several = (~np.isnan(values)).sum(axis=0) > 1
    variance = np.zeros(values.shape[1])
    if several.any():
        variance[several] = np.nanvar(values[:, several], axis=0, ddof=1)
        variance[~several] = variance[several].mean()
    mean = variance.mean()
    found = of_answers(values)
    np.testing.assert_allclose(found, np.sqrt((variance + mean) / 2) if mean > 0 else np.ones(len(variance)))
    # However sure judges are of a pair, half of the mean variance stays.
    assert (found >= np.sqrt(mean / 2) * (1 - 1e-12)).all()


def spread_of(one: Collection, by: str, seed: int) -> np.ndarray:
    judge = one.frame.judge_or_mean
    gain = gains(NDCG, SCALE, judge)
    generator = np.random.default_rng(seed)
    if by == "labels":
        rows = generator.integers(0, len(judge), 8)
        return labelled(judge, by_grade(judge[rows], one.relevance[rows].astype(float)))
    if by == "assumption":
        return assumed(gain, 0.6)
    other = gains(NDCG, SCALE, generator.integers(0, 4, len(judge)))
    return of_answers(np.stack([gain, other]))


@given(
    collections,
    st.sampled_from(["labels", "assumption", "disagreement"]),
    st.sampled_from(["nDCG@10", "nDCG@3"]),
    st.floats(0.05, 1),
    st.floats(0.05, 1),
    st.integers(0, 1000),
)
def test_a_larger_sample_with_the_same_seed_contains_the_smaller_one(
    one: Collection, by: str, measure: str, a: float, b: float, seed: int
) -> None:
    spread = spread_of(one, by, seed)
    sizes = sorted(part * len(one.frame) for part in (a, b))
    numbers = hash_unit(seed, [str(query) for query in one.frame.query], [str(pair) for pair in range(len(one.frame))])
    found = [probabilities(one.frame, parse_pair_measure(measure), size, spread=spread) for size in sizes]
    assert [sum(inclusion) for inclusion in found] == pytest.approx(sizes)
    assert all(((inclusion > 0) & (inclusion <= 1)).all() for inclusion in found)
    # A pair that one of them draws by rounding alone has a number next to its probability.
    smaller, larger = (numbers <= inclusion + slack for inclusion, slack in zip(found, (0, 1e-12), strict=True))
    assert (larger >= smaller).all()


def test_the_product_has_the_least_variance() -> None:
    # Σ (w σ)² (1/π − 1) with the same sum of π: any shift between two pairs that are not at 1 raises it.
    frame = collection(5, queries=4, pairs=30).frame
    spread = np.random.default_rng(1).uniform(0.2, 2, len(frame))
    found = probabilities(frame, NDCG, 60, uniform=1e-9, spread=spread)
    weight = probabilities(frame, NDCG, 1e-3, uniform=1e-9)
    generator = np.random.default_rng(6)
    free = np.flatnonzero(found < 0.99)
    for _ in range(200):
        a, b = generator.choice(free, 2, replace=False)
        shift = min(1e-3, found[b] / 2)
        other = found.copy()
        other[a] += shift
        other[b] -= shift
        assert ((weight * spread) ** 2 / other).sum() > ((weight * spread) ** 2 / found).sum()
    # Only proportions count.
    np.testing.assert_allclose(probabilities(frame, NDCG, 60, uniform=1e-9, spread=7 * spread), found)
    equal = probabilities(frame, NDCG, 60, spread=np.full(len(frame), 3.0))
    np.testing.assert_allclose(equal, probabilities(frame, NDCG, 60))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_spread_that_is_none_is_refused(value: float) -> None:
    frame = collection(6).frame
    spread = np.ones(len(frame))
    spread[3] = value
    with pytest.raises(ValueError, match="spread"):
        probabilities(frame, NDCG, 10, spread=spread)
