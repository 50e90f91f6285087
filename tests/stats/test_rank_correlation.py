"""Correlations of system rankings against scipy, published figures, and values by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from quati_pool.stats.rank_correlation import Values, kendall_tau, ranking_overlap, tau_ap, top_tau

Draws = list[tuple[list[float], list[float]]]
Function = Callable[[Values, Values], Values]


def draws_of(value: st.SearchStrategy[float], smallest: int = 1) -> st.SearchStrategy[Draws]:
    """Some draws of two score vectors over the same systems."""

    def drawn(systems: int) -> st.SearchStrategy[Draws]:
        vector = st.lists(value, min_size=systems, max_size=systems)
        return st.lists(st.tuples(vector, vector), min_size=1, max_size=4)

    return st.integers(smallest, 8).flatmap(drawn)


tied = st.integers(0, 3).map(float)
"""Few values, so that ties abound."""
any_score = tied | st.floats(0, 1)


def computed(function: Function, draws: Draws) -> list[float]:
    found: list[float] = function(np.array([a for a, _ in draws]), np.array([b for _, b in draws])).tolist()
    return found


def one(function: Function, a: Sequence[float], b: Sequence[float]) -> float:
    return computed(function, [(list(a), list(b))])[0]


def scipy_tau(a: Sequence[float], b: Sequence[float]) -> float:
    return float(kendalltau(a, b, variant="b").statistic) if len(a) > 1 else math.nan


@given(draws_of(any_score))
def test_tau_equals_scipy(draws: Draws) -> None:
    assert computed(kendall_tau, draws) == pytest.approx([scipy_tau(a, b) for a, b in draws], nan_ok=True)


@given(draws_of(any_score), st.integers(1, 9))
def test_top_tau_equals_scipy_on_the_best_of_the_reference(draws: Draws, k: int) -> None:
    expected = []
    for estimated, reference in draws:
        at_k = sorted(reference, reverse=True)[min(k, len(reference)) - 1]
        best = [place for place, value in enumerate(reference) if value >= at_k]
        expected.append(scipy_tau([estimated[place] for place in best], [reference[place] for place in best]))
    assert computed(lambda a, b: top_tau(a, b, k), draws) == pytest.approx(expected, nan_ok=True)


def test_top_tau_by_hand() -> None:
    # By the reference A B C D; the estimate has B A D C. Top 2: A B reversed, -1. Top 3: AB reversed,
    # AC and BC kept: (2 - 1) / 3. All: AB and CD reversed of 6: (4 - 2) / 6. Top 1: no pair.
    reference, estimated = [4, 3, 2, 1], [3, 4, 1, 2]
    assert one(lambda a, b: top_tau(a, b, 2), estimated, reference) == -1
    assert one(lambda a, b: top_tau(a, b, 3), estimated, reference) == pytest.approx(1 / 3)
    assert one(lambda a, b: top_tau(a, b, 99), estimated, reference) == pytest.approx(1 / 3)
    assert math.isnan(one(lambda a, b: top_tau(a, b, 1), estimated, reference))
    # The estimate has other best systems, C and D: the top follows the reference.
    assert one(lambda a, b: top_tau(a, b, 2), [2, 1, 4, 3], reference) == 1


def test_tau_ap_by_hand() -> None:
    # The estimate A B C D; the reference B A C D. At B: A is above and should not be, 0/1. At C: A and
    # B are, 2/2. At D: 3/3. 2/3 · (0 + 1 + 1) - 1 = 1/3.
    assert one(tau_ap, [4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(1 / 3)
    # The same swap at the end, reference A B D C: 1/1, 2/2, and at D C should be below: 2/3.
    # 2/3 · (1 + 1 + 2/3) - 1 = 7/9: an error there weighs less.
    assert one(tau_ap, [4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(7 / 9)


def test_tau_ap_is_not_symmetric() -> None:
    # Estimate A B C, reference C A B: at B 1/1, at C 0/2: 2/2 · 1 - 1 = 0.
    # Estimate C A B, reference A B C: at A (above: C) 0/1, at B (above: C, A) 1/2: 0.5 - 1 = -0.5.
    abc, cab = [3, 2, 1], [2, 1, 3]
    assert one(tau_ap, abc, cab) == pytest.approx(0)
    assert one(tau_ap, cab, abc) == pytest.approx(-0.5)


def test_tau_ap_with_ties_by_hand() -> None:
    # Estimate (A B) C D, reference A B C D. Below the first group: C 2/2, D 3/3; mean 1: 1.
    assert one(tau_ap, [2, 2, 1, 0], [4, 3, 2, 1]) == 1
    # Estimate A B C D, reference (A B) C D: B has A above, which the reference does not: 0/1.
    # (0 + 2/2 + 3/3) / 3 = 2/3; 2 · 2/3 - 1 = 1/3.
    assert one(tau_ap, [4, 3, 2, 1], [2, 2, 1, 0]) == pytest.approx(1 / 3)
    # Estimate A (B C) D, reference C B A D: B and C stand at rank 2 with A above: 0/1 each; D 3/3.
    # (0 + 0 + 1) / 3 = 1/3; -1/3.
    assert one(tau_ap, [3, 2, 2, 1], [2, 3, 4, 1]) == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("x", "y", "estimate", "agreement"),
    [
        # The example of the authors' R package ircor, with its output on CRAN's page: x and y as they
        # are, y rounded, both rounded. tauAP takes x as the truth.
        (
            [0.67, 0.45, 0.29, 0.12, 0.57, 0.24, 0.94, 0.75, 0.08, 0.54],
            [0.48, 0.68, 0.32, 0.09, 0.06, 0.61, 0.87, 0.22, 0.44, 0.84],
            0.3928571,
            None,
        ),
        (
            [0.67, 0.45, 0.29, 0.12, 0.57, 0.24, 0.94, 0.75, 0.08, 0.54],
            [0.5, 0.7, 0.3, 0.1, 0.1, 0.6, 0.9, 0.2, 0.4, 0.8],
            None,
            0.3317019,
        ),
        (
            [0.7, 0.4, 0.3, 0.1, 0.6, 0.2, 0.9, 0.8, 0.1, 0.5],
            [0.5, 0.7, 0.3, 0.1, 0.1, 0.6, 0.9, 0.2, 0.4, 0.8],
            None,
            0.3394180,
        ),
    ],
)
def test_tau_ap_equals_its_authors_figures(
    x: list[float], y: list[float], estimate: float | None, agreement: float | None
) -> None:
    directions = one(tau_ap, y, x), one(tau_ap, x, y)
    if estimate is not None:
        assert directions[0] == pytest.approx(estimate, abs=5e-8)
    if agreement is not None:
        assert sum(directions) / 2 == pytest.approx(agreement, abs=5e-8)


def yilmaz(estimated: Sequence[float], reference: Sequence[float]) -> float:
    """Without ties: 2/(N-1) Σ C(i)/(i-1) - 1, i from 2."""
    order = sorted(range(len(estimated)), key=lambda system: -estimated[system])
    total = 0.0
    for i in range(1, len(order)):
        right = sum(reference[order[j]] > reference[order[i]] for j in range(i))
        total += right / i
    return 2 / (len(order) - 1) * total - 1


@given(st.integers(2, 7).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_tau_ap_without_ties_equals_the_definition(pair: tuple[list[int], list[int]]) -> None:
    assert one(tau_ap, *pair) == pytest.approx(yilmaz(*pair))


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, lambda a, b: top_tau(a, b, 3)])
def test_same_and_reversed_rankings_are_1_and_minus_1(function: Function) -> None:
    scores = [0.1, 0.7, 0.3, 0.9]
    assert one(function, scores, scores) == 1
    assert one(function, [-score for score in scores], scores) == -1


def test_overlap_by_hand() -> None:
    # A B C and B A C, p = 0.5: agreements 0, 1, 1. (1-p)/p = 1: 0 + 0.25 + 0.125, and the tail 0.125.
    assert one(lambda a, b: ranking_overlap(a, b, 0.5), [3, 2, 1], [2, 3, 1]) == pytest.approx(0.5)


def test_overlap_with_ties_by_hand() -> None:
    # (A B) C and A B C, p = 0.5. Depth 1: parts ½ ½ 0 and 1 0 0: ½ / √(½ · 1) = √½; then 1, 1.
    # √½ · 0.5 + 0.25 + 0.125, and the tail 0.125.
    expected = math.sqrt(0.5) / 2 + 0.5
    assert one(lambda a, b: ranking_overlap(a, b, 0.5), [2, 2, 1], [3, 2, 1]) == pytest.approx(expected)
    # (A B) C and A (B C): depth 1 √½ as before; depth 2: 1 1 0 and 1 ½ ½: 1.5 / √(2 · 1.5) = √0.75; 1.
    expected = math.sqrt(0.5) / 2 + math.sqrt(0.75) / 4 + 0.25
    assert one(lambda a, b: ranking_overlap(a, b, 0.5), [2, 2, 1], [2, 1, 1]) == pytest.approx(expected)


@given(draws_of(tied), st.floats(0.1, 0.95))
def test_a_ranking_overlaps_with_itself_by_1_ties_or_not(draws: Draws, p: float) -> None:
    same = [(a, a) for a, _ in draws]
    assert computed(lambda a, b: ranking_overlap(a, b, p), same) == pytest.approx([1.0] * len(draws))
    mirrored = [(b, a) for a, b in draws]
    there = computed(lambda a, b: ranking_overlap(a, b, p), draws)
    assert computed(lambda a, b: ranking_overlap(a, b, p), mirrored) == pytest.approx(there)


def test_overlap_without_ties_is_the_plain_one() -> None:
    # RBO over two full lists of n: (1-p)/p Σ X_d/d p^d + p^n, X_d the systems in both first d.
    for ranking in permutations(range(4)):
        common = [len(set(range(d)) & set(ranking[:d])) for d in range(1, 5)]
        expected = 0.1 / 0.9 * sum(x / d * 0.9**d for d, x in enumerate(common, 1)) + 0.9**4
        scores = [-float(ranking.index(system)) for system in range(4)]
        assert one(lambda a, b: ranking_overlap(a, b, 0.9), [4, 3, 2, 1], scores) == pytest.approx(expected)


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, lambda a, b: top_tau(a, b, 3)])
def test_a_ranking_that_orders_nothing_leaves_it_undefined_in_its_draw_only(function: Function) -> None:
    draws: Draws = [
        ([1, 1, 1], [1, 2, 3]),
        ([1, 2, 3], [1, 1, 1]),
        ([1, 2, 3], [1, 2, 3]),
        ([1, math.nan, 3], [1, 2, 3]),
    ]
    found = computed(function, draws)
    assert np.isnan(found).tolist() == [True, True, False, True]
    assert found[2] == 1


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, lambda a, b: top_tau(a, b, 3)])
def test_one_system_or_none_is_undefined(function: Function) -> None:
    for systems in (0, 1):
        assert np.isnan(function(np.ones((2, systems)), np.ones((2, systems)))).tolist() == [True, True]
    assert function(np.ones((0, 3)), np.ones((0, 3))).shape == (0,)


def test_overlap_of_no_systems_is_undefined() -> None:
    assert np.isnan(ranking_overlap(np.ones((2, 0)), np.ones((2, 0)), 0.9)).all()


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, lambda a, b: ranking_overlap(a, b, 0.9)])
def test_many_draws_give_what_each_gives_alone(function: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 6, size=(2, 50, 7)).astype(np.float64)
    expected = np.concatenate([function(a[row : row + 1], b[row : row + 1]) for row in range(50)])
    monkeypatch.setattr("quati_pool.stats.rank_correlation._BLOCK", 7 * 7 * 3)
    np.testing.assert_array_equal(function(a, b), expected)
