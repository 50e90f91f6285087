"""Paired tests against scipy and by hand; Holm's correction against statsmodels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from quati_pool.stats.significance import EXACT, FLIPS, TESTS, holm, randomisation, t_test, wilcoxon

# Tenths, as P@10 gives them: full of ties, and 0.3 - 0.2 is not 0.2 - 0.1 in floating point.
tenths = st.integers(-10, 10).map(lambda n: n / 10)


def normal(comparisons: int, queries: int, shift: float = 0.1) -> np.ndarray:
    return np.random.default_rng(3).normal(shift, 0.3, size=(comparisons, queries))


def test_t_equals_scipy() -> None:
    differences = normal(20, 30)
    expected = [stats.ttest_1samp(row, 0).pvalue for row in differences]
    assert [found.p for found in t_test(differences)] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("queries", [5, 40, 80])
def test_wilcoxon_equals_scipy(queries: int) -> None:
    differences = normal(10, queries)
    expected = [stats.wilcoxon(row).pvalue for row in differences]
    assert [found.p for found in wilcoxon(differences)] == pytest.approx(expected)


def test_wilcoxon_by_hand_drops_zeros() -> None:
    # Ranks 1, 2, 3, all positive: of the 8 signings this one and its mirror image are as far: p = 2/8.
    # With the zeros kept in some way (Pratt) it would be another number, or the same of 5.
    (found,) = wilcoxon(np.array([[0.1, 0.2, 0.0, 0.3, 0.0]]))
    assert found.p == pytest.approx(0.25)


def test_wilcoxon_ties_that_floating_point_parts() -> None:
    # As whole numbers 1, 1, 1, -2, 3: the first three tie.
    steps = [(0.3 - 0.2), (0.2 - 0.1), (0.8 - 0.7), (0.1 - 0.3), (0.4 - 0.1)]
    (found,) = wilcoxon(np.array([steps]))
    assert found.p == pytest.approx(stats.wilcoxon([1, 1, 1, -2, 3]).pvalue)


def test_randomisation_by_hand() -> None:
    # Sums of ±1 ±2 ±3: 6, 4, 2, 0, 0, -2, -4, -6. Observed 1 + 2 - 3 = 0: all are as far. Observed 6: two of eight.
    assert randomisation(np.array([[1.0, 2, -3]]))[0].p == 1
    assert randomisation(np.array([[1.0, 2, 3]]))[0].p == 0.25
    assert randomisation(np.array([[1.0, -2, 3]]))[0].p == 6 / 8  # 2: all but the two zeros
    # A query without a difference changes nothing.
    assert randomisation(np.array([[1.0, 0, 2, 3, 0]]))[0].p == 0.25


@settings(max_examples=50)
@given(arrays(np.float64, st.integers(2, 8), elements=tenths))
def test_exact_randomisation_goes_through_all_flips(row: np.ndarray) -> None:
    whole = np.rint(row * 10).astype(int)
    sums = [abs(sum(signs * whole)) for signs in map(np.array, itertools.product([1, -1], repeat=len(row)))]
    expected = sum(one >= abs(whole.sum()) for one in sums) / len(sums)
    assert randomisation(row[None])[0].p == pytest.approx(expected)


@pytest.mark.slow
def test_sampled_randomisation_is_near_the_exact_one() -> None:
    differences = normal(8, 16, 0.08)
    expected = [
        stats.permutation_test(
            (row,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
        ).pvalue
        for row in differences
    ]
    found = [one.p for one in randomisation(differences)]
    # Four standard errors of 10,000 flips at p = 0.5.
    assert found == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(FLIPS))
    assert found != pytest.approx(expected, abs=1e-12)


def test_sampled_randomisation_never_gives_zero_and_repeats() -> None:
    clear = np.full((2, 200), 0.5)
    assert [one.p for one in randomisation(clear)] == [1 / (1 + FLIPS)] * 2
    differences = normal(3, 50, 0.05)
    assert randomisation(differences, seed=1) == randomisation(differences, seed=1)
    assert randomisation(differences, seed=1) != randomisation(differences, seed=2)


def test_a_comparison_is_tested_the_same_alone_and_among_others() -> None:
    differences = normal(5, 40, 0.05)
    differences[2] = 0
    differences[3, : 40 - EXACT] = 0
    for test in TESTS.values():
        together = test(differences, 7)
        alone = [test(row[None], 7)[0] for row in differences]
        assert [one.p for one in together] == pytest.approx([one.p for one in alone])
        assert [one.undefined for one in together] == [one.undefined for one in alone]


@pytest.mark.parametrize("name", TESTS)
def test_one_query_is_too_few(name: str) -> None:
    (found,) = TESTS[name](np.array([[0.5]]), 0)
    assert found == (None, "fewer than two queries")


def test_no_difference_at_all() -> None:
    nothing = np.array([[0.0] * 20, [1e-17] * 20])
    assert t_test(nothing) == [(None, "no query differs")] * 2
    assert wilcoxon(nothing) == [(None, "no query differs")] * 2
    # Every flip gives the same mean.
    assert randomisation(nothing) == [(1.0, None)] * 2


def test_the_same_difference_everywhere_has_no_t() -> None:
    # 0.1 by four roads, which differ in the last bits: a naive t is 10¹⁵, or infinite, and warns.
    same = np.array([[0.3 - 0.2, 0.2 - 0.1, 0.1, 0.8 - 0.7] * 5, [0.1] * 20])
    assert t_test(same) == [(None, "the difference is the same on every query, so it has no spread")] * 2
    assert all(found.p is not None and found.p < 0.001 for found in [*wilcoxon(same), *randomisation(same)])


def test_nearly_the_same_difference_has_a_t_without_a_warning() -> None:
    nearly = np.array([[0.1, 0.1, 0.1, 0.1001, 0.1]])
    (found,) = t_test(nearly)
    assert found.p == pytest.approx(stats.ttest_1samp(nearly[0], 0).pvalue, rel=1e-3)


@pytest.mark.parametrize("name", TESTS)
def test_no_comparisons(name: str) -> None:
    assert TESTS[name](np.empty((0, 5)), 0) == []


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_equals_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())


def test_holm_by_hand_leaves_out_the_undefined() -> None:
    # Of three: 0.01 · 3, then 0.04 · 2 = 0.08, then 0.03 comes before it: order 0.01, 0.03, 0.04:
    # 0.03, 0.06, max(0.06, 0.04) = 0.06.
    assert holm([0.04, None, 0.01, 0.03, None]) == [
        pytest.approx(0.06),
        None,
        pytest.approx(0.03),
        pytest.approx(0.06),
        None,
    ]
    assert holm([None]) == [None]
    assert holm([]) == []
