"""Retries of failed attempts: tenacity's loop with our bounds, waits and clock."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from quati_pool.files.yaml_file import Model
from quati_pool.llm.faults import Fault

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


class Retry(Model):
    """How long a call is retried: at most ``attempts`` attempts in all, and no wait that ends after ``seconds``.

    The n-th wait is drawn from 0 to ``first`` × 2ⁿ⁻¹ seconds (at most ``longest``). If the server sends Retry-After,
    the wait is that time plus the drawn one, capped at one second.
    """

    attempts: Annotated[int, Field(ge=1, description="attempts at one call, the first included")] = 8
    seconds: Annotated[float, Field(gt=0, description="latest start of an attempt, in seconds after the first")] = 300.0
    first: Annotated[float, Field(gt=0, description="the longest first wait in seconds")] = 0.5
    longest: Annotated[float, Field(gt=0, description="the longest wait in seconds that we choose ourselves")] = 30.0

    def wait(self, attempt: int, fault: Fault) -> float:
        """Seconds to wait after attempt number ``attempt`` (from 1) failed."""
        own = random.uniform(0, min(self.longest, self.first * 2.0 ** (attempt - 1)))
        return own if fault.after is None else fault.after + min(own, 1.0)


def _fault(state: RetryCallState) -> Fault:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Fault)
    return error


async def retry_after_first(
    retry: Retry,
    failed: Fault,
    began: float,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
    attempt: Callable[[int], Awaitable[T]],
    report: Callable[[Fault, float], None],
    max_wait: float = math.inf,
) -> T:
    """Retries a call whose first attempt ended in ``failed``, and returns the result of the attempt that succeeds.

    ``attempt`` is called with the number of retries, ``report`` with each fault and the seconds of wait that follow.
    ``began`` is the time of the first attempt; a server that asks for a wait of more than ``max_wait`` seconds is not
    called again. Raises the last Fault once the bounds are reached or a fault is not passing, and any other exception
    of ``attempt`` or ``sleep``.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    made = 0

    async def next_attempt() -> T:
        nonlocal made
        made += 1
        # The first attempt was made without this loop, whose overhead most calls do not need.
        if made == 1:
            raise failed
        return await attempt(made - 1)

    def stop(state: RetryCallState) -> bool:
        late = clock() - began + (state.upcoming_sleep or 0.0) > retry.seconds
        fault = _fault(state)
        after = fault.after or 0.0
        if after and (late or after > max_wait):
            own = after > max_wait and max_wait < retry.seconds
            bound = f"max_wait: {max_wait:g}" if own else f"the {retry.seconds:g} s of a call"
            fault.words = f"{fault.words} (asks to wait {after:g} s, beyond {bound})"
        return late or after > max_wait or state.attempt_number >= retry.attempts

    return await AsyncRetrying(
        sleep=sleep,
        stop=stop,
        wait=lambda state: retry.wait(state.attempt_number, _fault(state)),
        retry=retry_if_exception(lambda error: isinstance(error, Fault) and error.passing),
        before_sleep=lambda state: report(_fault(state), state.upcoming_sleep),
        reraise=True,
    )(next_attempt)
