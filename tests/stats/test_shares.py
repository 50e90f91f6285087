"""Shares of clustered units: against scipy's Wilson interval, by hand, and how often the interval holds the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t

from quati_pool.stats.shares import Difference, Share, clustered_share, share_difference


def share_of(clusters: list[list[int]], level: float = 0.95) -> Share:
    """The share of units given by cluster, 1 for a hit."""
    hits = np.array([unit for cluster in clusters for unit in cluster], dtype=np.bool_)
    codes = np.array([place for place, cluster in enumerate(clusters) for _ in cluster], dtype=np.int64)
    return clustered_share(hits, codes, level)


def wilson_ends(share: float, n: float, z: float) -> tuple[float, float]:
    """The shares p with (share - p)² = z² p (1 - p) / n, the definition of Wilson's interval: the roots of
    p² (n + z²) - p (2 n share + z²) + n share² = 0."""
    low, high = sorted(np.roots([n + z**2, -(2 * n * share + z**2), n * share**2]).real)
    return float(low), float(high)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (5, 10), (9, 10), (10, 10), (56, 70), (1, 2)])
def test_single_units_get_wilsons_interval_of_fewer_units(hits: int, n: int, level: float) -> None:
    # Units alone in their clusters: the variance between clusters is share (1 - share) / (n - 1), so that the design
    # effect is n / (n - 1) and the effective number n - 1; where all or none are hits it is unknown, and n stays.
    found = share_of([[int(place < hits)] for place in range(n)], level)
    z, quantile = norm.ppf(0.5 + level / 2), t.ppf(0.5 + level / 2, n - 1)
    effective = (n - 1 if 0 < hits < n else n) * (z / quantile) ** 2
    low, high = wilson_ends(hits / n, effective, z)
    assert (found.n, found.hits) == (n, hits)
    assert (found.low, found.high) == pytest.approx((max(low, 0), min(high, 1)), abs=1e-9)


@pytest.mark.parametrize(("hits", "n"), [(300, 3_000), (1_500, 3_000), (1, 3_000)])
def test_many_single_units_get_scipys_interval(hits: int, n: int) -> None:
    # With 3,000 clusters (z / t)² (n - 1) / n is within 0.0012 of 1, and so is each half width within 0.0006 of itself.
    found = share_of([[int(place < hits)] for place in range(n)])
    plain = binomtest(hits, n).proportion_ci(method="wilson")
    share = hits / n
    assert share - found.low == pytest.approx(share - plain.low, rel=1e-3)
    assert found.high - share == pytest.approx(plain.high - share, rel=1e-3)


def test_the_variance_between_clusters_by_hand() -> None:
    clusters = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0], [0, 0]]
    # 5 of 12. Sums of hit - 5/12 by cluster: 7/3, -5/3, 1/6, -5/6; their squares add up to 322/36. Times 4/3 over 12²:
    # the variance is 161/1944. Independent units: 5/12 * 7/12 = 35/144. So (35/144) / (161/1944) = 135/46 = 2.9348.
    sums = [Fraction(7, 3), Fraction(-5, 3), Fraction(1, 6), Fraction(-5, 6)]
    variance = Fraction(4, 3) * sum(one**2 for one in sums) / 144
    effective = Fraction(5, 12) * Fraction(7, 12) / variance
    assert (variance, effective) == (Fraction(161, 1944), Fraction(135, 46))
    # 97.5 % of t with three degrees of freedom is 3.182446, of the normal distribution 1.959964.
    low, high = wilson_ends(5 / 12, 135 / 46 * (1.959964 / 3.182446) ** 2, 1.959964)
    found = share_of(clusters)
    assert (found.n, found.hits, found.share) == (12, 5, 5 / 12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_clusters_that_are_all_alike_do_not_count_for_more_than_their_units() -> None:
    # Each cluster holds one hit of two: no variance between them, and still no more than eight units.
    found = share_of([[1, 0]] * 4)
    z = 1.959964
    low, high = wilson_ends(0.5, 8 * (z / 3.182446) ** 2, z)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_units_that_agree_within_their_clusters_count_as_one() -> None:
    # Twenty copies of a unit are that unit, whether or not all clusters have as many.
    once = share_of([[1], [0], [0], [1], [0], [0]])
    copied = share_of([[unit] * 20 for unit in (1, 0, 0, 1, 0, 0)])
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high), abs=1e-12)
    assert copied.n == 120


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=2, max_size=12))
def test_an_interval_holds_its_share_and_is_that_of_the_opposite_upside_down(clusters: list[list[int]]) -> None:
    found = share_of(clusters)
    assert found.share is not None
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert (found.low == 0) == (found.hits == 0)
    assert (found.high == 1) == (found.hits == found.n)
    opposite = share_of([[1 - unit for unit in cluster] for cluster in clusters])
    assert (1 - opposite.high, 1 - opposite.low) == pytest.approx((found.low, found.high), abs=1e-9)
    wider = share_of(clusters, 0.99)
    assert wider.low <= found.low <= found.high <= wider.high


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=2, max_size=12))
def test_neither_the_order_of_units_nor_the_names_of_clusters_matter(clusters: list[list[int]]) -> None:
    hits = np.array([unit for cluster in clusters for unit in cluster], dtype=np.bool_)
    codes = np.array([place for place, cluster in enumerate(clusters) for _ in cluster])
    order = np.random.default_rng(len(hits)).permutation(len(hits))
    found, other = clustered_share(hits, codes), clustered_share(hits[order], 7 - 3 * codes[order])
    assert (other.low, other.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_a_single_cluster_says_nothing_of_others() -> None:
    assert share_of([[1, 0, 0, 1]]) == Share(4, 2, 0.0, 1.0)
    assert share_of([[0, 0]]) == Share(2, 0, 0.0, 1.0)


def test_without_units_there_is_no_share() -> None:
    found = clustered_share(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64))
    assert found == Share(0, 0, 0.0, 1.0)
    assert found.share is None


def plain(hits: int, n: int) -> Share:
    ends = binomtest(hits, n).proportion_ci(method="wilson")
    return Share(n, hits, float(ends.low), float(ends.high))


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        # Newcombe 1998, p. 876, table II: 56/70 - 48/80, by method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        # The same table: 9/10 - 3/10, 10/10 - 0/10 and 5/56 - 0/29.
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_the_difference_has_newcombes_published_interval(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    found = share_difference(plain(*one), plain(*other))
    assert found is not None
    assert found.value == pytest.approx(one[0] / one[1] - other[0] / other[1])
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    back = share_difference(plain(*other), plain(*one))
    assert back is not None
    assert (-back.high, -back.low) == pytest.approx((low, high), abs=5e-5)


def test_a_share_without_another_is_its_own_difference() -> None:
    assert share_difference(Share(10, 3, 0.1, 0.6), None) == Difference(0.3, 0.1, 0.6)


def test_a_difference_needs_units_of_both() -> None:
    nothing = Share(0, 0, 0.0, 1.0)
    assert share_difference(nothing, None) is None
    assert share_difference(nothing, plain(3, 10)) is None
    assert share_difference(plain(3, 10), nothing) is None


def test_a_difference_of_shares_of_which_nothing_is_known_stays_between_minus_1_and_1() -> None:
    found = share_difference(Share(4, 4, 0.0, 1.0), Share(4, 0, 0.0, 1.0))
    assert found is not None
    # 1 - hypot(1, 1) is below -1 only beyond what shares can be; 1 + 0 is 1.
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(1 - math.sqrt(2)), 1.0)
    other = share_difference(Share(2, 1, 0.0, 1.0), Share(4, 0, 0.0, 1.0))
    assert other is not None
    assert (other.low, other.high) == (pytest.approx(0.5 - math.hypot(0.5, 1)), 1.0)


SEEDS = 2_000


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
@pytest.mark.parametrize(("queries", "pairs"), [(100, 1), (20, 5)])
def test_a_planted_rate_is_in_95_of_100_intervals(rate: float, queries: int, pairs: int) -> None:
    clusters = np.repeat(np.arange(queries), pairs)
    random = np.random.default_rng([queries, pairs, round(100 * rate)])
    held = 0
    for hits in random.random((SEEDS, queries * pairs)) < rate:
        found = clustered_share(hits, clusters)
        held += found.low <= rate <= found.high
    assert held >= 0.92 * SEEDS
    # Nor is it so wide that it says nothing: a share of 2,000 has a standard error of 0.005 at most.
    assert held <= 0.99 * SEEDS


def test_a_planted_rate_that_differs_by_query_is_in_95_of_100_intervals() -> None:
    # Each query has a rate of its own, from Beta(0.6, 1.4) with the mean 0.3: units of a query agree.
    random = np.random.default_rng(7)
    clusters = np.repeat(np.arange(40), 5)
    rates = random.beta(0.6, 1.4, (SEEDS, 40))
    held = naive = 0
    for hits in random.random((SEEDS, 200)) < np.repeat(rates, 5, axis=1):
        found = clustered_share(hits, clusters)
        held += found.low <= 0.3 <= found.high
        ends = wilson_ends(hits.mean(), 200, 1.959964)
        naive += ends[0] <= 0.3 <= ends[1]
    assert held >= 0.92 * SEEDS
    # What takes the units for independent is too sure of itself.
    assert naive < 0.88 * SEEDS


@pytest.mark.parametrize(("queries", "most"), [(10, 0.07), (25, 0.045)])
def test_few_queries_whose_units_agree_are_rarely_below_a_share_that_they_exceed(queries: int, most: float) -> None:
    """The intra-query correlation is 0.3, the share 0.101, and 100 units are below 0.1 by chance in 2.5 % at best; that
    no unit is a hit must not make it much more."""
    random = np.random.default_rng(11)
    clusters = np.repeat(np.arange(queries), 100 // queries)
    rates = random.beta(0.101 * 7 / 3, 0.899 * 7 / 3, (SEEDS, queries))
    below = sum(
        clustered_share(hits, clusters).high <= 0.1
        for hits in random.random((SEEDS, 100)) < np.repeat(rates, 100 // queries, axis=1)
    )
    assert below <= most * SEEDS


def test_without_a_hit_the_units_of_a_query_are_taken_to_agree_a_little() -> None:
    # 10 queries of 10 units with a correlation of 0.2: a design effect of 1 + 9 · 0.2 = 2.8, so 100 / 2.8 units, scaled
    # by (z / t)² for 9 degrees of freedom.
    effective = 100 / 2.8 * (1.959964 / 2.262157) ** 2
    found = clustered_share(np.zeros(100, dtype=bool), np.arange(100) % 10)
    assert (found.low, found.high) == pytest.approx((0.0, wilson_ends(0.0, effective, 1.959964)[1]), abs=1e-5)
    all_hits = clustered_share(np.ones(100, dtype=bool), np.arange(100) % 10)
    assert (all_hits.low, all_hits.high) == pytest.approx((1 - found.high, 1.0))


def test_units_that_were_measured_repeatedly_count_once() -> None:
    once = clustered_share(np.zeros(30, dtype=bool), np.arange(30))
    thrice = clustered_share(np.zeros(90, dtype=bool), np.arange(90) // 3, units=np.arange(90) // 3)
    assert (thrice.n, once.n, thrice.high) == (90, 30, pytest.approx(once.high))
