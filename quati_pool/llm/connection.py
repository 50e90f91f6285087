"""A connection to one endpoint: slots, attempts, retries, waits, and the end of a run, whatever is asked.

An attempt takes a slot and is sent by the openai SDK. A temporary fault is retried outside the slot; a fault that
affects every call ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from quati_pool.llm.answers import Completion, Usage
from quati_pool.llm.embeddings import Embeddings
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError, Fault, Stopped, remedy
from quati_pool.llm.limits import Limits, Slots
from quati_pool.llm.retries import Retry, retry_after_first
from quati_pool.llm.secrets import Secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
A = TypeVar("A", Completion, Embeddings)

# In seconds. A longer wait is reported, unless it ends hardly later than the last one reported; a wait for the user's
# own rpm or tpm is reported once a minute.
_LONG = 10.0
_MINUTE = 60.0


@dataclass(frozen=True)
class Event:
    """Something that a user may want to see: ``retry``, ``slower`` (fewer slots), ``dialect`` (a request parameter was
    changed for the server), ``wait`` (a long one, with its cause; no two that end at about the same time), or ``note``
    (anything else)."""

    kind: str
    words: str
    seconds: float = 0.0


@dataclass
class Counters:
    """Counts of all attempts (including probes), of retries, and of how attempts ended, by HTTP status or kind of
    fault."""

    attempts: int = 0
    retries: int = 0
    ends: Counter[str] = field(default_factory=Counter)


class Connection:
    """An async context manager; belongs to the event loop that enters it.

    ``on_event`` is called in that loop and must be quick.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        limits: Limits | None = None,
        retry: Retry | None = None,
        on_event: Callable[[Event], None] | None = None,
        *,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """``extra_body`` may name secrets, which are masked in answers and messages as the key is. Raises FatalError if
        there is no usable key or address."""
        self.endpoint = endpoint
        self.endpoint_name = endpoint.name
        self.limits = limits or Limits()
        self.retry = retry or Retry()
        self.counters = Counters()
        self._key = endpoint.key()
        endpoint.address()  # finds an unset variable before anything starts
        self.secrets = Secrets.of(self._key, endpoint.url, extra_body or {})
        self._on_event = on_event or (lambda _: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: Callable[[], Exception] | None = None
        self._end = asyncio.Event()
        self._waits_until = 0.0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._slots = Slots(self.limits, self._loop, self._waits)
        if self._ended is not None:
            self._slots.close(self._ended)
        # Here, not at the top: the SDK takes most of a second to import, and naming a judge needs none of it.
        from quati_pool.llm import transport

        self._transport = transport
        self._sdk = transport.sdk(self.endpoint, self._key, self.limits.concurrency)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sdk.close()

    @property
    def concurrency_now(self) -> int:
        """How many calls may be in flight at the moment."""
        return self._slots.size

    @property
    def in_flight(self) -> int:
        """How many calls are in flight at the moment."""
        return self._slots.in_flight

    def stop(self) -> None:
        """Starts no further calls: those in flight finish, waiting ones raise Stopped. Callable from any thread."""
        if self._loop is None:
            self._close(Stopped)
            return
        # A closed loop has nothing left to stop.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._close, Stopped)

    def _close(self, reason: Callable[[], Exception]) -> None:
        if self._ended is None:
            self._ended = reason
            self._end.set()
            if self._loop is not None:
                self._slots.close(reason)

    async def call(self, make: Callable[[AsyncOpenAI], Awaitable[T]], retry: Retry | None = None) -> T:
        """Any other call of the SDK, with the same retries and errors, outside the slots.

        Raises CallError, FatalError or Stopped.
        """
        assert self._loop is not None, "enter the client first: async with Client(…) as client"
        began = self._loop.time()

        async def attempt(retries: int) -> T:
            if self._ended is not None:
                raise self._ended()
            self.counters.attempts += 1
            try:
                made = await make(self._sdk)
            except self._transport.ERRORS as error:
                fault = self._fault(error)
                fault.retries = retries
                fault.words = self.secrets.masked(fault.words)
                self.counters.ends[str(fault.status or fault.kind)] += 1
                raise fault from None
            self.counters.ends["200"] += 1
            return made

        try:
            return await self._with_retries(attempt, began, retry or self.retry)
        except Fault as fault:
            # Outside chat completions, 404 is about a file or batch, not about the model.
            fault.fatal = fault.fatal and fault.status != 404
            raise self._error(fault, began) from None

    async def _with_retries(self, attempt: Callable[[int], Awaitable[T]], began: float, retry: Retry) -> T:
        try:
            return await attempt(0)
        except Fault as fault:
            if not fault.passing:
                raise
            failed = fault

        async def next_attempt(retries: int) -> T:
            self.counters.retries += 1
            return await attempt(retries)

        assert self._loop is not None
        return await retry_after_first(
            retry, failed, began, self._loop.time, self.sleep, next_attempt, self._retrying, self.limits.max_wait
        )

    def _retrying(self, fault: Fault, seconds: float) -> None:
        self._on_event(Event("retry", fault.words, seconds))
        self._waits(seconds, self._before_asking_again(fault))

    def _before_asking_again(self, fault: Fault) -> str:
        asks = f", which asks for {fault.after:g} s" if fault.after else ""
        return f"before asking {self.endpoint_name} again{asks} ({fault.words})"

    def _waits(self, seconds: float, why: str, own: bool = False) -> None:
        assert self._loop is not None
        until = self._loop.time() + seconds
        if seconds > _LONG and until > self._waits_until + (_MINUTE if own else _LONG):
            self._waits_until = until
            self._on_event(Event("wait", f"waiting {seconds:.0f} s {why}", seconds))

    async def sleep(self, seconds: float, why: str | None = None) -> None:
        """Waits; a long wait is reported as an event if ``why`` is given. Raises Stopped or FatalError as soon as the
        client is stopped."""
        if why is not None:
            self._waits(seconds, why)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._end.wait()
        if self._ended is not None:
            raise self._ended()

    def _fault(self, error: Exception) -> Fault:
        return self._transport.fault_of(error, self._key, self.endpoint.timeout)

    def _error(self, fault: Fault, began: float) -> Exception:
        """The error to raise for a call whose last attempt ended in ``fault``."""
        assert self._loop is not None
        if not fault.fatal:
            return CallError(fault.words, fault.kind, fault.status, fault.retries, self._loop.time() - began)
        return self._fatal(fault)

    def _fatal(self, fault: Fault) -> FatalError:
        """Ends the run: from now on every call raises the returned error."""
        line = remedy(fault, self.endpoint_name, self.endpoint.model, self.endpoint.api_key_env)
        self._close(lambda: FatalError(line))
        return FatalError(line)

    async def _attempt(self, ask: Callable[[], Awaitable[A]], reserved: int, retries: int, probe: bool = False) -> A:
        """Runs ``ask`` in a slot, counts the attempt, and handles its fault."""
        slots, counters = self._slots, self.counters
        of_round = await slots.acquire(reserved, first=retries > 0)
        used: int | None = 0
        try:
            counters.attempts += 1
            answer = await ask()
            counters.ends["200"] += 1
            used = _total(answer.usage)
            slots.grew()
            return answer
        except Fault as fault:
            fault.retries = retries
            fault.words = self.secrets.masked(fault.words)
            counters.ends[str(fault.status or fault.kind)] += 1
            # It is unknown whether the server counts an answer that did not arrive.
            used = None if fault.kind in ("timeout", "protocol") else 0
            if fault.limited and slots.shrink(of_round, fault.after, self._before_asking_again(fault)):
                self._on_event(Event("slower", fault.words, fault.after or 0.0))
            if fault.fatal and not probe:
                # Done before the slot goes to the next call, which would fail the same way.
                self._fatal(fault)
            raise
        finally:
            slots.release(reserved, used)

    async def _post(self, path: str, body: bytes) -> tuple[bytes, float]:
        """The body of the answer, and the seconds it took."""
        assert self._loop is not None
        began = self._loop.time()
        try:
            async with asyncio.timeout(self.endpoint.timeout):
                answer = await self._transport.post(self._sdk, path, body)
        except self._transport.ERRORS as error:
            raise self._fault(error) from None
        return self.secrets.without(answer), self._loop.time() - began


def _total(usage: Usage | None) -> int | None:
    if usage is None or usage.input is None:
        return None
    return usage.input + (usage.output or 0)
