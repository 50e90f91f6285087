"""Grading, as a person does it: the next pair, the answer to it, one step back, how far one is.

An item comes back from a browser, so nothing in it is believed: whose slot it is, which pair, and what the
pair's texts are is read again from the store and the pool.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quati_pool.annotation.codes import new_token
from quati_pool.annotation.presentation_order import shuffled
from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.reveal import Reveal, revealed
from quati_pool.commands.annotate.session import Desk, Person
from quati_pool.errors import InputError
from quati_pool.judging.base import Pair
from quati_pool.records import State
from quati_pool.store.assessor_queries import own_loads, own_open, own_states, renew, stored
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import CurrentLabel, Label, Phase, Slot, Training

BLOCK = 50
"""How many pairs of a query a person is given at a time."""

LONGEST_NOTE = 10_000

REASONS = ("broken_text", "other_language", "needs_context", "other")
"""Why a pair cannot be judged; ``other`` needs a note."""

# Of a text like the one shown: enough to know it again.
_START = 200
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_LONGEST_SECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Twin:
    """A passage of the same query that is nearly the text shown, and what this person said of it: no grade
    where they have not come to it yet or could not judge it. ``similarity`` is from 0 to 1."""

    doc_id: str
    text_start: str
    similarity: float
    grade: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A pair to grade. Of ``assignment_id`` and ``training_id`` one is None, by ``kind``; ``shown_at`` is in
    seconds since 1970, ``skips`` how often this person put it off."""

    kind: Literal["training", "blind"]
    assignment_id: int | None
    training_id: int | None
    query_id: str
    doc_id: str
    query: str
    narrative: str | None
    text: str
    content_sha: str
    twins: Sequence[Twin] = ()
    shown_at: float
    skips: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person says of an item: ``status`` ok with a grade, unsure with one of REASONS, or skipped.

    ``nonce`` is made up by the page, 16 to 64 letters, digits, ``-`` or ``_``: one answer sent twice has one.
    Times are in seconds; ``active_seconds`` leaves out idle ones.
    """

    status: str
    relevance: int | None = None
    reason: str | None = None
    note: str | None = None
    nonce: str
    active_seconds: float = 0.0
    elapsed_seconds: float = 0.0
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """A label that is in the store; ``again``: it was there already. ``feedback`` follows an answer of
    training, ``reveal`` a blind one where the judge has graded the pair."""

    seq: int
    again: bool
    feedback: Training | None = None
    reveal: Reveal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a person is, in pairs: of the query they are at, of all that is theirs, and how many they could
    be given besides (``free``). ``total`` is None where others draw on the same pairs and no load is set;
    ``skipped`` are put off, ``training`` left to practise on."""

    query_id: str | None
    query_done: int
    query_total: int
    done: int
    total: int | None
    free: int
    skipped: int
    training: int


def next_item(desk: Desk, token: str | None) -> Item | None:
    """What this person is to grade now, the same until they have answered: training, then what they hold,
    then what is free of the next query. None where nothing is left for them, or others hold it for now.

    A pair that is in the pool no more is withdrawn, and the next one comes. Raises SignedOutError, and
    InputError where there is no pool.
    """
    person = desk.person(token)
    practice = _practice(desk, person)
    if practice:
        return _training_item(desk, practice[0])
    while True:
        slot = desk.assignments.held(person.name)
        if slot is None:
            if not _claimed(desk, person):
                return None
            continue
        pair = desk.pair(slot.query_id, slot.doc_id)
        if pair is None:
            # All that left with it too: a pool that is built anew may lack thousands.
            held = own_open(desk.store, desk.config.name, person.name)
            frame = desk.frame
            desk.assignments.withdraw([number for number, *ids in held if (ids[0], ids[1]) not in frame])
            continue
        if slot.leased_until is not None and slot.leased_until - time.time() < desk.lease / 2:
            renew(desk.store, desk.config.name, person.name, desk.lease)
        return _blind_item(desk, person, slot, pair)


def submit(desk: Desk, token: str | None, item: Item, answer: Answer) -> Outcome:
    """Keeps an answer, once however often it is sent; durable when it returns.

    Raises SignedOutError; AnswerError for an answer that cannot be one (a grade off the scale, an unknown
    status or reason), ForbiddenError for an item that is not as it was given out, and ConflictError, whose
    ``reason`` a page can explain, where the item is ``done``, ``taken`` by another, ``withdrawn``, ``gone``
    or ``changed`` meanwhile. Then nothing was written.
    """
    person = desk.person(token)
    given = _checked(desk, answer)
    if item.kind == "training":
        return _submit_training(desk, person, item, given, answer)
    if item.kind != "blind":
        raise ForbiddenError("this is no item that was given out; reload the page")
    slot = _slot(desk, person, item)
    nonce = _nonce("blind", slot.assignment_id, person, answer)
    pair = desk.pair(slot.query_id, slot.doc_id)
    if pair is None or label_sha(pair) != item.content_sha:
        known = stored(desk.store, nonce)
        if known is None and pair is None:
            desk.assignments.withdraw([slot.assignment_id])
            raise ConflictError("withdrawn", "this pair has left the pool; go on with the next one")
        if known is None:
            raise ConflictError("changed", "this pair's text has changed since it was shown; read it again")
        return Outcome(known.seq, True)
    reveal = None if given.status is State.skipped else revealed(desk, pair)
    # What was revealed is kept with the blind label: it can be taken back no more.
    extra = given.extra if reveal is None else {**given.extra, "reveal": desk.config.annotation.reveal}
    label = _label(desk, person, pair, given, "blind", nonce, extra, slot.assignment_id)
    done = desk.assignments.submit(person.name, slot.assignment_id, label, desk.lease)
    return Outcome(done.seq, done.again, reveal=reveal)


def second_label(desk: Desk, token: str | None, item: Item, answer: Answer) -> int:
    """Keeps what a person says once they have seen the judge's grade, beside their blind label, which stays;
    gives the new label's seq.

    Raises as ``submit`` does, and ForbiddenError where nothing was revealed of this item to this person.
    """
    person = desk.person(token)
    given = _checked(desk, answer)
    if given.status is State.skipped:
        raise AnswerError("a second label is a grade or says why there is none; leave it out instead")
    if item.kind != "blind":
        raise ForbiddenError("nothing is revealed of training; go on with the next pair")
    slot = _slot(desk, person, item)
    blind = next((row for row in _own_labels(desk, person, slot.query_id) if row.seq == slot.label_seq), None)
    pair = desk.pair(slot.query_id, slot.doc_id)
    if slot.state != "done" or blind is None or "reveal" not in blind.extra:
        raise ForbiddenError("nothing was revealed to you of this pair; grade it first")
    nonce = _nonce("revealed", slot.assignment_id, person, answer)
    if pair is None or label_sha(pair) != blind.content_sha:
        known = stored(desk.store, nonce)
        if known is None:
            raise ConflictError("changed", "this pair has changed since you graded it; go on with the next one")
        return known.seq
    extra = {**given.extra, "reveal": blind.extra["reveal"], "blind_seq": blind.seq}
    label = _label(desk, person, pair, given, "revealed", nonce, extra, slot.assignment_id)
    return desk.assignments.add_label(label).seq


def undo(desk: Desk, token: str | None, nonce: str | None = None) -> bool:
    """Takes this person's last answer back, so that its pair comes next; False where there is none.

    A ``nonce`` that is sent twice takes one answer back. Raises SignedOutError, ForbiddenError where a judge's
    grade was revealed for the answer, and ConflictError where another page of theirs was quicker.
    """
    person = desk.person(token)
    if nonce is not None and not _NONCE.fullmatch(nonce):
        raise AnswerError("the answer has no proper nonce; reload the page")
    sent = f"undo:{person.name}:{nonce or new_token()}"
    if nonce is not None and stored(desk.store, sent) is not None:
        return True
    found = desk.assignments.last(person.name)
    if found is None:
        return False
    slot, label = found
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
        extra={"retracts": label.seq},
        nonce=sent,
    )
    desk.assignments.undo(person.name, slot.assignment_id, int(label.seq or 0), retraction, desk.lease)
    return True


def progress(desk: Desk, token: str | None) -> Progress:
    """How far this person is. Raises SignedOutError."""
    person = desk.person(token)
    mine = desk.assignments.mine(person.name)
    slot = desk.assignments.held(person.name)
    here = next((row for row in mine if slot is not None and row.query_id == slot.query_id), None)
    done, left = sum(row.done for row in mine), sum(row.open for row in mine)
    free = desk.assignments.free_pairs(person.name)
    total: int | None = done + left
    if free:
        loads, all_limited = _loads(desk)
        total = max(done + left, min(done + left + free, sum(loads.values()))) if all_limited else None
    return Progress(
        query_id=None if slot is None else slot.query_id,
        query_done=here.done if here else 0,
        query_total=here.done + here.open if here else 0,
        done=done,
        total=total,
        free=free,
        skipped=sum(row.skipped for row in mine),
        training=len(_practice(desk, person)),
    )


# What comes next


def _loads(desk: Desk) -> tuple[dict[int, int], bool]:
    """The load that a person may take of each design that sets one, and whether all designs do."""
    asked = {design_id: parameters.get("load") for design_id, parameters in desk.assignments.parameters().items()}
    loads = {design_id: load for design_id, load in asked.items() if type(load) is int}
    return loads, len(loads) == len(asked)


def _claimed(desk: Desk, person: Person) -> bool:
    """Gives a person free slots of the first query that has some for them; whether there were any."""
    assignments, frame = desk.assignments, desk.frame
    queries = assignments.open_queries(person.name)
    if not queries:
        return False
    loads, all_limited = _loads(desk)
    taken = own_loads(desk.store, desk.config.name, person.name) if loads else {}
    full = {design_id for design_id, load in loads.items() if taken.get(design_id, 0) >= load}
    if all_limited and len(full) == len(loads):
        return False
    for query in queries:
        free = [slot for slot in assignments.free(person.name, query.query_id) if slot.design_id not in full]
        there = {slot.doc_id: slot.assignment_id for slot in free if (slot.query_id, slot.doc_id) in frame}
        gone = [slot.assignment_id for slot in free if slot.doc_id not in there]
        if gone:
            assignments.withdraw(gone)
        order = shuffled(desk.config.seed, person.name, query.query_id, list(there))
        wanted = [there[doc_id] for doc_id in order[:BLOCK]]
        if wanted and assignments.claim(person.name, wanted, desk.lease, loads):
            return True
    return False


def _practice(desk: Desk, person: Person) -> list[Training]:
    """The training that a person has not answered, what they put off last. Nobody does what they made."""
    wanted = [item for item in desk.assignments.training() if item.by != person.name]
    wanted = [item for item in wanted if (item.query_id, item.doc_id) in desk.frame] if wanted else []
    if not wanted:
        return []
    states = _practised(desk, person, [item.query_id for item in wanted])
    left = [item for item in wanted if states.get(item.training_id) not in (State.ok, State.unsure)]
    return sorted(left, key=lambda item: (item.training_id in states, item.training_id))


def _practised(desk: Desk, person: Person, query_ids: Sequence[str]) -> dict[Any, State]:
    """What a person answered to each training, by training_id."""
    rows = desk.store.current(desk.config.name, person.name, desk.version, query_ids, ("training",))
    return {row.extra.get("training_id"): row.status for row in sorted(rows, key=lambda row: row.seq)}


def _training_item(desk: Desk, training: Training) -> Item:
    pair = desk.pair(training.query_id, training.doc_id)
    if pair is None:  # the pool was replaced this very moment
        raise ConflictError("withdrawn", "this pair has left the pool; go on with the next one")
    return Item(
        kind="training",
        assignment_id=None,
        training_id=training.training_id,
        content_sha=label_sha(pair),
        shown_at=time.time(),
        **pair._asdict(),
    )


def _blind_item(desk: Desk, person: Person, slot: Slot, pair: Pair) -> Item:
    return Item(
        kind="blind",
        assignment_id=slot.assignment_id,
        training_id=None,
        content_sha=label_sha(pair),
        twins=list(_twins(desk, person, pair)),
        shown_at=time.time(),
        skips=slot.skips,
        **pair._asdict(),
    )


def _twins(desk: Desk, person: Person, pair: Pair) -> Iterator[Twin]:
    """The passages like this one among those that this person graded or will; the grades are theirs alone."""
    frame = desk.frame
    mine = own_states(desk.store, desk.config.name, person.name, pair.query_id)
    alike = desk.twins.of(frame, person.name, pair.query_id, mine).get(pair.doc_id, ())
    if not alike:
        return
    grades = {(row.doc_id, row.content_sha): row.relevance for row in _own_labels(desk, person, pair.query_id)}
    for doc_id, similarity in alike:
        other = desk.pair(pair.query_id, doc_id)
        if other is not None:
            yield Twin(doc_id, other.text[:_START], similarity, grades.get((doc_id, label_sha(other))))


def _own_labels(desk: Desk, person: Person, query_id: str) -> list[CurrentLabel]:
    return desk.store.current(desk.config.name, person.name, desk.version, [query_id], ("blind",))


# What comes back


@dataclass(frozen=True, slots=True)
class _Given:
    """An answer that can be one."""

    status: State
    relevance: int | None
    note: str | None
    extra: Mapping[str, Any]


def _checked(desk: Desk, answer: Answer) -> _Given:
    """Raises AnswerError for what no page of ours sends."""
    status, relevance, reason, note = answer.status, answer.relevance, answer.reason, answer.note
    if status not in (State.ok, State.unsure, State.skipped):
        raise AnswerError(f"there is no answer {str(status)[:40]!r}; expected ok, unsure or skipped")
    if status == State.ok and (type(relevance) is not int or relevance not in desk.config.grades):
        scale = ", ".join(map(str, sorted(desk.config.grades)))
        raise AnswerError(f"the grade {str(relevance)[:40]!r} is not on the scale; choose one of {scale}")
    if status != State.ok and relevance is not None:
        raise AnswerError(f"the answer {status} has no grade; leave the grade out")
    if note is not None and not isinstance(note, str):
        raise AnswerError("the note is no text; write one, or leave it out")
    note = note if note and note.strip() else None
    if note is not None and len(note) > LONGEST_NOTE:
        raise AnswerError(f"the note has {len(note)} characters; shorten it to {LONGEST_NOTE}")
    if status == State.unsure:
        if reason not in REASONS:
            raise AnswerError(f"there is no reason {str(reason)[:40]!r}; choose one of {', '.join(REASONS)}")
        if reason == "other" and note is None:
            raise AnswerError("the reason other says nothing by itself; write a note")
    elif reason is not None:
        raise AnswerError(f"the answer {status} needs no reason; leave it out")
    if not isinstance(answer.nonce, str) or not _NONCE.fullmatch(answer.nonce):
        raise AnswerError("the answer has no proper nonce; reload the page")
    for seconds in (answer.active_seconds, answer.elapsed_seconds):
        if type(seconds) not in (int, float) or not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST_SECONDS):
            raise AnswerError(f"{str(seconds)[:40]!r} is no length of time; reload the page")
    if not isinstance(answer.highlighted, bool):
        raise AnswerError("highlighting is on or off; reload the page")
    extra = {
        "reason": reason,
        "active_seconds": round(float(answer.active_seconds), 3),
        "elapsed_seconds": round(float(answer.elapsed_seconds), 3),
        "highlighted": answer.highlighted,
        "guidelines": _guidelines_sha(desk),
        "prompt": None if desk.prompt is None else [desk.prompt.id, desk.prompt.version],
    }
    return _Given(State(status), relevance, note, extra)


def _guidelines_sha(desk: Desk) -> str | None:
    """Which guidelines there are; a file that is gone must not keep a grade from being stored."""
    try:
        found = desk.guidelines
    except InputError:
        return None
    return None if found is None else found.sha


def _slot(desk: Desk, person: Person, item: Item) -> Slot:
    """The slot of an item, if it is this person's and about the pair that the item says."""
    slot = desk.assignments.slot(item.assignment_id) if type(item.assignment_id) is int else None
    if slot is None:
        raise ConflictError("gone", "there is no such pair to grade any more; go on with the next one")
    if slot.state == "withdrawn":
        raise ConflictError("withdrawn", "this pair was withdrawn; go on with the next one")
    if slot.holder != person.name:
        raise ConflictError("taken", "this pair is not yours, or no longer; go on with the next one")
    if (slot.query_id, slot.doc_id) != (item.query_id, item.doc_id):
        raise ForbiddenError("this is no item that was given out; reload the page")
    return slot


def _submit_training(desk: Desk, person: Person, item: Item, given: _Given, answer: Answer) -> Outcome:
    training = next((found for found in desk.assignments.training() if found.training_id == item.training_id), None)
    if training is None:
        raise ConflictError("gone", "this pair is no part of the training any more; go on with the next one")
    if (training.query_id, training.doc_id) != (item.query_id, item.doc_id) or training.by == person.name:
        raise ForbiddenError("this is no item that was given out; reload the page")
    nonce = _nonce("training", training.training_id, person, answer)
    feedback = None if given.status is State.skipped else training
    known = stored(desk.store, nonce)
    if known is None:
        if _practised(desk, person, [training.query_id]).get(training.training_id) in (State.ok, State.unsure):
            raise ConflictError(
                "done", "you have answered this already, perhaps on another page; go on with the next one"
            )
        pair = desk.pair(training.query_id, training.doc_id)
        if pair is None or label_sha(pair) != item.content_sha:
            raise ConflictError("changed", "this pair's text has changed since it was shown; read it again")
        extra = {**given.extra, "training_id": training.training_id, "known": training.relevance}
        known = desk.assignments.add_label(_label(desk, person, pair, given, "training", nonce, extra, None))
    return Outcome(known.seq, known.again, feedback=feedback)


def _nonce(phase: Phase, number: int, person: Person, answer: Answer) -> str:
    """What makes a label one: the page's nonce, for this item and person alone."""
    return f"{phase}:{number}:{person.name}:{answer.nonce}"


def _label(
    desk: Desk,
    person: Person,
    pair: Pair,
    given: _Given,
    phase: Phase,
    nonce: str,
    extra: Mapping[str, Any],
    assignment_id: int | None,
) -> Label:
    return Label(
        collection=desk.config.name,
        labeler_id=person.name,
        kind="assessor",
        version=desk.version,
        query_id=pair.query_id,
        doc_id=pair.doc_id,
        content_sha=label_sha(pair),
        status=given.status,
        relevance=given.relevance,
        phase=phase,
        rationale=given.note,
        assignment_id=assignment_id,
        extra=extra,
        nonce=nonce,
    )
