"""A judge's shift against people, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from quati_pool.audit.overrating import GradeShift, overrating


def test_the_shift_by_grade_stands_against_that_of_symmetric_disagreement() -> None:
    """People 0: the judge gives 0, 0, 1; people 1: 1, 1; people 2: 2, 1, 2."""
    people = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    judge = np.array([0, 0, 1, 1, 1, 2, 1, 2])
    found = overrating(judge, people, np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    assert found.shift.value == 0
    # The symmetric table has 2 on (0, 0), ½ on (0, 1) and (1, 0), 2 on (1, 1), ½ on (1, 2) and (2, 1), 2 on (2, 2).
    assert found.by_grade == (
        GradeShift(0, 3, pytest.approx(1 / 3), pytest.approx(0.5 / 2.5)),
        GradeShift(1, 2, 1.0, pytest.approx((2 + 1) / 3)),
        GradeShift(2, 3, pytest.approx(5 / 3), pytest.approx((0.5 + 4) / 2.5)),
    )
    assert (found.length, found.overlap) == (None, None)


def test_random_disagreement_of_equals_is_implied_and_no_overrating() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 20_000)
    one, other = (np.where(rng.random(20_000) < 0.3, rng.integers(0, 4, 20_000), truth) for _ in range(2))
    found = overrating(one, other, np.arange(20_000) % 50)
    assert found.shift.low is not None
    assert found.shift.high is not None
    assert found.shift.low < 0 < found.shift.high
    for row in found.by_grade:
        assert row.judge == pytest.approx(row.implied, abs=0.03)
    # Read alone, the lowest grade would look overrated, and the highest underrated.
    assert found.by_grade[0].judge > 0.5
    assert found.by_grade[-1].judge < 2.5


def test_a_judge_that_adds_a_grade_to_long_passages_has_a_slope_on_length_alone() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(0, 3, 4000)
    lengths = 2 ** rng.uniform(6, 10, 4000)
    overlaps = rng.random(4000)
    judge = people + (lengths > 256)
    found = overrating(judge, people, np.arange(4000) % 40, lengths, overlaps)
    assert found.length is not None
    assert found.overlap is not None
    assert found.length.low is not None
    assert found.overlap.low is not None
    assert found.overlap.high is not None
    # The step from 0 to 1 in the middle of four doublings: slope 1.5 / 4 at uniform lengths.
    assert found.length.value == pytest.approx(0.375, abs=0.02)
    assert found.length.low > 0.3
    assert found.overlap.low < 0 < found.overlap.high
