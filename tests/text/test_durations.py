"""Durations and rates in the units that people read; expected values are by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.durations import duration, rate, time_left

MINUTE, HOUR, DAY = 60, 3600, 86400
_SIZES = {"s": 1, "min": MINUTE, "h": HOUR, "d": DAY}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "under 0.1 s"), (0.049, "under 0.1 s"), (0.05, "0.1 s"), (1.234, "1.2 s"), (9.94, "9.9 s"), (9.96, "10 s"),
        (59.4, "59 s"), (59.6, "1 min"), (200, "3 min 20 s"), (HOUR - 0.6, "59 min 59 s"), (HOUR - 0.4, "1 h"),
        (HOUR + 5 * MINUTE + 10, "1 h 5 min"), (DAY - 20, "1 d"), (2 * DAY + 3 * HOUR, "2 d 3 h"),
    ],
)  # fmt: skip
def test_a_duration_has_at_most_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"), (40.4, "40 s"), (59.6, "1 min"), (89, "1 min"), (36 * MINUTE + 20, "36 min"),
        (59.6 * MINUTE, "1 h"), (65 * MINUTE, "1 h 5 min"), (51 * HOUR, "2 d 3 h"),
    ],
)  # fmt: skip
def test_an_estimate_has_no_digits_that_it_does_not_have(seconds: float, words: str) -> None:
    assert time_left(seconds) == words


@pytest.mark.parametrize(
    ("per_second", "words"),
    [
        (1234.5, "1,234/s"), (410, "410/s"), (9.96, "10/s"), (3.14, "3.1/s"), (1, "1.0/s"), (0.2, "12/min"),
        (1 / 60, "1/min"), (1 / 200, "3 min 20 s each"),
    ],
)  # fmt: skip
def test_a_rate_is_in_the_unit_in_which_it_is_at_least_one(per_second: float, words: str) -> None:
    assert rate(per_second) == words


@given(st.floats(0.05, 1000 * DAY))
def test_a_duration_is_within_half_of_its_last_unit(seconds: float) -> None:
    words = duration(seconds).split()
    read = sum(float(number) * _SIZES[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    last = 0.1 if "." in words[0] else _SIZES[words[-1]]
    # "3 min" may stand for 3 min 0 s, so that the last unit that is shown may be larger than the one rounded to.
    assert abs(read - seconds) <= last / 2 + 1e-6
