"""Tests of marginal homogeneity, against scipy, published tables and all swaps by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, chi2

from quati_pool.stats import marginal_homogeneity
from quati_pool.stats.marginal_homogeneity import marginal_test, p_values, stuart_maxwell

# The unaided vision of 7477 women, right eyes (rows) and left ones: Stuart, Biometrika 42, 1955, table 1.
VISION = np.array([[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]])
# By hand: d = (-20, 10) for the first two grades, V11 = V22 = 30, V12 = -20, so that
# dᵀV⁻¹d = (30 · 400 - 2 · 20 · 200 + 30 · 100) / 500 = 14.
THREE = np.array([[35, 5, 0], [15, 20, 5], [10, 5, 5]])


def by_all_swaps(table: list[list[int]], scores: list[int]) -> tuple[float, float, float]:
    """p-values of the shift, the statistic and the smaller of both, by enumerating the swaps of single units."""
    units = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    differing = [unit for unit in units if unit[0] != unit[1]]
    found = []
    for flips in product((False, True), repeat=len(differing)):
        made = np.zeros((len(scores), len(scores)), dtype=np.int64)
        for (i, j), flip in zip(differing, flips, strict=True):
            made[(j, i) if flip else (i, j)] += 1
        margins = made.sum(axis=0) - made.sum(axis=1)
        # The statistic by its definition, without the last grade that is used.
        used = np.flatnonzero((made + made.T).any(axis=1))[:-1]
        variance = np.diag(made.sum(axis=0) + made.sum(axis=1)) - made - made.T
        d = margins[used]
        statistic = d @ np.linalg.pinv(variance[np.ix_(used, used)]) @ d
        found.append((abs(margins @ np.array(scores)), round(float(statistic), 9)))
    values = np.array(found)
    ps = np.array([[(values[:, k] >= one[k]).mean() for k in (0, 1)] for one in values])
    return ps[0, 0], ps[0, 1], float((ps.min(axis=1) <= ps[0].min() + 1e-12).mean())


def test_the_statistic_is_that_of_stuart_and_by_hand() -> None:
    # Stuart gives 11.96 with 3 degrees of freedom.
    statistic, df = stuart_maxwell(VISION)
    assert (round(statistic, 2), df) == (11.96, 3)
    assert stuart_maxwell(THREE) == pytest.approx((14.0, 2))


@pytest.mark.parametrize(("up", "down"), [(1, 0), (5, 5), (7, 2), (10, 0), (40, 21)])
def test_with_two_grades_it_is_mcnemars_exact_test(up: int, down: int) -> None:
    found = marginal_test(np.array([[30, up], [down, 9]]), np.array([0, 1]))
    expected = binomtest(up, up + down).pvalue
    assert (found.p, found.p_shift, found.p_statistic) == pytest.approx((expected,) * 3)
    assert found.statistic == pytest.approx((up - down) ** 2 / (up + down))
    assert (found.n, found.changed, found.df) == (39 + up + down, up + down, 1)
    assert found.shift == pytest.approx((up - down) / (39 + up + down))


@pytest.mark.parametrize(
    "table",
    [
        [[3, 2, 1], [0, 4, 2], [1, 0, 2]],
        [[0, 3, 0, 0], [1, 0, 2, 0], [0, 0, 0, 2], [0, 0, 1, 5]],
        [[9, 0, 2], [0, 9, 0], [3, 0, 1]],
        [[1, 2, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 3, 1]],
    ],
)
def test_p_values_are_those_of_all_swaps(table: list[list[int]]) -> None:
    scores = [0, 1, 2, 5][: len(table)]
    found = marginal_test(np.array(table), np.array(scores))
    assert (found.p_shift, found.p_statistic, found.p) == pytest.approx(by_all_swaps(table, scores))


@given(arrays(np.int64, (3, 3), elements=st.integers(0, 2)))
@settings(max_examples=25, deadline=None)
def test_any_small_table_is_as_by_all_swaps(table: np.ndarray) -> None:  # type: ignore[type-arg]
    found = marginal_test(table, np.arange(3))
    if not found.changed:
        assert (found.p, found.p_shift, found.p_statistic, found.statistic) == (1, 1, 1, 0)
        return
    assert (found.p_shift, found.p_statistic, found.p) == pytest.approx(by_all_swaps(table.tolist(), [0, 1, 2]))
    # Then and now may be exchanged.
    back = marginal_test(table.T, np.arange(3))
    assert (back.p, back.shift) == pytest.approx((found.p, -found.shift))


def test_many_pairs_are_swapped_at_random_and_come_near_chi_square() -> None:
    found = marginal_test(VISION, np.arange(4), seed=1)
    limit = float(chi2.sf(found.statistic, found.df))
    # 0.0075; the standard error of 9999 swaps is 0.0009.
    assert found.p_statistic == pytest.approx(limit, abs=0.003)
    assert found == marginal_test(VISION, np.arange(4), seed=1)
    # A test at random is never surer than its number of swaps allows.
    far = np.diag([0, 0, 0, 0])
    far[0, 1:] = 400
    assert marginal_test(far, np.arange(4)).p == pytest.approx(1 / (marginal_homogeneity.SWAPS + 1))


def test_at_random_and_by_all_swaps_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[9, 4, 1, 0], [1, 9, 3, 1], [0, 2, 9, 3], [0, 0, 1, 9]])
    exact = marginal_test(table, np.arange(4)).p
    (many,) = p_values(table[None], np.arange(4), 20_000, 3)
    monkeypatch.setattr(marginal_homogeneity, "EXACT", 1)
    drawn = marginal_test(table, np.arange(4), seed=2).p
    assert 0.01 < exact < 0.2
    assert drawn == pytest.approx(exact, abs=0.012)
    assert many == pytest.approx(exact, abs=0.012)


def test_a_spread_that_leaves_the_mean_is_found_too() -> None:
    # Ten grades of 1 became 0 and ten became 2.
    table = np.array([[5, 0, 0], [10, 5, 10], [0, 0, 5]])
    found = marginal_test(table, np.arange(3))
    assert (found.shift, found.p_shift) == (0, 1)
    # Only with each pair of grades in one direction, 4 of 2²⁰ swaps, is the statistic as large.
    assert found.p < 1e-4
    assert found.df == 2


def test_without_a_change_the_alarms_are_at_most_as_many_as_the_level_says() -> None:
    """Two grades of 60 pairs each, of which a tenth differ by chance, in either order."""
    random = np.random.default_rng(7)
    runs, pairs = 2_000, 60
    tables = np.zeros((runs, 4, 4), dtype=np.int64)
    for run in range(runs):
        latent = random.integers(0, 4, pairs)
        other = np.where(random.random(pairs) < 0.1, random.integers(0, 4, pairs), latent)
        first = random.random(pairs) < 0.5
        np.add.at(tables[run], (np.where(first, latent, other), np.where(first, other, latent)), 1)
    p = np.array([marginal_test(table, np.arange(4)).p for table in tables])
    for level in (0.05, 0.01):
        alarms = int((p <= level).sum())
        # Never surely above the level: the 99.9 % quantile of its binomial distribution is the most.
        assert binomtest(alarms, runs, level, alternative="greater").pvalue > 0.001
    # Nor is it idle: with some five changes small p-values are rare, but there are some.
    assert (p <= 0.05).sum() > 5
