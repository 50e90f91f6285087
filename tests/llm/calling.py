"""Short ways to call the client in tests: one endpoint, quick retries, a request for a text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.retries import Retry
from tests.llm.server import ServerProcess

T = TypeVar("T")

SCHEMA = {
    "type": "object",
    "properties": {"Razão": {"type": "string"}, "Pontuação": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["Razão", "Pontuação"],
    "additionalProperties": False,
}

QUICK = Retry(attempts=4, seconds=20, first=0.01, longest=0.02)


def request(text: str = "uma pergunta", **more: Any) -> Request:
    return Request([{"role": "user", "content": text}], SCHEMA, **more)


def endpoint(server: ServerProcess, **more: Any) -> Endpoint:
    return Endpoint(model="gpt-4o", base_url=server.url, **more)


def with_client(
    server: ServerProcess,
    act: Callable[[Client], Awaitable[T]],
    *,
    options: Options | None = None,
    limits: Limits | None = None,
    retry: Retry = QUICK,
    on_event: Callable[[Event], None] | None = None,
    **more: Any,
) -> T:
    """Runs ``act`` with an entered client; ``more`` goes to its endpoint."""

    async def run() -> T:
        async with Client(endpoint(server, **more), options, limits, retry, on_event) as client:
            return await act(client)

    return asyncio.run(run())
