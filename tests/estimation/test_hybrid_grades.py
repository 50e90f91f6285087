"""Hybrid grades: by hand, against scikit-learn's ridge, and on TREC DL 2021 against the ranking by all of people's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.linear_model import Ridge

from quati_pool.estimation.hybrid_grades import FEWEST_LABELS, HybridGrades, hybrid_grades
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from tests.estimation.dl_2021 import DL2021, dl_2021
from tests.estimation.small_frames import Collection, collection, collections

SCALE = (0, 1, 2, 3)
NONE = np.array([], dtype=int)


def frame_of(query: np.ndarray, judge: np.ndarray) -> PairFrame:
    return PairFrame(query, int(query.max()) + 1, judge, 1, NONE, NONE, NONE)


def some_people(one: Collection, seed: int, rate: float) -> np.ndarray:
    graded = np.random.default_rng(seed).random(len(one.frame)) < rate
    return np.where(graded, one.relevance, NO_GRADE)


@given(collections, st.integers(0, 1000), st.floats(0, 1), st.booleans())
def test_peoples_grades_win_and_the_rest_are_probabilities(
    one: Collection, seed: int, rate: float, calibrated: bool
) -> None:
    people = some_people(one, seed, rate)
    found = hybrid_grades(one.frame, people, SCALE, calibrated=calibrated)
    given_, judged = people != NO_GRADE, one.frame.judge != NO_GRADE
    np.testing.assert_array_equal(found.by_people, given_)
    np.testing.assert_array_equal(found.expected[given_], people[given_])
    np.testing.assert_array_equal(found.likeliest[given_], people[given_])
    # A pair that neither graded has no grade, not 0.
    neither = ~given_ & ~judged
    assert np.isnan(found.reached[neither]).all()
    assert (found.likeliest[neither] == NO_GRADE).all()
    known = found.reached[~neither]
    assert ((known >= 0) & (known <= 1)).all()
    assert (np.diff(known, axis=1) <= 0).all()
    assert np.isin(found.likeliest[~neither], SCALE).all()
    assert found.labels == (given_ & judged).sum()
    assert found.calibrated == (calibrated and found.labels >= FEWEST_LABELS)


@pytest.mark.parametrize(("labels", "calibrated"), [(FEWEST_LABELS - 1, False), (FEWEST_LABELS, True)])
def test_with_few_labels_the_judges_grades_stay_as_they_are(labels: int, calibrated: bool) -> None:
    # People give 1 where the judge gives 3.
    judge = np.full(200, 3)
    people = np.where(np.arange(200) < labels, 1, NO_GRADE)
    found = hybrid_grades(frame_of(np.zeros(200, dtype=int), judge), people, SCALE)
    assert (found.calibrated, found.labels) == (calibrated, labels)
    assert set(found.likeliest[labels:].tolist()) == ({1} if calibrated else {3})
    # A judge that is not to be calibrated is not, however many labels there are.
    people = np.where(np.arange(200) < 150, 1, NO_GRADE)
    found = hybrid_grades(frame_of(np.zeros(200, dtype=int), judge), people, SCALE, calibrated=False)
    assert not found.calibrated
    assert (found.likeliest[150:] == 3).all()


def test_the_shares_of_peoples_grades_by_hand() -> None:
    # One query. Of 100 pairs that the judge grades 3, people grade 40 as 3, 30 as 2 and 30 as 0; all 100 that it grades
    # 0 they grade 0. Differences to the judge's P(≥ 1, 2, 3): −0.3, −0.3, −0.6 for its 3, 0 for its 0. With a ridge of
    # 0.5 the indicator of a grade with 100 pairs takes 100/100.5 of its distance from the mean difference, −0.15,
    # −0.15, −0.3: for the 3, −0.15·(1 + 100/100.5) = −0.29925 and −0.5985; for the 0, +0.15/201 = 0.00075, 0.0015.
    judge = np.repeat([3, 0, 3, 0], [100, 100, 1, 1])
    people = np.r_[np.repeat([3, 2, 0], [40, 30, 30]), np.zeros(100, dtype=int), NO_GRADE, NO_GRADE]
    found = hybrid_grades(frame_of(np.zeros(202, dtype=int), judge), people, SCALE)
    high, low = -0.15 * (1 + 100 / 100.5), -0.15 * (1 - 100 / 100.5)
    # The residuals sum to 0, so that the only query has no effect. Below 0 and rising probabilities are cut.
    np.testing.assert_allclose(found.reached[200], [1 + high, 1 + high, 1 + 2 * high], atol=1e-12)
    np.testing.assert_allclose(found.reached[201], np.clip([low, low, 2 * low], 0, 1), atol=1e-12)
    assert found.expected[200] == pytest.approx(3 + 4 * high)
    # 0.29925 for 0, nothing for 1, 0.29925 for 2, 0.4015 for 3.
    assert found.likeliest[200:].tolist() == [3, 0]


def test_it_is_ridge_regression_of_what_people_say_less_what_the_judge_says() -> None:
    one = collection(3, queries=1, pairs=400, systems=1, depth=1)
    people = some_people(one, 4, 0.5)
    found = hybrid_grades(one.frame, people, SCALE)
    levels = np.array(SCALE[1:])
    judged = (one.frame.judge[:, None] >= levels).astype(float)
    labelled = people != NO_GRADE
    targets = (people[labelled, None] >= levels) - judged[labelled]
    features = (one.frame.judge[:, None] == np.unique(one.frame.judge)).astype(float)
    ridge = Ridge(alpha=0.5, fit_intercept=False).fit(features[labelled], targets - targets.mean(axis=0))
    expected = judged + targets.mean(axis=0) + ridge.predict(features)
    expected = np.minimum.accumulate(np.clip(expected, 0, 1), axis=1)
    np.testing.assert_allclose(found.reached[~labelled], expected[~labelled], atol=1e-10)


def test_a_grade_that_people_never_saw_is_corrected_as_the_others_are() -> None:
    # People saw only what the judge grades 3, and find half of it irrelevant: −1/2 for every grade that the judge
    # reaches. What the judge grades 1 is believed by half too, and what it grades 0 stays 0.
    judge = np.repeat([3, 1, 0], [200, 5, 5])
    people = np.r_[np.tile([3, 0], 100), np.full(10, NO_GRADE)]
    found = hybrid_grades(frame_of(np.zeros(210, dtype=int), judge), people, SCALE)
    np.testing.assert_allclose(found.expected[200:205], 0.5, atol=1e-12)
    np.testing.assert_allclose(found.expected[205:], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("scale", "reached", "expected", "likeliest"),
    [
        # 0.5 for 0, 0.2 for 1, 0.3 for 3: Σ of 1·0.5 + 2·0.3.
        ((0, 1, 3), [0.5, 0.3], 1.1, 0),
        # Equal shares take the lowest: 0.5 for −1 and 0.5 for 2.
        ((-1, 2), [0.5], 0.5, -1),
        # Equal but for rounding errors: 0.1 + 0.2 is a little above 0.3.
        ((0, 1, 2), [0.7, 0.1 + 0.2 + 0.05], 1.05, 1),
        ((0, 1, 2), [1.0, 1.0], 2.0, 2),
    ],
)
def test_expected_and_likeliest_grades(
    scale: tuple[int, ...], reached: list[float], expected: float, likeliest: int
) -> None:
    found = HybridGrades(scale, np.array([reached]), np.array([False]), calibrated=True, labels=100)
    assert found.expected[0] == pytest.approx(expected)
    assert found.likeliest[0] == likeliest


# ---- TREC DL 2021


def taus(data: DL2021, keys: np.ndarray, share: float, seed: int) -> tuple[float, float, int]:
    """Kendall's τ to the order of the systems by all of people's grades, of the order by a hybrid's expected gains and
    by the same without calibration, and the number of labels. People grade the ``share`` of the top-20 pool of each
    query that is first by ``keys``; ties at random."""
    frame, measure = data.frame, parse_pair_measure("nDCG@10")
    pooled = frame.pair[frame.rank <= 20]
    within = np.isin(np.arange(len(frame)), pooled)
    tie = np.random.default_rng(seed).random(len(frame))
    people = np.full(len(frame), NO_GRADE)
    for query in range(frame.queries):
        pairs = np.flatnonzero((frame.query == query) & within)
        chosen = pairs[np.lexsort((tie[pairs], keys[pairs]))][: round(share * len(pairs))]
        people[chosen] = data.relevance[chosen]
    orders = []
    for calibrated in (True, False):
        reached = hybrid_grades(frame, people, SCALE, calibrated=calibrated).reached * within[:, None]
        gained = frame.by_query(frame.discounts(measure).multiply(reached.sum(axis=1)[:, None]).tocsr()).toarray()
        counts = np.column_stack([np.bincount(frame.query, column) for column in reached.T])
        ideal = sum(measure.ideal(column)[0] for column in counts.T)
        orders.append((gained / ideal[:, None]).mean(axis=0))
    truth = data.people.mean(axis=0)
    hybrid, uncalibrated = (float(kendalltau(order, truth).statistic) for order in orders)
    return hybrid, uncalibrated, int((people != NO_GRADE).sum())


def best_ranks(data: DL2021) -> np.ndarray:
    best = np.full(len(data.frame), 10_000)
    np.minimum.at(best, data.frame.pair, data.frame.rank)
    return best


def test_on_trec_dl_2021_a_fifth_of_the_pool_ranks_systems_nearly_as_all_of_it() -> None:
    """A fifth of the top-20 pool is 2,697 pairs of 13,483, of which 41 % are unjudged, and so 34 % of those that are
    judged. The judge alone: .938. With a calibration that also took the number of systems: .962 to .973."""
    data = dl_2021()
    share = 0.2 * 13_483 / 7_955
    for keys, calibrated_only in ((-data.frame.judge, 0.005), (best_ranks(data), 0.015)):
        hybrid, uncalibrated, labels = np.mean([taus(data, keys, share, seed) for seed in range(4)], axis=0)
        assert labels == pytest.approx(2_697, abs=15)
        assert hybrid > 0.955
        assert hybrid > uncalibrated + calibrated_only


def test_on_trec_dl_2021_a_fifth_of_the_judged_pairs_is_no_worse_than_the_judge_alone() -> None:
    data = dl_2021()
    for keys, least in ((-data.frame.judge, 0.935), (best_ranks(data), 0.95)):
        assert np.mean([taus(data, keys, 0.2, seed)[0] for seed in range(4)]) > least


def test_on_trec_dl_2021_the_minimum_is_where_the_likeliest_grade_is_the_better_one() -> None:
    data, generator = dl_2021(), np.random.default_rng(1)
    frame, better = data.frame, []
    for _ in range(10):
        chosen = generator.permutation(len(frame))[:FEWEST_LABELS]
        people = np.full(len(frame), NO_GRADE)
        people[chosen] = data.relevance[chosen]
        found, rest = hybrid_grades(frame, people, SCALE), people == NO_GRADE
        assert found.calibrated
        right = [np.mean(grades[rest] == data.relevance[rest]) for grades in (found.likeliest, frame.judge)]
        errors = [np.mean((g[rest] - data.relevance[rest]) ** 2) for g in (found.expected, frame.judge)]
        better.append((right[0] - right[1], errors[1] - errors[0]))
    assert np.mean(better, axis=0)[0] > 0
    assert min(error for _, error in better) > 0.1
