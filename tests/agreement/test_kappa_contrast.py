"""Whether a labeler agrees more with one other than with another."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.kappa_contrast import kappa_contrast
from quati_pool.stats.bootstrap import Interval
from tests.agreement.test_alike import ratings


def test_the_difference_is_paired_and_its_interval_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(4)
    people = rng.integers(0, 4, 600)
    good, poor = (np.where(rng.random(600) < share, rng.integers(0, 4, 600), people) for share in (0.2, 0.45))
    grades = np.stack([good, poor, people])
    grades[0, :50], grades[1, 40:90], grades[2, 80:120] = -1, -1, -1
    found = kappa_contrast(ratings(grades, 30), "nist", "judge", "other", draws=2000)
    kept = (grades >= 0).all(axis=0)
    good, poor, people, query = grades[0][kept], grades[1][kept], grades[2][kept], (np.arange(600) % 30)[kept]
    assert (found.n, found.queries) == (480, 30)
    assert found.kappa.one == pytest.approx(cohen_kappa_score(good, people))
    assert found.kappa.other == pytest.approx(cohen_kappa_score(poor, people))
    by_query = [np.flatnonzero(query == number) for number in range(30)]
    drawn = []
    for _ in range(400):
        rows = np.concatenate([by_query[number] for number in rng.integers(0, 30, 30)])
        one, other = (cohen_kappa_score(judge[rows], people[rows]) for judge in (good, poor))
        drawn.append(one - other)
    # Other draws: the ends of 400 have a standard error of about 0.003.
    assert found.kappa.interval[:2] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.012)
    assert found.kappa.interval.low is not None
    assert found.kappa.interval.low > 0


def test_turned_around_the_difference_has_the_other_sign() -> None:
    grades = np.random.default_rng(5).integers(0, 4, (3, 200))
    one, other = (
        kappa_contrast(ratings(grades, 20), "nist", *pair).kappa for pair in (("judge", "other"), ("other", "judge"))
    )
    assert one.difference == pytest.approx(-(other.difference or 0))
    assert one.interval.low == pytest.approx(-(other.interval.high or 0))


def test_one_query_has_no_interval() -> None:
    grades = np.random.default_rng(6).integers(0, 4, (3, 50))
    found = kappa_contrast(ratings(grades, 1), "nist", "judge", "other")
    assert found.kappa.difference is not None
    assert found.kappa.interval == Interval(None, None)
