"""Stores a person's answers: the first one to an item, a second one after the reveal, and undoing the last one.

An item comes back from a browser, so nothing in it is trusted: the slot's holder, the pair and its texts are read
again from the store and the pool.
"""

from __future__ import annotations

from dataclasses import dataclass

from quati_pool.annotation.codes import new_token
from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading.answer import (
    Answer,
    CheckedAnswer,
    answer_label,
    check_answer,
    check_nonce,
    label_nonce,
)
from quati_pool.commands.annotate.grading.consistency import gold_block, golds_for, repeated_label
from quati_pool.commands.annotate.grading.item import Item, blind_labels
from quati_pool.commands.annotate.grading.reveal import Reveal, revealed
from quati_pool.commands.annotate.grading.training import ANSWERED, training_states
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.labels.labelers import REVEALED
from quati_pool.records import State
from quati_pool.store.assessor_queries import stored
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import CurrentLabel, Label, Slot, Training


@dataclass(frozen=True, slots=True)
class Outcome:
    """A label in the store; ``again`` if it had already been stored. ``feedback`` is set after an answer to a training
    pair, ``reveal`` after a blind answer if the judge has graded the pair."""

    seq: int
    again: bool
    feedback: Training | None = None
    reveal: Reveal | None = None


def submit(session: AnnotationSession, token: str | None, item: Item, answer: Answer) -> Outcome:
    """Stores an answer, only once even if it is sent again; it is durable when this returns.

    Raises SignedOutError; AnswerError for an invalid answer (a grade off the scale, an unknown status or reason);
    ForbiddenError for an item that differs from what was given out; and ConflictError, with a ``reason`` that a page
    can explain, if the item has since been ``done``, ``taken`` by somebody else, ``withdrawn``, ``gone`` or
    ``changed``. In these cases nothing was written.
    """
    person = session.person(token)
    checked = check_answer(session, answer)
    if item.kind in ("training", "gold"):
        return _submit_training(session, person, item, checked, answer)
    if item.kind not in ("blind", "repeat"):
        raise ForbiddenError("this item was never given out; reload the page")
    slot = _slot(session, person, item)
    nonce = label_nonce(slot.phase, slot.assignment_id, person, answer)
    pair = session.pair(slot.query_id, slot.doc_id)
    if pair is None or label_sha(pair) != item.content_sha:
        known = stored(session.store, nonce)
        if known is None and pair is None:
            session.assignments.withdraw([slot.assignment_id])
            raise ConflictError("withdrawn", "this pair has left the pool; go on with the next one")
        if known is None:
            raise ConflictError("changed", "this pair's text has changed since it was shown; read it again")
        return Outcome(known.seq, True)
    repeat = slot.phase == "repeat"
    reveal = None if repeat or checked.status is State.skipped else revealed(session, pair)
    # The blind label records that a grade was revealed after it: such a label cannot be undone.
    extra = checked.extra if reveal is None else {**checked.extra, "reveal": session.config.annotation.reveal}
    # A lead may have looked before grading, where others cannot.
    if person.role == "lead" and (slot.query_id, slot.doc_id) in session.reveals.of(person.name, slot.query_id):
        extra = {**extra, REVEALED: True}
    if repeat:
        extra = {**extra, "repeats": repeated_label(session, person, slot, item.content_sha)}
    label = answer_label(session, person, pair, checked, slot.phase, nonce, extra, slot.assignment_id)
    submitted = session.assignments.submit(person.name, slot.assignment_id, label, session.lease)
    return Outcome(submitted.seq, submitted.again, reveal=reveal)


def second_label(session: AnnotationSession, token: str | None, item: Item, answer: Answer) -> int:
    """Stores a person's second label after they have seen the judge's grade; their blind label stays. Returns the
    new label's seq.

    Raises the errors of ``submit``, and ForbiddenError if nothing was revealed to this person for this item.
    """
    person = session.person(token)
    checked = check_answer(session, answer)
    if checked.status is State.skipped:
        raise AnswerError("a second label needs a grade or a reason for having none; leave it out instead")
    if item.kind != "blind":
        raise ForbiddenError("nothing is revealed in training; go on with the next pair")
    slot = _slot(session, person, item)
    blind = next((row for row in blind_labels(session, person, slot.query_id) if row.seq == slot.label_seq), None)
    pair = session.pair(slot.query_id, slot.doc_id)
    if slot.state != "done" or blind is None or "reveal" not in blind.extra:
        raise ForbiddenError("nothing was revealed to you of this pair; grade it first")
    nonce = label_nonce("revealed", slot.assignment_id, person, answer)
    if pair is None or label_sha(pair) != blind.content_sha:
        known = stored(session.store, nonce)
        if known is None:
            raise ConflictError("changed", "this pair has changed since you graded it; go on with the next one")
        return known.seq
    extra = {**checked.extra, "reveal": blind.extra["reveal"], "blind_seq": blind.seq}
    label = answer_label(session, person, pair, checked, "revealed", nonce, extra, slot.assignment_id)
    return session.assignments.add_label(label).seq


def undo(session: AnnotationSession, token: str | None, nonce: str | None = None) -> bool:
    """Retracts this person's last answer, so that its pair comes next; False if there is none.

    A ``nonce`` that is sent twice retracts only one answer. Raises SignedOutError, ForbiddenError if a judge's grade
    was revealed for the answer, and ConflictError if another page of theirs was faster.
    """
    person = session.person(token)
    if nonce is not None:
        check_nonce(nonce)
    sent = f"undo:{person.name}:{nonce or new_token()}"
    if nonce is not None and stored(session.store, sent) is not None:
        return True
    last = session.assignments.last(person.name)
    gold = golds_for(session, person, session.training.all()).last
    if gold is not None and (last is None or gold.seq > int(last[1].seq or 0)):
        session.assignments.add_label(_retraction_of_gold(session, person, gold, sent))
        return True
    if last is None:
        return False
    slot, label = last
    if "reveal" in label.extra:
        raise ForbiddenError("you have seen the judge's grade of this pair, so your first one stays; add a second one")
    retraction = Label(
        collection=label.collection,
        labeler_id=label.labeler_id,
        kind=label.kind,
        version=label.version,
        query_id=label.query_id,
        doc_id=label.doc_id,
        content_sha=label.content_sha,
        status=State.retracted,
        phase=label.phase,
        sample=label.sample,
        assignment_id=slot.assignment_id,
        nonce=sent,
    )
    session.assignments.undo(person.name, slot.assignment_id, int(label.seq or 0), retraction, session.lease)
    return True


def _retraction_of_gold(session: AnnotationSession, person: Person, gold: CurrentLabel, nonce: str) -> Label:
    return Label(
        collection=session.config.name,
        labeler_id=person.name,
        kind="assessor",
        version=session.version,
        query_id=gold.query_id,
        doc_id=gold.doc_id,
        content_sha=gold.content_sha,
        status=State.retracted,
        phase=gold.phase,
        sample=gold.sample,
        extra={"retracts": gold.seq, "block": gold.extra["block"]},
        nonce=nonce,
    )


def _submit_training(
    session: AnnotationSession, person: Person, item: Item, checked: CheckedAnswer, answer: Answer
) -> Outcome:
    training = next((one for one in session.training.all() if one.training_id == item.training_id), None)
    if training is None:
        raise ConflictError("gone", "this pair is no longer part of the training; go on with the next one")
    if (training.query_id, training.doc_id) != (item.query_id, item.doc_id) or training.by == person.name:
        raise ForbiddenError("this item was never given out; reload the page")
    nonce = label_nonce("training", training.training_id, person, answer)
    feedback = None if training.gold or checked.status is State.skipped else training
    known = stored(session.store, nonce)
    if known is None:
        if training_states(session, person, [training.query_id]).get(training.training_id) in ANSWERED:
            raise ConflictError(
                "done", "you have answered this already, perhaps on another page; go on with the next one"
            )
        pair = session.pair(training.query_id, training.doc_id)
        if pair is None or label_sha(pair) != item.content_sha:
            raise ConflictError("changed", "this pair's text has changed since it was shown; read it again")
        extra = {**checked.extra, "training_id": training.training_id, "known": training.relevance}
        if training.gold:
            extra["block"] = gold_block(session, person, training)
        known = session.assignments.add_label(answer_label(session, person, pair, checked, "training", nonce, extra))
    return Outcome(known.seq, known.again, feedback=feedback)


def _slot(session: AnnotationSession, person: Person, item: Item) -> Slot:
    """The slot of an item. Raises ConflictError if it is not (or no longer) this person's, ForbiddenError if its pair
    is not the item's."""
    slot = session.assignments.slot(item.assignment_id) if type(item.assignment_id) is int else None
    if slot is None:
        raise ConflictError("gone", "there is no such pair to grade any more; go on with the next one")
    if slot.state == "withdrawn" and slot.holder != person.name:
        raise ConflictError("withdrawn", "this pair was withdrawn; go on with the next one")
    if slot.holder != person.name:
        raise ConflictError("taken", "this pair is not yours, or no longer yours; go on with the next one")
    if (slot.query_id, slot.doc_id) != (item.query_id, item.doc_id):
        raise ForbiddenError("this item was never given out; reload the page")
    return slot
