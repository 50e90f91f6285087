"""The tables of ``build --plan``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.plan.parts import PlannedStore, PlannedSystem, Seconds, Total
from quati_pool.commands.plan.plan import Plan
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.retrieval.planning import (
    CPU_SHARE,
    GPU,
    GPU_PEAK,
    GPU_SHARE,
    human_bytes,
    human_hours,
    human_seconds,
)


def tables(plan: Plan) -> list[Table]:
    """What ``build --plan`` prints: the systems, the corpora, and how the estimates were computed."""
    return [_systems(plan), _corpora(plan), _arithmetic(plan)]


_MEASURED = (
    "a time is a range: a factor of 1.5 either way of what the same stage took in this workspace, 2.5 for one like "
    "it, 3.5 for our own figures where none was measured"
)


def _systems(plan: Plan) -> Table:
    columns = [
        *map(Column, ("System", "What it is", "To encode or score", "Disk", "Memory", "Time here")),
        *map(Column, ("GPU time", "API cost", "What is there")),
    ]
    rows = [_row(system) for system in plan.systems]
    rows += [_sums("All of it", plan.total), _sums("Still to do", plan.left)]
    peaks = ", ".join(f"{compute} {peak / 1e12:g}" for compute, peak in GPU_PEAK.items())
    notes = [
        "Disk is what is kept, memory the peak without the interpreter; time here follows from a short "
        f"calibration (a model reaches {CPU_SHARE:.0%} of a matrix product's speed) and from {plan.measured:,} stages "
        f"that were timed here; {_MEASURED}; GPU time is of one {GPU} at {GPU_SHARE:.0%} of its peak ({peaks} TFLOP/s)",
        "the sums hold the corpus stores and the pool too",
        "a dash is not known or not needed",
    ]
    if plan.total.unknown:
        notes.append(f"the sums lack figures of {', '.join(plan.total.unknown)}")
    if any(system.estimate and system.estimate.tokens and system.estimate.seconds is None for system in plan.systems):
        notes.append("how long servers take is not known, and not in the sums")
    shared = [f"{system.run_tag} with {system.shares}" for system in plan.systems if system.shares]
    if shared:
        notes.append(f"counted once: what {', '.join(shared)} share")
    return Table(f"Plan of {plan.config.name}: nothing was run", columns, rows, "; ".join(notes) + ".")


def _row(system: PlannedSystem) -> list[Cell]:
    there = "; ".join(system.there)
    estimate = system.estimate
    if estimate is None:
        return [
            system.run_tag,
            system.what,
            None,
            None,
            None,
            None,
            None,
            None,
            "; ".join(filter(None, (system.problem, there))),
        ]
    return [
        system.run_tag,
        system.what,
        estimate.encode or None,
        _shown(estimate.disk, human_bytes),
        _shown(estimate.memory, human_bytes),
        _shown(system.seconds, time_range),
        _shown(system.gpu_hours, human_hours),
        _shown(estimate.cost, dollars),
        there or "nothing yet",
    ]


def _sums(name: str, total: Total) -> list[Cell]:
    return [
        name,
        "",
        total.encode,
        human_bytes(total.disk),
        human_bytes(total.memory),
        time_range(total.seconds),
        _shown(total.gpu_hours or None, human_hours),
        _shown(total.cost or None, dollars),
        "",
    ]


def _corpora(plan: Plan) -> Table:
    rows: list[list[Cell]] = [
        [size.name, size.passages, size.characters, *_store(store), size.source]
        for size, store in zip(plan.corpora, plan.stores, strict=True)
    ]
    rows.append(["pool, at most", None, None, *_store(plan.pool), "depth × systems × queries"])
    columns = [Column("Corpus"), Column("Passages"), Column("Characters per passage", 0)]
    columns += map(Column, ("Disk", "Memory", "Time here", "Known from"))
    asked = "queries: not known" if plan.queries is None else f"{plan.queries:,} queries"
    return Table("Corpora", columns, rows, f"{asked} ({plan.queries_from}).")


def _store(store: PlannedStore | None) -> list[Cell]:
    if store is None:
        return [None, None, None]
    return [human_bytes(store.disk), _shown(store.memory or None, human_bytes), time_range(store.seconds)]


def time_range(seconds: Seconds) -> str:
    """A range such as ``2 to 9 min``, or a single duration if both ends read the same."""
    low, high = human_seconds(seconds.low), human_seconds(seconds.high)
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    return f"{number if high.endswith(f' {unit}') and number[0].isdigit() else low} to {high}"


def _arithmetic(plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for system in plan.systems:
        if system.estimate is not None:
            rows += [[system.run_tag, line] for line in (*system.estimate.arithmetic, *system.estimate.notes)]
    return Table("How the figures came about", [Column("System"), Column("Arithmetic")], rows)


def _shown(value: Any, how: Any) -> str | None:
    return None if value is None else how(value)


def dollars(cost: float) -> str:
    """A cost in US dollars, with cents below 100 dollars."""
    return f"${cost:,.0f}" if cost >= 100 else f"${cost:,.2f}" if cost >= 0.01 or not cost else "< $0.01"
