"""The JSON of ``questions draft`` and of its ``--dry-run``."""

from __future__ import annotations

from typing import Any

from quati_pool.annotation.authoring.draft_checks import COPIED_SHARE, COPIED_WORDS
from quati_pool.annotation.questions import SIMILAR_GRAMS, SIMILAR_STEMS
from quati_pool.commands.annotate.drafts.estimate import DraftPlan
from quati_pool.commands.annotate.drafts.report import DraftReport, Outcome
from quati_pool.reporting.json_data.serializer import Undefined, Views, known, pick, serialize

_THRESHOLDS = {
    "repeats": {"stems": SIMILAR_STEMS, "grams": SIMILAR_GRAMS},
    "copies": {"share": COPIED_SHARE, "words": COPIED_WORDS},
}


def as_data(result: DraftReport | DraftPlan) -> Any:
    """The JSON object of a result; an undefined number is null, with the reason under ``undefined``."""
    return serialize(result, VIEWS)


def _report(one: DraftReport) -> dict[str, Any]:
    counts = one.statuses
    return {
        **pick(one, "model drafter from=origin wanted"),
        "drafts": one.sources,
        "added": counts["added"],
        **pick(one, "waiting decided held_back failed"),
        "not_asked": one.not_asked,
        "thresholds": _THRESHOLDS,
        **pick(one, "calls asked"),
        "cost": Undefined("no call has a known cost") if one.unknown and not one.cost else one.cost,
        "calls_of_unknown_cost": one.unknown,
        "error": None if one.error is None else str(one.error),
        "path": one.path,
        "outcomes": one.outcomes,
    }


def _outcome(one: Outcome) -> dict[str, Any]:
    held = None if one.held is None else {**one.held._asdict()}
    return {
        **pick(one, "source=source_id status id=draft_id waits draft"),
        "held_back": held,
        **pick(one, "state problem"),
    }


def _plan(one: DraftPlan) -> dict[str, Any]:
    data = pick(one, "model drafter from=origin wanted sources to_ask input_tokens output_tokens cost notes")
    return {**data, "cost": known(one.cost, "the price is unknown")}


VIEWS: Views = {DraftReport: _report, Outcome: _outcome, DraftPlan: _plan}
