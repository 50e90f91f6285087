"""Predictions of people's grades: never from a pair's own grade, against scikit-learn's ridge, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from quati_pool.estimation.calibration import FOLDS, Calibration
from quati_pool.estimation.pair_estimates import folds
from quati_pool.estimation.pair_frame import PairFrame
from tests.estimation.small_frames import Collection, collection, collections

LEVELS = np.array([1, 2, 3])
CUTOFF = 10


def reached(relevance: np.ndarray) -> np.ndarray:
    return (relevance[:, None] >= LEVELS).astype(float)


def labelled(one: Collection, seed: int, rate: float = 0.4) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(seed).random(len(one.frame)) < rate)


@given(collections, st.integers(0, 1000), st.floats(0, 1))
def test_predictions_are_probabilities_that_fall_with_the_grade(one: Collection, seed: int, rate: float) -> None:
    chosen = labelled(one, seed, rate)
    calibration = Calibration(one.frame, folds(len(one.frame), seed), CUTOFF)
    found = calibration.predict(chosen, reached(one.relevance[chosen]))
    assert found.shape == (len(one.frame), 3)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found, axis=1) <= 0).all()


@given(st.integers(0, 1000), st.booleans())
def test_no_pair_is_predicted_from_its_own_grade(seed: int, use_judge: bool) -> None:
    one = collection(seed)
    chosen = labelled(one, seed)
    fold = folds(len(one.frame), seed)
    calibration = Calibration(one.frame, fold, CUTOFF, use_judge=use_judge)
    before = calibration.predict(chosen, reached(one.relevance[chosen]))
    changed = one.relevance.copy()
    pair = chosen[seed % len(chosen)]
    changed[pair] = 3 - changed[pair]
    after = calibration.predict(chosen, reached(changed[chosen]))
    own = fold == fold[pair]
    np.testing.assert_array_equal(after[own], before[own])
    assert (after[~own] != before[~own]).any()
    # A pair is predicted alike, whether it is labelled or not, as inclusion must not show.
    without = chosen[chosen != pair]
    np.testing.assert_array_equal(calibration.predict(without, reached(one.relevance[without]))[own], before[own])


def test_without_differences_between_queries_it_is_ridge_regression() -> None:
    # What is left has about the mean 0, so that the only query is given no effect.
    one = collection(1, queries=1, pairs=200, systems=5, depth=60)
    chosen, fold = labelled(one, 2), folds(200, 3)
    found = Calibration(one.frame, fold, CUTOFF).predict(chosen, reached(one.relevance[chosen]))
    popularity = np.zeros(200)
    for pair, rank in zip(one.frame.pair.tolist(), one.frame.rank.tolist(), strict=True):
        popularity[pair] += rank <= CUTOFF
    popularity = np.log1p(popularity) - np.log1p(popularity).mean()
    features = np.column_stack([popularity, *(one.frame.judge == grade for grade in np.unique(one.frame.judge))])
    for number in range(FOLDS):
        training = chosen[fold[chosen] != number]
        targets = reached(one.relevance[training])
        ridge = Ridge(alpha=0.5, fit_intercept=False).fit(features[training], targets - targets.mean(axis=0))
        wanted = fold == number
        expected = np.clip(ridge.predict(features[wanted]) + targets.mean(axis=0), 0, 1)
        np.testing.assert_allclose(found[wanted], np.minimum.accumulate(expected, axis=1), atol=1e-10)


def test_query_effects_by_hand() -> None:
    # No judge, and no pair is ranked: there are only the mean and the effects of the queries. Query 0 has 8 labelled
    # pairs, of which 6 reach the grade, query 1 has 8, of which 2 do; all are in fold 1. Mean 1/2, residuals ±1/2.
    # Σ n·(mean residual)² = 8·(1/4)²·2 = 1; within = (16·(1/4) − 1)/(16 − 2) = 3/14;
    # between = (1 − 2·3/14)/16 = 1/28. Shrunk: (1/28)·(±2)/(3/14 + 8/28) = ±(2/28)/(14/28) = ±1/7.
    query = np.repeat([0, 1, 2], [10, 10, 2])
    none = np.array([], dtype=int)
    frame = PairFrame(query, 3, np.zeros(22, dtype=int), 1, none, none, none)
    chosen = np.r_[0:8, 10:18]
    grade = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=float)
    fold = np.zeros(22, dtype=int)
    fold[chosen] = 1
    found = Calibration(frame, fold, CUTOFF, use_judge=False).predict(chosen, grade[:, None])
    np.testing.assert_allclose(found[[8, 9], 0], 1 / 2 + 1 / 7)
    np.testing.assert_allclose(found[[18, 19], 0], 1 / 2 - 1 / 7)
    # A query without labels has no effect.
    np.testing.assert_allclose(found[[20, 21], 0], 1 / 2)
    # Those of fold 1 have no other labelled pair.
    assert not found[chosen].any()


@pytest.mark.parametrize("between", [0.0, 0.02])
def test_the_variance_between_queries_is_recovered(between: float) -> None:
    # Many queries with few labels each: the best linear prediction of a query's effect has a mean squared error of
    # between·within/(within + n·between); taking the mean over all queries has one of ``between``.
    generator = np.random.default_rng(4)
    queries, n = 400, 10
    effect = np.sqrt(between) * generator.choice([-1.0, 1.0], queries)
    query = np.repeat(np.arange(queries), n + 1)
    none = np.array([], dtype=int)
    frame = PairFrame(query, queries, np.zeros(len(query), dtype=int), 1, none, none, none)
    grade = (generator.random(len(query)) < 0.5 + effect[query]).astype(float)
    fold = np.zeros(len(query), dtype=int)
    wanted = np.arange(queries) * (n + 1)
    chosen = np.setdiff1d(np.arange(len(query)), wanted)
    fold[chosen] = 1
    found = Calibration(frame, fold, CUTOFF, use_judge=False).predict(chosen, grade[chosen][:, None])[wanted, 0]
    within = 0.25 - between
    expected = between * within / (within + n * between)
    error = np.mean((found - 0.5 - effect) ** 2)
    assert error == pytest.approx(expected, rel=0.2, abs=0.0005)


def test_a_judge_who_is_right_predicts_and_one_who_is_absent_does_not() -> None:
    one = collection(5, queries=30, pairs=40)
    right = PairFrame(
        one.frame.query, 30, one.relevance, one.frame.systems, one.frame.pair, one.frame.system, one.frame.rank
    )
    chosen, fold = labelled(one, 6), folds(len(one.frame), 7)
    truth = reached(one.relevance)
    with_judge = Calibration(right, fold, CUTOFF).predict(chosen, truth[chosen])
    without = Calibration(right, fold, CUTOFF, use_judge=False).predict(chosen, truth[chosen])
    assert np.abs(with_judge - truth).max() < 0.05
    assert np.mean((without - truth) ** 2) == pytest.approx(truth.var(axis=0).mean(), rel=0.1)


def test_a_biased_judge_is_calibrated() -> None:
    # People reach grade 1 in 2/5 of what the judge grades 3 and in 1/5 of what it grades 1.
    generator = np.random.default_rng(8)
    judge = generator.choice([1, 3], 4000)
    relevance = (generator.random(4000) < np.where(judge == 3, 0.4, 0.2)).astype(int)
    none = np.array([], dtype=int)
    frame = PairFrame(np.arange(4000) % 20, 20, judge, 1, none, none, none)
    chosen = np.arange(0, 4000, 2)
    found = Calibration(frame, folds(4000, 9), CUTOFF).predict(chosen, relevance[chosen][:, None].astype(float))
    for grade, share in ((3, 0.4), (1, 0.2)):
        assert found[judge == grade, 0].mean() == pytest.approx(share, abs=0.04)


def test_the_order_of_labelled_pairs_changes_nothing() -> None:
    one = collection(10)
    chosen = labelled(one, 11)
    shuffled = np.random.default_rng(12).permutation(chosen)
    calibration = Calibration(one.frame, folds(len(one.frame), 13), CUTOFF)
    expected = calibration.predict(chosen, reached(one.relevance[chosen]))
    np.testing.assert_allclose(calibration.predict(shuffled, reached(one.relevance[shuffled])), expected, atol=1e-12)


def test_folds_are_random_and_about_equal() -> None:
    found = folds(10_000, 1)
    assert np.bincount(found, minlength=FOLDS).min() > 1850
    assert len(np.bincount(found)) == FOLDS
    np.testing.assert_array_equal(folds(10_000, 1), found)
    assert (folds(10_000, 2) != found).any()
