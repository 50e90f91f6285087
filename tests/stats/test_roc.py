"""The area under the ROC curve and its interval, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from quati_pool.stats.bootstrap import interval, multiplicities
from quati_pool.stats.roc import roc_area


def test_by_hand() -> None:
    # Relevant scores 3 and 1, irrelevant ones 2 and 1: of the four pairs 3 > 2, 3 > 1, 1 < 2, 1 = 1: 2.5 of 4.
    found = roc_area(np.array([3, 1, 2, 1]), np.array([True, True, False, False]), np.zeros(4, dtype=np.int64))
    assert found.area == 0.625


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 4)), min_size=2, max_size=60))
def test_equals_scikit_learn_with_ties(rows: list[tuple[int, bool, int]]) -> None:
    scores, relevant, query = (np.array(column) for column in zip(*rows, strict=True))
    found = roc_area(scores, relevant, query, draws=0)
    if relevant.all() or not relevant.any():
        assert found.area is None
    else:
        assert found.area == pytest.approx(roc_auc_score(relevant, scores))
    assert found.interval.low is None


def test_the_interval_is_that_of_resampled_queries() -> None:
    random = np.random.default_rng(1)
    query = np.repeat(np.arange(12), 10)
    relevant = random.random(120) < 0.3
    scores = np.round(random.normal(size=120) + relevant, 1)
    found = roc_area(scores, relevant, query, seed=3, draws=60)
    areas = [
        roc_auc_score(relevant, scores, sample_weight=times[query])
        for block in multiplicities(12, 60, 3)
        for times in block
    ]
    expected = interval(np.array(areas))
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert found.interval.low < found.area < found.interval.high  # type: ignore[operator]


def test_nothing_to_order_has_no_area() -> None:
    nothing = roc_area(np.array([]), np.array([], dtype=bool), np.array([], dtype=np.int64))
    assert nothing == (None, (None, None, 0))
