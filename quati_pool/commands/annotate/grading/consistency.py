"""Pairs that come unannounced among a person's own: repeats of what they graded, and gold pairs.

Both look like any pair and are not followed by a reveal or feedback; their labels never count as grades. A person
never sees a gold pair that they graded, hold or practised on, and gets no other slot of one that they answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quati_pool.annotation.interleaving import block_due, block_size, blocks_due, drawn_order
from quati_pool.commands.annotate.annotation_pair import Ids, label_sha
from quati_pool.commands.annotate.grading.item import blind_labels
from quati_pool.commands.annotate.grading.training import ANSWERED
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.records import State
from quati_pool.store.assessor_queries import own_slots
from quati_pool.store.consistency_queries import (
    GradedSlot,
    answers,
    free_slots,
    graded_slots,
    has_repeat,
    people_with,
    training_labels,
)
from quati_pool.store.records import CurrentLabel, Slot, Training

GAP = 10
"""How many other answers lie at least between an answer and its repeat."""


# Repeats


def bring_repeat(session: AnnotationSession, person: Person, present: Slot) -> bool:
    """Gives a person a repeat if one is due and there is a pair for it, preferably of another query than the one they
    are at; it is then the slot that they hold. False if there is nothing to give."""
    rate, seed = session.config.annotation.repeats, session.config.seed
    if not rate:
        return False
    of = (session.store, session.config.name, person.name)
    # Blocks begin with the first answer after which there is a pair to repeat.
    block = block_due("repeats", seed, person.name, answers(*of) - GAP - 1, block_size(rate))
    if block is None or has_repeat(*of, block):
        return False
    chosen = _pair_to_repeat(session, person, graded_slots(*of)[:-GAP], present.query_id)
    if chosen is None:
        return False
    return (
        session.assignments.add_repeat(person.name, session.designs.of_repeats(seed, rate), block, chosen) is not None
    )


def _pair_to_repeat(
    session: AnnotationSession, person: Person, graded: Sequence[GradedSlot], query_id: str
) -> Slot | None:
    """A random one of these slots that has a grade of this version, was not repeated yet and has its text still."""
    had = {(slot.query_id, slot.doc_id) for slot in session.assignments.repeats(person.name)}
    able = {
        (one.slot.query_id, one.slot.doc_id): one
        for one in graded
        if one.status == State.ok and one.version == session.version
    }
    order = drawn_order("repeats", session.config.seed, person.name, list(able.keys() - had))
    for ids in sorted(order, key=lambda ids: ids[0] == query_id):
        pair = session.pair(*ids)
        if pair is not None and label_sha(pair) == able[ids].content_sha:
            return able[ids].slot
    return None


def repeated_label(session: AnnotationSession, person: Person, slot: Slot, content_sha: str) -> int | None:
    """The seq of a person's label of this slot's pair that counts now; None if it has no grade."""
    of_pair = [row for row in blind_labels(session, person, slot.query_id) if row.doc_id == slot.doc_id]
    same = [row.seq for row in of_pair if row.content_sha == content_sha and row.status is State.ok]
    return max(same, default=None)


# Gold pairs


class Golds(NamedTuple):
    """The gold pairs for a person, without their own, and the last training label that they gave to each, by seq."""

    pairs: dict[Ids, Training]
    labels: list[CurrentLabel]

    @property
    def answered(self) -> frozenset[Ids]:
        """The pairs that they answered, perhaps when the pair was one to practise on."""
        return frozenset((row.query_id, row.doc_id) for row in self.labels if row.status in ANSWERED)

    @property
    def as_gold(self) -> list[CurrentLabel]:
        """The last labels that they gave to one as a gold pair, and did not retract."""
        return [row for row in self.labels if "block" in row.extra and row.status is not State.retracted]

    @property
    def blocks(self) -> set[int]:
        """The blocks that had their gold pair."""
        return {row.extra["block"] for row in self.as_gold}

    @property
    def put_off(self) -> list[CurrentLabel]:
        return [row for row in self.as_gold if row.status is State.skipped]

    @property
    def last(self) -> CurrentLabel | None:
        return self.as_gold[-1] if self.as_gold else None


def gold_rate(session: AnnotationSession) -> float:
    """The share of a person's answers after which a gold pair comes: none where the other pairs reveal a judge's grade,
    since people would know those that do not."""
    return 0.0 if session.config.annotation.reveal else session.config.annotation.gold


def golds_for(session: AnnotationSession, person: Person, training: Sequence[Training]) -> Golds:
    """The gold pairs among all training pairs, for this person."""
    pairs = {(one.query_id, one.doc_id): one for one in training if one.gold and one.by != person.name}
    if not pairs:
        return Golds({}, [])
    return Golds(pairs, training_labels(session.store, session.config.name, person.name, session.version, pairs))


def due_gold(session: AnnotationSession, person: Person, golds: Golds) -> Training | None:
    """The gold pair that a person gets now; None if none is due or left. One that they put off comes after others."""
    rate, seed = gold_rate(session), session.config.seed
    if not rate or not golds.pairs:
        return None
    block = block_due("gold", seed, person.name, _answers(session, person), block_size(rate))
    if block is None or block in golds.blocks:
        return None
    left = _golds_left(session, person, golds)
    put_off = {(row.query_id, row.doc_id) for row in golds.put_off}
    order = sorted(drawn_order("gold", seed, person.name, left), key=lambda ids: ids in put_off)
    return golds.pairs[order[0]] if order else None


def undone_gold(session: AnnotationSession, person: Person, golds: Golds) -> tuple[Training, int] | None:
    """The gold pair whose answer this person took back last, and the seq of the retraction; None if there is none, or
    it is no longer for them."""
    undone = [row for row in golds.labels if row.status is State.retracted]
    if not undone:
        return None
    left = set(_golds_left(session, person, golds))
    found = next((row for row in reversed(undone) if (row.query_id, row.doc_id) in left), None)
    return None if found is None else (golds.pairs[found.query_id, found.doc_id], found.seq)


def put_off_gold(session: AnnotationSession, person: Person, golds: Golds) -> Training | None:
    """The gold pair that this person put off first and is still to answer; None if there is none."""
    left = set(_golds_left(session, person, golds)) if golds.put_off else set()
    return next((golds.pairs[ids] for row in golds.put_off if (ids := (row.query_id, row.doc_id)) in left), None)


def _golds_left(session: AnnotationSession, person: Person, golds: Golds) -> list[Ids]:
    """The gold pairs that a person can still be given: none that the others are too few to grade without them."""
    pool, answered, of = session.pool_view, golds.answered, (session.store, session.config.name)
    own = own_slots(*of, person.name)
    left = [ids for ids in golds.pairs if ids in pool and ids not in own and ids not in answered]
    free = free_slots(*of, left) if left else {}
    if not free:
        return left
    others = {one.name for one in session.people.all() if one.revoked_at is None and one.role == "assessor"}
    knowing = people_with(*of, session.version, free.keys())
    return [ids for ids in left if free.get(ids, 0) <= len(others - knowing.get(ids, set()) - {person.name})]


def gold_block(session: AnnotationSession, person: Person, gold: Training) -> int:
    """The number, from 1, of the block that the label of a gold pair records: the one that a person is in, or that of
    the answer to this pair which they took back."""
    undone = next((row for row in golds_for(session, person, [gold]).labels if row.status is State.retracted), None)
    if undone is not None and "block" in undone.extra:
        return int(undone.extra["block"])
    return _answers(session, person) // block_size(session.config.annotation.gold or 1) + 1


def _answers(session: AnnotationSession, person: Person) -> int:
    return answers(session.store, session.config.name, person.name)


# Progress


class ChecksCount(NamedTuple):
    """How many repeats and gold pairs a person answered (``done``) and is still to answer (``left``); those of the
    gold pairs that they put off are among these."""

    done: int
    left: int
    golds_put_off: int


def count_checks(
    session: AnnotationSession, person: Person, golds: Golds, repeats: Sequence[Slot], own_done: int, own_total: int
) -> ChecksCount:
    """The counts for a person who answered ``own_done`` of the ``own_total`` pairs that they are given otherwise, and
    got these ``repeats``. Checks that are still to come are counted too, so that no total grows when one does."""
    seed, name = session.config.seed, person.name
    left = sum(slot.state == "open" for slot in repeats)
    if rate := session.config.annotation.repeats:
        size, given = block_size(rate), {slot.replicate for slot in repeats}
        left += blocks_due("repeats", seed, name, own_done - GAP - 1, own_total - GAP - 1, size, given)
    due = len(golds.put_off)
    if (rate := gold_rate(session)) and golds.pairs:
        due += blocks_due("gold", seed, name, own_done, own_total, block_size(rate), golds.blocks)
    left += min(due, len(_golds_left(session, person, golds))) if due else 0
    return ChecksCount(
        done=sum(slot.state == "done" for slot in repeats) + len(golds.as_gold) - len(golds.put_off),
        left=left,
        golds_put_off=len(golds.put_off),
    )
