"""An engine for tests that runs tasks here, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from quati_pool.processes.base import Engine


class SerialEngine(Engine):
    """``ran`` are the tasks it was given, in order."""

    workers = 1

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def run(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        name: Callable[[Any], str],
        idle: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, Any]]:
        for position, task in enumerate(tasks):
            idle()
            self.ran.append(task)
            yield position, function(task)

    def close(self) -> None:
        pass
