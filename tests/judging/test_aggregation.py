"""One grade of several, against values by hand and the library statistics."""

from __future__ import annotations

import statistics
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.judging.aggregation import majority, mean, median, mode

GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ([0, 1], 1),  # 0.5, a half goes up
        ([1, 2], 2),  # 1.5, where Python's round would go to 2 too
        ([2, 3], 3),  # 2.5, where Python's round goes down to 2
        ([0, 0, 1], 0),  # 0.33
        ([3], 3),
        ([-1, 0], 0),  # -0.5, a half goes up, not away from zero
    ],
)
def test_the_mean_rounds_a_half_up(grades: list[int], expected: int) -> None:
    assert mean(grades) == expected


@given(GRADES)
def test_the_mean_is_the_decimal_mean_rounded_half_up(grades: list[int]) -> None:
    exact = Decimal(sum(grades)) / Decimal(len(grades))
    assert mean(grades) == int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))


@given(GRADES)
def test_the_median_is_that_of_statistics_rounded_half_up(grades: list[int]) -> None:
    assert median(grades) == int(Decimal(statistics.median(grades)).quantize(Decimal(1), rounding=ROUND_HALF_UP))


@given(GRADES)
def test_the_mode_is_the_lowest_of_the_most_frequent(grades: list[int]) -> None:
    assert mode(grades) == min(statistics.multimode(grades))


@given(GRADES)
def test_a_majority_is_more_than_half(grades: list[int]) -> None:
    found = majority(grades)
    over_half = [grade for grade in set(grades) if grades.count(grade) > len(grades) / 2]
    assert ([] if found is None else [found]) == over_half
