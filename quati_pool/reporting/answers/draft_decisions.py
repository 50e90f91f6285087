"""What people made of drafts, in a sentence."""

from __future__ import annotations

from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.draft_decisions import QUESTION, Drafts
from quati_pool.reporting.answers import wording


def sentence(one: Drafts) -> str:
    """``Questions drafted by gpt-4o: 12 of 46 wait; 20 accepted as they were, 8 edited, 6 refused: 82.4 % (66.5 to
    91.7) of those decided are accepted.``"""
    what = "Questions drafted by" if one.what == QUESTION else "Texts derived by"
    waiting = f"{one.waiting:,} of {one.proposed:,} wait" if one.waiting else f"none of {one.proposed:,} waits"
    said = f"{what} {wording.name(one.model)}: {waiting}"
    if not one.decided:
        return f"{said}."
    refused = sum(one.refused.values())
    fates = wording.counts([("accepted as they were", one.accepted), ("edited", one.edited), ("refused", refused)])
    return f"{said}; {fates}: {percent(one.share)} of those decided are accepted."


def percent(found: Estimate) -> str:
    """``93.3 % (84.1 to 97.4)`` of a share from 0 to 1."""
    assert found.value is not None
    ends = "" if found.low is None or found.high is None else f" ({100 * found.low:.1f} to {100 * found.high:.1f})"
    return f"{wording.share(found.value)}{ends}"
