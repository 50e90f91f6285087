"""The JSON of what people made of drafts, in the reports of questions."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.draft_decisions import Drafts
from quati_pool.reporting.json_data.serializer import Undefined, pick


def drafts_data(one: Drafts) -> dict[str, Any]:
    return {
        **pick(one, "model what proposed waiting accepted edited refused"),
        **estimate("share", one.share),
    }


def estimate(name: str, found: Estimate, low: str = "low", high: str = "high") -> dict[str, Any]:
    """A number with the ends of its interval; null with the reason where undefined."""
    ends = {low: found.low, high: found.high}
    return {
        key: value if value is not None else Undefined(found.why) for key, value in {name: found.value, **ends}.items()
    }
