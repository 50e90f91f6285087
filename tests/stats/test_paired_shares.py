"""Differences of shares of the same units, and of figures over the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quati_pool.stats.bootstrap import Interval, contrast
from quati_pool.stats.shares import Share, hit_correlation, paired_difference, share_difference

SEEDS = 2_000


def columns(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    one = np.repeat([True, True, False, False], [both, first, second, neither])
    other = np.repeat([True, False, True, False], [both, first, second, neither])
    return one, other


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), p. 2635, table II, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((36, 14, 0, 0), 0.1528, 0.4167),
    ],
)
def test_the_intervals_of_newcombes_table(table: tuple[int, int, int, int], low: float, high: float) -> None:
    one, other = columns(*table)
    shares = []
    for hits in (one, other):
        ends = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
        shares.append(Share(len(hits), int(hits.sum()), ends.low, ends.high))
    found = share_difference(shares[0], shares[1], hit_correlation(one, other))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_the_correlation_is_phi_with_newcombes_correction_where_it_is_positive() -> None:
    one, other = columns(10, 20, 30, 5)
    assert hit_correlation(one, other) == pytest.approx(stats.pearsonr(one, other).statistic)
    one, other = columns(40, 5, 5, 50)
    # (40 · 50 − 5 · 5 − 100 / 2) / √(45 · 55 · 45 · 55).
    assert hit_correlation(one, other) == pytest.approx((2000 - 25 - 50) / (45 * 55))
    assert hit_correlation(*columns(25, 24, 24, 25)) == 0
    assert hit_correlation(*columns(0, 0, 5, 5)) == 0


def test_hits_of_the_same_units_give_a_narrower_interval() -> None:
    one, other = columns(60, 10, 1, 29)
    same = paired_difference(one, other, np.arange(100))
    apart = paired_difference(one, np.random.default_rng(3).permutation(other), np.arange(100))
    assert same is not None
    assert apart is not None
    assert same.value == apart.value == pytest.approx(0.09)
    assert 0 < same.low < same.high < 0.2
    assert apart.low < 0 < apart.high
    assert paired_difference(one[:0], other[:0], np.arange(0)) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=60))
def test_the_difference_is_within_its_interval_and_changes_sign_with_the_order(
    units: list[tuple[bool, bool, int]],
) -> None:
    one, other, clusters = map(np.array, zip(*units, strict=True))
    found, turned = paired_difference(one, other, clusters), paired_difference(other, one, clusters)
    assert found is not None
    assert turned is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert (turned.value, turned.low, turned.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "shared"), [(0.3, 0.3, 0.8), (0.3, 0.15, 0.8), (0.5, 0.1, 0.0)])
def test_a_planted_difference_is_in_95_of_100_intervals(first: float, second: float, shared: float) -> None:
    """100 texts of 50 queries; with the probability ``shared`` both judges go by the same draw."""
    random = np.random.default_rng(20261127)
    queries = np.arange(100) % 50
    held = 0
    for _ in range(SEEDS):
        mine = random.random(100)
        theirs = np.where(random.random(100) < shared, mine, random.random(100))
        found = paired_difference(mine < first, theirs < second, queries)
        assert found is not None
        held += found.low <= first - second <= found.high
    assert 0.92 * SEEDS <= held <= 0.995 * SEEDS


def test_a_contrast_is_over_the_same_draws() -> None:
    drawn = np.linspace(0, 1, 101)
    found = contrast(0.5, 0.4, drawn, drawn - 0.1)
    assert found[:3] == (0.5, 0.4, pytest.approx(0.1))
    assert found.interval[:2] == pytest.approx((0.1, 0.1))
    # Draws of 0 to 1 against 0.2: 2.5 % and 97.5 % of -0.2 to 0.8; their mean 0.3 is moved to the difference 0.1.
    plain, centred = (contrast(0.5, 0.4, drawn, np.full(101, 0.2), centred=flag).interval for flag in (False, True))
    assert plain[:2] == pytest.approx((-0.175, 0.775))
    assert centred[:2] == pytest.approx((-0.375, 0.575))
    undefined = contrast(math.nan, 0.4, drawn, drawn)
    assert (undefined.one, undefined.other, undefined.difference) == (None, 0.4, None)
    assert undefined.interval == Interval(None, None)
    assert contrast(0.5, 0.4, drawn[:0], drawn[:0], centred=True).interval == Interval(None, None)
