"""What is under way, how fast and how long yet: counted by hand, with a clock that the tests set."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.project.progress import Work, WorkUnderWay


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def works(clock: Clock) -> WorkUnderWay:
    return WorkUnderWay(clock)


def test_a_line_says_what_how_far_how_fast_and_how_long_yet(works: WorkUnderWay, clock: Clock) -> None:
    works.progress("e5: encoding", 0, 1_000_000, "passages")
    clock.now = 30
    works.progress("e5: encoding", 12_300, 1_000_000, "passages", "2 retries")
    # 12,300 in 30 s are 410 per second; 987,700 more take 2,409 s, which is 40 min.
    assert works.lines() == ["e5: encoding: 12,300 of 1,000,000 passages (1 %), 410/s, 40 min left, 2 retries"]


def test_what_was_done_before_does_not_count_for_the_speed(works: WorkUnderWay, clock: Clock) -> None:
    works.progress("e5", 900, 1000)
    clock.now = 10
    works.progress("e5", 920, 1000)
    assert works.lines() == ["e5: 920 of 1,000 (92 %), 2.0/s, 40 s left"]


def test_the_speed_is_that_of_the_latter_half(clock: Clock) -> None:
    work = Work("x", 0)
    for second in range(101):
        work.count(second if second <= 50 else 50 + (second - 50) * 3, 1000, "", "", second)
    assert work.per_second(100) == 3
    # Nothing arrives for 100 s: the latter half begins at 100, where the last count was.
    assert work.per_second(200) is None
    # At 150 the latter half begins at 75, with a count of 125, and 200 - 125 units came in the 75 s since.
    assert work.per_second(150) == 1


def test_units_that_arrive_in_bulk_are_averaged_from_one_arrival_on() -> None:
    work = Work("x", 0)
    for minute in range(0, 61, 10):
        work.count(minute * 100, 10_000, "", "", minute * 60)
    # The latter half of 60 minutes begins at minute 30: 3,000 units in 30 minutes.
    assert work.per_second(3600) == pytest.approx(3000 / 1800)


def test_a_work_that_is_where_it_was_is_still_there(works: WorkUnderWay, clock: Clock) -> None:
    works.progress("e5", 5, 10, "pairs")
    clock.now = 60
    assert works.lines() == ["e5: 5 of 10 pairs (50 %), 1 min so far"]
    clock.now = 200
    assert works.lines() == ["e5: still at 5 of 10 pairs (50 %), 3 min 20 s in all"]


def test_without_a_total_the_time_so_far_is_given(works: WorkUnderWay, clock: Clock) -> None:
    works.progress("corpus", 0, 0)
    clock.now = 100
    assert works.lines() == ["corpus: 1 min 40 s so far"]
    works.progress("corpus", 50_000, 0, "passages")
    clock.now = 200
    works.progress("corpus", 150_000, 0, "passages")
    assert works.lines() == ["corpus: 150,000 passages, 1,000/s, 3 min 20 s so far"]


def test_without_anything_reported_the_command_is_still_at_work(works: WorkUnderWay, clock: Clock) -> None:
    clock.now = 61
    assert works.lines() == ["still at work, 1 min 1 s so far"]


def test_the_innermost_stage_speaks_and_what_it_contained_ends_with_it(works: WorkUnderWay, clock: Clock) -> None:
    def labels() -> list[str]:
        return [work.label for work in works.active()]

    with works.stage("run e5"):
        assert labels() == ["run e5"]
        works.progress("e5: searching", 1, 3)
        with works.stage("encoding e5"):
            works.progress("e5: loading", 0, 0)
            assert labels() == ["e5: loading"]
            works.progress("e5: encoding", 1, 2)
            assert labels() == ["e5: encoding"]
            works.progress("e5: encoding", 2, 2)
            # All are encoded, and something is still to be done.
            assert labels() == ["encoding e5"]
        assert labels() == ["e5: searching"]
        with pytest.raises(KeyError), works.stage("index e5"):
            raise KeyError
        assert labels() == ["e5: searching"]
    assert labels() == []


def test_works_at_one_time_are_all_active_and_a_step_without_a_count_ends_them(works: WorkUnderWay) -> None:
    works.progress("one", 1, 2)
    works.progress("other", 1, 2)
    assert [work.label for work in works.active()] == ["one", "other"]
    works.progress("one", 2, 2)
    assert [work.label for work in works.active()] == ["other"]
    works.progress("writing", 0, 0)
    assert [work.label for work in works.active()] == ["writing"]


@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.integers(0, 1000)), min_size=1, max_size=600),
    st.floats(0, 1000),
)
def test_the_speed_never_exceeds_the_fastest_stretch_nor_the_time_left_falls_below_zero(
    steps: list[tuple[float, int]], later: float
) -> None:
    work, now, done = Work("x", 0), 0.0, 0
    work.count(0, 10**9, "", "", now)
    fastest = 0.0
    for seconds, units in steps:
        now, done = now + seconds, done + units
        work.count(done, 10**9, "", "", now)
        fastest = max(fastest, units / seconds)
    speed, left = work.per_second(now + later), work.seconds_left(now + later)
    assert (speed is None) == (left is None)
    if speed is not None and left is not None:
        assert 0 < speed <= fastest * (1 + 1e-9) + 1e-9 or fastest == 0
        assert left == pytest.approx((10**9 - done) / speed)
