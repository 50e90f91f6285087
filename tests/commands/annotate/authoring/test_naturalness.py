"""How natural two sets of questions are, against figures derived by hand, scipy and the package krippendorff."""

from __future__ import annotations

import random

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.authoring.naturalness import BlockRating, Naturalness, naturalness

# Means of the blocks, ours and other: a1 4.5 and 3, a2 3 and 3.5, b1 5 and 1, c1 4 and 2.
RATINGS = [
    BlockRating("a1", "a", "ana", 5, 3),
    BlockRating("a1", "a", "bia", 4, 3),
    BlockRating("a2", "a", "ana", 4, 4),
    BlockRating("a2", "a", "bia", 2, 3),
    BlockRating("b1", "b", "ana", 5, 1),
    BlockRating("c1", "c", "ana", 3, 1),
    BlockRating("c1", "c", "bia", 5, 3),
    BlockRating("c1", "c", "caio", 4, 2),
]


def test_figures_derived_by_hand() -> None:
    found = naturalness(RATINGS)
    assert (found.blocks, found.clusters, found.raters) == (4, 3, 3)
    assert found.ours.value == pytest.approx((4.5 + 3 + 5 + 4) / 4)
    assert found.other.value == pytest.approx((3 + 3.5 + 1 + 2) / 4)
    # The blocks differ by 1.5, -0.5, 4, 2: on average by 1.75. Residuals summed by cluster: -0.25 - 2.25, 2.25, 0.25.
    # Their squares add up to 11.375; times 3/2, the root is 4.13068; divided by 4 blocks, the standard error is
    # 1.03267, and t with 2 degrees of freedom is 4.30265 at 97.5 %.
    assert found.difference.value == pytest.approx(1.75)
    assert found.difference.low == pytest.approx(1.75 - 4.30265 * 1.03267, abs=1e-4)
    assert found.difference.high == pytest.approx(1.75 + 4.30265 * 1.03267, abs=1e-4)
    # The clusters differ by 0.5, 4, 2. All are positive: of the 8 ways to give them signs, 2 are as extreme.
    assert found.between_clusters == pytest.approx(6.5 / 3)
    assert (found.randomisation.p, found.wilcoxon.p) == pytest.approx((0.25, 0.25))


def test_clusters_are_the_units_of_the_tests_not_blocks() -> None:
    # 10 blocks of one cluster say no more than one: with 2 clusters no p-value can be below 1/2.
    many = [BlockRating(f"a{n}", "a", "ana", 5, 1) for n in range(10)] + [BlockRating("b", "b", "ana", 4, 1)]
    found = naturalness(many)
    assert (found.randomisation.p, found.wilcoxon.p) == (0.5, 0.5)
    assert found.between_clusters == 3.5
    assert found.difference.value == pytest.approx(43 / 11)


def test_alpha_is_ordinal_over_the_questions_that_several_people_rated() -> None:
    found = naturalness(RATINGS)
    nan = np.nan
    # a1 ours, a1 other, a2 ours, a2 other, c1 ours, c1 other; only one person rated b1.
    people = np.array([[5, 3, 4, 4, 3, 1], [4, 3, 2, 3, 5, 3], [nan, nan, nan, nan, 4, 2]])
    expected = krippendorff.alpha(people, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
    assert found.alpha.value == pytest.approx(expected)
    assert found.rated_by_several == 6
    low, high = found.alpha.low, found.alpha.high
    assert low is not None
    assert high is not None
    assert low < expected < high


def test_with_a_block_a_cluster_the_intervals_and_tests_are_those_of_scipy() -> None:
    generator = np.random.default_rng(5)
    rated = generator.integers(1, 6, size=(10, 3, 2))
    rows = [
        BlockRating(f"b{block}", f"c{block}", f"p{person}", *map(int, rated[block, person]))
        for block in range(10)
        for person in range(3)
    ]
    found = naturalness(rows)
    ours, other = rated.mean(axis=1).T
    for estimate, values in ((found.ours, ours), (found.other, other), (found.difference, ours - other)):
        interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((values.mean(), *interval))
    differences = np.round(ours - other, 12)
    permuted = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert found.randomisation.p == pytest.approx(permuted.pvalue)
    assert found.wilcoxon.p == pytest.approx(stats.wilcoxon(differences[differences != 0]).pvalue)


def test_nothing_rated_and_a_single_cluster_are_undefined_with_the_reason() -> None:
    nothing = naturalness([])
    assert (nothing.blocks, nothing.between_clusters) == (0, None)
    for estimate in (nothing.ours, nothing.other, nothing.difference, nothing.alpha):
        assert estimate == Estimate(None, None, None, "nothing is rated yet")
    assert nothing.randomisation == nothing.wilcoxon == (None, "nothing is rated yet")

    one = naturalness(RATINGS[:4])
    assert one.difference == Estimate(0.5, None, None, "the questions are of one cluster")
    assert one.randomisation == one.wilcoxon == (None, "the questions are of one cluster")
    assert one.alpha.value is not None
    assert (one.alpha.low, one.alpha.high, one.alpha.why) == (None, None, "the questions are of one cluster")


def test_one_person_a_block_and_equal_ratings_leave_alpha_undefined() -> None:
    alone = naturalness([row for row in RATINGS if row.rater == "ana"])
    assert alone.alpha == Estimate(None, None, None, "no two people rated the same questions")
    assert alone.rated_by_several == 0
    assert alone.difference.low is not None
    equal = naturalness([BlockRating(block, block, rater, 4, 4) for block in "xyz" for rater in ("ana", "bia")])
    assert equal.alpha == Estimate(None, None, None, "all questions that two people rated got the same rating")
    assert equal.wilcoxon == (None, "no cluster differs")
    assert equal.randomisation.p == 1
    assert equal.difference == Estimate(0, 0, 0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (BlockRating("z", "z", "ana", 0, 3), "block z: 0 is no rating; expected 1 to 5"),
        (BlockRating("z", "z", "ana", 3, 6), "block z: 6 is no rating; expected 1 to 5"),
        (BlockRating("a1", "a", "ana", 1, 1), "block a1: ana rated it twice; expected once"),
        (BlockRating("a1", "b", "caio", 1, 1), "block a1 is of several clusters; expected one"),
    ],
)
def test_impossible_ratings_are_refused(row: BlockRating, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        naturalness([*RATINGS, row])


_RATE = st.integers(1, 5)
_MANY = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from("pqrs"), _RATE, _RATE),
    min_size=1,
    max_size=20,
    unique_by=lambda row: row[:2],
)


@settings(max_examples=50, deadline=None)
@given(_MANY, st.randoms(use_true_random=False))
def test_neither_order_nor_names_matter_and_the_other_way_round_only_the_sign_changes(
    rows: list[tuple[int, str, int, int]], shuffle: random.Random
) -> None:
    ratings = [BlockRating(f"b{block}", f"c{block % 3}", person, ours, other) for block, person, ours, other in rows]
    found = naturalness(ratings)
    shuffled = list(ratings)
    shuffle.shuffle(shuffled)
    assert naturalness(shuffled) == found
    # New names of the same order: the bootstrap draws clusters by their order.
    renamed = [one._replace(block=f"x{one.block}", cluster=f"y{one.cluster}", rater=f"z{one.rater}") for one in ratings]
    assert naturalness(renamed) == found
    turned = naturalness([one._replace(ours=one.other, other=one.ours) for one in ratings])
    _opposite(found, turned)


def _opposite(found: Naturalness, turned: Naturalness) -> None:
    assert (turned.ours, turned.other) == (found.other, found.ours)
    assert turned.between_clusters == pytest.approx(-float(found.between_clusters or 0))
    assert turned.difference.value == pytest.approx(-float(found.difference.value or 0))
    for low, high in ((turned.difference.low, found.difference.high), (turned.difference.high, found.difference.low)):
        assert low == (None if high is None else pytest.approx(-high))
    assert turned.randomisation == found.randomisation
    assert turned.wilcoxon.p == (None if found.wilcoxon.p is None else pytest.approx(found.wilcoxon.p))
    assert turned.alpha.value == (None if found.alpha.value is None else pytest.approx(found.alpha.value))
