"""Labelers whose grades are computed from others', or decided in sight of them, and from whose."""

from __future__ import annotations

from quati_pool.labels.labelers import Consensus, Labeler, Panel, StoredLabeler
from quati_pool.store.records import ADJUDICATED


def members(labeler: Labeler) -> frozenset[str]:
    """Names of the labelers from whose grades this one's follow, those of a panel within a panel too; empty
    for a labeler that graded independently. Leads' decisions follow from those of all people who labelled."""
    if isinstance(labeler, (Consensus, Panel)):
        decisions = {labeler.decisions.name} if isinstance(labeler, Panel) and labeler.decisions else set()
        return frozenset(decisions).union(*(members(member) or {member.name} for member in labeler.members))
    if isinstance(labeler, StoredLabeler) and labeler.name == ADJUDICATED:
        return frozenset(person.name for person in labeler.grading.people())
    return frozenset()
