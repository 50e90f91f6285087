"""Measures how long somebody actively worked on a pair."""

from __future__ import annotations

import math


class Clock:
    """Adds up the time between events of activity, each gap counting at most ``idle`` seconds.

    Times are seconds on one clock, such as ``time.time()``. A time before the previous one adds nothing, so
    that a clock that was set back never subtracts time.
    """

    def __init__(self, start: float, idle: float) -> None:
        if not (math.isfinite(start) and idle > 0):
            raise ValueError(f"a clock needs a finite start and idle above 0, not {start} and {idle}")
        self.idle = idle
        self.active = 0.0
        """Seconds, each gap capped at ``idle``."""
        self.elapsed = 0.0
        """Seconds, including the full gaps."""
        self._last = start

    def mark(self, at: float) -> None:
        """Records activity at time ``at``."""
        if not math.isfinite(at):
            raise ValueError(f"a time must be finite, not {at}")
        gap = max(at - self._last, 0.0)
        self.active += min(gap, self.idle)
        self.elapsed += gap
        self._last = at
