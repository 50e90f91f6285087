"""The JSON of how complete a pool is, in that of ``status`` and in a file of ``report``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.completeness import LabeledCompleteness
from quati_pool.pooling.completeness import Completeness, LastRound, PoolCompleteness, Unseen
from quati_pool.reporting.json_data.serializer import Undefined, Views, fields, pick, serialize


def as_data(report: LabeledCompleteness | None) -> Any:
    """The JSON object; null where nothing is graded."""
    return serialize(report, VIEWS)


def _report(report: LabeledCompleteness) -> Any:
    if report.found is None:
        return {"labeler": report.labeler, "outside": Undefined(report.undefined)}
    return {"labeler": report.labeler, **_pool(report.found)}


def _pool(found: PoolCompleteness) -> dict[str, Any]:
    return {
        **pick(found, "relevant_from families"),
        "need_more": [query.query_id for query in found.needing_more],
        "not_graded_enough": found.not_graded,
        "outside": {"queries": len(found.queries), **_counts(found.whole)},
        "rounds": found.rounds,
        "queries": [{"query_id": query.query_id, **_counts(query), "needs": query.needs} for query in found.queries],
    }


def _counts(one: Completeness) -> dict[str, Any]:
    return {
        **pick(one, "pairs graded relevant by_one_family=once by_two_families=twice"),
        "capture_recapture": one.capture or Undefined(one.undefined.get("capture")),
        **pick(one, "drawn frame"),
        "random_share": one.random or Undefined(one.undefined.get("random")),
        **pick(one, "last_round?=last"),
    }


VIEWS: Views = {
    LabeledCompleteness: _report,
    Unseen: fields("estimate low high"),
    LastRound: fields("round graded relevant low"),
}
