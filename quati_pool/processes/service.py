"""A child process that answers requests, and is replaced if it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable

from quati_pool.processes.child import Child, ChildEnded


class Service:
    """Wraps the child that ``start`` returns; it is started on the first request.

    If the child dies during a request, the request is sent once more, to a fresh child. Anything else that cuts a
    request short (Ctrl-C, an exception in ``progress``) ends the child too, because its outcome would still arrive.
    """

    def __init__(self, start: Callable[[], Child]) -> None:
        self.child: Child | None = None
        self._start = start
        self._lock = threading.Lock()
        self._closed = False

    def call(self, request: bytes, progress: Callable[..., None] = lambda *state: None) -> bytes:
        """Like ``Child.call``. Raises ChildEnded if a second child dies too, and after ``close``."""
        with self._lock:
            try:
                return self._call(request, progress)
            except ChildEnded:
                if self._closed:
                    raise
                return self._call(request, progress)

    def end(self) -> None:
        """Kills the child; the next request starts a new one."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Kills the child for good, even in the middle of a request."""
        self._closed = True
        if child := self.child:
            child.kill()
        self.end()

    def _call(self, request: bytes, progress: Callable[..., None]) -> bytes:
        try:
            self.child = self.child or self._start()
            # Checked only now: ``close`` may have been called before there was a child to kill.
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
