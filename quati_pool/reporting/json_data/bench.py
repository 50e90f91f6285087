"""The JSON of ``bench``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quati_pool.commands.bench.retrieval import Curve
from quati_pool.qa_benchmarks.base import Row
from quati_pool.reporting.json_data.serializer import Views, pick, serialize

if TYPE_CHECKING:
    from quati_pool.commands.bench.bench import BenchResult

_CASE = "language=case.language split=case.split"


def as_data(result: BenchResult) -> Any:
    """The JSON object of ``bench``; an undefined measure is null, with the reason under ``undefined``."""
    data = {
        "benchmark": result.benchmark.name,
        "task": result.task.name,
        **pick(result.benchmark, "title license citation source"),
        **pick(result, "seed=options.seed inputs models rows notes curves workspaces"),
    }
    return serialize(data, VIEWS)


def _row(row: Row) -> dict[str, Any]:
    bounds = {name: {"low": low, "high": high} for name, (low, high) in row.bounds.items()}
    data = {
        **pick(row, f"system {_CASE}"),
        "setting": row.case.setting or None,
        **pick(row, "n measures undefined? unanswered?"),
        **({"bounds": bounds} if bounds else {}),
        **pick(row, "notes?"),
    }
    return data | {name: value for name, value in row.extra.items() if name not in data}


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        **pick(curve, _CASE),
        "setting": curve.case.setting or None,
        "k": range(1, len(curve.random) + 1),
        **pick(curve, "random systems"),
    }


VIEWS: Views = {Row: _row, Curve: _curve}
