"""Hybrid grades: by hand, against loops, and on TREC DL 2021 against the ranking by all of people's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

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
    # One query. Of 100 pairs that the judge grades 3, people grade 40 as 3, 30 as 2 and 30 as 0, and 20 more count as
    # 3: shares (70 + 20)/120 = 3/4 for ≥ 1 and ≥ 2, (40 + 20)/120 = 1/2 for ≥ 3. All 100 that it grades 0 they grade 0.
    # The effect of the query, for ≥ 1: the weight is w = 3/16, the residuals sum to 70 − 75 = −5, their squares to
    # 70/16 + 30·9/16 = 21.25. Explained: (−5w)²/(100w²) = 1/4; within: (21.25 − 1/4)/199; between · 100w² = 1/4 less
    # within; so the effect times w is −5/100 · (1/4 − within)/(1/4). For ≥ 3: w = 1/4, −10, 25, 1, within 24/199.
    judge = np.repeat([3, 0, 3, 0], [100, 100, 1, 1])
    people = np.r_[np.repeat([3, 2, 0], [40, 30, 30]), np.zeros(100, dtype=int), NO_GRADE, NO_GRADE]
    found = hybrid_grades(frame_of(np.zeros(202, dtype=int), judge), people, SCALE)
    reached = 3 / 4 - 1 / 20 * (1 / 4 - 21 / 199) / (1 / 4)
    highest = 1 / 2 - 1 / 10 * (1 - 24 / 199)
    np.testing.assert_allclose(found.reached[200], [reached, reached, highest], atol=1e-12)
    np.testing.assert_allclose(found.reached[201], 0, atol=1e-12)
    assert found.expected[200] == pytest.approx(2 * reached + highest)
    # 0.28 for 0, nothing for 1, 0.31 for 2, 0.41 for 3.
    assert found.likeliest[200:].tolist() == [3, 0]


def test_shares_and_effects_of_several_queries_against_loops() -> None:
    one = collection(3, queries=6, pairs=80, systems=1, depth=1)
    people, judge, query = some_people(one, 4, 0.4), one.frame.judge, one.frame.query
    found = hybrid_grades(one.frame, people, SCALE)
    labelled = [pair for pair in range(len(people)) if people[pair] != NO_GRADE and judge[pair] != NO_GRADE]
    for column, grade in enumerate(SCALE[1:]):
        share = {}
        for by_judge in SCALE:
            theirs = [pair for pair in labelled if judge[pair] == by_judge]
            share[by_judge] = (sum(people[p] >= grade for p in theirs) + 20 * (by_judge >= grade)) / (len(theirs) + 20)
        weight = {by_judge: p * (1 - p) for by_judge, p in share.items()}
        total, information, squares = dict.fromkeys(range(6), 0.0), dict.fromkeys(range(6), 0.0), 0.0
        for pair in labelled:
            residual = (people[pair] >= grade) - share[judge[pair]]
            total[query[pair]] += residual * weight[judge[pair]]
            information[query[pair]] += weight[judge[pair]] ** 2
            squares += residual**2
        seen = len({query[pair] for pair in labelled})
        explained = sum(total[q] ** 2 / information[q] for q in range(6) if information[q])
        within = (squares - explained) / (len(labelled) - seen)
        between = max((explained - within * seen) / sum(information.values()), 0)
        for pair in range(len(people)):
            if people[pair] == NO_GRADE and judge[pair] != NO_GRADE:
                effect = between * total[query[pair]] / (within + between * information[query[pair]])
                expected = share[judge[pair]] + effect * weight[judge[pair]]
                before = found.reached[pair, column - 1] if column else 1.0
                assert found.reached[pair, column] == pytest.approx(min(max(expected, 0), before), abs=1e-12)


def test_a_grade_that_people_never_saw_is_believed() -> None:
    judge = np.repeat([3, 1, 0], [200, 5, 5])
    people = np.r_[np.tile([3, 0], 100), np.full(10, NO_GRADE)]
    found = hybrid_grades(frame_of(np.zeros(210, dtype=int), judge), people, SCALE)
    np.testing.assert_allclose(found.expected[200:205], 1, atol=1e-12)
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
    judged. The judge alone: .938."""
    data = dl_2021()
    share = 0.2 * 13_483 / 7_955
    for keys, calibrated_only in ((-data.frame.judge, 0.005), (best_ranks(data), 0.02)):
        hybrid, uncalibrated, labels = np.mean([taus(data, keys, share, seed) for seed in range(4)], axis=0)
        assert labels == pytest.approx(2_697, abs=15)
        assert hybrid > 0.96
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
