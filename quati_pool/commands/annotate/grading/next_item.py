"""The next item for a person to grade, and their progress."""

from __future__ import annotations

import time
from dataclasses import dataclass

from quati_pool.annotation.presentation_order import shuffled
from quati_pool.commands.annotate.grading.item import Item, blind_item, training_item
from quati_pool.commands.annotate.grading.training import unanswered_training
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.store.assessor_queries import own_loads, own_open, renew

BLOCK = 50
"""The most pairs of a query that a person is given at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A person's progress in pairs: in the query they are working on, in all of their pairs, and how many more they
    could be given (``free``). ``total`` is None if others draw on the same pairs and no load is set; ``skipped``
    pairs were postponed, ``training`` pairs are left to practise on."""

    query_id: str | None
    query_done: int
    query_total: int
    done: int
    total: int | None
    free: int
    skipped: int
    training: int


def next_item(session: AnnotationSession, token: str | None) -> Item | None:
    """The item that this person should grade now, the same one until they have answered: training pairs first, then
    the slots they hold, then free slots of the next query. None if nothing is left for them, or others hold it for now.

    Pairs that are no longer in the pool are withdrawn. Raises SignedOutError, and InputError if there is no pool.
    """
    person = session.person(token)
    training = unanswered_training(session, person)
    if training:
        return training_item(session, training[0])
    while True:
        slot = session.assignments.held(person.name)
        if slot is None:
            if not _claim_block(session, person):
                return None
            continue
        pair = session.pair(slot.query_id, slot.doc_id)
        if pair is None:
            # Withdraw all held pairs that left the pool at once: a rebuilt pool may lack thousands.
            held = own_open(session.store, session.config.name, person.name)
            pool = session.pool_view
            session.assignments.withdraw([number for number, *ids in held if (ids[0], ids[1]) not in pool])
            continue
        if slot.leased_until is not None and slot.leased_until - time.time() < session.lease / 2:
            renew(session.store, session.config.name, person.name, session.lease)
        return blind_item(session, person, slot, pair)


def progress(session: AnnotationSession, token: str | None) -> Progress:
    """This person's progress. Raises SignedOutError."""
    person = session.person(token)
    by_query = session.assignments.mine(person.name)
    slot = session.assignments.held(person.name)
    here = next((row for row in by_query if slot is not None and row.query_id == slot.query_id), None)
    done, left = sum(row.done for row in by_query), sum(row.open for row in by_query)
    free = session.assignments.free_pairs(person.name)
    total: int | None = done + left
    if free:
        loads, all_limited = _design_loads(session)
        total = max(done + left, min(done + left + free, sum(loads.values()))) if all_limited else None
    return Progress(
        query_id=None if slot is None else slot.query_id,
        query_done=here.done if here else 0,
        query_total=here.done + here.open if here else 0,
        done=done,
        total=total,
        free=free,
        skipped=sum(row.skipped for row in by_query),
        training=len(unanswered_training(session, person)),
    )


def _design_loads(session: AnnotationSession) -> tuple[dict[int, int], bool]:
    """The load per person of each design that sets one, by design_id, and whether all designs do."""
    asked = {design_id: parameters.get("load") for design_id, parameters in session.designs.parameters().items()}
    loads = {design_id: load for design_id, load in asked.items() if type(load) is int}
    return loads, len(loads) == len(asked)


def _claim_block(session: AnnotationSession, person: Person) -> bool:
    """Gives a person free slots of the first query that has some for them; False if no query has."""
    assignments, pool = session.assignments, session.pool_view
    queries = assignments.open_queries(person.name)
    if not queries:
        return False
    loads, all_limited = _design_loads(session)
    taken = own_loads(session.store, session.config.name, person.name) if loads else {}
    full = {design_id for design_id, load in loads.items() if taken.get(design_id, 0) >= load}
    if all_limited and len(full) == len(loads):
        return False
    for query in queries:
        free = [slot for slot in assignments.free(person.name, query.query_id) if slot.design_id not in full]
        pooled = {slot.doc_id: slot.assignment_id for slot in free if (slot.query_id, slot.doc_id) in pool}
        gone = [slot.assignment_id for slot in free if slot.doc_id not in pooled]
        if gone:
            assignments.withdraw(gone)
        order = shuffled(session.config.seed, person.name, query.query_id, list(pooled))
        wanted = [pooled[doc_id] for doc_id in order[:BLOCK]]
        if wanted and assignments.claim(person.name, wanted, session.lease, loads):
            return True
    return False
