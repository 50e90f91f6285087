"""The provider's Batch API: the same requests as live ones, handed in as a file and answered within a day.

Nothing here remembers anything: a batch carries the caller's key as metadata, so that a caller who stored the
key before the upload finds out later whether the batch was made.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quati_pool.llm.answers import Completion, read_completion
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
        """Whether nothing more will come; even an expired batch may have answers in its files."""
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
        """Makes a batch of an uploaded file.

        An attempt whose answer is lost may have made it: before another one the provider is asked for a batch
        with this key, so that none is made twice.
        """
        retry = self._client.retry
        once = Retry(attempts=1)
        for attempt in range(1, retry.attempts + 1):
            try:
                return _state(await self._client.call(lambda sdk: self._make(sdk, file_id, key), once))
            except CallError as error:
                if error.kind in ("rejected", "content_filter") or attempt == retry.attempts:
                    raise
                lost = error
            await self._client.sleep(retry.wait(attempt, Fault(lost.words, lost.kind)))
            found = await self.find(key)
            if found is not None:
                return found
        raise AssertionError("the last attempt returns or raises")

    async def _make(self, sdk: AsyncOpenAI, file_id: str, key: str) -> Batch:
        return await sdk.batches.create(
            input_file_id=file_id, endpoint=self._url, completion_window="24h", metadata={METADATA: key}
        )

    async def find(self, key: str) -> BatchState | None:
        """The newest batch that was made with this key."""

        async def look(sdk: AsyncOpenAI) -> BatchState | None:
            async for batch in sdk.batches.list(limit=100):
                if (batch.metadata or {}).get(METADATA) == key:
                    return _state(batch)
            return None

        return await self._client.call(look)

    async def retrieve(self, batch_id: str) -> BatchState:
        """How far a batch is."""
        return _state(await self._client.call(lambda sdk: sdk.batches.retrieve(batch_id)))

    async def results(self, file_id: str, output: str) -> AsyncIterator[tuple[str, Completion | CallError]]:
        """The answers of an output or error file by custom_id, in the file's order, which is any; ``output``
        is the form in which they were asked for.

        Raises CallError (``protocol``) at a line that is none of a batch's.
        """
        content = await self._client.call(lambda sdk: sdk.files.content(file_id))
        for number, line in enumerate(content.content.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                answer = json.loads(line)
                custom_id = str(answer["custom_id"])
                response, error = answer.get("response"), answer.get("error")
                status = response["status_code"] if response else None
            except (ValueError, KeyError, TypeError, AttributeError):
                raise CallError(f"line {number} of the file {file_id} is no answer of a batch", "protocol") from None
            yield custom_id, self._result(response, status, error, output)

    def _result(self, response: Any, status: int | None, error: Any, output: str) -> Completion | CallError:
        try:
            if status is None:
                words = error.get("message") if isinstance(error, dict) else error
                return CallError(one_line(words) or "the batch holds no answer", "server")
            if status >= 400:
                raise of_status(status, {}, response["body"])
            return read_completion(response["body"], 0.0, 0, output)
        except Fault as fault:
            return CallError(fault.words, fault.kind, fault.status)


def _state(batch: Batch) -> BatchState:
    counts = batch.request_counts
    problems = batch.errors.data if batch.errors and batch.errors.data else []
    return BatchState(
        batch_id=batch.id,
        key=(batch.metadata or {}).get(METADATA),
        status=batch.status,
        total=counts.total if counts else 0,
        completed=counts.completed if counts else 0,
        failed=counts.failed if counts else 0,
        input_file_id=batch.input_file_id,
        output_file_id=batch.output_file_id,
        error_file_id=batch.error_file_id,
        problem=one_line(problems[0].message) if problems else None,
    )
