"""Shows a Python program what a command is doing: in place in a notebook or on a terminal, a line a minute in a log."""

from __future__ import annotations

import shutil
import sys
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import TracebackType
from typing import Any

from quati_pool.project.progress import Work
from quati_pool.reporting.reporter import Reporter
from quati_pool.reporting.timed_reporter import TimedReporter, write_stderr
from quati_pool.text.display_width import beginning

# Seconds between two lines in a log, and between two drawings elsewhere; shorter work is not drawn.
_EVERY, _FRAME, _SHORT = 60.0, 0.5, 1.0


def listener(show: bool) -> AbstractContextManager[Reporter]:
    """What a command reports to; shown where the program runs, or nowhere."""
    if not show:
        return nullcontext(Reporter())
    return InNotebook() if _in_notebook() else OnStderr()


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


class _Shown(TimedReporter):
    def lines(self) -> list[str]:
        """What takes long, one line each."""
        now = self._works.clock()
        return [_line(work, now) for work in self._works.active() if now - work.began >= _SHORT]


def _line(work: Work, now: float) -> str:
    return f"{work.label}: " + ", ".join(filter(None, (work.amount(), work.percent(), work.pace(now))))


class InNotebook(_Shown):
    """One output of the cell, which has the lines so far and below them what is under way."""

    def __init__(self) -> None:
        super().__init__(_FRAME)
        # A retriever's library imports tqdm, which asks here for a package that draws its bars; we draw none of them.
        warnings.filterwarnings("ignore", "IProgress not found")
        self._said: list[str] = []
        self._shown = ""
        self._display: Any = None

    def say(self, line: str) -> None:
        with self._lock:
            self._said.append(line)
            self._show(self._said)

    def draw(self) -> None:
        self._show([*self._said, *self.lines()])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._show(self._said)

    def _show(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        if text == self._shown:
            return
        self._shown = text
        if self._display is None:
            # Its types are known only where IPython is installed.
            display: Any = import_module("IPython.display").display
            self._display = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._display.update({"text/plain": text}, raw=True)


class OnStderr(_Shown):
    """Lines on stderr: on a terminal the last one is drawn again and again, in a log one is printed every minute."""

    def __init__(self, every: float = _EVERY) -> None:
        """``every``: seconds between two lines in a log."""
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        super().__init__(_FRAME if self._terminal else every / 10)
        self._every = every
        self._drawn = False
        self._written = time.monotonic()

    def say(self, line: str) -> None:
        with self._lock:
            self._write(f"{line}\n")

    def draw(self) -> None:
        if self._terminal:
            # The last column stays free, because some terminals go to the next line after it.
            width = shutil.get_terminal_size().columns - 1
            line = "; ".join(self.lines())
            if line or self._drawn:
                self._write(beginning(line, width))
                self._drawn = bool(line)
        elif time.monotonic() - self._written >= self._every:
            self._write("".join(f"{line}\n" for line in self._works.lines()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._write("")

    def _write(self, text: str) -> None:
        self._written = time.monotonic()
        erased = "\r\x1b[K" if self._drawn else ""
        self._drawn = False
        write_stderr(erased + text)
