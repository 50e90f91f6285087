"""What an engine is: it calls a function for each of many tasks, in other processes.

Tasks and results are small; large data is in files that tasks name. A task may be started again after its worker
died, so what it leaves unfinished must not disturb a second start.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from quati_pool.errors import ConfigError
from quati_pool.processes.errors import EngineError
from quati_pool.processes.messages import outcome_of

A = TypeVar("A")
R = TypeVar("R")
DEATHS = 3
"""How many workers may die over a task before it is given up."""
IDLE_SECONDS = 0.5
"""How often a waiting engine calls ``idle``."""


class Engine(ABC):
    """Workers, which live from the first ``run`` to ``close``. Use it in a ``with``."""

    workers: int
    """How many tasks run at once."""

    @abstractmethod
    def run(
        self,
        function: Callable[[A], R],
        tasks: Sequence[A],
        name: Callable[[A], str],
        idle: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, R]]:
        """Results with the position of their task, as they finish.

        ``function`` is a function of a module; it, the tasks and the results are pickled. ``name`` says in an
        error which task it was. ``idle`` is called about every half second while results are awaited.

        What a task raises is raised here, of the same type and with the same message, its traceback in
        ``__cause__``; no other task is started then, and running ones are stopped, as they also are
        where the iterator is closed before its end. A worker that dies is replaced and its task started again; raises
        EngineError for a task whose worker died three times.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the workers, in the middle of a task too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_workers(workers: int | None) -> None:
    """Raises ConfigError for a number of workers below 1."""
    if workers is not None and workers < 1:
        raise ConfigError(f"{workers} workers can do nothing: ask for 1 or more, or leave the number out")


def pack_call(function: Callable[[A], R], task: A) -> bytes:
    """A task as it is sent to a worker."""
    return pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)


def perform(call: bytes) -> bytes:
    """Runs a task in a worker; returns the outcome, for ``unpack_outcome``."""
    return outcome_of(lambda function_and_task: function_and_task[0](function_and_task[1]), call)


def lost(task: str, how: str) -> EngineError:
    """The error for a task that was given up; ``how`` says how its worker ended."""
    return EngineError(
        f"{task}: its worker died {DEATHS} times ({how}); where memory ran out, run the command again with fewer "
        "workers or more memory: finished work is kept"
    )


def stopped() -> EngineError:
    """The error for results that are awaited and will not come."""
    return EngineError("the engine was closed before all its tasks were done: run the command again")
