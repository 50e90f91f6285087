"""Ends the command at a second Ctrl-C, even inside a library that does not return to Python for minutes."""

from __future__ import annotations

import os
import signal
import socket
import threading
from types import FrameType

# Seconds that Python has to react to a Ctrl-C before the process is ended.
_PATIENCE = 1.0


def second_ends_at_once() -> None:
    """Handles Ctrl-C in this process from now on, unless it is ignored (as under nohup): a KeyboardInterrupt as usual,
    but if a second or later one is not raised within a second, the process ends with status 130.

    A signal's Python handler runs only between two instructions of the main thread. So a thread reads from the socket
    to which Python writes the number of each signal at once.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    source, sink = socket.socketpair()
    raised = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        raised += 1
        signal.default_int_handler(number, frame)

    def watch() -> None:
        seen = 0
        while True:
            seen += source.recv(64).count(signal.SIGINT)
            if seen > 1 and raised < seen:
                threading.Event().wait(_PATIENCE)
                if raised < seen:
                    os._exit(130)

    signal.signal(signal.SIGINT, interrupt)
    sink.setblocking(False)
    signal.set_wakeup_fd(sink.detach(), warn_on_full_buffer=False)
    threading.Thread(target=watch, name="interruption", daemon=True).start()
