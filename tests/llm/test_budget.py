"""What a budget lets begin, and when it says that it is spent."""

from __future__ import annotations

import asyncio

from quati_pool.llm.budget import Budget


def test_without_a_limit_nothing_waits_and_all_is_counted() -> None:
    async def story() -> Budget:
        budget = Budget()
        for _ in range(3):
            assert await budget.reserve(lambda: 1e9) == 1e9
        for cost in (0.5, 0.25, 0.0):
            budget.settle(1e9, cost)
        return budget

    budget = asyncio.run(story())
    assert (budget.spent, budget.exhausted) == (0.75, False)


def test_a_call_that_could_break_the_limit_waits_for_those_in_flight() -> None:
    async def story() -> list[str]:
        budget, seen = Budget(1.0), []
        assert await budget.reserve(lambda: 0.6)

        async def second() -> None:
            assert await budget.reserve(lambda: 0.6)
            seen.append("second")
            budget.settle(0.6, 0.1)

        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        seen.append("first")
        # 0.2 + 0.6 is within 1: the reservation was higher than what the call took.
        budget.settle(0.6, 0.2)
        await waiting
        return seen

    assert asyncio.run(story()) == ["first", "second"]


def test_the_limit_is_spent_when_nothing_in_flight_can_still_be_cheaper() -> None:
    async def story() -> tuple[bool, Budget]:
        budget = Budget(1.0)
        assert await budget.reserve(lambda: 0.6)
        waiting = asyncio.gather(budget.reserve(lambda: 0.6), budget.reserve(lambda: 0.6))
        await asyncio.sleep(0)
        budget.settle(0.6, 0.6)
        return any(await waiting), budget

    allowed, budget = asyncio.run(story())
    assert not allowed
    assert budget.exhausted
    assert (budget.spent, budget.needed) == (0.6, 0.6)


def test_a_call_that_waits_is_reserved_at_what_is_known_once_it_begins() -> None:
    async def story() -> tuple[float | None, float]:
        budget, most = Budget(1.0), 0.6
        assert await budget.reserve(lambda: most)
        waiting = asyncio.create_task(budget.reserve(lambda: most))
        await asyncio.sleep(0)
        most = 0.3
        budget.settle(0.6, 0.6)
        return await waiting, budget.needed

    assert asyncio.run(story()) == (0.3, 0.0)


def test_a_call_that_waits_is_not_overtaken_by_a_later_one() -> None:
    async def story() -> list[str]:
        budget, order = Budget(1.0), list[str]()

        async def call(name: str) -> None:
            if await budget.reserve(lambda: 0.6):
                order.append(name)
                budget.settle(0.6, 0.1)

        assert await budget.reserve(lambda: 0.6)
        waiting = asyncio.create_task(call("first"))
        await asyncio.sleep(0)
        # It asks after the first call, and before that learns that there is room now.
        later = asyncio.create_task(call("second"))
        budget.settle(0.6, 0.1)
        await asyncio.gather(waiting, later)
        return order

    assert asyncio.run(story()) == ["first", "second"]
