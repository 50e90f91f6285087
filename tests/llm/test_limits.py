"""Slots and pace, in virtual time: what is never exceeded, what grows, shrinks, pauses and is given back."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.faults import Stopped
from quati_pool.llm.limits import Limits, Slots
from tests.llm.virtual_time import run


async def starts(limits: Limits, calls: list[tuple[int, float]]) -> list[tuple[float, int]]:
    """When each call (tokens, seconds in flight) started, and its tokens."""
    loop = asyncio.get_running_loop()
    slots = Slots(limits, loop)
    found = []

    async def call(tokens: int, seconds: float) -> None:
        await slots.acquire(tokens)
        assert slots.in_flight <= limits.concurrency
        found.append((loop.time(), tokens))
        await asyncio.sleep(seconds)
        slots.grew()
        slots.release(tokens, tokens)

    await asyncio.gather(*[call(*one) for one in calls])
    assert slots.in_flight == 0
    return found


def most_in_a_minute(times: list[tuple[float, int]]) -> int:
    return max(sum(n for time, n in times if start <= time < start + 60) for start, _ in times)


@given(st.integers(1, 3000), st.lists(st.floats(0, 5), min_size=1, max_size=150))
def test_no_sixty_seconds_hold_more_requests_than_rpm(rpm: int, seconds: list[float]) -> None:
    times = run(starts(Limits(concurrency=100, rpm=rpm), [(1, one) for one in seconds]))
    assert most_in_a_minute(times) <= rpm


@given(st.integers(100, 50_000), st.lists(st.integers(0, 3000), min_size=1, max_size=100))
def test_no_sixty_seconds_hold_more_tokens_than_tpm_and_one_call(tpm: int, tokens: list[int]) -> None:
    times = run(starts(Limits(concurrency=100, tpm=tpm), [(one, 0.5) for one in tokens]))
    assert most_in_a_minute(times) <= tpm + max(tokens)


def test_a_pace_is_reached_and_not_only_kept() -> None:
    # 600 a minute at 61 seconds' pace: call 300 starts 299 × 61/600 s after the first, less one second of catching up.
    times = run(starts(Limits(concurrency=64, rpm=600), [(1, 0.05)] * 300))
    assert times[-1][0] - times[0][0] == pytest.approx(299 * 61 / 600, abs=1.1)


@given(st.integers(1, 80), st.lists(st.floats(0, 3), max_size=200))
def test_no_more_calls_are_in_flight_than_concurrency(concurrency: int, seconds: list[float]) -> None:
    times = run(starts(Limits(concurrency=concurrency), [(0, one) for one in seconds]))
    assert len(times) == len(seconds)


def test_slots_double_each_round_up_to_concurrency() -> None:
    times = [time for time, _ in run(starts(Limits(concurrency=64), [(0, 1.0)] * 200))]
    per_round = [times.count(float(second)) for second in range(5)]
    assert per_round == [8, 16, 32, 64, 64]


def test_a_house_that_is_not_full_does_not_grow() -> None:
    async def one_by_one() -> int:
        slots = Slots(Limits(concurrency=64), asyncio.get_running_loop())
        for _ in range(100):
            await slots.acquire()
            slots.grew()
            slots.release()
        return slots.size

    assert run(one_by_one()) == 8


def test_slots_are_halved_once_a_round_and_then_grow_by_one_a_round() -> None:
    async def limited() -> list[int]:
        slots = Slots(Limits(concurrency=64), asyncio.get_running_loop())
        sizes = []
        rounds = [await slots.acquire() for _ in range(8)]
        for of_round in rounds:
            slots.shrink(of_round, None)
            slots.release()
        sizes.append(slots.size)
        for _ in range(3):
            taken = [await slots.acquire() for _ in range(slots.size)]
            for _ in taken:
                slots.grew()
                slots.release()
                # Each success is that of a full house.
                await slots.acquire()
            for _ in taken:
                slots.release()
            sizes.append(slots.size)
        later = await slots.acquire()
        assert slots.shrink(later, None)
        slots.release()
        sizes.append(slots.size)
        return sizes

    assert run(limited()) == [4, 4, 5, 6, 3]


def test_slots_never_fall_below_one() -> None:
    async def limited() -> int:
        slots = Slots(Limits(concurrency=2), asyncio.get_running_loop())
        for _ in range(5):
            slots.shrink(await slots.acquire(), None)
            slots.release()
        return slots.size

    assert run(limited()) == 1


def test_a_pause_holds_new_starts_until_it_ends() -> None:
    async def paused() -> float:
        loop = asyncio.get_running_loop()
        slots = Slots(Limits(), loop)
        slots.shrink(await slots.acquire(), 7.5)
        slots.release()
        await slots.acquire()
        slots.release()
        return loop.time()

    assert run(paused()) == pytest.approx(7.5)


def test_a_cancelled_wait_takes_no_slot_and_no_tokens() -> None:
    async def cancelled() -> list[float]:
        loop = asyncio.get_running_loop()
        slots = Slots(Limits(concurrency=1, rpm=60, tpm=6000), loop)
        await slots.acquire(10)
        waits = [asyncio.create_task(slots.acquire(3000)) for _ in range(3)]
        await asyncio.sleep(0)
        # Given and cancelled in the same turn of the loop: the slot must come back.
        await asyncio.sleep(40)
        slots.release(10, 10)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        assert slots.in_flight == 0
        before = loop.time()
        await slots.acquire(10)
        slots.release(10, 10)
        return [before, loop.time()]

    before, after = run(cancelled())
    assert after == before


def test_what_was_reserved_is_corrected_by_what_was_used() -> None:
    async def second_start(used: int | None) -> float:
        loop = asyncio.get_running_loop()
        slots = Slots(Limits(tpm=6100), loop)
        await slots.acquire(6100)
        slots.release(6100, used)
        await slots.acquire(1)
        return loop.time()

    assert run(second_start(None)) == pytest.approx(61)
    assert run(second_start(610)) == pytest.approx(6.1)
    assert run(second_start(0)) == 0


def test_retries_come_before_calls_that_wait_for_their_first_attempt() -> None:
    async def order() -> list[str]:
        slots = Slots(Limits(concurrency=1), asyncio.get_running_loop())
        await slots.acquire()
        served: list[str] = []

        async def call(name: str, first: bool) -> None:
            await slots.acquire(first=first)
            served.append(name)
            slots.release()

        calls = [asyncio.create_task(call("new", False)), asyncio.create_task(call("retry", True))]
        await asyncio.sleep(0)
        slots.release()
        await asyncio.gather(*calls)
        return served

    assert run(order()) == ["retry", "new"]


def test_closing_ends_every_wait_and_every_later_one() -> None:
    async def closed() -> list[object]:
        slots = Slots(Limits(concurrency=1, rpm=1), asyncio.get_running_loop())
        await slots.acquire()
        waits = [asyncio.create_task(slots.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        slots.close(Stopped)
        found = await asyncio.gather(*waits, slots.acquire(), return_exceptions=True)
        slots.release()
        return [type(one) for one in found]

    assert run(closed()) == [Stopped] * 4


def test_a_pause_is_kept_for_max_wait_at_most_and_said_with_its_cause() -> None:
    async def paused() -> tuple[float, list[tuple[float, str, bool]]]:
        loop = asyncio.get_running_loop()
        said: list[tuple[float, str, bool]] = []
        slots = Slots(Limits(max_wait=40), loop, lambda *wait: said.append(wait))
        slots.shrink(await slots.acquire(), 3600, "as it asks")
        slots.release()
        await slots.acquire()
        slots.release()
        return loop.time(), said

    assert run(paused()) == (40, [(40, "as it asks", False)])


def test_a_wait_names_the_limit_that_ends_last() -> None:
    async def paced() -> list[tuple[float, str, bool]]:
        said: list[tuple[float, str, bool]] = []
        slots = Slots(Limits(rpm=6, tpm=61), asyncio.get_running_loop(), lambda *wait: said.append(wait))
        for tokens in (1, 30, 1):
            await slots.acquire(tokens)
            slots.release(tokens, tokens)
        return said

    by_requests, by_tokens = run(paced())
    assert by_requests == (pytest.approx(61 / 6), "for rpm: 6", True)
    assert by_tokens == (pytest.approx(30, abs=1), "for tpm: 61", True)
