"""Measures of pairs: their names, gains, and ideals, against loops over ranks and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import dcg_score

from quati_pool.errors import ConfigError
from quati_pool.estimation.pair_measures import PairMeasure, parse_pair_measure, tie_bound

NAMES = ["nDCG@10", "DCG@5", "P@10", "P(rel=2)@3"]


@pytest.mark.parametrize("name", NAMES)
def test_discounts_by_rank(name: str) -> None:
    measure = parse_pair_measure(name)
    cutoff = int(name.split("@")[1])
    assert measure.cutoff == cutoff
    expected = [1 / cutoff if name.startswith("P") else 1 / np.log2(1 + rank) for rank in range(1, cutoff + 1)]
    np.testing.assert_allclose(measure.discounts, expected)
    assert measure.normalized == (name == "nDCG@10")


def test_gains_are_grades_and_precision_counts_the_relevant() -> None:
    ndcg, p, p2 = (parse_pair_measure(name) for name in ("nDCG@10", "P@10", "P(rel=2)@10"))
    assert gains(ndcg, [0, 1, 2, 3]) == {0: 0, 1: 1, 2: 2, 3: 3}
    # A scale with gaps, in any order, and with grades below 0, which gain nothing.
    assert gains(ndcg, [5, -2, 0, 2]) == {-2: 0, 0: 0, 2: 2, 5: 5}
    assert gains(ndcg, [1, 2]) == {1: 1, 2: 2}
    assert gains(p, [-1, 0, 1, 2, 3]) == {-1: 0, 0: 0, 1: 1, 2: 1, 3: 1}
    assert gains(p2, [0, 1, 2, 3]) == {0: 0, 1: 0, 2: 1, 3: 1}


def gains(measure: PairMeasure, scale: list[int]) -> dict[int, float]:
    return {grade: sum(gain for level, gain in measure.levels(scale).items() if grade >= level) for grade in scale}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_the_ideal_is_the_gain_of_the_sorted_grades(relevance: list[int]) -> None:
    measure = parse_pair_measure("nDCG@10")
    levels = measure.levels([0, 1, 2, 3])
    counts = np.array([sum(grade >= level for grade in relevance) for level in levels], dtype=float)
    discounted, _ = measure.ideal(counts)
    best = [*sorted(relevance, reverse=True), 0, 0]
    ideal = dcg_score([best], [list(range(len(best), 0, -1))], k=10)
    assert discounted @ list(levels.values()) == pytest.approx(ideal)


@given(st.floats(0, 15), st.sampled_from(NAMES))
def test_the_ideal_of_a_fraction_lies_on_the_line_between_whole_counts(count: float, name: str) -> None:
    measure = parse_pair_measure(name)
    value, slope = measure.ideal(np.array([count]))
    sums = np.concatenate([[0], np.cumsum(measure.discounts), np.full(20, measure.discounts.sum())])
    assert value[0] == pytest.approx(np.interp(count, np.arange(len(sums)), sums))
    # The derivative to the right.
    step = 1e-6
    if np.floor(count + step) == np.floor(count):
        assert slope[0] == pytest.approx((measure.ideal(np.array([count + step]))[0][0] - value[0]) / step, abs=1e-4)


@pytest.mark.parametrize(
    "name", ["AP", "RR@10", "nDCG", "P@0", "nDCG@-1", "P(rel=1.5)@10", "nDCG@10 ", "DCG(rel=2)@10", "Judged@10", ""]
)
def test_other_measures_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="draw --random-queries for it"):
        parse_pair_measure(name)


def test_ties_are_within_two_percent_of_the_highest_value() -> None:
    # DCG@2 of two documents with grade 3: 3 + 3 / log2(3).
    assert tie_bound(None, "DCG@2", [0, 1, 2, 3]) == pytest.approx(0.02 * (3 + 3 / np.log2(3)))
    assert tie_bound(None, "nDCG@2", [0, 3]) == 0.02
    assert tie_bound(0.1, "DCG@2", [0, 3]) == 0.1
