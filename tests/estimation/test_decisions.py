"""Decisions about differences, against scipy's tests, the studentized range, and the power that is promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from quati_pool.estimation.decisions import (
    POWER,
    needed,
    p_values,
    simultaneous_quantile,
    tie_p_values,
    verdicts,
)
from quati_pool.estimation.estimated import Estimated
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.stats.sample_sizes import FEWEST_QUERIES

DELTA = 0.02


def means(values: np.ndarray, *, normal: bool = False) -> Estimated:
    """Means of ``values``, shape (n, columns), of a sample from an infinite population."""
    n = len(values)
    rows = (values - values.mean(axis=0)) / np.sqrt(n * (n - 1))
    return Estimated(
        values.mean(axis=0), rows, rows, None if normal else n - 1.0, values.var(axis=0, ddof=1), 0 if normal else n
    )


def with_p(p: list[float]) -> Estimated:
    """Differences above 0 with these two-sided p-values and the standard error 1."""
    return Estimated(stats.norm.isf(np.array(p) / 2), np.eye(len(p)), np.eye(len(p)), None, np.zeros(len(p)))


def some_values(seed: int = 1, queries: int = 14) -> np.ndarray:
    return np.random.default_rng(seed).normal([0, 0.003, 0.03, -0.2], [0.02, 0.02, 0.05, 0.1], (queries, 4))


def test_p_is_that_of_the_t_test() -> None:
    values = some_values()
    np.testing.assert_allclose(p_values(means(values)), stats.ttest_1samp(values, 0).pvalue)
    z = np.abs(values.mean(axis=0)) / stats.sem(values, axis=0)
    np.testing.assert_allclose(p_values(means(values, normal=True)), 2 * stats.norm.sf(z))


def test_a_tie_is_two_one_sided_tests() -> None:
    values = some_values()
    above = stats.ttest_1samp(values, -DELTA, alternative="greater").pvalue
    below = stats.ttest_1samp(values, DELTA, alternative="less").pvalue
    found = tie_p_values(means(values), DELTA)
    np.testing.assert_allclose(found, np.maximum(above, below))
    by_statsmodels = [ttost_paired(column, np.zeros(len(column)), -DELTA, DELTA)[0] for column in values.T]
    np.testing.assert_allclose(found, by_statsmodels)


def test_differences_without_an_error_have_no_p() -> None:
    found = means(np.column_stack([np.zeros(14), some_values()[:, 2]]))
    assert np.isnan(p_values(found)).tolist() == [True, False]
    assert np.isnan(tie_p_values(found, DELTA)).tolist() == [True, False]
    assert verdicts(found, np.array([10, 10]), 0.05, DELTA)[0] == "inconclusive"


# Verdicts.


@pytest.mark.slow
@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12), st.data())
def test_better_and_worse_are_what_holm_rejects(p: list[float], data: st.DataObject) -> None:
    rejected, adjusted, *_ = multipletests(p, alpha=0.05, method="holm")
    assume(np.abs(adjusted - 0.05).min() > 1e-9)
    found = with_p(p)
    signs = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(p), max_size=len(p))))
    signed = Estimated(found.estimate * signs, found.rows, found.drawing, None, found.spread)
    enough = np.full(len(p), FEWEST_QUERIES)
    # The standard error is 1, and nothing is within ±δ.
    decided = np.where(signs > 0, "better", "worse")
    expected = np.where(rejected, decided, "inconclusive").tolist()
    assert verdicts(signed, enough, 0.05, DELTA).tolist() == expected
    # A difference that few queries show is not tested, and no member of the family.
    few = np.where(np.arange(len(p)) == 0, FEWEST_QUERIES - 1, FEWEST_QUERIES)
    others = verdicts(replace(signed, estimate=signed.estimate[1:], rows=signed.rows[:, 1:]), few[1:], 0.05, DELTA)
    assert verdicts(signed, few, 0.05, DELTA).tolist() == ["inconclusive", *others]


def test_verdicts_by_hand() -> None:
    # Standard errors .001, .001, .001, .02; t = 50, −30, 1 and 1. Of the tests of a tie, the third has
    # (.02 − .001)/.001 = 19 and the fourth (.02 − .02)/.02 = 0.
    error = np.array([0.001, 0.001, 0.001, 0.02])
    found = Estimated(np.array([0.05, -0.03, 0.001, 0.02]), np.diag(error), np.diag(error), None, np.zeros(4))
    support = np.full(4, 20)
    assert verdicts(found, support, 0.05, DELTA).tolist() == ["better", "worse", "tie", "inconclusive"]
    # A difference that is both sure and small is better, not a tie.
    small = Estimated(np.array([0.01]), np.array([[0.001]]), np.array([[0.001]]), None, np.zeros(1))
    assert verdicts(small, np.array([20]), 0.05, DELTA).tolist() == ["better"]
    assert tie_p_values(small, DELTA) < 1e-20


def test_ties_are_adjusted_by_holm_too() -> None:
    # The test of a tie of the first has p = 0.03, which is enough alone, and not beside nine others that are no tie.
    error = 0.01
    distance = stats.norm.isf(0.03) * error
    estimate = np.array([DELTA - distance, *[0.1] * 9])
    found = Estimated(estimate, error * np.eye(10), error * np.eye(10), None, np.zeros(10))
    alone = Estimated(estimate[:1], error * np.eye(1), error * np.eye(1), None, np.zeros(1))
    assert tie_p_values(found, DELTA)[0] == pytest.approx(0.03)
    assert verdicts(alone, np.array([20]), 0.05, DELTA)[0] == "tie"
    assert verdicts(found, np.full(10, 20), 0.05, DELTA)[0] == "inconclusive"


# Simultaneous intervals.


@pytest.mark.parametrize("groups", [3, 6, 12])
def test_all_pairs_of_independent_means_have_tukeys_quantile(groups: int) -> None:
    # Means with equal errors that are known: the largest |z| of their differences is the range divided by √2.
    one = Estimated(np.zeros(groups), 0.3 * np.eye(groups), np.eye(groups), None, np.zeros(groups))
    found = simultaneous_quantile(one.differences(*np.triu_indices(groups, k=1)), 0.05, seed=1)
    assert found == pytest.approx(stats.studentized_range.ppf(0.95, groups, 1e5) / np.sqrt(2), rel=0.02)


def test_resampled_queries_have_the_quantile_of_a_plain_bootstrap() -> None:
    found = means(some_values(queries=15))
    rows, generator, largest = found.drawing, np.random.default_rng(3), []
    for _ in range(4000):
        drawn = rows[generator.integers(0, 15, 15)]
        largest.append(np.abs(drawn.mean(axis=0) / (drawn.std(axis=0, ddof=1) / np.sqrt(15))).max())
    assert simultaneous_quantile(found, 0.05, seed=2) == pytest.approx(np.quantile(largest, 0.95), rel=0.06)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_one_comparison_has_about_the_quantile_of_t(alpha: float) -> None:
    one = means(np.random.default_rng(5).standard_normal((60, 1)))
    assert simultaneous_quantile(one, alpha, seed=2) == pytest.approx(stats.t.ppf(1 - alpha / 2, 59), rel=0.06)
    # The same difference again adds nothing.
    twice = replace(one, rows=np.tile(one.rows, 3), drawing=np.tile(one.drawing, 3), estimate=np.tile(one.estimate, 3))
    assert simultaneous_quantile(twice, alpha, seed=2) == pytest.approx(simultaneous_quantile(one, alpha, seed=2))


def test_all_intervals_hold_at_once_where_few_queries_make_the_difference() -> None:
    held = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        found = means(generator.exponential(size=(15, 12)) ** 1.5 - generator.exponential(size=(15, 12)) ** 1.5)
        widest = (simultaneous_quantile(found, 0.05, seed) or 0) * found.standard_error
        held += bool((np.abs(found.estimate) <= widest).all())
    # 0.95 less two standard errors of 200 draws.
    assert held / 200 > 0.92


def test_all_intervals_hold_at_once_for_queries_like_these() -> None:
    held, too_narrow = 0, 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        values = generator.exponential(size=(15, 40)) - generator.exponential(size=(15, 40))
        found = QuerySample(np.arange(15), np.zeros(18, dtype=np.int64)).alone(values, like_these=True)
        errors = np.abs(found.estimate) / found.standard_error
        held += bool((errors <= (simultaneous_quantile(found, 0.05, seed) or 0)).all())
        # As if the variance of the population's mean, which the same 15 queries give, were known.
        too_narrow += bool((errors <= (simultaneous_quantile(replace(found, parts=1), 0.05, seed) or 0)).all())
    assert held / 200 > 0.92
    assert too_narrow / 200 < 0.9


def test_the_quantile_depends_on_covariances_alone() -> None:
    # Few rows are used as they are, more than columns only by their products.
    values = some_values(queries=60)
    many, few = means(values, normal=True), np.linalg.cholesky(np.cov(values.T) / 60).T
    compact = Estimated(many.estimate, few, few, None, many.spread)
    found = [simultaneous_quantile(one, 0.05, seed=3) for one in (many, compact)]
    assert found[0] == pytest.approx(found[1], rel=0.02)
    independent = stats.norm.isf((1 - 0.95 ** (1 / 4)) / 2)
    assert found[0] == pytest.approx(independent, rel=0.04)
    # The same seed gives the same quantile.
    assert simultaneous_quantile(many, 0.05, seed=3) == found[0]


def test_differences_without_an_error_do_not_count() -> None:
    values = some_values()
    padded = means(np.column_stack([np.zeros(14), values, np.zeros(14)]))
    assert simultaneous_quantile(padded, 0.05, seed=4) == simultaneous_quantile(means(values), 0.05, seed=4)
    assert simultaneous_quantile(means(np.zeros((14, 2))), 0.05, seed=4) is None
    nothing = means(np.zeros((14, 2))).differences(np.array([], dtype=int), np.array([], dtype=int))
    assert simultaneous_quantile(nothing, 0.05, seed=4) is None


# What further labels would decide.


def power(error: float, delta: float, alpha: float) -> float:
    return float(stats.norm.cdf(delta / error - stats.norm.ppf(1 - alpha / 2)))


@given(
    st.floats(0.01, 0.5), st.integers(8, 150), st.integers(9, 200), st.floats(0.005, 0.1), st.integers(1, 2000),
    st.floats(0, 0.02),
)  # fmt: skip
def test_the_number_that_is_needed_has_the_power_and_one_less_has_not(
    spread: float, drawn: int, frame: int, delta: float, comparisons: int, fixed: float
) -> None:
    assume(drawn < frame)
    alpha = 0.05 / comparisons
    variance = spread**2 * (1 / drawn - 1 / frame)
    (more,) = needed(np.array([variance]), np.array([fixed**2]), drawn, frame, 0.05, delta, comparisons)

    def power_at(n: int) -> float:
        return power(float(np.sqrt(max(spread**2 * (1 / n - 1 / frame), 0) + fixed**2 + 1e-300)), delta, alpha)

    if more is None:
        assert power_at(frame) < POWER + 1e-9
        return
    assert 1 <= more <= frame - drawn
    assert power_at(drawn + more) >= POWER - 1e-9
    if more > 1:
        assert power_at(drawn + more - 1) < POWER + 1e-9


@given(st.floats(0.05, 0.5), st.integers(8, 50), st.integers(1, 100))
def test_for_these_queries_it_is_the_formula_with_the_correction_for_a_finite_population(
    spread: float, drawn: int, comparisons: int
) -> None:
    # n₀ = (z_{α'} + z_β)²·s²/d², n' = n₀/(1 + n₀/N).
    frame, delta = 100, 0.05
    z = stats.norm.ppf(1 - 0.05 / comparisons / 2) + stats.norm.ppf(0.8)
    first = (z * spread / delta) ** 2
    wanted = first / (1 + first / frame)
    assume(abs(wanted - round(wanted)) > 1e-6)
    (more,) = needed(
        np.array([spread**2 * (1 / drawn - 1 / frame)]), np.zeros(1), drawn, frame, 0.05, delta, comparisons
    )
    assert more == max(int(np.ceil(wanted)) - drawn, 1)


def test_nothing_more_is_needed_where_there_is_nothing_more() -> None:
    assert needed(np.array([0.0, 0.1]), np.zeros(2), 20, 20, 0.05, DELTA, 1) == [None, None]
    # What further queries do not lessen is too much already.
    assert needed(np.array([0.001]), np.array([1.0]), 20, 50, 0.05, DELTA, 1) == [None]


@given(st.floats(1e-9, 10), st.integers(8, 300), st.integers(1, 300), st.integers(1, 2000))
def test_a_census_finds_every_difference_that_further_labels_can(
    variance: float, drawn: int, left: int, comparisons: int
) -> None:
    # The fixed part is what is left of a subtraction.
    parts = np.array([variance, variance]), np.array([0.0, 1e-16 * variance])
    assert needed(*parts, drawn, drawn + left, 0.05, 0.0, comparisons) == [left, left]
    assert needed(np.array([variance]), np.array([0.1]), drawn, drawn + left, 0.05, 0.0, comparisons) == [None]


def test_within_0_nothing_is_a_tie() -> None:
    found = means(some_values())
    assert "tie" not in verdicts(found, np.full(4, 14), 0.05, 0.0)


# Estimates with their errors.


def test_estimated_quantiles_and_parts_of_the_variance() -> None:
    rows = np.array([[0.3, 0.0], [0.4, 0.1]])
    one = Estimated(np.array([1.0, 2.0]), rows, rows[:1], 7, np.zeros(2))
    np.testing.assert_allclose(one.standard_error, [0.5, 0.1])
    np.testing.assert_allclose(one.drawing_variance, [0.09, 0])
    np.testing.assert_allclose(one.fixed_variance, [0.16, 0.01])
    np.testing.assert_allclose(one.half_width(0.1), stats.t.ppf(0.95, 7) * np.array([0.5, 0.1]))
    normal = Estimated(one.estimate, rows, rows, None, one.spread)
    np.testing.assert_allclose(normal.half_width(0.05), stats.norm.ppf(0.975) * np.array([0.5, 0.1]))
    difference = one.differences(np.array([0]), np.array([1]))
    # 0.3² + 0.3².
    assert difference.standard_error**2 == pytest.approx([0.18])
    assert difference.estimate == pytest.approx([-1])
