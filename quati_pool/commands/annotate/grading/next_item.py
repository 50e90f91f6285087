"""The next item for a person to grade, and their progress."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from quati_pool.annotation.presentation_order import first_query, shuffled
from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.grading.consistency import (
    bring_repeat,
    count_checks,
    due_gold,
    golds_for,
    put_off_gold,
    undone_gold,
)
from quati_pool.commands.annotate.grading.item import Item, slot_item, training_item
from quati_pool.commands.annotate.grading.training import unanswered_training
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.store.assessor_queries import own_loads, own_open, renew
from quati_pool.store.consistency_queries import designs_with_free, free_of

BLOCK = 50
"""The most pairs of a query that a person is given at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A person's progress in pairs: in the query of the pair on the page, in all of their pairs, and how many more they
    could be given (``free``). ``total`` is None if others draw on the same pairs and no load is set; ``about`` is then
    what it comes to if everybody who grades does the same share of the free pairs. ``skipped`` pairs were postponed,
    ``training`` pairs are left to practise on.

    No figure shows which pair is a repeat or gold: they count like any pair in all but ``free``, and those of the query
    are 0 where there are any."""

    query_done: int
    query_total: int
    done: int
    total: int | None
    about: int
    free: int
    skipped: int
    training: int


def next_item(session: AnnotationSession, token: str | None) -> Item | None:
    """The item that this person should grade now, the same one until they have answered: training pairs first, then
    the slots they hold, then free slots of the next query, and among these repeats and gold pairs where they are due;
    gold pairs that they put off come last.
    None if nothing is left for them, or others hold it for now.

    Pairs that are no longer in the pool are withdrawn. Raises SignedOutError, and InputError if there is no pool.
    """
    person = session.person(token)
    known = session.training.all()
    training = unanswered_training(session, person, known)
    if training:
        return training_item(session, training[0])
    golds = golds_for(session, person, known)
    undone = undone_gold(session, person, golds)
    while True:
        slot = session.assignments.held(person.name)
        if undone is not None and (slot is None or undone[1] > -slot.line):
            return training_item(session, undone[0])
        if slot is None:
            if _claim_block(session, person, golds.answered):
                continue
            gold = put_off_gold(session, person, golds)
            return None if gold is None else training_item(session, gold)
        pair = session.pair(slot.query_id, slot.doc_id)
        if pair is None:
            # Withdraw all held pairs that left the pool at once: a rebuilt pool may lack thousands.
            held = own_open(session.store, session.config.name, person.name)
            pool = session.pool_view
            session.assignments.withdraw([number for number, *ids in held if (ids[0], ids[1]) not in pool])
            continue
        if slot.phase == "blind" and (slot.query_id, slot.doc_id) in golds.answered:
            session.assignments.give_back(person.name, slot.assignment_id)
            continue
        # What was undone comes first, as the page says so, newest first: its line is the retraction's seq, negated.
        if slot.phase == "blind" and slot.line >= 0:
            if bring_repeat(session, person, slot):
                continue
            gold = due_gold(session, person, golds)
            if gold is not None:
                return training_item(session, gold)
        if slot.leased_until is not None and slot.leased_until - time.time() < session.lease / 2:
            renew(session.store, session.config.name, person.name, session.lease)
        return slot_item(session, person, slot, pair)


def progress(session: AnnotationSession, token: str | None, item: Item | None = None) -> Progress:
    """This person's progress, with ``item`` on the page. Raises SignedOutError."""
    person = session.person(token)
    known = session.training.all()
    golds = golds_for(session, person, known)
    slots = session.assignments.mine(person.name)
    repeats = session.assignments.repeats(person.name)
    # Without repeats first.
    done = sum(row.done for row in slots) - sum(slot.state == "done" for slot in repeats)
    left = sum(row.open for row in slots) - sum(slot.state == "open" for slot in repeats)
    free = session.assignments.free_pairs(person.name)
    if free and golds.answered:
        free -= free_of(session.store, session.config.name, person.name, golds.answered)
    total, exact = done + left, True
    shared = free + session.assignments.pairs_of_idle_leads(person.name)
    if shared:
        more, exact = _more(session, person, shared)
        total += more
    checks = count_checks(session, person, golds, repeats, done, total)
    about = total + checks.done + checks.left
    here = next((row for row in slots if item is not None and row.query_id == item.query_id), None)
    if repeats or session.config.annotation.repeats or golds.pairs:
        here = None
    return Progress(
        query_done=here.done if here else 0,
        query_total=here.done + here.open if here else 0,
        done=done + checks.done,
        total=about if exact else None,
        about=about,
        free=free,
        skipped=sum(row.skipped for row in slots) + checks.golds_put_off,
        training=len(unanswered_training(session, person, known)),
    )


def _more(session: AnnotationSession, person: Person, free: int) -> tuple[int, bool]:
    """How many of ``free`` pairs a person is still given, and whether that is exact: if all designs that have some
    for them set a load. Else it is one person's share, rounded up."""
    loads, all_limited = _design_loads(session)
    of = (session.store, session.config.name, person.name)
    if loads and not all_limited:
        giving = designs_with_free(*of)
        loads = {design_id: loads[design_id] for design_id in giving & loads.keys()}
        all_limited = len(loads) == len(giving)
    if all_limited:
        taken = own_loads(*of)
        return min(free, sum(max(load - taken.get(design_id, 0), 0) for design_id, load in loads.items())), True
    people = len(session.assignments.graders() | {person.name})
    overlap = max((design.parameters.get("overlap") or 1 for design in session.designs.outlines()), default=1)
    return min(free, -(-free * overlap // people)), False


def _design_loads(session: AnnotationSession) -> tuple[dict[int, int], bool]:
    """The load per person of each design that sets one, by design_id, and whether all designs do."""
    asked = {design.design_id: design.parameters.get("load") for design in session.designs.outlines()}
    loads = {design_id: load for design_id, load in asked.items() if type(load) is int}
    return loads, len(loads) == len(asked)


def _claim_block(session: AnnotationSession, person: Person, seen: Collection[Ids]) -> bool:
    """Gives a person free slots of the first query that has some for them, except of the pairs they have ``seen``;
    False if no query has."""
    assignments, pool = session.assignments, session.pool_view
    queries = assignments.open_queries(person.name, first_query(session.config.seed, person.name))
    if not queries:
        return False
    loads, all_limited = _design_loads(session)
    taken = own_loads(session.store, session.config.name, person.name) if loads else {}
    full = {design_id for design_id, load in loads.items() if taken.get(design_id, 0) >= load}
    if all_limited and len(full) == len(loads):
        return False
    for query_id, design_id in _in_order(session, [query.query_id for query in queries]):
        free = [slot for slot in assignments.free(person.name, query_id, design_id) if slot.design_id not in full]
        gone = [slot.assignment_id for slot in free if (query_id, slot.doc_id) not in pool]
        if gone:
            assignments.withdraw(gone)
        wanted = {
            slot.doc_id: slot.assignment_id
            for slot in free
            if (query_id, slot.doc_id) in pool and (query_id, slot.doc_id) not in seen
        }
        order = shuffled(session.config.seed, person.name, query_id, list(wanted))
        block = [wanted[doc_id] for doc_id in order[:BLOCK]]
        if block and assignments.claim(person.name, block, session.lease, loads):
            return True
    return False


def _in_order(session: AnnotationSession, query_ids: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """These queries in the order in which they are given out, with the design whose slots may be taken (None: any):
    first those of the designs with a stored order, by design, in that order, then all as they are."""
    for design in session.designs.outlines():
        if design.in_stored_order:
            order = session.designs.query_order(design.design_id)
            for query_id in sorted(order.keys() & query_ids, key=lambda query_id: (order[query_id], query_id)):
                yield query_id, design.design_id
    for query_id in query_ids:
        yield query_id, None
