"""A judge's grade of a pair, revealed to a person who has graded it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.judging.pair import Pair
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
    reasoning = labeler.reasoning(pair, partial(rationales_of, session.store))
    return Reveal(labeler.name, graded.relevance, reasoning)
