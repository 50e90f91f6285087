"""Limits on how many calls run at once and how many start per minute: slots that grow and shrink, and paced starts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from quati_pool.files.yaml_file import Model

# Spreading a minute's worth over 61 seconds, with one second of catching up, keeps every 60 seconds within the limit.
_MINUTE = 61.0
_CATCH_UP = 1.0

OnWait = Callable[[float, str, bool], None]
"""Called with the seconds for which no call starts, the reason, and whether the reason is our own rpm or tpm."""


class Limits(Model):
    """The user's limits on requests to the server."""

    concurrency: Annotated[int, Field(ge=1, description="most calls in flight")] = 64
    rpm: Annotated[int | None, Field(ge=1, description="requests per minute; null: no limit")] = None
    tpm: Annotated[int | None, Field(ge=1, description="tokens per minute, input and output; null: no limit")] = None
    max_wait: Annotated[float, Field(gt=0, description="longest wait in seconds where the server asks for a pause")] = (
        300.0
    )


class Pace:
    """A token bucket that holds one second's worth: in any 60 seconds at most ``a_minute`` units are started.

    A start that costs many units is never refused but delays the following ones, so 60 seconds may hold one start
    more than their units allow.
    """

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._each = _MINUTE / a_minute
        self._clock = clock
        self._next = clock()

    def ready(self) -> float:
        """The time from which the next start is allowed."""
        return self._next

    def take(self, units: float) -> None:
        self._next = max(self._next, self._clock() - _CATCH_UP) + units * self._each

    def correct(self, units: float) -> None:
        """Takes another ``units``, or gives them back if negative."""
        self._next += units * self._each


class Slots:
    """Slots for calls in flight, handed out in the order of request (retries first).

    The number of slots starts small and doubles with each round of successes until the server reports a rate limit.
    It is then halved (once for all calls in flight at the time) and grows by one per round. It grows only while all
    slots are in use: with few calls in flight, a success says nothing about the limit.
    """

    def __init__(self, limits: Limits, loop: asyncio.AbstractEventLoop, on_wait: OnWait = lambda *_: None) -> None:
        self._loop = loop
        self._limits = limits
        self._on_wait = on_wait
        self._most = limits.concurrency
        self._size = float(min(8, limits.concurrency))
        self._cut = False
        self._round = 0
        self._paused_until = 0.0
        self._pause = ""
        self._requests = Pace(limits.rpm, loop.time) if limits.rpm else None
        self._tokens = Pace(limits.tpm, loop.time) if limits.tpm else None
        self._waiting: deque[tuple[asyncio.Future[int], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed: Callable[[], Exception] | None = None
        self.in_flight = 0

    @property
    def size(self) -> int:
        """How many calls may be in flight now."""
        return int(self._size)

    async def acquire(self, tokens: int = 0, first: bool = False) -> int:
        """Waits for a slot, reserves ``tokens``, and returns the round the slot belongs to.

        Once the slots are closed, raises the exception that ``reason`` of ``close`` returns. A cancelled wait keeps no
        slot.
        """
        if self._closed is not None:
            raise self._closed()
        if not self._waiting and self.in_flight < int(self._size) and self._wait() <= 0:
            self._take(tokens)
            return self._round
        future: asyncio.Future[int] = self._loop.create_future()
        if first:
            self._waiting.appendleft((future, tokens))
        else:
            self._waiting.append((future, tokens))
        self._pump()
        try:
            return await future
        except asyncio.CancelledError:
            # The slot may have been granted in the same iteration of the loop.
            if future.done() and not future.cancelled() and future.exception() is None:
                self._unpaced()
                self.release(tokens, 0)
            raise

    def release(self, reserved: int = 0, used: int | None = None) -> None:
        """Frees a slot. ``used`` is the number of tokens the call took; None: unknown, the reserved ones count."""
        self.in_flight -= 1
        if self._tokens is not None and used is not None and used != reserved:
            self._tokens.correct(used - reserved)
        if self._waiting:
            self._pump()

    def grew(self) -> None:
        """Records a success; called before the slot is released."""
        if self._size < self._most and self.in_flight >= int(self._size):
            self._size = min(self._most, self._size + (1 / self._size if self._cut else 1))

    def shrink(self, of_round: int, pause: float | None, why: str = "") -> bool:
        """Reacts to a rate-limit response. ``pause`` is the wait in seconds that the server asks for, if any, capped at
        ``max_wait``. Returns whether the slots were halved."""
        until = self._loop.time() + min(pause or 0.0, self._limits.max_wait)
        if pause and until > self._paused_until:
            self._paused_until, self._pause = until, why
        if of_round != self._round:
            return False
        self._round += 1
        self._cut = True
        self._size = max(1.0, self._size / 2)
        return True

    def close(self, reason: Callable[[], Exception]) -> None:
        """Stops all starts: every waiting and every later ``acquire`` raises ``reason()``."""
        self._closed = reason
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(reason())

    def _wait(self) -> float:
        ready = self._paused_until
        if self._requests is not None:
            ready = max(ready, self._requests.ready())
        if self._tokens is not None:
            ready = max(ready, self._tokens.ready())
        return ready - self._loop.time() if ready else 0.0

    def _say_wait(self, seconds: float) -> None:
        causes = [(self._paused_until, self._pause, False)]
        if self._requests is not None:
            causes.append((self._requests.ready(), f"for rpm: {self._limits.rpm}", True))
        if self._tokens is not None:
            causes.append((self._tokens.ready(), f"for tpm: {self._limits.tpm}", True))
        _, why, own = max(causes)
        self._on_wait(seconds, why, own)

    def _take(self, tokens: int) -> None:
        self.in_flight += 1
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _unpaced(self) -> None:
        if self._requests is not None:
            self._requests.correct(-1)

    def _pump(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            future, tokens = self._waiting[0]
            if future.done():
                self._waiting.popleft()
                continue
            if self.in_flight >= int(self._size):
                return
            wait = self._wait()
            if wait > 0:
                self._timer = self._loop.call_later(wait, self._pump)
                self._say_wait(wait)
                return
            self._waiting.popleft()
            self._take(tokens)
            future.set_result(self._round)
