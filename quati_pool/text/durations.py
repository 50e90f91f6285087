"""Durations and rates in units that people read."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A measured time: ``3.1 s``, ``12 s``, ``3 min 20 s``, ``1 h 5 min``, ``2 d 3 h``."""
    if seconds < 0.05:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 24 * 60:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def time_left(seconds: float) -> str:
    """An estimated time, without digits that it does not have: ``40 s``, ``36 min``, ``1 h 5 min``."""
    if seconds < 59.5:
        return f"{max(round(seconds), 1)} s"
    if round(seconds / 60) < 60:
        return f"{round(seconds / 60)} min"
    return duration(60 * round(seconds / 60))


def rate(per_second: float) -> str:
    """A speed in the unit in which it is at least 1: ``410/s``, ``3.1/s``, ``12/min``, or ``3 min 20 s each``."""
    if per_second >= 9.95:
        return f"{per_second:,.0f}/s"
    if per_second >= 1:
        return f"{per_second:.1f}/s"
    if per_second >= 1 / 60:
        return f"{per_second * 60:.0f}/min"
    return f"{duration(1 / per_second)} each"


def _two_units(count: int, ratio: int, large: str, small: str) -> str:
    whole, rest = divmod(count, ratio)
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
