"""Resampling: multiplicities, and percentile intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from quati_pool.stats import bootstrap
from quati_pool.stats.bootstrap import Interval, interval, multiplicities, summable


def whole(units: int, draws: int, seed: int) -> np.ndarray:
    return np.concatenate([np.empty((0, units)), *multiplicities(units, draws, seed)])


@pytest.mark.parametrize(("units", "draws"), [(1, 5), (7, 1), (24, 2000), (5000, 900)])
def test_every_draw_takes_as_many_units_as_there_are(units: int, draws: int) -> None:
    times = whole(units, draws, 0)
    assert times.shape == (draws, units)
    assert (times.sum(axis=1) == units).all()
    assert (times >= 0).all()
    assert (times == np.round(times)).all()


@pytest.mark.parametrize("numbers", [1, 50, 77, 10**9])
def test_the_cut_into_blocks_changes_no_draw(monkeypatch: pytest.MonkeyPatch, numbers: int) -> None:
    expected = whole(11, 40, 3)
    monkeypatch.setattr(bootstrap, "_BLOCK", numbers)
    assert np.array_equal(whole(11, 40, 3), expected)


def test_the_seed_decides_the_draws() -> None:
    assert np.array_equal(whole(9, 30, 1), whole(9, 30, 1))
    assert not np.array_equal(whole(9, 30, 1), whole(9, 30, 2))


def test_a_units_multiplicity_is_binomial() -> None:
    # A unit of n is drawn Binomial(n, 1/n) times: mean 1, variance 1 - 1/n; and each unit as often.
    times = whole(10, 20_000, 0)
    assert times.mean(axis=0) == pytest.approx(np.ones(10), abs=0.03)
    assert times.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.04)
    assert np.corrcoef(times[:, 0], times[:, 1])[0, 1] == pytest.approx(-1 / 9, abs=0.03)


def test_blocks_hold_no_more_than_their_share() -> None:
    sizes = [block.size for block in multiplicities(5000, 900, 0)]
    assert sizes == [2_000_000, 2_000_000, 500_000]


def test_nothing_to_draw() -> None:
    assert list(multiplicities(5, 0, 0)) == []
    assert whole(0, 3, 0).shape == (3, 0)


@pytest.mark.parametrize("units", [1, 50, 777])
def test_sums_of_a_resample_are_exact_in_whatever_order(units: int) -> None:
    generator = np.random.default_rng(units)
    # Shares, counts of either sign, and a column whose largest value dwarfs the others.
    values = generator.random((units, 7)) * [1, 1, 1e-9, 1, 1000, 1, 0] - [0, 0.5, 0, 1, 0, 0, 0]
    values[:, 5] **= 40
    kept = summable(values)
    assert np.abs(kept - values).max(axis=0) == pytest.approx(0, abs=2.0**-52 * units * 1000)
    assert (np.abs(kept - values) <= 2.0**-52 * units * np.abs(values).max(axis=0)).all()
    times = whole(units, 60, 1)
    # The oracle adds up without rounding before the end.
    exact = [[math.fsum(count * kept[:, column]) for column in range(7)] for count in times]
    order = generator.permutation(units)
    assert (times @ kept).tolist() == exact
    assert (times[:, order] @ kept[order]).tolist() == exact
    assert np.cumsum(times[:, order, None] * kept[order], axis=1)[:, -1].tolist() == exact


def test_values_without_units_or_without_a_size_stay() -> None:
    assert summable(np.zeros((3, 2))).tolist() == [[0, 0]] * 3
    assert summable(np.empty((0, 2))).shape == (0, 2)
    assert summable(np.array([0.25, -1.0, 3.0])).tolist() == [0.25, -1.0, 3.0]


def test_the_interval_of_a_mean_equals_scipys_bootstrap_within_its_noise() -> None:
    values = np.random.default_rng(4).gamma(2, size=60)
    drawn = whole(60, 20_000, 0) @ values / 60
    found = interval(drawn)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=5).confidence_interval
    assert found[:2] == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert found.undefined == 0


def test_percentiles_by_hand() -> None:
    # 0, 1, …, 40: the 2.5 % point lies 0.025 · 40 = 1 along, the 97.5 % point 39.
    assert interval(np.arange(41.0)) == pytest.approx((1, 39, 0))
    assert interval(np.arange(41.0)[::-1], level=0.5) == pytest.approx((10, 30, 0))


def test_undefined_draws_are_left_out_and_counted() -> None:
    drawn = np.concatenate([np.arange(41.0), np.full(41, math.nan)])
    assert interval(drawn) == pytest.approx((1, 39, 41))


def test_more_than_half_undefined_is_undefined() -> None:
    assert interval(np.array([1.0, 2.0, math.nan, math.nan, math.nan])) == Interval(None, None, 3)
    assert interval(np.full(4, math.nan)) == Interval(None, None, 4)
    assert interval(np.empty(0)) == Interval(None, None, 0)
