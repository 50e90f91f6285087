"""An engine whose workers are processes on this machine.

Each worker is a fresh interpreter (not a fork, which would break the threads of pyarrow and torch) with its own pipes,
so that it is known which task was running when a worker died. Workers end when the driver ends, even if it is killed.
Their output is not shown, except for the last line of a worker that died.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence

from quati_pool.processes.base import (
    DEATHS,
    IDLE_SECONDS,
    A,
    Engine,
    R,
    check_workers,
    lost,
    pack_call,
    stopped,
)
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.messages import has_failed, unpack_outcome


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine(Engine):
    """Runs tasks in ``workers`` processes, by default one per usable core."""

    def __init__(self, workers: int | None = None) -> None:
        check_workers(workers)
        self.workers = workers or usable_cores()
        self._free: deque[Child] = deque()
        self._running: list[_TaskRun] = []

    def run(
        self,
        function: Callable[[A], R],
        tasks: Sequence[A],
        name: Callable[[A], str],
        idle: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, R]]:
        task_run = _TaskRun(lambda place: pack_call(function, tasks[place]), len(tasks), self._free)
        self._running.append(task_run)
        try:
            task_run.start(min(self.workers, len(tasks)))
            for _ in tasks:
                place, outcome = task_run.next_outcome(idle)
                if isinstance(outcome, ChildEnded):
                    raise lost(name(tasks[place]), str(outcome))
                if isinstance(outcome, BaseException):
                    raise outcome
                yield place, unpack_outcome(outcome)
        finally:
            task_run.stop()
            self._running.remove(task_run)

    def close(self) -> None:
        for task_run in self._running:
            task_run.stop()
        while self._free:
            self._free.pop().close()


class _TaskRun:
    """The state of one ``run``: its tasks, by position, and the driver's threads, each of which serves one worker."""

    def __init__(self, call: Callable[[int], bytes], tasks: int, free: deque[Child]) -> None:
        self._call = call
        self._waiting = deque(range(tasks))
        self._free = free
        self._deaths: Counter[int] = Counter()
        self._busy: set[Child] = set()
        self._stopped = False
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._outcomes: queue.SimpleQueue[tuple[int, bytes | BaseException]] = queue.SimpleQueue()
        self._idle_at = time.monotonic() + IDLE_SECONDS

    def start(self, workers: int) -> None:
        for _ in range(workers):
            thread = threading.Thread(target=self._lead, daemon=True)
            thread.start()
            self._threads.append(thread)

    def next_outcome(self, idle: Callable[[], None]) -> tuple[int, bytes | BaseException]:
        while True:
            try:
                return self._outcomes.get(timeout=max(0.0, self._idle_at - time.monotonic()))
            except queue.Empty:
                idle()
                self._idle_at = time.monotonic() + IDLE_SECONDS

    def stop(self) -> None:
        """Stops starting tasks, and kills the workers that are running one."""
        with self._lock:
            self._stopped = True
            for worker in self._busy:
                worker.kill()
        for thread in self._threads:
            thread.join()
        self._outcomes.put((0, stopped()))

    def _lead(self) -> None:
        """Gives tasks to a worker one by one, replacing the worker if it dies; runs in a thread of the driver."""
        worker: Child | None = None
        while (place := self._next_place()) is not None:
            try:
                worker = worker or self._free_worker() or Child("quati_pool.processes.worker")
                outcome = self._done(worker, place)
            except ChildEnded as death:
                worker = None
                self._note_death(place, death)
            except BaseException as error:
                if worker:
                    # Its pipes may hold half a message, for example if this process ran out of memory.
                    worker.kill()
                    worker.close()
                    worker = None
                self._start_no_more()
                self._outcomes.put((place, error))
            else:
                if has_failed(outcome):
                    self._start_no_more()
                self._outcomes.put((place, outcome))
        if worker:
            self._free.append(worker)

    def _start_no_more(self) -> None:
        with self._lock:
            self._stopped = True

    def _next_place(self) -> int | None:
        with self._lock:
            return None if self._stopped or not self._waiting else self._waiting.popleft()

    def _free_worker(self) -> Child | None:
        while True:
            try:
                worker = self._free.popleft()
            except IndexError:
                return None
            if worker.alive:
                return worker
            worker.close()

    def _done(self, worker: Child, place: int) -> bytes:
        call = self._call(place)
        with self._lock:
            if self._stopped:
                worker.kill()
            self._busy.add(worker)
        try:
            return worker.call(call)
        except ChildEnded:
            worker.close()
            raise
        finally:
            with self._lock:
                self._busy.remove(worker)

    def _note_death(self, place: int, death: ChildEnded) -> None:
        """Moves the task to the end of the queue, where fewer other tasks compete with it for memory; gives it up
        after too many deaths."""
        with self._lock:
            self._deaths[place] += 1
            if self._deaths[place] < DEATHS:
                self._waiting.append(place)
                return
            self._stopped = True
        self._outcomes.put((place, death))
