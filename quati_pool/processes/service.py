"""A child that answers requests for as long as they come, and is replaced where it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable

from quati_pool.processes.child import Child, ChildEnded


class Service:
    """The child that ``start`` returns, started with the first request.

    A request during which the child dies is sent once more, to a fresh one. Anything else that ends a request
    early (Ctrl-C, an exception in ``progress``) ends the child too, because its outcome would still be on the way.
    """

    def __init__(self, start: Callable[[], Child]) -> None:
        self.child: Child | None = None
        self._start = start
        self._lock = threading.Lock()
        self._closed = False

    def call(self, request: bytes, progress: Callable[..., None] = lambda *state: None) -> bytes:
        """As ``Child.call``. Raises ChildEnded where a second child dies, and after ``close``."""
        with self._lock:
            try:
                return self._call(request, progress)
            except ChildEnded:
                if self._closed:
                    raise
                return self._call(request, progress)

    def end(self) -> None:
        """Kills the child; the next request starts another."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Kills the child for good, in the middle of a request too."""
        self._closed = True
        if child := self.child:
            child.kill()
        self.end()

    def _call(self, request: bytes, progress: Callable[..., None]) -> bytes:
        try:
            self.child = self.child or self._start()
            # Asked only now: ``close`` may have come before there was a child to kill.
            if self._closed:
                self.child.kill()
            return self.child.call(request, progress)
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        child, self.child = self.child, None
        if child:
            child.kill()
            child.close()
