"""The interface of an engine, which calls a function for each of many tasks in other processes.

Tasks and results should be small; large data goes into files that tasks name. A task may be started again after its
worker died, so anything it leaves unfinished must not disturb the second attempt.
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
"""How many times a task's worker may die before the task is given up."""
IDLE_SECONDS = 0.5
"""Seconds between two calls of ``idle`` while an engine waits for results."""


class Engine(ABC):
    """A group of workers that live from the first ``run`` until ``close``. Use it as a context manager."""

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
        """Yields (position of a task, its result) as tasks finish.

        ``function`` must be defined at module level; it, the tasks and the results are pickled. ``name`` describes a
        task in error messages. ``idle`` is called about every half second while results are awaited.

        An exception that a task raises is raised here with the same type and message, and with the worker's traceback
        as its ``__cause__``. No further task is started then and running ones are stopped; closing the iterator early
        does the same. A worker that dies is replaced and its task is started again; raises EngineError for a task whose
        worker died three times.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the workers, even in the middle of a task."""

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
    """A function and a task in the form in which they are sent to a worker, for ``perform``."""
    return pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)


def perform(call: bytes) -> bytes:
    """Runs a task in a worker; returns its pickled outcome, for ``unpack_outcome``."""
    return outcome_of(lambda function_and_task: function_and_task[0](function_and_task[1]), call)


def lost(task: str, how: str) -> EngineError:
    """The error for a task that was given up; ``how`` describes how its worker ended."""
    return EngineError(
        f"{task}: its worker died {DEATHS} times ({how}); where memory ran out, run the command again with fewer "
        "workers or more memory: finished work is kept"
    )


def stopped() -> EngineError:
    """The error for results that will not arrive because the engine was closed."""
    return EngineError("the engine was closed before all its tasks were done: run the command again")
