"""What a run may spend: what is in flight is reserved at its highest, and settled when its cost is known."""

from __future__ import annotations

import asyncio


class Budget:
    """US dollars, in one event loop. Without a limit nothing waits.

    A call whose answer never came costs nothing here; what a provider charges for calls it broke off
    is not known.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.exhausted = False
        self._reserved = 0.0
        self._calls = 0
        self._settled = asyncio.Event()

    async def reserve(self, most: float) -> bool:
        """Sets aside what a call can cost at most; False where the limit cannot bear it any more.

        While calls are in flight that may turn out cheaper than reserved, it waits for them.
        """
        if self.limit is not None:
            while not self.exhausted and self.spent + self._reserved + most > self.limit:
                if not self._calls:
                    self.exhausted = True
                    break
                self._settled.clear()
                await self._settled.wait()
            if self.exhausted:
                return False
        self._reserved += most
        self._calls += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """Takes back a reservation and books what the call has cost."""
        self._reserved -= most
        self._calls -= 1
        if not self._calls:
            self._reserved = 0.0  # what rounding left
        self.spent += cost
        self._settled.set()
