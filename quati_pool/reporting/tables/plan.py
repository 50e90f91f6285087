"""A build plan as tables, and as data."""

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
    """What ``build --plan`` prints: the systems, the corpora, and how the figures came about."""
    return [_systems(plan), _corpora(plan), _arithmetic(plan)]


_MEASURED = (
    "a time is a range: 1.5 times to either side of what the same stage took in this workspace, 2.5 times of one like "
    "it, 3.5 times of our own figures where none was measured"
)


def _systems(plan: Plan) -> Table:
    columns = [
        *map(Column, ("System", "What it is", "To encode or score", "Disk", "Memory", "Time here")),
        *map(Column, ("GPU time", "API cost", "What is there")),
    ]
    rows = [_row(system) for system in plan.systems]
    rows += [_sums("All of it", plan.total), _sums("Still to do", plan.left)]
    told = ", ".join(f"{compute} {peak / 1e12:g}" for compute, peak in GPU_PEAK.items())
    notes = [
        "Disk is what is kept, memory the most at a time besides the interpreter; time here follows from a short "
        f"calibration (a model reaches {CPU_SHARE:.0%} of a matrix product's speed) and from {plan.measured:,} stages "
        f"that were timed here; {_MEASURED}; GPU time is of one {GPU} at {GPU_SHARE:.0%} of its peak ({told} TFLOP/s)",
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
        _shown(system.seconds, _range),
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
        _range(total.seconds),
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
    columns = [Column("Corpus"), Column("Passages"), Column("Characters a passage", 0)]
    columns += map(Column, ("Disk", "Memory", "Time here", "Known from"))
    asked = "queries: not known" if plan.queries is None else f"{plan.queries:,} queries"
    return Table("Corpora", columns, rows, f"{asked} ({plan.queries_from}).")


def _store(store: PlannedStore | None) -> list[Cell]:
    if store is None:
        return [None, None, None]
    return [human_bytes(store.disk), _shown(store.memory or None, human_bytes), _range(store.seconds)]


def _range(seconds: Seconds) -> str:
    """``2 to 9 min``, or one length where both ends read the same."""
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
    """US dollars, to the cent where there are few."""
    return f"${cost:,.0f}" if cost >= 100 else f"${cost:,.2f}" if cost >= 0.01 or not cost else "< $0.01"


def as_data(plan: Plan) -> dict[str, Any]:
    """The JSON object of ``build --plan``: bytes, seconds, hours, US dollars; what is not known is null, with
    its reason under ``undefined``."""
    undefined: dict[str, str] = {}
    systems = []
    for system in plan.systems:
        data = _data(system)
        systems.append(data)
        if system.estimate is None:
            undefined[f"systems.{system.run_tag}"] = system.problem or "not known"
            continue
        for name, reason in _REASONS.items():
            if data[name] is None:
                undefined[f"systems.{system.run_tag}.{name}"] = reason
    for size in plan.corpora:
        if size.passages is None:
            undefined[f"corpora.{size.name}"] = size.source
    if plan.queries is None:
        undefined["queries"] = plan.queries_from
    if plan.pool is None:
        some = len(plan.systems) < len(plan.config.systems)
        undefined["pool"] = "only some systems are planned" if some else "the size of corpus or queries is not known"
    return {
        "collection": plan.config.name,
        "queries": plan.queries,
        "corpora": [
            {
                "name": size.name,
                "passages": size.passages,
                "characters": size.characters,
                "exact": size.exact,
                "source": size.source,
                **_store_data(store),
            }
            for size, store in zip(plan.corpora, plan.stores, strict=True)
        ],
        "pool": _store_data(plan.pool),
        "stages_measured": plan.measured,
        "systems": systems,
        "total": _total(plan.total),
        "left": _total(plan.left),
        "undefined": undefined,
    }


_UNSAID = "its component does not say, or the sizes of its model are not known here"
_NO_MODEL = "no model of its own, or one whose size is not known"
_REASONS = {
    "disk": _UNSAID,
    "memory": _UNSAID,
    "device_memory": _NO_MODEL,
    "flops": _NO_MODEL,
    "tokens": "no server is asked",
    "seconds": "nothing tells how fast it is: no model whose size is known works here",
    "gpu_hours": _NO_MODEL,
    "cost": "no server is paid, or the price is not known",
}


def _data(system: PlannedSystem) -> dict[str, Any]:
    estimate = system.estimate
    told = {
        name: None if estimate is None else getattr(estimate, name)
        for name in ("encode", "disk", "memory", "device_memory", "flops", "tokens", "cost")
    }
    return {
        "run_tag": system.run_tag,
        "what": system.what,
        "corpus": system.corpus,
        **told,
        **_ends(system.seconds),
        "gpu_hours": system.gpu_hours,
        "there": list(system.there),
        "left": system.left,
        "shares": system.shares,
        "arithmetic": [] if estimate is None else list(estimate.arithmetic),
        "notes": [] if estimate is None else list(estimate.notes),
        "problem": system.problem,
    }


def _store_data(store: PlannedStore | None) -> dict[str, Any]:
    return {
        "disk": None if store is None else store.disk,
        "memory": None if store is None else store.memory,
        **_ends(None if store is None else store.seconds),
    }


def _ends(seconds: Seconds | None) -> dict[str, float | None]:
    """A time, at least and at most."""
    low, middle, high = (None, None, None) if seconds is None else seconds
    return {"seconds": middle, "seconds_low": low, "seconds_high": high}


def _total(total: Total) -> dict[str, Any]:
    return {
        "encode": total.encode,
        "disk": total.disk,
        "memory": total.memory,
        **_ends(total.seconds),
        "gpu_hours": total.gpu_hours,
        "cost": total.cost,
        "unknown": list(total.unknown),
    }
