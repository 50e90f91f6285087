"""What a run may spend: what is in flight is reserved at its highest, and settled when its cost is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Budget:
    """US dollars, in one event loop. Without a limit nothing waits.

    A call whose answer never came costs nothing here; what a provider charges for calls it broke off
    is not known.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.exhausted = False
        self.needed = 0.0
        """What the call needed at most for which the limit did not suffice."""
        self._reserved = 0.0
        self._calls = 0
        self._settled = asyncio.Event()

    async def reserve(self, most: Callable[[], float]) -> float | None:
        """Sets aside what a call can cost at most, as ``most`` says by then, and returns it; None where the limit
        cannot bear it any more.

        While calls are in flight that may turn out cheaper than reserved, it waits for them.
        """
        amount = most()
        if self.limit is not None:
            while not self.exhausted and self.spent + self._reserved + amount > self.limit:
                if not self._calls:
                    self.exhausted, self.needed = True, amount
                    break
                self._settled.clear()
                await self._settled.wait()
                amount = most()
            if self.exhausted:
                return None
        self._reserved += amount
        self._calls += 1
        return amount

    def settle(self, reserved: float, cost: float) -> None:
        """Takes back a reservation and books what the call has cost."""
        self._reserved -= reserved
        self._calls -= 1
        if not self._calls:
            self._reserved = 0.0  # what rounding left
        self.spent += cost
        self._settled.set()
