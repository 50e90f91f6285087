"""Time at a pair is active time, with idle cut."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.activity import Clock


def clock(start: float, idle: float, *times: float) -> tuple[float, float]:
    made = Clock(start, idle)
    for time in times:
        made.mark(time)
    return made.active, made.elapsed


def test_each_gap_counts_at_most_the_idle_time() -> None:
    # Gaps of 10, 120, 500 and 5 seconds.
    assert clock(1000, 120, 1010, 1130, 1630, 1635) == (10 + 120 + 120 + 5, 635)


def test_a_clock_that_was_set_back_takes_no_time_away() -> None:
    assert clock(1000, 120, 1010, 400, 415) == (25, 25)


def test_nothing_happened_yet() -> None:
    assert clock(5, 120) == (0, 0)


@given(st.lists(st.floats(0, 1e6)), st.floats(0.1, 1000))
def test_active_time_is_never_above_elapsed_time_or_idle_a_mark(times: list[float], idle: float) -> None:
    active, elapsed = clock(0, idle, *times)
    assert 0 <= active <= min(elapsed, idle * len(times)) * (1 + 1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_no_time_that_is_none(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Clock(bad, 120)
    with pytest.raises(ValueError, match="idle above 0"):
        Clock(0, 0 if bad == math.inf else bad)
    with pytest.raises(ValueError, match="finite"):
        Clock(0, 1).mark(bad)
