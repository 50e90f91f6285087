"""What every client of a language model offers to the code that asks: of a server's, and of one on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from quati_pool.llm.answers import Completion
from quati_pool.llm.connection import Counters
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.tokens import Count


class ChatClient(Protocol):
    """An async context manager; belongs to the event loop that enters it."""

    options: Options
    limits: Limits
    counters: Counters
    endpoint_name: str
    """Where the model runs, as stored with each attempt."""
    probes: list[Completion]
    """The answers to the requests of ``prepare``, which cost tokens too."""

    @property
    def model(self) -> str:
        """The name of the model."""

    @property
    def described(self) -> str:
        """What is asked and how, once ``prepare`` is done: the rest of a line that begins with the user's name for the
        model."""

    @property
    def count(self) -> Count:
        """Our own count of the tokens of a text or of messages, with which reported ones are compared; 0 where there is
        nothing to compare."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...

    async def prepare(self, schema: Mapping[str, Any] | None = None) -> None:
        """Finds out whether and how the model answers; ``schema`` is that of the answers to come. Raises QuatiPoolError
        if it does not."""

    async def complete(self, request: Request) -> Completion:
        """One call. Raises CallError if it failed for good, QuatiPoolError if no call can succeed, Stopped after
        ``stop``."""

    def stop(self) -> None:
        """Starts no further calls: those in flight finish, waiting ones raise Stopped. Callable from any thread."""
