"""Chat completions and embeddings of one endpoint: every call ends in one answer or one error, whatever the server does
in between. Answers are read from the raw body, which costs less than the SDK's models do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

from quati_pool.llm.answers import Completion, read_completion, withheld
from quati_pool.llm.connection import Connection, Event
from quati_pool.llm.embeddings import EmbeddingRequest, Embeddings, read_embeddings
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError, Fault, ServerDown
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.retries import Retry
from quati_pool.llm.secrets import filled
from quati_pool.llm.server_capabilities import Capabilities, Output
from quati_pool.llm.thoughts import split
from quati_pool.llm.tokens import Count, counting

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

PROBE = 'Answer with the JSON object {"answer": 1} and nothing else.'
"""The only message of the request that ``Client.prepare`` sends."""

PROBE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": [1]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Client(Connection):
    """A connection for chat completions and embeddings, with the parameters that the server accepts."""

    def __init__(
        self,
        endpoint: Endpoint,
        options: Options | None = None,
        limits: Limits | None = None,
        retry: Retry | None = None,
        on_event: Callable[[Event], None] | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        """``capabilities`` are those of an earlier client of the same server and schema, which ``prepare`` then asks
        for no more.

        Raises FatalError if there is no usable key or address, or a variable of ``extra_body`` is not set.
        """
        self.options = options or Options()
        super().__init__(endpoint, limits, retry, on_event, extra_body=self.options.extra_body)
        self.probes: list[Completion] = []
        """The answers to the requests of ``prepare``, which cost tokens too."""
        self._filled = self.options.model_copy(update={"extra_body": filled(self.options.extra_body, "extra_body")})
        self._prepared = capabilities is not None
        self._use(capabilities or Capabilities.of(endpoint.model, self.options))
        self._base64 = True

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._path = self._transport.chat_path(self.endpoint)
        self._embeddings_path = self._transport.embeddings_path(self.endpoint)
        return self

    @property
    def model(self) -> str:
        return self.endpoint.model

    @property
    def described(self) -> str:
        return f"asking {self.endpoint_name} with output {self.output}"

    @cached_property
    def count(self) -> Count:
        """Counts the tokens of a text or of messages, as ``tokens.counting`` does."""
        return counting(self.endpoint.model)

    @property
    def output(self) -> Output:
        """The output format in use; final once ``prepare`` is done."""
        return self.capabilities.output

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

    async def _complete(self, body: bytes, request: Request, retries: int, probe: bool = False) -> Completion:
        return await self._attempt(lambda: self._ask(body, retries), request.estimated_tokens, retries, probe)

    async def _ask(self, body: bytes, retries: int) -> Completion:
        answer, seconds = await self._post(self._path, body)
        return read_completion(answer, seconds, retries, self.capabilities.output)

    async def _ask_embeddings(self, body: bytes, texts: int, retries: int) -> Embeddings:
        answer, seconds = await self._post(self._embeddings_path, body)
        return read_embeddings(answer, texts, seconds, retries)

    async def prepare(self, schema: Mapping[str, Any] | None = None) -> None:
        """Sends one small request, to check key, model and server before any work, and to find out which parameters
        the server accepts.

        After a refusal that names a parameter, the request is sent again with it changed: another name for the token
        limit, no temperature, and with ``output: auto`` a less strict output format if the server refuses
        ``response_format`` or its answer is not JSON. ``schema`` is that of the calls to come, since servers differ in
        which schemas they accept.
        Raises FatalError, ServerDown (within some 30 seconds, or one time-out) or Stopped.
        """
        if self._prepared:
            return
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
