"""Variances under the design, against the variance over all samples of small populations."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from quati_pool.stats.design_variance import design_residuals

# Two values of each unit of a population.
VALUES = np.array([[3.0, 1], [0, 2], [5, -1], [2, 2], [8, 0], [1, 7], [4, 4]])


def covariance(totals: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    centred = totals - probabilities @ totals
    return (centred * probabilities[:, None]).T @ centred


def test_the_poisson_variance_is_unbiased_over_all_samples():
    inclusion = np.array([0.2, 0.9, 0.5, 1.0, 0.35, 0.6, 0.75])
    totals, probabilities, estimates = [], [], []
    for drawn in product([False, True], repeat=len(VALUES)):
        s = np.array(drawn)
        u = VALUES[s] / inclusion[s, None]
        z = design_residuals(u, inclusion[s], np.zeros(s.sum(), dtype=int), np.array([len(VALUES)]), poisson=True)
        totals.append(u.sum(axis=0))
        estimates.append(z.T @ z)
        probabilities.append(np.prod(np.where(s, inclusion, 1 - inclusion)))
    chances = np.array(probabilities)
    mean = np.tensordot(chances, np.array(estimates), axes=1)
    np.testing.assert_allclose(chances @ np.array(totals), VALUES.sum(axis=0))
    np.testing.assert_allclose(mean, covariance(np.array(totals), chances))


def test_the_variance_of_fixed_sizes_within_strata_is_unbiased_over_all_samples():
    strata, drawn = [[0, 1, 2, 3], [4, 5, 6]], [2, 2]
    stratum, sizes = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([4, 3])
    totals, estimates = [], []
    for chosen in product(*(combinations(units, n) for units, n in zip(strata, drawn, strict=True))):
        s = np.array([unit for units in chosen for unit in units])
        inclusion = (np.array(drawn) / sizes)[stratum[s]]
        u = VALUES[s] / inclusion[:, None]
        z = design_residuals(u, inclusion, stratum[s], sizes, poisson=False)
        totals.append(u.sum(axis=0))
        estimates.append(z.T @ z)
    chances = np.full(len(totals), 1 / len(totals))
    np.testing.assert_allclose(np.mean(totals, axis=0), VALUES.sum(axis=0))
    np.testing.assert_allclose(np.mean(estimates, axis=0), covariance(np.array(totals), chances))


def test_a_census_has_no_variance():
    stratum = np.array([0, 0, 0, 1, 1, 2, 2])
    sizes, one = np.array([3, 2, 2]), np.ones(7)
    for poisson in (True, False):
        assert not design_residuals(VALUES, one, stratum, sizes, poisson).any()


def test_a_constant_of_fixed_size_has_no_variance_but_one_drawn_by_rate_has():
    # 60 of 240: the total of a constant is known exactly, while the number of pairs drawn by rate varies.
    u, inclusion, stratum, sizes = np.full((60, 1), 4.0), np.full(60, 0.25), np.zeros(60, dtype=int), np.array([240])
    fixed = design_residuals(u, inclusion, stratum, sizes, poisson=False)
    by_rate = design_residuals(u, inclusion, stratum, sizes, poisson=True)
    assert (fixed**2).sum() == 0
    assert (by_rate**2).sum() == pytest.approx(720)


def test_a_stratum_with_one_sampled_unit_has_the_poisson_term():
    u, inclusion = np.array([[6.0], [2], [4]]), np.array([0.25, 0.5, 0.5])
    z = design_residuals(u, inclusion, np.array([0, 1, 1]), np.array([4, 4]), poisson=False)
    assert z[0, 0] ** 2 == pytest.approx(0.75 * 36)
    assert (z[1:, 0] ** 2).sum() == pytest.approx(0.5 * 2 / 1 * 2)


def test_strata_without_a_sampled_unit_and_empty_samples_are_allowed():
    z = design_residuals(np.array([[1.0], [3]]), np.array([0.5, 0.5]), np.array([1, 1]), np.array([0, 4, 9]), False)
    assert (z**2).sum() == pytest.approx(0.5 * 2 / 1 * 2)
    none = np.empty(0, dtype=int)
    assert design_residuals(np.empty((0, 2)), np.empty(0), none, np.array([3]), poisson=False).shape == (0, 2)


@pytest.mark.parametrize("inclusion", [0, -0.1, 1.1, np.nan])
def test_an_impossible_probability_is_refused(inclusion: float):
    with pytest.raises(ValueError, match="inclusion probability"):
        design_residuals(np.ones((1, 1)), np.array([inclusion]), np.array([0]), np.array([1]), poisson=True)


def test_more_sampled_units_than_units_are_refused():
    with pytest.raises(ValueError, match="more sampled units"):
        design_residuals(np.ones((2, 1)), np.full(2, 0.5), np.array([0, 0]), np.array([1]), poisson=False)
