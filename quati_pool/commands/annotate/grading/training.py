"""The training pairs that a person has not answered yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.records import State
from quati_pool.store.records import Training

ANSWERED = (State.ok, State.unsure)
"""The answers after which a training pair is not shown again."""


def unanswered_training(session: AnnotationSession, person: Person, training: Sequence[Training]) -> list[Training]:
    """The training pairs to practise on that a person has not answered, skipped ones last; without those that the
    person added."""
    others = [one for one in training if one.by != person.name and not one.gold]
    if not others:
        return []
    pool = session.pool_view
    pooled = [one for one in others if (one.query_id, one.doc_id) in pool]
    states = training_states(session, person, [one.query_id for one in pooled])
    left = [one for one in pooled if states.get(one.training_id) not in ANSWERED]
    return sorted(left, key=lambda one: (one.training_id in states, one.training_id))


def training_states(session: AnnotationSession, person: Person, query_ids: Sequence[str]) -> dict[Any, State]:
    """The state of a person's last answer to each training pair of some queries, by training_id."""
    rows = session.store.current(session.config.name, person.name, session.version, query_ids, ("training",))
    return {row.extra.get("training_id"): row.status for row in sorted(rows, key=lambda row: row.seq)}
