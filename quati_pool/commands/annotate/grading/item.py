"""The item that a person is shown to grade: a pair with its texts, and similar passages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.judging.pair import Pair
from quati_pool.store.assessor_queries import own_states
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import CurrentLabel, Slot, Training

# Characters shown of a similar passage: enough to recognize it.
_START = 200


ItemKind = Literal["training", "gold", "blind", "repeat"]


@dataclass(frozen=True, slots=True)
class SimilarPassage:
    """A passage of the same query with nearly the same text as the one shown. ``grade`` is this person's grade, None
    if they have not graded it yet or could not judge it; ``similarity`` is from 0 to 1."""

    doc_id: str
    text_start: str
    similarity: float
    grade: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A pair to grade. ``training`` and ``gold`` pairs have a ``training_id``, the others an ``assignment_id``; people
    are not to see that a pair is ``gold`` or a ``repeat``. ``shown_at`` is in seconds since 1970, ``skips`` counts how
    often this person put it off."""

    kind: ItemKind
    assignment_id: int | None
    training_id: int | None
    query_id: str
    doc_id: str
    query: str
    narrative: str | None
    text: str
    content_sha: str
    similar: Sequence[SimilarPassage] = ()
    shown_at: float
    skips: int = 0


def training_item(session: AnnotationSession, training: Training) -> Item:
    """A training or gold pair with its current texts; raises ConflictError if it is no longer in the pool."""
    pair = session.pair(training.query_id, training.doc_id)
    if pair is None:
        raise ConflictError("withdrawn", "this pair has left the pool; go on with the next one")
    return Item(
        kind="gold" if training.gold else "training",
        assignment_id=None,
        training_id=training.training_id,
        content_sha=label_sha(pair),
        shown_at=time.time(),
        **pair._asdict(),
    )


def slot_item(session: AnnotationSession, person: Person, slot: Slot, pair: Pair) -> Item:
    """A slot's pair, with similar passages among those that the person has graded or will grade."""
    return Item(
        kind=slot.phase,
        assignment_id=slot.assignment_id,
        training_id=None,
        content_sha=label_sha(pair),
        similar=list(_similar_passages(session, person, pair)),
        shown_at=time.time(),
        skips=slot.skips,
        **pair._asdict(),
    )


def blind_labels(session: AnnotationSession, person: Person, query_id: str) -> list[CurrentLabel]:
    """A person's blind labels of a query's pairs."""
    return session.store.current(session.config.name, person.name, session.version, [query_id], ("blind",))


def _similar_passages(session: AnnotationSession, person: Person, pair: Pair) -> Iterator[SimilarPassage]:
    own = own_states(session.store, session.config.name, person.name, pair.query_id)
    by_doc_id = session.similar_passages.of(session.pool_view, person.name, pair.query_id, own)
    if pair.doc_id not in by_doc_id:
        return
    labels = blind_labels(session, person, pair.query_id)
    grades = {(label.doc_id, label.content_sha): label.relevance for label in labels}
    for doc_id, similarity in by_doc_id[pair.doc_id]:
        other = session.pair(pair.query_id, doc_id)
        if other is not None:
            yield SimilarPassage(doc_id, other.text[:_START], similarity, grades.get((doc_id, label_sha(other))))
