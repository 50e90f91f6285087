"""The figures of a plan: the parts of each system's work, which of them are shared or finished, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from quati_pool.retrieval.planning import Estimate

Stage = Literal["encoding", "index", "run"]

_SPREAD = 3.5
"""The factor by which a time may be wrong where nothing was measured here; the worst factor observed is 3.3."""


class Seconds(NamedTuple):
    """An estimated duration in seconds: its lower bound, expected value and upper bound."""

    low: float
    middle: float
    high: float

    @classmethod
    def around(cls, seconds: float, spread: float = _SPREAD) -> Seconds:
        return cls(seconds / spread, seconds, seconds * spread)

    def times(self, factor: float) -> Seconds:
        return Seconds(*(factor * value for value in self))

    @classmethod
    def sum(cls, parts: Iterable[Seconds]) -> Seconds:
        """The duration of all parts in sequence; the bounds are those of all parts being fast, or all being slow."""
        times = list(parts)
        return cls(*(sum(column) for column in zip(*times, strict=True))) if times else cls(0, 0, 0)


@dataclass(frozen=True)
class PlannedPart:
    """A part of a system's work: passages to ``encode``, bytes on disk, time (None where unknown), GPU hours and cost
    in US dollars. ``left`` is the share that is still to do, from 0 to 1; ``shared`` says whether another system does
    it."""

    stage: Stage
    disk: float = 0
    seconds: Seconds | None = None
    encode: int = 0
    gpu_hours: float = 0
    cost: float = 0
    left: float = 1.0
    shared: bool = False


@dataclass(frozen=True)
class PlannedSystem:
    """The needs of a system; ``there`` says in words what is finished or missing.

    ``estimate`` is None where none can be given, for the reason in ``problem``. ``left`` is the share of the work that
    is still to do, from 0 to 1; ``shares`` names another system that builds the same index or vectors; ``gpu_hours``
    are hours of the reference GPU, None for a system without a model or with one of unknown size; ``seconds`` is the
    time of all ``parts``, None if that of any part is unknown.
    """

    run_tag: str
    what: str
    corpus: str
    estimate: Estimate | None
    problem: str | None
    there: tuple[str, ...]
    left: float
    shares: str | None
    gpu_hours: float | None = None
    seconds: Seconds | None = None
    parts: tuple[PlannedPart, ...] = ()


@dataclass(frozen=True)
class PlannedStore:
    """The store of a corpus, or the pool: bytes on disk, peak memory while it is written, time, and whether it is
    finished."""

    disk: int
    memory: int
    seconds: Seconds
    there: bool = False


@dataclass(frozen=True)
class Total:
    """Sums over corpus stores, systems and pool; work that systems share counts once, and memory is the maximum.
    ``unknown`` names systems that lack a figure: the sums are then lower bounds."""

    encode: int
    disk: int
    memory: int
    seconds: Seconds
    gpu_hours: float
    cost: float
    unknown: tuple[str, ...]


def parts_of(estimate: Estimate, *, encodes: bool, gpu_hours: float | None, run_disk: float) -> tuple[PlannedPart, ...]:
    """The parts of a system's work. What an estimate attributes to neither index nor search counts as encoding or, for
    a component that encodes nothing, as indexing. ``run_disk`` is the size of the system's run in bytes."""
    known = estimate.seconds is not None
    index, search = estimate.index, estimate.search
    disk = (estimate.disk or 0) - index.disk - search.disk
    seconds = (estimate.seconds or 0) - index.seconds - search.seconds
    first = PlannedPart(
        "encoding",
        disk,
        Seconds.around(seconds) if known else None,
        estimate.encode,
        gpu_hours or 0,
        estimate.cost or 0,
    )
    last = PlannedPart("run", search.disk + run_disk, Seconds.around(search.seconds))
    if encodes:
        return first, PlannedPart("index", index.disk, Seconds.around(index.seconds)), last
    whole = Seconds.around(seconds + index.seconds) if known else None
    return replace(first, stage="index", disk=disk + index.disk, seconds=whole), last


def share_left(parts: Sequence[PlannedPart]) -> float:
    """The share of the work that is still to do, weighted by time; that of the first part where a time is unknown."""
    if any(part.seconds is None for part in parts):
        return parts[0].left
    seconds = [part.seconds.middle for part in parts if part.seconds]
    if not sum(seconds):
        return max(part.left for part in parts)
    return sum(part.left * some for part, some in zip(parts, seconds, strict=True)) / sum(seconds)


def total(systems: Sequence[PlannedSystem], stores: Sequence[PlannedStore], *, left: bool = False) -> Total:
    """The sums of all work or, with ``left``, of the work that is still to do."""
    encode = disk = memory = 0
    hours = cost = 0.0
    times: list[Seconds] = []
    unknown = []
    for store in stores:
        if not (left and store.there):
            disk, memory = disk + store.disk, max(memory, store.memory)
            times.append(store.seconds)
    for system in systems:
        estimate = system.estimate
        idle = left and system.left == 0
        if estimate is None or estimate.disk is None or (estimate.seconds is None and estimate.tokens is None):
            unknown += [] if idle else [system.run_tag]
        if estimate is not None and not idle:
            memory = max(memory, estimate.memory or 0)
        for part in system.parts:
            share = 0.0 if part.shared else part.left if left else 1.0
            encode += round(share * part.encode)
            disk += round(share * part.disk)
            hours += share * part.gpu_hours
            cost += share * part.cost
            times += [part.seconds.times(share)] if part.seconds else []
    return Total(encode, disk, memory, Seconds.sum(times), hours, cost, tuple(unknown))
