"""Means from whole queries drawn at random: exact cases, all samples of small populations, the formulas of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight

ALPHA = 0.05


def population(queries: int, systems: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """People's values and those of a judge who correlates with them, rates higher and varies less."""
    generator = np.random.default_rng(seed)
    people = np.clip(
        0.5
        + 0.2 * generator.standard_normal((queries, 1))
        + 0.08 * generator.standard_normal((1, systems))
        + 0.1 * generator.standard_normal((queries, systems)),
        0,
        1,
    )
    judge = 0.35 + 0.6 * people + 0.08 * generator.standard_normal((queries, systems))
    return people, judge


def sample(drawn: Sequence[int], queries: int) -> QuerySample:
    return QuerySample(np.array(drawn), np.zeros(queries, dtype=int))


def weights(one: QuerySample, people: np.ndarray, judge: np.ndarray, *, shared: bool = True) -> np.ndarray:
    sums = one.judge_weights(people[one.drawn], judge)
    return shared_weight(*sums) if shared else clipped(*sums)


def samples(stratum: np.ndarray, counts: Sequence[int]) -> Iterator[QuerySample]:
    """All samples of ``counts`` queries from the strata."""
    of = [np.flatnonzero(stratum == number) for number in range(len(counts))]
    for chosen in product(*(combinations(queries, n) for queries, n in zip(of, counts, strict=True))):
        yield QuerySample(np.concatenate([np.array(one) for one in chosen]), stratum)


# Exact cases.


@pytest.mark.parametrize("strata", [1, 2])
def test_a_census_gives_peoples_mean_without_error(strata: int) -> None:
    people, judge = population(12, 4, seed=1)
    one = QuerySample(np.random.default_rng(2).permutation(12), np.arange(12) % strata)
    found = one.means(people[one.drawn], judge, weights(one, people, judge), like_these=False)
    np.testing.assert_allclose(found.estimate, people.mean(axis=0), rtol=0, atol=1e-14)
    assert not found.half_width(ALPHA).any()


def test_the_simple_form_misses_peoples_mean_at_the_census() -> None:
    # What the form of Mickey is for: mean(Y_q − λ_{−q}·(f_q − mean_all f)), with λ different for each q.
    people, judge = population(12, 4, seed=1)
    one = sample(range(12), 12)
    simple = (people - weights(one, people, judge) * (judge - judge.mean(axis=0))).mean(axis=0)
    assert np.abs(simple - people.mean(axis=0)).min() > 1e-5


def test_a_census_has_the_error_of_people_alone_for_queries_like_these() -> None:
    people, judge = population(12, 4, seed=1)
    one = sample(range(12), 12)
    found = one.means(people, judge, weights(one, people, judge), like_these=True)
    np.testing.assert_allclose(found.standard_error, stats.sem(people, axis=0))


def test_a_perfect_judge_leaves_no_error() -> None:
    people, _ = population(40, 5, seed=3)
    one = sample(np.random.default_rng(4).permutation(40)[:8].tolist(), 40)
    weight = weights(one, people, people, shared=False)
    found = one.means(people[one.drawn], people, weight, like_these=False)
    np.testing.assert_allclose(weight, 1, atol=1e-12)
    np.testing.assert_allclose(found.estimate, people.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.half_width(ALPHA), 0, atol=1e-12)
    # All N values are known then, and the error that is left is that of N queries from the population; its variance is
    # estimated from the drawn ones.
    like = one.means(people[one.drawn], people, weight, like_these=True)
    np.testing.assert_allclose(like.standard_error, people[one.drawn].std(axis=0, ddof=1) / np.sqrt(40))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 0.7])
def test_a_constant_judge_leaves_the_t_interval_of_people_alone(constant: float) -> None:
    people, _ = population(53, 5, seed=5)
    judge = np.full_like(people, constant)
    one = sample(np.random.default_rng(6).permutation(53)[:15].tolist(), 53)
    drawn = people[one.drawn]
    assert not weights(one, people, judge, shared=False).any()
    assert not weights(one, people, judge).any()
    found = one.means(drawn, judge, weights(one, people, judge), like_these=False)
    for estimated in (found, one.alone(drawn, like_these=False)):
        half = estimated.half_width(ALPHA)
        error = np.sqrt(1 - 15 / 53) * stats.sem(drawn, axis=0)
        low, high = stats.t.interval(0.95, 14, drawn.mean(axis=0), error)
        np.testing.assert_allclose(estimated.estimate - half, low)
        np.testing.assert_allclose(estimated.estimate + half, high)
    like = one.alone(drawn, like_these=True)
    low, high = stats.t.interval(0.95, 14, drawn.mean(axis=0), stats.sem(drawn, axis=0))
    np.testing.assert_allclose(like.estimate - like.half_width(ALPHA), low)
    np.testing.assert_allclose(like.estimate + like.half_width(ALPHA), high)


def test_a_judge_who_differs_in_one_drawn_query_has_no_weight_there() -> None:
    # Without that query the judge is constant, and what remains of sums of squares is a rounding error.
    generator = np.random.default_rng(7)
    people, judge = generator.random((30, 200)), np.zeros((30, 200))
    judge[3] = generator.random(200)
    one = sample(range(10), 30)
    assert not weights(one, people, judge, shared=False)[3].any()


# λ.


def test_each_weight_is_the_regression_on_the_other_drawn_queries() -> None:
    people, judge = population(30, 4, seed=8)
    one = sample([3, 7, 8, 12, 20, 21, 25, 29, 0], 30)
    numerator, denominator = one.judge_weights(people[one.drawn], judge)
    for q in range(9):
        others = np.delete(one.drawn, q)
        tables = [np.cov(people[others, system], judge[others, system]) for system in range(4)]
        slopes = [table[0, 1] / table[1, 1] for table in tables]
        np.testing.assert_allclose(numerator[q] / denominator[q], slopes)
        pooled = sum(table[0, 1] for table in tables) / sum(table[1, 1] for table in tables)
        assert numerator[q].sum() / denominator[q].sum() == pytest.approx(pooled)


def test_strata_share_the_weight_that_lessens_their_common_error() -> None:
    # V(λ) = Σ w_k² (1 − n_k/N_k)/n_k · s_k²(Y − λ f) is least where λ is the ratio of the sums of the covariances and
    # of the variances of f, each with that factor (Cochran, section 7.10). Without q, the covariance of its stratum is
    # that of the others.
    people, judge = population(20, 1, seed=9)
    stratum = np.array([0] * 12 + [1] * 8)
    one = QuerySample(np.array([1, 4, 5, 9, 12, 15, 17]), stratum)
    numerator, denominator = one.judge_weights(people[one.drawn], judge)
    factor = {0: 0.6**2 * (1 - 4 / 12) / 4, 1: 0.4**2 * (1 - 3 / 8) / 3}
    for q in range(7):
        over = under = 0.0
        for number in (0, 1):
            others = [query for query in np.delete(one.drawn, q) if stratum[query] == number]
            table = np.cov(people[others, 0], judge[others, 0])
            over += factor[number] * table[0, 1]
            under += factor[number] * table[1, 1]
        assert numerator[q, 0] / denominator[q, 0] == pytest.approx(over / under)


def test_weights_stay_between_0_and_1() -> None:
    people, judge = population(30, 3, seed=10)
    one = sample(range(10), 30)
    assert not weights(one, people, -judge).any()
    assert (weights(one, people, judge / 10) == 1).all()


# All samples of small populations.


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("queries", "n"), [(9, 5), (8, 3), (7, 6)])
def test_the_mean_is_unbiased_over_all_samples(queries: int, n: int, shared: bool) -> None:
    people, judge = population(queries, 3, seed=11)
    found = [
        one.means(people[one.drawn], judge, weights(one, people, judge, shared=shared), like_these=False).estimate
        for one in samples(np.zeros(queries, dtype=int), [n])
    ]
    np.testing.assert_allclose(np.mean(found, axis=0), people.mean(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_the_mean_is_unbiased_over_all_samples_of_strata(shared: bool) -> None:
    people, judge = population(10, 3, seed=12)
    stratum = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 0])
    found = [
        one.means(people[one.drawn], judge, weights(one, people, judge, shared=shared), like_these=False).estimate
        for one in samples(stratum, [4, 3])
    ]
    assert len(found) == 15 * 4
    np.testing.assert_allclose(np.mean(found, axis=0), people.mean(axis=0), rtol=0, atol=1e-12)


def test_the_plug_in_estimator_is_biased_over_all_samples() -> None:
    people, judge = population(9, 3, seed=11)
    found = []
    for one in samples(np.zeros(9, dtype=int), [5]):
        y, f = people[one.drawn], judge[one.drawn]
        found.append(y.mean(axis=0) - plug_in(y, f) * (f.mean(axis=0) - judge.mean(axis=0)))
    assert np.abs(np.mean(found, axis=0) - people.mean(axis=0)).max() > 1e-4


def plug_in(people: np.ndarray, judge: np.ndarray) -> np.ndarray:
    """λ of each column from all drawn queries."""
    y, f = people - people.mean(axis=0), judge - judge.mean(axis=0)
    return np.clip((y * f).sum(axis=0) / (f * f).sum(axis=0), 0, 1)


@pytest.mark.parametrize("given_weight", [0.0, 0.4, 1.0])
def test_with_a_given_weight_the_variance_is_unbiased_over_all_samples(given_weight: float) -> None:
    people, judge = population(10, 2, seed=13)
    for stratum, counts in ((np.zeros(10, dtype=int), [4]), (np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 0]), [3, 3])):
        found = [
            one.means(people[one.drawn], judge, np.full((len(one.drawn), 1), given_weight), like_these=False)
            for one in samples(stratum, counts)
        ]
        true = np.var([one.estimate for one in found], axis=0)
        np.testing.assert_allclose(np.mean([one.standard_error**2 for one in found], axis=0), true)


def test_with_a_given_weight_the_variance_for_queries_like_these_is_unbiased_over_all_samples() -> None:
    # A population of three kinds of queries with equal shares, five queries drawn from it, three of these graded.
    kinds, judged = np.array([0.2, 0.5, 1.0]), np.array([0.5, 0.4, 0.9])
    estimates, variances = [], []
    for queries in product(range(3), repeat=5):
        people, judge = kinds[list(queries)][:, None], judged[list(queries)][:, None]
        for one in samples(np.zeros(5, dtype=int), [3]):
            found = one.means(people[one.drawn], judge, np.full((3, 1), 0.7), like_these=True)
            estimates.append(found.estimate[0])
            variances.append(found.standard_error[0] ** 2)
    assert np.mean(estimates) == pytest.approx(kinds.mean())
    assert np.mean(variances) == pytest.approx(np.var(estimates))


# Prediction-powered inference.


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.8, 1.0])
def test_with_a_given_weight_it_is_prediction_powered_inference(weight: float) -> None:
    """The mean and interval of PPI++ (Angelopoulos, Duchi, Zrnic, arXiv 2311.01453; λ' = 1: arXiv 2301.09633):

        θ = λ' · mean_undrawn(f) + mean_drawn(Y − λ' f)
        V = λ'² · var_undrawn(f)/(N − n) + var_drawn(Y − λ' f)/n,    moments divided by n,    θ ± z·√V

    With one λ for all queries, Mickey's form is mean_drawn(Y) − λ·(mean_drawn(f) − mean_all(f)), as is the simple form,
    and mean_drawn(f) − mean_all(f) = (N − n)/N · (mean_drawn(f) − mean_undrawn(f)): so λ' = λ·(N − n)/N.

    With r = n/N and λ' = λ(1 − r), and if f has the same variance F among the drawn and the undrawn queries (both
    estimate the population's), V = λ²(1 − r)² F·(1/(N − n) + 1/n) − 2λ(1 − r)·cov(Y, f)/n + var(Y)/n. The first term is
    λ²(1 − r)·F/n, so that V = (1 − r)·var(Y − λ f)/n + var(Y)/N: that for queries like these, but for the divisor
    n − 1 in place of n, and t in place of z.
    """
    size, n = 40, 12
    people, judge = population(size, 3, seed=14)
    one = sample(range(n), size)
    undrawn = judge[n:]
    undrawn = undrawn.mean(axis=0) + (undrawn - undrawn.mean(axis=0)) / undrawn.std(axis=0) * judge[:n].std(axis=0)
    judge = np.concatenate([judge[:n], undrawn])

    powered = weight * (size - n) / size
    estimate = powered * undrawn.mean(axis=0) + (people[:n] - powered * judge[:n]).mean(axis=0)
    variance = powered**2 * undrawn.var(axis=0) / (size - n) + (people[:n] - powered * judge[:n]).var(axis=0) / n
    half = stats.norm.ppf(0.975) * np.sqrt(variance)

    found = one.means(people[:n], judge, np.full((n, 1), weight), like_these=True)
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-12)
    inflation = np.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
    np.testing.assert_allclose(found.half_width(ALPHA), half * inflation, rtol=1e-12)


# What changes nothing.


@given(st.integers(0, 10_000), st.integers(8, 20))
def test_neither_order_nor_an_affine_judge_changes_anything(seed: int, n: int) -> None:
    people, judge = population(25, 4, seed)
    generator = np.random.default_rng(seed)
    stratum = generator.permutation(np.arange(25) % 2)
    drawn = np.concatenate([np.flatnonzero(stratum == number)[: n // 2] for number in (0, 1)])
    one = QuerySample(drawn, stratum)

    def summary(chosen: QuerySample, of_people: np.ndarray, of_judge: np.ndarray, like_these: bool) -> np.ndarray:
        weight = weights(chosen, of_people, of_judge)
        found = chosen.means(of_people[chosen.drawn], of_judge, weight, like_these=like_these)
        return np.array([found.estimate, found.half_width(ALPHA), found.spread, found.drawing_variance])

    for like_these in (False, True):
        expected = summary(one, people, judge, like_these)
        # Drawn queries in another order.
        shuffled = QuerySample(generator.permutation(drawn), stratum)
        np.testing.assert_allclose(summary(shuffled, people, judge, like_these), expected, atol=1e-12)
        # All queries in another order: query q is now at position places[q].
        order = generator.permutation(25)
        places = np.argsort(order)
        moved = QuerySample(places[drawn], stratum[order])
        np.testing.assert_allclose(summary(moved, people[order], judge[order], like_these), expected, atol=1e-12)
        # Strata by other numbers.
        renamed = QuerySample(drawn, 1 - stratum)
        np.testing.assert_allclose(summary(renamed, people, judge, like_these), expected, atol=1e-12)
        # Systems in another order.
        columns = generator.permutation(4)
        found = summary(one, people[:, columns], judge[:, columns], like_these)
        np.testing.assert_allclose(found, expected[:, columns], atol=1e-12)
        # A judge who rates all higher; one with another scale, as long as no λ is clipped.
        np.testing.assert_allclose(summary(one, people, judge + 0.3, like_these), expected, atol=1e-10)
        scales = (1.0, 1.7)
        clips = [bool(np.isin(weights(one, people, scale * judge), (0, 1)).any()) for scale in scales]
        if not any(clips):
            np.testing.assert_allclose(summary(one, people, 1.7 * judge, like_these), expected, atol=1e-10)


def test_one_stratum_numbered_among_several_equals_none() -> None:
    # Two strata with the same values and numbers of queries: the estimate is that of one of them.
    people, judge = population(15, 3, seed=15)
    alone = sample(range(6), 15)
    twice = QuerySample(np.concatenate([np.arange(6), 15 + np.arange(6)]), np.repeat([0, 1], 15))
    both_people, both_judge = np.tile(people, (2, 1)), np.tile(judge, (2, 1))
    weight = np.full((6, 1), 0.6)
    one = alone.means(people[:6], judge, weight, like_these=False)
    two = twice.means(both_people[twice.drawn], both_judge, np.tile(weight, (2, 1)), like_these=False)
    np.testing.assert_allclose(two.estimate, one.estimate)
    # Each of two independent halves has half of the weight.
    np.testing.assert_allclose(two.standard_error**2, one.standard_error**2 / 2)
    assert one.degrees == 5
    assert two.degrees == pytest.approx(10)


def test_the_covariances_are_those_of_differences() -> None:
    people, judge = population(30, 3, seed=16)
    one = sample(range(10), 30)
    weight = weights(one, people, judge)
    for like_these in (False, True):
        means = one.means(people[:10], judge, weight, like_these=like_these)
        found = means.differences(np.array([0, 2]), np.array([1, 1]))
        columns = [0, 2]
        direct = one.means(
            people[:10, columns] - people[:10, [1]], judge[:, columns] - judge[:, [1]], weight, like_these=like_these
        )
        np.testing.assert_allclose(found.estimate, direct.estimate, atol=1e-12)
        np.testing.assert_allclose(found.standard_error, direct.standard_error)
        np.testing.assert_allclose(found.drawing_variance, direct.drawing_variance)


# Strata.


def test_satterthwaites_degrees_of_freedom_by_hand() -> None:
    # Two strata of 6 and 4 queries, 3 drawn of each. People's values 0, 1, 2 (s² = 1) and 0, 2, 4 (s² = 4). With shares
    # 0.6 and 0.4: v₁ = 0.36·(1 − 3/6)/3·1 = 0.06 and v₂ = 0.16·(1 − 3/4)/3·4 = 0.16/3. The mean is 0.6·1 + 0.4·2 = 1.4;
    # ν = (v₁ + v₂)²/(v₁²/2 + v₂²/2).
    stratum = np.array([0] * 6 + [1] * 4)
    one = QuerySample(np.array([0, 1, 2, 6, 7, 8]), stratum)
    people = np.array([[0.0], [1], [2], [0], [2], [4]])
    found = one.alone(people, like_these=False)
    first, second = 0.06, 0.16 / 3
    assert found.estimate == pytest.approx([1.4])
    assert found.standard_error**2 == pytest.approx([first + second])
    assert found.degrees == pytest.approx((first + second) ** 2 / (first**2 / 2 + second**2 / 2))


def test_a_stratum_that_was_drawn_whole_adds_neither_error_nor_degrees() -> None:
    people, judge = population(9, 2, seed=17)
    stratum = np.array([0] * 6 + [1] * 3)
    one = QuerySample(np.array([0, 1, 2, 3, 6, 7, 8]), stratum)
    found = one.means(people[one.drawn], judge, weights(one, people, judge), like_these=False)
    assert found.degrees == pytest.approx(3)
    assert not found.rows[4:].any()
    # Its judge's grades do not matter.
    other = judge.copy()
    other[6:] = 0.5
    again = one.means(people[one.drawn], other, weights(one, people, other), like_these=False)
    np.testing.assert_allclose(again.estimate, found.estimate)
    np.testing.assert_allclose(again.standard_error, found.standard_error)


# Coverage where the truth is known.

QUERIES, SYSTEMS, DRAWS = 200, 12, 10_000


def synthetic(generator: np.random.Generator, queries: int = QUERIES) -> tuple[np.ndarray, np.ndarray]:
    """Values like those of nDCG@10: effects of systems and queries, both together, and a judge with a correlation of
    about 0.7 who rates 0.1 too high."""
    effects = np.linspace(-0.12, 0.12, SYSTEMS)
    logits = (
        0.3
        + 5 * effects
        + 0.9 * generator.standard_normal((queries, 1))
        + 0.6 * generator.standard_normal((queries, SYSTEMS))
    )
    people = 1 / (1 + np.exp(-logits))
    noise = 0.15 * generator.standard_normal((queries, 1)) + 0.12 * generator.standard_normal((queries, SYSTEMS))
    return people, np.clip(people + 0.1 + noise, 0, 1)


@pytest.fixture(scope="module")
def known() -> tuple[np.ndarray, np.ndarray]:
    people, judge = synthetic(np.random.default_rng(18))
    correlations = [np.corrcoef(people[:, system], judge[:, system])[0, 1] for system in range(SYSTEMS)]
    assert np.mean(correlations) == pytest.approx(0.7, abs=0.05)
    assert (judge - people).mean() == pytest.approx(0.1, abs=0.03)
    return people, judge


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 25])
@pytest.mark.parametrize("differences", [False, True])
def test_intervals_cover_the_mean_of_these_queries(
    known: tuple[np.ndarray, np.ndarray], n: int, differences: bool
) -> None:
    people, judge = known
    if differences:
        people, judge = people[:, 1:] - people[:, :1], judge[:, 1:] - judge[:, :1]
    truth, generator = people.mean(axis=0), np.random.default_rng(n)
    covered = np.zeros(people.shape[1])
    halves = alone = 0.0
    plugged = np.zeros(people.shape[1])
    for _ in range(DRAWS):
        one = sample(generator.permutation(QUERIES)[:n].tolist(), QUERIES)
        drawn, judged = people[one.drawn], judge[one.drawn]
        found = one.means(drawn, judge, weights(one, people, judge), like_these=False)
        half = found.half_width(ALPHA)
        covered += np.abs(found.estimate - truth) <= half
        halves += half.mean()
        # λ from the same queries whose residuals it makes small.
        slope = plug_in(drawn, judged)
        residuals = drawn - slope * judged
        factor = found.quantile(0.975) * np.sqrt((1 - n / QUERIES) / n)
        error = slope * judge.mean(axis=0) + residuals.mean(axis=0) - truth
        plugged += np.abs(error) <= factor * residuals.std(axis=0, ddof=1)
        alone += (factor * drawn.std(axis=0, ddof=1)).mean()
    covered, plugged = covered / DRAWS, plugged / DRAWS
    assert 0.93 <= covered.mean() <= 0.965
    assert covered.min() >= 0.92
    assert halves < 0.85 * alone
    # The standard error of a coverage over 10,000 draws is about 0.002, and both are of the same draws.
    assert plugged.mean() < covered.mean() - 0.004


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 25])
def test_intervals_cover_the_mean_of_queries_like_these(n: int) -> None:
    generator = np.random.default_rng(100 + n)
    truth = synthetic(np.random.default_rng(19), 400_000)[0].mean(axis=0)
    covered, narrow = np.zeros(SYSTEMS), np.zeros(SYSTEMS)
    one = sample(range(n), 53)
    for _ in range(DRAWS):
        people, judge = synthetic(generator, 53)
        weight = weights(one, people, judge)
        for like_these, counts in ((True, covered), (False, narrow)):
            found = one.means(people[:n], judge, weight, like_these=like_these)
            counts += np.abs(found.estimate - truth) <= found.half_width(ALPHA)
    assert 0.93 <= covered.mean() / DRAWS <= 0.965
    # The interval for these queries is too narrow for them.
    assert narrow.mean() / DRAWS < 0.92
