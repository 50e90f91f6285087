"""Shows what takes long while it runs."""

from __future__ import annotations

import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from quati_pool.project.progress import Clock, WorkUnderWay
from quati_pool.reporting.reporter import Reporter


class TimedReporter(Reporter):
    """Keeps what is under way, and shows it from a thread, so that a step that reports nothing is shown too. A context
    manager; thread-safe."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        """``seconds``: the time between two calls of ``draw``."""
        self._works = WorkUnderWay(clock)
        self._lock = threading.RLock()
        self._seconds = seconds
        self._ended = threading.Event()
        self._timer = threading.Thread(target=self._tick, name="progress", daemon=True)

    @abstractmethod
    def draw(self) -> None:
        """Shows what is under way; called with the lock held."""

    def report(self) -> None:
        """Shows what is under way now."""
        with self._lock:
            self.draw()

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        with self._lock:
            self._works.enter(label)
        try:
            yield
        finally:
            with self._lock:
                self._works.leave()

    def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
        with self._lock:
            self._works.progress(label, done, total, unit, detail)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._timer.join()

    def _tick(self) -> None:
        while not self._ended.wait(self._seconds):
            self.report()


def write_stderr(text: str) -> None:
    """Writes to stderr where that is possible: work goes on without its log."""
    # Where stderr was closed, it is None, or raises one of these.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
