"""The client: every call ends in one answer or one error, whatever the server does in between.

An attempt takes a slot and is sent by the openai SDK; its answer is read here from the raw body, which costs less than
the SDK's models do. A temporary fault is retried outside the slot; a fault that affects every call ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from quati_pool.llm.answers import Completion, Usage, read_completion, withheld
from quati_pool.llm.embeddings import EmbeddingRequest, Embeddings, read_embeddings
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError, Fault, ServerDown, Stopped, remedy
from quati_pool.llm.limits import Limits, Slots
from quati_pool.llm.options import Options, Request
from quati_pool.llm.retries import Retry, retry_after_first
from quati_pool.llm.secrets import Secrets, filled
from quati_pool.llm.server_capabilities import Capabilities, Output
from quati_pool.llm.thoughts import split

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
A = TypeVar("A", Completion, Embeddings)

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

PROBE = 'Answer with the JSON object {"answer": 1} and nothing else.'
"""The only message of the request that ``Client.prepare`` sends."""

# In seconds. A longer wait is reported, unless it ends hardly later than the last one reported; a wait for the user's
# own rpm or tpm is reported once a minute.
_LONG = 10.0
_MINUTE = 60.0

PROBE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": [1]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Event:
    """Something that a user may want to see: ``retry``, ``slower`` (fewer slots), ``dialect`` (a request parameter was
    changed for the server), or ``wait`` (a long one, with its cause; no two that end at about the same time)."""

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


class Client:
    """An async context manager for calls to one endpoint; belongs to the event loop that enters it.

    ``on_event`` is called in that loop and must be quick.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        options: Options | None = None,
        limits: Limits | None = None,
        retry: Retry | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """Raises FatalError if there is no usable key or address."""
        self.endpoint = endpoint
        self.endpoint_name = endpoint.name
        self.options = options or Options()
        self.limits = limits or Limits()
        self.retry = retry or Retry()
        self.counters = Counters()
        self.probes: list[Completion] = []
        """The answers to the requests of ``prepare``, which cost tokens too."""
        self._key = endpoint.key()
        endpoint.address()  # finds an unset variable before anything starts
        self._filled = self.options.model_copy(update={"extra_body": filled(self.options.extra_body, "extra_body")})
        self.secrets = Secrets.of(self._key, endpoint.url, self.options.extra_body)
        self._on_event = on_event or (lambda _: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: Callable[[], Exception] | None = None
        self._end = asyncio.Event()
        self._waits_until = 0.0
        self._use(Capabilities.of(endpoint.model, self.options))
        self._base64 = True

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._slots = Slots(self.limits, self._loop, self._waits)
        if self._ended is not None:
            self._slots.close(self._ended)
        # Here, not at the top: the SDK takes most of a second to import, and naming a judge needs none of it.
        from quati_pool.llm import transport

        self._transport = transport
        self._path = transport.chat_path(self.endpoint)
        self._embeddings_path = transport.embeddings_path(self.endpoint)
        self._sdk = transport.sdk(self.endpoint, self._key, self.limits.concurrency)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sdk.close()

    @property
    def output(self) -> Output:
        """The output format in use; final once ``prepare`` is done."""
        return self.capabilities.output

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

    def _use(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self._common = capabilities.body(self.endpoint.model, self._filled)

    def request_body(self, request: Request) -> dict[str, Any]:
        """The body that ``complete`` sends for a request, so that a batch can send the same."""
        body: dict[str, Any] = {**self._common, "messages": request.messages}
        form = self.capabilities.response_format(request)
        if form is not None:
            body["response_format"] = form
        if request.n != 1:
            body["n"] = request.n
        if request.seed is not None:
            body["seed"] = request.seed
        return body

    async def complete(self, request: Request) -> Completion:
        """One call with all its retries.

        Raises CallError if this call failed for good, FatalError if no call can succeed (every later call then raises
        it too), Stopped after ``stop``.
        """
        assert self._loop is not None, "enter the client first: async with Client(…) as client"
        began = self._loop.time()
        try:
            body = _ENCODER.encode(self.request_body(request)).encode()
        except UnicodeEncodeError:
            raise CallError(
                "the messages hold a lone surrogate, which is not valid text; correct it", "rejected"
            ) from None
        try:
            return await self._with_retries(lambda retries: self._complete(body, request, retries), began, self.retry)
        except Fault as fault:
            raise self._error(fault, began) from None

    async def embed(self, request: EmbeddingRequest) -> Embeddings:
        """One call for embeddings with all its retries, in the same slots as ``complete``.

        Vectors are requested as base64, which takes a third of the bytes of decimal digits. A server that does not
        support it answers with digits, or refuses the parameter, which is then no longer sent. Raises the same errors
        as ``complete``.
        """
        assert self._loop is not None, "enter the client first: async with Client(…) as client"
        began = self._loop.time()
        while True:
            as_base64 = self._base64
            try:
                body = request.body(self.endpoint.model, as_base64)
            except UnicodeEncodeError:
                words = "a text holds a lone surrogate, which is not valid text; correct it"
                raise CallError(words, "rejected") from None

            async def attempt(retries: int, body: bytes = body) -> Embeddings:
                return await self._attempt(
                    lambda: self._ask_embeddings(body, len(request.texts), retries), request.estimated_tokens, retries
                )

            try:
                return await self._with_retries(attempt, began, self.retry)
            except Fault as fault:
                if not (as_base64 and fault.status in (400, 422) and "encoding_format" in fault.param + fault.words):
                    raise self._error(fault, began) from None
                self._base64 = False

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
            retry, failed, began, self._loop.time, self.sleep, next_attempt, self._told, self.limits.max_wait
        )

    def _told(self, fault: Fault, seconds: float) -> None:
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

    async def _complete(self, body: bytes, request: Request, retries: int, probe: bool = False) -> Completion:
        return await self._attempt(lambda: self._ask(body, retries), request.estimated_tokens, retries, probe)

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

    async def _ask(self, body: bytes, retries: int) -> Completion:
        answer, seconds = await self._post(self._path, body)
        return read_completion(answer, seconds, retries, self.capabilities.output)

    async def _ask_embeddings(self, body: bytes, texts: int, retries: int) -> Embeddings:
        answer, seconds = await self._post(self._embeddings_path, body)
        return read_embeddings(answer, texts, seconds, retries)

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

    async def prepare(self, schema: Mapping[str, Any] | None = None) -> None:
        """Sends one small request, to check key, model and server before any work, and to find out which parameters
        the server accepts.

        After a refusal that names a parameter, the request is sent again with it changed: another name for the token
        limit, no temperature, and with ``output: auto`` a less strict output format if the server refuses
        ``response_format`` or its answer is not JSON. ``schema`` is that of the calls to come, since servers differ in
        which schemas they accept.
        Raises FatalError, ServerDown (within some 30 seconds, or one time-out) or Stopped.
        """
        request = Request([{"role": "user", "content": PROBE}], schema or PROBE_SCHEMA)
        # There are fewer parameters to change than this; the bound ends the loop for a server that contradicts itself.
        for _ in range(10):
            try:
                completion = await self._probe(request)
                self.probes.append(completion)
                learnt = (
                    self.capabilities.looser() if self.options.output == "auto" and not _is_json(completion) else None
                )
                if learnt is None:
                    return
            except Fault as fault:
                if fault.kind == "content_filter":
                    return
                learnt = self.capabilities.after(fault)
                if learnt is None or (self.options.output != "auto" and learnt.output != self.output):
                    raise self._unprepared(fault) from None
            self._on_event(Event("dialect", f"{self.endpoint_name} {learnt.differs(self.capabilities)}"))
            self._use(learnt)
        raise FatalError(
            f"{self.endpoint_name} contradicts itself about parameters; set output: text, or another model"
        )

    async def _probe(self, request: Request) -> Completion:
        assert self._loop is not None
        body = _ENCODER.encode(self.request_body(request)).encode()
        bounds = {"attempts": min(6, self.retry.attempts), "seconds": min(30.0, self.retry.seconds), "longest": 3.0}
        retry = self.retry.model_copy(update=bounds)
        return await self._with_retries(
            lambda retries: self._complete(body, request, retries, probe=True), self._loop.time(), retry
        )

    def _unprepared(self, fault: Fault) -> Exception:
        """The error to raise when ``prepare`` fails."""
        assert self._loop is not None
        name, words = self.endpoint_name, fault.words
        if fault.fatal:
            return self._error(fault, self._loop.time())
        if fault.moved_to:
            return FatalError(f"{name} redirects to {fault.moved_to}; set base_url to it")
        if fault.kind == "rejected":
            advice = (
                "set output: auto" if self.capabilities.after(fault) else "correct the judge's or client's parameters"
            )
            return FatalError(f"{name} refuses a request for {self.endpoint.model!r} ({words}); {advice}")
        if fault.kind == "protocol":
            return ServerDown(f"{name} answers, but not as an OpenAI-compatible server ({words}); check base_url")
        return ServerDown(f"{name} does not answer as it should ({words}); check the server, or check base_url")


def _total(usage: Usage | None) -> int | None:
    if usage is None or usage.input is None:
        return None
    return usage.input + (usage.output or 0)


def _is_json(completion: Completion) -> bool:
    """Whether an answer without its thoughts is JSON, or was cut off or withheld before that could be known."""
    choice = completion.choices[0]
    if withheld(choice.refusal, choice.finish_reason, choice.error) is not None:
        return True
    try:
        json.loads(split(choice.text or "").said)
    except (ValueError, RecursionError):
        return False
    return True
