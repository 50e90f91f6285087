"""The JSON of ``questions constraints``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.annotate.authoring.constraints import ClusterDraw
from quati_pool.reporting.json_data.serializer import known, pick, serialize


def as_data(result: ClusterDraw) -> Any:
    """The JSON object of a draw; an undefined number is null, with the reason under ``undefined``."""
    return serialize(result, {ClusterDraw: _draw})


def _draw(found: ClusterDraw) -> dict[str, Any]:
    return {
        **pick(found, "path made triples usable clusters questions min_questions skipped drawn discarded"),
        **pick(found, "cluster_constraints question_constraints answers"),
        "evidence": known(found.evidence, "the triples have no evidence"),
        **pick(found, "constraints negated all_answers ids unnamed"),
    }
