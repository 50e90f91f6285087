"""Long computations for leads' pages: drawing a page never waits for one, but shows the last result with its time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from quati_pool.errors import QuatiPoolError, TranslatableText, message_of
from quati_pool.store.errors import StoreError

T = TypeVar("T")


def for_pages(problem: str) -> str:
    """Why something cannot be computed, as pages say it: what has no words there goes to the server's log instead,
    because it may say where the server keeps its files."""
    if isinstance(problem, TranslatableText):
        return problem
    logging.getLogger(__name__).warning("%s", problem)
    text = "the collection's files or settings are not in order; what is wrong is in the server's log"
    return TranslatableText(text, "not_in_order")


class Latest(NamedTuple, Generic[T]):
    """The last result (None before the first), whether a newer one is being computed, and why the last attempt failed
    (None if it did not)."""

    value: T | None
    running: bool
    problem: str | None


class Background(Generic[T]):
    """Computes something called ``name`` in a thread, one at a time, and keeps the last result."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._last: T | None = None
        self._problem: str | None = None
        self._ended: float | None = None

    def latest(self, compute: Callable[[], T], wait: float, *, older: float) -> Latest[T]:
        """The last result. Calls ``compute`` if it never was, or the last computation ended more than ``older`` seconds
        ago, unless one is running, and waits at most ``wait`` seconds for it."""
        with self._lock:
            due = self._ended is None or time.monotonic() - self._ended > older
            if self._thread is None and due:
                self._thread = threading.Thread(target=self._run, args=(compute,), name=self._name, daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None and wait > 0:
            thread.join(wait)
        with self._lock:
            return Latest(self._last, self._thread is not None, self._problem)

    def _run(self, compute: Callable[[], T]) -> None:
        computed: T | None = None
        problem: str | None = None
        try:
            computed = compute()
        except StoreError as error:
            # Only in the server's log: leads should not see where the database is.
            logging.getLogger(__name__).warning("%s", error)
            problem = TranslatableText("the label database cannot be reached", "unreachable")
        except QuatiPoolError as error:
            problem = for_pages(message_of(error))
        except Exception as error:
            logging.getLogger(__name__).exception("the %s failed", self._name)
            name = type(error).__name__
            text = f"the {self._name} failed ({name}); what went wrong is in the server's log"
            problem = TranslatableText(text, "fault", error=name)
        with self._lock:
            self._last, self._problem = computed or self._last, problem
            self._ended, self._thread = time.monotonic(), None
