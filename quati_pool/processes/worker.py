"""What a worker of the local engine does: one task after the other."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import BinaryIO

from quati_pool.processes.base import perform
from quati_pool.processes.child import receive, send


def serve(calls: BinaryIO, outcomes: BinaryIO) -> None:
    """Does tasks until the driver closes the pipe or dies."""
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(calls, waiting), daemon=True).start()
    while True:
        call = waiting.get()
        _forget_what_was_printed()
        send(outcomes, perform(call))


def _listen(calls: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    """In a thread, so that the end of the driver is seen in the middle of a task."""
    try:
        while True:
            waiting.put(receive(calls))
    except (EOFError, OSError):
        os._exit(0)


def _forget_what_was_printed() -> None:
    """What a task prints is kept for the case that it kills the worker, but does not pile up."""
    os.lseek(2, 0, os.SEEK_SET)
    os.ftruncate(2, 0)
