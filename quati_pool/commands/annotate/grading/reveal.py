"""A judge's grade of a pair, revealed to a person who has graded it."""

from __future__ import annotations

from dataclasses import dataclass

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.judging.pair import Pair
from quati_pool.labels.base import Labeler
from quati_pool.labels.consensus import Consensus
from quati_pool.labels.labelers import StoredLabeler
from quati_pool.records import State
from quati_pool.store.label_queries import rationales_of


@dataclass(frozen=True, slots=True)
class Reveal:
    """The current grade of a pair by ``name``; ``reasoning`` is None if none is stored."""

    name: str
    grade: int
    reasoning: str | None


def revealed(session: AnnotationSession, pair: Pair) -> Reveal | None:
    """The grade of a pair by the labeler in ``annotation.reveal``; None if no labeler is set or it has no grade."""
    labeler = session.revealed
    if labeler is None:
        return None
    graded = labeler.graded([pair])[0]
    if graded.relevance is None:
        return None
    return Reveal(labeler.name, graded.relevance, _reasoning(session, labeler, pair))


def _reasoning(session: AnnotationSession, labeler: Labeler, pair: Pair) -> str | None:
    if isinstance(labeler, Consensus):
        of_members = [(member.name, _reasoning(session, member, pair)) for member in labeler.members]
        return "\n\n".join(f"{name}: {reasoning}" for name, reasoning in of_members if reasoning) or None
    if not isinstance(labeler, StoredLabeler):
        return None
    rows = labeler.grading.current(labeler.name, labeler.kind, labeler.version, [pair.query_id])
    seqs = [
        row.seq
        for row in rows
        if row.doc_id == pair.doc_id and row.status is State.ok and labeler._is_current(row, pair)
    ]
    reasons = rationales_of(session.store, seqs)
    # Several samples may give the same reasoning.
    return "\n\n".join(dict.fromkeys(reasons[seq] for seq in sorted(reasons))) or None
