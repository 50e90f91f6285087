"""The JSON of ``audit --compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.comparison import AuditComparison, DangerContrast
from quati_pool.reporting.json_data.audit import as_data as audits_data
from quati_pool.reporting.json_data.serializer import Undefined, known, pick, serialize
from quati_pool.stats.bootstrap import Contrast


def as_data(found: AuditComparison, reports: Sequence[AuditReport]) -> Any:
    """The comparison under ``compare``, next to the ``audits``. Figures of both judges are lists in the order of
    ``judges``; differences are of the first less the second."""
    return {"compare": serialize(_comparison(found)), **audits_data(reports)}


def _comparison(found: AuditComparison) -> dict[str, Any]:
    missing = found.problem or "only some probes were run"
    kappa, systems = found.kappa, found.systems
    take = None if found.take is None else found.judges[found.take]
    return {
        "judges": found.judges,
        "take": known(take, _why_neither(found)),
        "by": found.basis,
        "people": known(found.people, missing),
        "measure": known(found.measure, missing),
        "order": Undefined(missing)
        if systems is None
        else {**_contrast(systems.tau), **pick(systems, "systems queries")},
        "level": Undefined(missing) if systems is None else {**_contrast(systems.level), "queries": systems.queries},
        "kappa": Undefined(missing)
        if kappa is None
        else {**_contrast(kappa.kappa), "pairs": kappa.n, "queries": kappa.queries},
        "kappa_of_both": known(found.between, "the judges share members or no pair, or grades were not compared"),
        "dangers": [_danger(found, one) for one in found.dangers],
        "cost_per_1000_pairs": [one.cost for one in found.expenses],
        "minutes_per_1000_pairs": [one.minutes for one in found.expenses],
        "problem": found.problem,
    }


def _why_neither(found: AuditComparison) -> str:
    if found.unfinished:
        return "the run is not finished"
    if found.unusable:
        return "neither orders systems as people do"
    return "something speaks for each" if found.split else "neither is shown to be better"


def _contrast(one: Contrast) -> dict[str, Any]:
    return {"values": one[:2], "difference": one.difference, "low": one.interval.low, "high": one.interval.high}


def _danger(found: AuditComparison, one: DangerContrast) -> dict[str, Any]:
    return {
        **pick(one, "danger probe verdicts seen n"),
        "difference": one.difference and one.difference._asdict(),
        "same_texts": one.same,
        "shown_of": None if one.against is None else found.judges[one.against],
    }
