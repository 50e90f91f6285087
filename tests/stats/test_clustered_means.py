"""Means and slopes of clustered units, against scipy and an independent computation of the sandwich."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from quati_pool.stats.clustered_means import clustered_mean, clustered_slopes


def test_the_mean_of_single_units_has_the_t_interval() -> None:
    values = np.array([1.0, 2.0, 4.0, 0.5])
    found = clustered_mean(values, np.arange(4))
    low, high = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
    assert (found.value, found.low, found.high, found.n) == pytest.approx((values.mean(), low, high, 4))


def test_the_mean_of_clusters_of_one_size_has_the_t_interval_of_their_means() -> None:
    values = np.array([1.0, 3.0, 2.0, 2.0, 5.0, 9.0])
    means = np.array([2.0, 2.0, 7.0])
    low, high = stats.t.interval(0.95, 2, loc=means.mean(), scale=stats.sem(means))
    found = clustered_mean(values, np.array([7, 7, 3, 3, 5, 5]))
    assert (found.value, found.low, found.high) == pytest.approx((means.mean(), low, high))


def test_a_single_cluster_has_no_interval() -> None:
    assert clustered_mean(np.array([1.0, 2.0]), np.zeros(2)) == (1.5, None, None, 2)


def test_slopes_are_those_of_least_squares_and_errors_those_of_the_sandwich() -> None:
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(12), [3, 5, 4, 6, 2, 7, 5, 4, 3, 6, 5, 4])
    n = len(clusters)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = 1 + 2 * x[:, 1] + rng.normal(size=12)[clusters] + rng.normal(size=n)
    found = clustered_slopes(y, x, clusters)
    assert found is not None
    line = stats.linregress(x[:, 1], y)
    assert [one.value for one in found] == pytest.approx([line.intercept, line.slope])
    # The same variance, cluster by cluster: (X'X)⁻¹ Σ X'ᵢeᵢe'ᵢXᵢ (X'X)⁻¹ · G/(G−1) · (n−1)/(n−2).
    residuals = y - x @ [line.intercept, line.slope]
    meat = sum(
        np.outer(score, score)
        for cluster in range(12)
        for score in [x[clusters == cluster].T @ residuals[clusters == cluster]]
    )
    inverse = np.linalg.inv(x.T @ x)
    variance = inverse @ meat @ inverse * 12 / 11 * (n - 1) / (n - 2)
    half = stats.t.ppf(0.975, 11) * np.sqrt(np.diag(variance))
    assert [one.high - one.value for one in found if one.high is not None] == pytest.approx(half.tolist())


def test_slopes_that_cannot_be_told_apart_are_none() -> None:
    x = np.column_stack([np.ones(6), np.ones(6)])
    assert clustered_slopes(np.arange(6.0), x, np.arange(6)) is None
    assert clustered_slopes(np.arange(6.0), x[:, :1], np.zeros(6)) is None
    assert clustered_slopes(np.arange(1.0), x[:1, :1], np.zeros(1)) is None
