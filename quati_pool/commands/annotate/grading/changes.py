"""A person changes their own labels: each change is a new label, and the pair stays graded.

What comes from the page is not trusted: the pairs, their texts and the labels to be replaced are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quati_pool.commands.annotate.annotation_pair import counting_shas, label_sha
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading.answer import Answer, answer_label, check_answer, check_nonce
from quati_pool.commands.annotate.own_labels import CurrentOwn, current_own, has_query
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.labels.labelers import REVEALED
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_changes import Change, known_changes, write_changes

MOST_CHANGES = 1000
"""The most labels that are changed at once."""


class Seen(NamedTuple):
    """A label as the page showed it: ``content_sha`` of its pair's texts, and its seq."""

    content_sha: str
    seq: int


def change(
    session: AnnotationSession,
    token: str | None,
    query_id: str,
    content_sha: str,
    seen_seq: int,
    answer: Answer,
) -> int:
    """Replaces this person's label of a pair, the one with the seq ``seen_seq``, by another answer; returns the new
    label's seq. A nonce changes a label only once. The new label's times include those of the label it replaces.

    Raises SignedOutError, AnswerError for an invalid answer, ForbiddenError if a judge's grade was revealed after the
    label, ConflictError with the reason ``changed`` if the label or the text is no longer the one seen, and ``gone`` if
    the pair is to be graded again. In these cases nothing is written.
    """
    person = session.person(token)
    [seen] = _checked(query_id, [(content_sha, seen_seq)])
    [seq] = _change(session, person, query_id, [seen], answer)
    return seq


def change_many(
    session: AnnotationSession,
    token: str | None,
    query_id: str,
    changes: Sequence[tuple[str, int]],
    answer: Answer,
) -> list[int]:
    """Replaces this person's labels of passages of one query by the same answer, all or none; returns the new labels'
    seqs in the order of ``changes``, which are the (content_sha, seq) of the labels as seen.

    They keep their evidence, and their notes unless the answer has one. Raises the errors of ``change``; a
    ConflictError's ``count`` is how many labels it concerns.
    """
    person = session.person(token)
    seen = _checked(query_id, changes)
    if answer.evidence:
        raise AnswerError("evidence is of one passage; change the labels one by one to give it")
    return _change(session, person, query_id, seen, answer, keeping=True)


def _change(
    session: AnnotationSession,
    person: Person,
    query_id: str,
    seen: Sequence[Seen],
    answer: Answer,
    *,
    keeping: bool = False,
) -> list[int]:
    """Writes the changes; with ``keeping``, the evidence of the labels that are replaced is kept, and their notes if
    the answer has none."""
    check_nonce(answer.nonce)
    if answer.status == State.skipped:
        raise AnswerError("a label is changed to a grade, or to a reason for having none; choose one")
    nonces = {one: f"change:{one.seq}:{person.name}:{answer.nonce}" for one in seen}
    current = {}
    # One state of the store: the same changes may be written by another request right now.
    with session.store.snapshot():
        if known := known_changes(session.store, nonces.values(), answer.status, answer.relevance):
            return known
        if has_query(session, query_id):
            current = {own.given.label.seq: own for own in current_own(session, person, query_id).values()}
    stale = sum(one.seq not in current or label_sha(current[one.seq].pair) != one.content_sha for one in seen)
    if stale:
        raise ConflictError("changed", f"{stale} of {len(seen)} labels have changed since; look at them again", stale)
    if any("reveal" in current[one.seq].given.label.extra for one in seen):
        raise ForbiddenError("you have seen the judge's grade, so your first one stays; choose others")
    # A lead may have looked before changing, where others cannot.
    looked = session.reveals.of(person.name, query_id) if person.role == "lead" else frozenset()
    changes = []
    for one in seen:
        own = current[one.seq]
        given = _keeping(session, own, answer) if keeping else answer
        checked = check_answer(session, given)
        extra = {**checked.extra, **_times(own, given, len(seen)), "changes": one.seq}
        if (query_id, own.pair.doc_id) in looked:
            extra[REVEALED] = True
        label = answer_label(session, person, own.pair, checked, "blind", nonces[one], extra)
        changes.append(Change(one.seq, counting_shas(own.pair), label))
    return write_changes(session.store, changes)


def _checked(query_id: object, labels: object) -> list[Seen]:
    """The labels to change as received from a page."""
    if not isinstance(labels, (list, tuple)) or not labels:
        raise AnswerError("there is nothing to change; choose labels")
    if len(labels) > MOST_CHANGES:
        raise AnswerError(
            f"{len(labels):,} labels are too many; change at most {MOST_CHANGES:,} at once", "changes_many"
        )
    kinds = [tuple(map(type, one)) if isinstance(one, (list, tuple)) else None for one in labels]
    if not isinstance(query_id, str) or any(kind != (str, int) for kind in kinds):
        raise AnswerError("a label to change must be given by its text hash and number; reload the page")
    seen = [Seen(*one) for one in labels]
    if len({one.seq for one in seen}) < len(seen):
        raise AnswerError("a label is to be changed twice; choose each once")
    return seen


def _keeping(session: AnnotationSession, own: CurrentOwn, answer: Answer) -> Answer:
    """An answer with the evidence of the label that it replaces, and with its note if it has none itself."""
    evidence = () if session.config.annotation.evidence == "off" else own.evidence
    return replace(answer, evidence=evidence, note=own.given.note if answer.note is None else answer.note)


def _times(own: CurrentOwn, answer: Answer, among: int) -> dict[str, float]:
    """All the time that went into a label: what is read as fast work must not be the change of a grade. The time of
    an answer for several labels is divided among them."""
    before = own.given.label.extra
    spent = {"active_seconds": answer.active_seconds, "elapsed_seconds": answer.elapsed_seconds}
    return {
        name: round((before[name] if isinstance(before.get(name), (int, float)) else 0.0) + seconds / among, 3)
        for name, seconds in spent.items()
    }
