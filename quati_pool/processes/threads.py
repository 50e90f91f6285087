"""Calls a function for each of many tasks in threads of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from quati_pool.processes.local import usable_cores

A = TypeVar("A")
R = TypeVar("R")

# Each task may hold hundreds of megabytes.
_MOST = 4


def in_threads(function: Callable[[A], R], tasks: Iterable[A]) -> Iterator[R]:
    """Yields the result of each task, in the order of the tasks, with a thread for each core, at most four.

    It is for work in Arrow, numpy and zlib, which run outside Python's lock. Few tasks are begun ahead of the result
    that is awaited, so that few results are in memory. An exception of a task is raised here; no task is begun then.
    """
    threads = min(usable_cores(), _MOST)
    begun: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for task in tasks:
            begun.append(pool.submit(function, task))
            if len(begun) > threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
