"""The JSON of ``train judge``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.train.judge import TrainedJudgeReport
from quati_pool.reporting.json_data.serializer import Views, pick, serialize


def as_data(report: TrainedJudgeReport) -> Any:
    """The JSON object of ``train judge``."""
    return serialize(report, VIEWS)


def _report(report: TrainedJudgeReport) -> dict[str, Any]:
    card = report.card
    return {
        **pick(report, "folder trained"),
        "seconds": round(report.seconds, 3),
        "settings": {"judge": "distilled", "model": report.path_in_workspace},
        **pick(card, "target scale relevant_from max_tokens collection"),
        "base": card.base.model,
        "labelers": [one.model_dump() for one in card.teachers],
        **pick(card, "augmentation negatives steps held_out"),
        "queries": {"training": len(card.training_queries), "held_out": len(card.held_out_queries)},
    }


VIEWS: Views = {TrainedJudgeReport: _report}
