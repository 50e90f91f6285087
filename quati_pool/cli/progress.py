"""Prints a command's lines to stderr, and how far it is: bars on a terminal, a line a minute in a log."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from quati_pool.project.progress import Clock, Work
from quati_pool.reporting.timed_reporter import TimedReporter, write_stderr
from quati_pool.text.display_width import beginning, columns, short

if TYPE_CHECKING:
    from rich.live import Live

# Seconds between two frames on a terminal; work that is shorter than _SHORT gets no bar, which would only flash.
_FRAME, _SHORT = 0.2, 1.0
# Columns of a label that is cut to make room, and of a bar.
_LABEL, _NARROWEST, _WIDEST = 16, 8, 40


class ConsoleListener(TimedReporter):
    """Prints lines, and what is under way: on a terminal bars that vanish when their work ends, elsewhere a line after
    every ``every`` seconds. Prints nothing where stderr is closed."""

    def __init__(self, every: float = 60.0, clock: Clock = time.monotonic) -> None:
        self._terminal = is_terminal()
        super().__init__(_FRAME if self._terminal else min(1.0, every / 4), clock)
        self._every = every
        self._clock = clock
        self._live: Live | None = None
        self._said_at = self._reported_at = clock()

    def say(self, line: str) -> None:
        with self._lock:
            self._erase()
            self._print(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._erase()

    def draw(self) -> None:
        """Draws the bars or, in a log, prints the lines that are due."""
        if self._terminal:
            self._draw_bars()
        elif self._due():
            self._reported_at = self._clock()
            for line in self._works.lines():
                self._print(line)

    def _due(self) -> bool:
        """Whether to print lines now: work that began long ago is reported even if other lines are printed meanwhile,
        and many short works only in their absence."""
        now = self._clock()
        began = min((work.began for work in self._works.active()), default=now)
        return now - self._reported_at >= self._every and now - min(began, self._said_at) >= self._every

    def _print(self, line: str) -> None:
        self._said_at = self._clock()
        write_stderr(f"{line}\n")

    def _draw_bars(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        now = self._clock()
        works = [work for work in self._works.active() if now - work.began >= _SHORT]
        if not works:
            self._erase()
            return
        if self._live is None:
            console = Console(stderr=True)
            self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
        console = self._live.console
        bar = "#-" if console.options.ascii_only else "━─"
        # Room for the ^C that a terminal writes there, which would otherwise begin a line that is not erased.
        lines = "\n".join(bar_line(work, now, console.width - 3, bar) for work in works)
        self._live.update(Text(lines, no_wrap=True, overflow="crop"), refresh=True)

    def _erase(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class QuietListener(ConsoleListener):
    """The same without the lines on what was built, for a command whose answer tells it all."""

    def say(self, line: str) -> None:
        pass


def is_terminal() -> bool:
    """Whether stderr is a terminal on which lines can be drawn again."""
    with suppress(ValueError):  # closed
        return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


def bar_line(work: Work, now: float, width: int, bar: str = "━─") -> str:
    """A work in one line of at most ``width`` columns: its label, how far it is and how fast, and between them, if
    there is room and the total is known, a bar of the two characters in ``bar``."""
    words = ", ".join(filter(None, (work.amount(), work.pace(now))))
    room = width - columns(words) - 1
    share = work.share
    if share is None:
        return beginning(f"{short(work.label, max(room, _LABEL))} {words}", width)
    label = short(work.label, max(room - _NARROWEST - 1, _LABEL))
    size = min(room - columns(label) - 1, _WIDEST)
    if size < _NARROWEST:
        return beginning(f"{short(work.label, max(room, _LABEL))} {words}", width)
    full = int(share * size)
    return f"{label} {bar[0] * full}{bar[1] * (size - full)} {words}"
