"""The provider's Batch API: the same requests as live ones, submitted as a file and answered within a day.

This module keeps no state: a batch carries the caller's key as metadata, so that a caller that stored the key before
the upload can find out later whether the batch was created.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quati_pool.llm.answers import Completion, count, parsed, read_completion
from quati_pool.llm.client import Client
from quati_pool.llm.faults import CallError, Fault, of_status, one_line
from quati_pool.llm.options import Request
from quati_pool.llm.retries import Retry

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

METADATA = "quati_pool"
"""The metadata field that holds the caller's key."""

OVER = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True)
class BatchState:
    """A batch as the provider sees it. ``problem``: why it failed as a whole, in the provider's words."""

    batch_id: str
    key: str | None
    status: str
    total: int
    completed: int
    failed: int
    input_file_id: str
    output_file_id: str | None
    error_file_id: str | None
    problem: str | None

    @property
    def over(self) -> bool:
        """Whether no more answers will come; even an expired batch may have answers in its files."""
        return self.status in OVER


class Batches:
    """Batches through an entered ``Client``, with its key, retries and errors (CallError, FatalError, Stopped)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        azure = client.endpoint.api_version is not None
        self._url: Any = "/chat/completions" if azure else "/v1/chat/completions"

    def line(self, custom_id: str, request: Request) -> bytes:
        """One line of a batch's file: what ``Client.complete`` would send for the request."""
        body = self._client.request_body(request)
        line = {"custom_id": custom_id, "method": "POST", "url": self._url, "body": body}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    async def upload(self, content: bytes | Path, filename: str) -> str:
        """Uploads a batch's file under a name that ``find_file`` finds; returns its id."""
        made = await self._client.call(lambda sdk: sdk.files.create(file=(filename, content), purpose="batch"))
        return made.id

    async def find_file(self, filename: str) -> str | None:
        """The id of the newest uploaded file of that name."""

        async def look(sdk: AsyncOpenAI) -> str | None:
            async for file in sdk.files.list(purpose="batch", order="desc"):
                if file.filename == filename:
                    return file.id
            return None

        return await self._client.call(look)

    async def create(self, file_id: str, key: str) -> BatchState:
        """Creates a batch from an uploaded file.

        An attempt whose answer was lost may have created it. Before another attempt the provider is therefore asked
        for a batch with this key, so that none is created twice.
        """
        retry = self._client.retry
        once = Retry(attempts=1)
        for attempt in range(1, retry.attempts + 1):
            try:
                return self._state(await self._client.call(lambda sdk: self._make(sdk, file_id, key), once))
            except CallError as error:
                if error.kind in ("rejected", "content_filter") or attempt == retry.attempts:
                    raise
                lost = error
            why = f"before the batch is asked for again ({lost.words})"
            await self._client.sleep(retry.wait(attempt, Fault(lost.words, lost.kind)), why)
            found = await self.find(key)
            if found is not None:
                return found
        raise AssertionError("the last attempt returns or raises")

    async def _make(self, sdk: AsyncOpenAI, file_id: str, key: str) -> Batch:
        return await sdk.batches.create(
            input_file_id=file_id, endpoint=self._url, completion_window="24h", metadata={METADATA: key}
        )

    async def find(self, key: str) -> BatchState | None:
        """The newest batch that was created with this key."""

        async def look(sdk: AsyncOpenAI) -> BatchState | None:
            async for batch in sdk.batches.list(limit=100):
                if _key(batch) == key:
                    return self._state(batch)
            return None

        return await self._client.call(look)

    async def retrieve(self, batch_id: str) -> BatchState:
        """The current state of a batch."""
        return self._state(await self._client.call(lambda sdk: sdk.batches.retrieve(batch_id)))

    async def results(self, file_id: str, output: str) -> AsyncIterator[tuple[str | None, Completion | CallError]]:
        """The answers in an output or error file by custom_id, in the arbitrary order of the file; ``output`` is the
        output format that was requested.

        An invalid line yields a CallError (``protocol``); its custom_id is None if it has none.
        """
        content = await self._client.call(lambda sdk: sdk.files.content(file_id))
        for line in self._client.secrets.without(content.content).splitlines():
            if line.strip():
                custom_id, answer = read_line(line, output)
                if isinstance(answer, CallError):
                    answer = CallError(self._masked(answer.words), answer.kind, answer.status)
                yield custom_id, answer

    def _state(self, batch: Batch) -> BatchState:
        """Raises CallError (``protocol``) if the provider's answer is not a batch, since the SDK checks no types."""
        batch_id, status, input_file_id = _text(batch.id), _text(batch.status), _text(batch.input_file_id)
        if batch_id is None or status is None or input_file_id is None:
            raise CallError("the answer names no batch with its status and its file", "protocol")
        counts = [count(getattr(batch.request_counts, name, None)) or 0 for name in ("total", "completed", "failed")]
        problems = getattr(batch.errors, "data", None)
        problem = getattr(problems[0], "message", None) if isinstance(problems, list) and problems else None
        return BatchState(
            batch_id=batch_id,
            key=_key(batch),
            status=one_line(status, most=40),
            total=counts[0],
            completed=counts[1],
            failed=counts[2],
            input_file_id=input_file_id,
            output_file_id=_text(batch.output_file_id),
            error_file_id=_text(batch.error_file_id),
            problem=self._masked(problem) or None,
        )

    def _masked(self, words: Any) -> str:
        return self._client.secrets.masked(one_line(words))


def read_line(line: bytes, output: str) -> tuple[str | None, Completion | CallError]:
    """Reads a line of an output or error file: its custom_id, None if it has none, and the answer."""
    custom_id = None
    try:
        answer = parsed(line)
        if not isinstance(answer, dict):
            raise Fault("a line of the batch's answers is not an object", "protocol")
        if isinstance(answer.get("custom_id"), str):
            custom_id = answer["custom_id"]
        response, error = answer.get("response"), answer.get("error")
        body = response.get("body") if isinstance(response, dict) else None
        status = response.get("status_code") if isinstance(response, dict) else None
        if type(status) is int and not 200 <= status < 300:
            raise of_status(status, {}, body)
        if error or not response:
            words = error.get("message") if isinstance(error, dict) else error
            raise Fault(one_line(words) or "the batch holds no answer", "server")
        if type(status) is not int:
            raise Fault("the batch holds an answer without an HTTP status", "protocol")
        return custom_id, read_completion(body, 0.0, 0, output)
    except Fault as fault:
        return custom_id, CallError(fault.words, fault.kind, fault.status)


def _key(batch: Batch) -> str | None:
    """The caller's key; None if the batch was not created by quati-pool."""
    key = batch.metadata.get(METADATA) if isinstance(batch.metadata, dict) else None
    return key if isinstance(key, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
