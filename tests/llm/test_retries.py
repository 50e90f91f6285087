"""Which attempts follow a failed one, when, and when no more do; in virtual time."""

from __future__ import annotations

import asyncio
import itertools

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.faults import Fault
from quati_pool.llm.retries import Retry, retry_after_first
from tests.llm.virtual_time import run


def passing(after: float | None = None) -> Fault:
    return Fault("busy", "server", 503, passing=True, after=after)


async def tried(retry: Retry, faults: list[Fault]) -> tuple[list[float], object]:
    """The times of all attempts, and the last fault or "well"; each attempt ends in the next of ``faults``."""
    loop = asyncio.get_running_loop()
    times = [loop.time()]
    left = iter(faults[1:])

    async def attempt(_: int) -> str:
        times.append(loop.time())
        fault = next(left, None)
        if fault is not None:
            raise fault
        return "well"

    try:
        return times, await retry_after_first(retry, faults[0], 0.0, loop.time, asyncio.sleep, attempt, lambda *_: None)
    except Fault as fault:
        return times, fault


def test_a_fault_that_passes_is_tried_again_until_it_is_well() -> None:
    times, end = run(tried(Retry(), [passing(), passing()]))
    assert (len(times), end) == (3, "well")


def test_a_fault_that_cannot_pass_ends_the_call() -> None:
    last = Fault("too long", "rejected", 400)
    times, end = run(tried(Retry(), [passing(), last, passing()]))
    assert len(times) == 2
    assert end is last


@given(st.integers(1, 12), st.floats(0.1, 100), st.lists(st.none() | st.floats(0, 60), min_size=40, max_size=40))
def test_attempts_are_bounded_in_number_and_time_and_wait_as_asked(
    attempts: int, seconds: float, after: list[float | None]
) -> None:
    retry = Retry(attempts=attempts, seconds=seconds)
    times, end = run(tried(retry, [passing(one) for one in after]))
    assert isinstance(end, Fault)
    assert len(times) <= attempts
    assert times[-1] <= seconds
    for place, (before, then) in enumerate(itertools.pairwise(times)):
        asked = after[place]
        assert then - before >= (asked or 0) - 1e-6
        assert then - before <= (0 if asked is None else asked) + 30 + 1e-6


def test_waits_are_drawn_from_a_range_that_doubles_up_to_the_longest() -> None:
    retry = Retry(first=1, longest=8)
    for attempt, widest in enumerate([1, 2, 4, 8, 8], start=1):
        waits = [retry.wait(attempt, passing()) for _ in range(400)]
        assert 0 <= min(waits) < widest * 0.1
        assert widest * 0.9 < max(waits) <= widest


def test_a_wait_beyond_the_bound_is_not_begun_and_says_so() -> None:
    times, end = run(tried(Retry(seconds=300), [passing(after=900)]))
    assert times == [0.0]
    assert isinstance(end, Fault)
    assert end.words == "busy (asks to wait 900 s, beyond the 300 s of a call)"
