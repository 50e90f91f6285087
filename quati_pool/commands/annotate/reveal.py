"""What a judge said of a pair, for a person who has graded it."""

from __future__ import annotations

from dataclasses import dataclass

from quati_pool.commands.annotate.session import Desk
from quati_pool.judging.base import Pair
from quati_pool.labels.labelers import Consensus, Labeler, StoredLabeler
from quati_pool.records import State
from quati_pool.store.label_queries import rationales_of


@dataclass(frozen=True, slots=True)
class Reveal:
    """The grade that ``name`` gives a pair now, and why; ``reasoning`` is None where none is kept."""

    name: str
    grade: int
    reasoning: str | None


def revealed(desk: Desk, pair: Pair) -> Reveal | None:
    """What ``annotation.reveal`` says of a pair; None where nobody is revealed or there is no grade."""
    labeler = desk.revealed
    if labeler is None:
        return None
    graded = labeler.graded([pair])[0]
    if graded.relevance is None:
        return None
    return Reveal(labeler.name, graded.relevance, _reasoning(desk, labeler, pair))


def _reasoning(desk: Desk, labeler: Labeler, pair: Pair) -> str | None:
    if isinstance(labeler, Consensus):
        told = [(member.name, _reasoning(desk, member, pair)) for member in labeler.members]
        return "\n\n".join(f"{name}: {reasoning}" for name, reasoning in told if reasoning) or None
    if not isinstance(labeler, StoredLabeler):
        return None
    rows = labeler.grading.current(labeler.name, labeler.kind, labeler.version, [pair.query_id])
    seqs = [
        row.seq
        for row in rows
        if row.doc_id == pair.doc_id and row.status is State.ok and labeler._is_current(row, pair)
    ]
    reasons = rationales_of(desk.store, seqs)
    # The same reasoning of several samples is told once.
    return "\n\n".join(dict.fromkeys(reasons[seq] for seq in sorted(reasons))) or None
