"""How long somebody actively worked on a pair."""

from __future__ import annotations

import math


class Clock:
    """Adds up the time between signs of life, each gap counting at most ``idle`` seconds.

    Times are seconds on one clock, such as ``time.time()``. A time before the one before counts nothing, so
    that a clock that was set back never takes time away.
    """

    def __init__(self, start: float, idle: float) -> None:
        if not (math.isfinite(start) and idle > 0):
            raise ValueError(f"a clock needs a finite start and idle above 0, not {start} and {idle}")
        self.idle = idle
        self.active = 0.0
        """Seconds, each gap cut at ``idle``."""
        self.elapsed = 0.0
        """Seconds, with the gaps whole."""
        self._last = start

    def mark(self, at: float) -> None:
        """A sign of life at time ``at``."""
        if not math.isfinite(at):
            raise ValueError(f"a time must be finite, not {at}")
        gap = max(at - self._last, 0.0)
        self.active += min(gap, self.idle)
        self.elapsed += gap
        self._last = at
