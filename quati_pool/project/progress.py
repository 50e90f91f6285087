"""What a command is doing, how far it is, how fast, and how long it will still take; nothing here prints."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from quati_pool.text.durations import duration, rate, time_left

Clock = Callable[[], float]
"""Returns seconds since any fixed moment."""

# How many earlier counts of a work are kept for its speed.
_HISTORY = 256


class _Count(NamedTuple):
    time: float
    done: int


class Work:
    """One piece of work since ``began``, of which ``done`` of ``total`` units are done; ``total`` is 0 where unknown,
    and both are 0 where nothing is counted."""

    def __init__(self, label: str, now: float) -> None:
        self.label = label
        self.began = now
        self.done = self.total = 0
        self.unit = self.detail = ""
        self._history: list[_Count] = []

    @property
    def counted(self) -> bool:
        return bool(self.done or self.total)

    @property
    def finished(self) -> bool:
        return 0 < self.total <= self.done

    @property
    def share(self) -> float | None:
        """The part that is done, from 0 to 1; None if the total is unknown."""
        return min(self.done / self.total, 1.0) if self.total else None

    def count(self, done: int, total: int, unit: str, detail: str, now: float) -> None:
        """Sets how far the work is."""
        if done < self.done:
            self._history.clear()
        if not self._history or done > self.done:
            self._history.append(_Count(now, done))
        if len(self._history) > _HISTORY:
            del self._history[1:-1:2]
        self.done, self.total, self.unit, self.detail = done, total, unit, detail

    def per_second(self, now: float) -> float | None:
        """The speed over the latter half of the time since the first count, which follows changes of speed and yet
        averages over units that arrive in bulk; None if nothing was done in it."""
        if not self._history:
            return None
        middle = (self._history[0].time + now) / 2
        since = self._history[bisect_right(self._history, middle, key=lambda count: count.time) - 1]
        return (self.done - since.done) / (now - since.time) if self.done > since.done and now > since.time else None

    def seconds_left(self, now: float) -> float | None:
        """The estimated time until ``total`` is done; None if it cannot be estimated."""
        speed = self.per_second(now)
        return (self.total - self.done) / speed if speed and self.total > self.done else None

    def amount(self) -> str:
        """``12,300 of 1,000,000 passages``; empty where nothing is counted."""
        if not self.counted:
            return ""
        return f"{self.done:,}" + (f" of {self.total:,}" if self.total else "") + (f" {self.unit}" if self.unit else "")

    def percent(self) -> str:
        """``1 %``, rounded down; empty if the total is unknown."""
        return f"{self.done * 100 // self.total} %" if self.total else ""

    def pace(self, now: float) -> str:
        """``410/s, 40 min left``; the time so far where the time left is unknown."""
        speed, left = self.per_second(now), self.seconds_left(now)
        words = [rate(speed)] if speed else []
        words.append(f"{duration(now - self.began)} so far" if left is None else f"{time_left(left)} left")
        return ", ".join([*words, self.detail] if self.detail else words)


class WorkUnderWay:
    """The works of a command that are under way, within the stages that contain them. Not thread-safe."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self._stages = [Work("", clock())]
        self._works: list[dict[str, Work]] = [{}]
        self._reported: dict[Work, int] = {}

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """A stage of the work; what is reported within it is over when it ends."""
        self.enter(label)
        try:
            yield
        finally:
            self.leave()

    def enter(self, label: str) -> None:
        self._stages.append(Work(label, self.clock()))
        self._works.append({})

    def leave(self) -> None:
        self._stages.pop()
        self._works.pop()

    def progress(self, label: str, done: int, total: int, unit: str = "", detail: str = "") -> None:
        """Sets how far a work of the innermost stage is; with 0 of 0 it has no count, and is over as soon as another
        work of the stage is reported."""
        works = self._works[-1]
        work = works.get(label) or Work(label, self.clock())
        counted = bool(done or total)
        for other in [*works.values()]:
            if other is not work and not (counted and other.counted):
                del works[other.label]
        works[label] = work
        if counted:
            work.count(done, total, unit, detail, self.clock())

    def active(self) -> list[Work]:
        """The unfinished works of the innermost stage, or if there are none, the stage itself; empty if there is
        neither."""
        unfinished = [work for work in self._works[-1].values() if not work.finished]
        return unfinished or self._stages[1:][-1:]

    def lines(self) -> list[str]:
        """One line per active work for a log; a work that is where it was at the last call is ``still`` there."""
        now, active = self.clock(), self.active()
        lines = [f"{work.label}: {self._line(work, now)}" for work in active]
        self._reported = {work: work.done for work in active}
        return lines or [f"still at work, {duration(now - self._stages[0].began)} so far"]

    def _line(self, work: Work, now: float) -> str:
        if not work.counted:
            return work.pace(now)
        percent = f" ({work.percent()})" if work.total else ""
        if self._reported.get(work) == work.done:
            return f"still at {work.amount()}{percent}, {duration(now - work.began)} in all"
        return f"{work.amount()}{percent}, {work.pace(now)}"
