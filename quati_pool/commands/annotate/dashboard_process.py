"""Dashboards made in a process of their own: Python runs one thread at a time, so that in the server's process
each of them would hold up everybody who grades."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from quati_pool.commands.annotate import dashboard
from quati_pool.commands.annotate.dashboard import Dashboard
from quati_pool.commands.annotate.session import Desk
from quati_pool.errors import QuatiPoolError

# People go first where there are more processes than cores.
_NICE = 5
# Not a process of multiprocessing, which runs its parent's main module again: under Streamlit that is the page.
_COMMAND = [sys.executable, "-c", "from quati_pool.commands.annotate.dashboard_process import serve; serve()"]


@contextlib.contextmanager
def apart(desk: Desk, config_path: Path, database: str | None = None) -> Iterator[None]:
    """Within, the desk's dashboards are made by another process, started with the first of them; ``config_path``
    and ``database`` are those that the desk was opened with."""
    maker = _Maker(config_path, database)
    dashboard.make_with(desk, maker.make)
    try:
        yield
    finally:
        dashboard.make_with(desk, None)
        maker.end()


class _Maker:
    """The process, and the pipes to it. It ends by itself once this end of them is gone, however that was."""

    def __init__(self, config_path: Path, database: str | None) -> None:
        self._opened_with = (config_path, database)
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None

    def make(self, _: Desk) -> Dashboard:
        """Raises QuatiPoolError with what the other process says, or where it ends without a word."""
        with self._lock:
            # Perhaps it was killed since the last time, for its memory or by hand.
            made = self._asked() or self._asked()
        if isinstance(made, Dashboard):
            return made
        raise QuatiPoolError(made or "the process that makes dashboards ended; see what the server wrote")

    def end(self) -> None:
        """Waits for nothing: a dashboard that is being made is nobody's any more."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            with contextlib.suppress(OSError):  # what was not sent is not wanted
                running.__exit__(None, None, None)

    def _asked(self) -> Dashboard | str | None:
        """What it answers; None where it has ended."""
        if self._running is None:
            self._running = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ask, answer = self._running.stdin, self._running.stdout
        assert ask is not None
        assert answer is not None
        try:
            pickle.dump(self._opened_with, ask)
            ask.flush()
            told: Dashboard | str = pickle.load(answer)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.end()
            return None
        return told


def serve() -> None:
    """The other process: a dashboard for each question on its standard input, until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this
    if hasattr(os, "nice"):
        os.nice(_NICE)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing that is printed comes between
    with contextlib.suppress(EOFError, OSError):
        _serve(sys.stdin.buffer, answers)


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    # Labels are kept from one dashboard to the next; to look through them for garbage again and again, as they
    # come in, takes as long as to read them. It is done once nobody waits.
    gc.disable()
    desk: Desk | None = None
    try:
        while True:
            config_path, database = pickle.load(questions)
            try:
                desk = desk or Desk.open(config_path, database)
                told: Dashboard | str = dashboard.compute(desk)
            except QuatiPoolError as error:
                told = str(error)
            pickle.dump(told, answers)
            answers.flush()
            gc.collect()
    finally:
        if desk is not None:
            desk.close()
