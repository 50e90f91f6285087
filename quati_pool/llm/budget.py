"""The budget of a run: a call reserves its highest possible cost, and settles it when the cost is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Budget:
    """A budget in US dollars, used in one event loop. Without a limit no call waits.

    A call without an answer is booked at no cost; what a provider charges for interrupted calls is unknown.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.exhausted = False
        self.needed = 0.0
        """The highest possible cost of the call for which the budget did not suffice."""
        self._reserved = 0.0
        self._calls = 0
        self._settled = asyncio.Event()
        self._turn = asyncio.Lock()

    async def reserve(self, most: Callable[[], float]) -> float | None:
        """Reserves the highest possible cost of a call, computed by ``most``, and returns it; None if the budget is
        exhausted. Calls get their reservation in the order in which they ask for it.

        Waits for calls in flight, since they may turn out cheaper than reserved, and calls ``most`` again after each.
        """
        if self.limit is None:
            return self._taken(most())
        # The lock is given in the order of asking, so that a call that waits is not overtaken.
        async with self._turn:
            amount = most()
            while not self.exhausted and self.spent + self._reserved + amount > self.limit:
                if not self._calls:
                    self.exhausted, self.needed = True, amount
                    break
                self._settled.clear()
                await self._settled.wait()
                amount = most()
            return None if self.exhausted else self._taken(amount)

    def _taken(self, amount: float) -> float:
        self._reserved += amount
        self._calls += 1
        return amount

    def settle(self, reserved: float, cost: float) -> None:
        """Releases a reservation and books the actual cost of the call."""
        self._reserved -= reserved
        self._calls -= 1
        if not self._calls:
            self._reserved = 0.0  # removes rounding errors
        self.spent += cost
        self._settled.set()
