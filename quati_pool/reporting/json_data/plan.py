"""The JSON of ``build --plan``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.plan.parts import PlannedStore, PlannedSystem, Seconds, Total
from quati_pool.commands.plan.plan import Plan
from quati_pool.reporting.json_data.serializer import Views, pick, serialize
from quati_pool.retrieval.planning import Estimate

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
_ESTIMATED = "encode disk memory device_memory flops tokens cost"


def as_data(plan: Plan) -> Any:
    """The JSON object of ``build --plan``, in bytes, seconds, hours and US dollars; unknown values are null, with the
    reason under ``undefined``."""
    systems = [_system(system) for system in plan.systems]
    data = {
        "collection": plan.config.name,
        "queries": plan.queries,
        "corpora": [
            {**pick(size, "name passages characters exact source"), **_store(store)}
            for size, store in zip(plan.corpora, plan.stores, strict=True)
        ],
        "pool": _store(plan.pool),
        "stages_measured": plan.measured,
        "systems": systems,
        "total": plan.total,
        "left": plan.left,
        "undefined": _undefined(plan, systems),
    }
    return serialize(data, VIEWS)


def _undefined(plan: Plan, systems: list[dict[str, Any]]) -> dict[str, str]:
    undefined: dict[str, str] = {}
    for system, data in zip(plan.systems, systems, strict=True):
        where = f"systems.{system.run_tag}"
        if system.estimate is None:
            undefined[where] = system.problem or "not known"
        else:
            undefined |= {f"{where}.{name}": reason for name, reason in _REASONS.items() if data[name] is None}
    undefined |= {f"corpora.{size.name}": size.source for size in plan.corpora if size.passages is None}
    if plan.queries is None:
        undefined["queries"] = plan.queries_from
    if plan.pool is None:
        some = len(plan.systems) < len(plan.config.systems)
        undefined["pool"] = "only some systems are planned" if some else "the size of corpus or queries is not known"
    return undefined


def _system(system: PlannedSystem) -> dict[str, Any]:
    estimate = system.estimate
    return {
        **pick(system, "run_tag what corpus"),
        **(dict.fromkeys(_ESTIMATED.split()) if estimate is None else pick(estimate, _ESTIMATED)),
        **_time(system.seconds),
        **pick(system, "gpu_hours there left shares"),
        **pick(estimate or Estimate(), "arithmetic notes"),
        "problem": system.problem,
    }


def _store(store: PlannedStore | None) -> dict[str, Any]:
    if store is None:
        return {"disk": None, "memory": None, **_time(None)}
    return {**pick(store, "disk memory"), **_time(store.seconds)}


def _time(seconds: Seconds | None) -> dict[str, float | None]:
    """The estimated duration, and its lower and upper end."""
    low, middle, high = seconds or (None, None, None)
    return {"seconds": middle, "seconds_low": low, "seconds_high": high}


def _total(total: Total) -> dict[str, Any]:
    return {**pick(total, "encode disk memory"), **_time(total.seconds), **pick(total, "gpu_hours cost unknown")}


VIEWS: Views = {Total: _total}
