"""Whether a judge agrees with another judge more than with people."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.alike import alike
from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Ids

NAMES = ("judge", "other", "nist")


def ratings(grades: np.ndarray, queries: int) -> Ratings:
    """Labelers' grades, shape (3, pairs); the pairs are spread over the queries."""
    pairs = grades.shape[1]
    return Ratings(
        labelers=NAMES,
        people=frozenset({"nist"}),
        scale=(0, 1, 2, 3),
        queries=Ids([f"q{number}" for number in range(queries)]),
        docs=Ids([f"d{number}" for number in range(pairs)]),
        query=np.arange(pairs) % queries,
        doc=np.arange(pairs),
        grade=grades.astype(np.int16),
    )


def test_both_kappas_are_over_the_pairs_that_all_three_graded() -> None:
    rng = np.random.default_rng(4)
    people = rng.integers(0, 4, 600)
    shared = np.where(rng.random(600) < 0.5, rng.integers(0, 4, 600), people)
    judge, other = (np.where(rng.random(600) < 0.1, rng.integers(0, 4, 600), shared) for _ in range(2))
    grades = np.stack([judge, other, people])
    grades[0, :50], grades[1, 40:90], grades[2, 80:120] = -1, -1, -1
    found = alike(ratings(grades, 30), "judge", "other", "nist", draws=500)
    kept = (grades >= 0).all(axis=0)
    assert found.n == kept.sum() == 480
    assert found.with_other == pytest.approx(cohen_kappa_score(judge[kept], other[kept]))
    assert found.with_people == pytest.approx(cohen_kappa_score(judge[kept], people[kept]))
    assert found.with_other is not None
    assert found.excess == pytest.approx(found.with_other - (found.with_people or 0))
    assert found.interval.low is not None
    assert found.interval.high is not None
    # Both judges share their errors: their excess is beyond chance.
    assert 0 < found.interval.low < (found.excess or 0) < found.interval.high


def test_nothing_is_said_of_judges_without_a_common_pair_or_with_one_grade() -> None:
    grades = np.array([[0, 1, -1], [-1, -1, 2], [0, 1, 2]])
    found = alike(ratings(grades, 2), "judge", "other", "nist", draws=50)
    assert (found.n, found.with_other, found.excess, found.interval.low) == (0, None, None, None)
    constant = alike(ratings(np.zeros((3, 4)), 2), "judge", "other", "nist", draws=50)
    assert (constant.n, constant.with_other, constant.with_people, constant.excess) == (4, None, None, None)
