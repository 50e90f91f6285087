"""The JSON of ``prompts``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.prompts import PromptListing
from quati_pool.reporting.json_data.serializer import Views, pick, serialize


def as_data(prompts: Sequence[PromptListing]) -> Any:
    """The JSON object of ``prompts``."""
    return serialize({"prompts": prompts}, VIEWS)


def _listing(listing: PromptListing) -> dict[str, Any]:
    prompt = listing.prompt
    if prompt is None:
        return pick(listing, "id file=path problem")
    return {
        "id": listing.id,
        **pick(prompt, "version language summary"),
        "scale": dict(sorted(prompt.scale.items())),
        "examples": len(prompt.examples),
        **pick(prompt, "fenced sha"),
        **pick(listing, "file=path problem"),
    }


VIEWS: Views = {PromptListing: _listing}
