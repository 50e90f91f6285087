"""What people ask the leads about a pair, and the answers.

A person who asks sees the leads' answers as one voice, and nobody else's questions; nothing of labels, judges or
systems is part of a conversation but what a lead writes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading.answer import check_nonce
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.records import id_problem
from quati_pool.store.assessor_queries import own_states
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import Remark, RemarkAction
from quati_pool.text.fencing import sendable

LONGEST_REMARK = 2_000


class Message(NamedTuple):
    """A question, or an ``answer``, at a time in UTC. ``by`` is its author; to the person who asked, leads have no
    names: None."""

    by: str | None
    answer: bool
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a person (``thread``) and the leads wrote about a pair, oldest first. ``last_seq`` is the seq of the last
    remark; ``waiting`` for an answer, or ``unread`` answers. Texts are None if the pair has left the pool."""

    thread: str
    query_id: str
    doc_id: str
    query: str | None
    narrative: str | None
    text: str | None
    messages: tuple[Message, ...]
    last_seq: int
    waiting: bool
    unread: bool


def ask(session: AnnotationSession, token: str | None, query_id: str, doc_id: str, text: str, nonce: str) -> int:
    """Stores a person's question or remark on a pair that they hold, have done, or practise on; returns its seq. A
    nonce is stored only once.

    Raises SignedOutError, ForbiddenError for any other pair, AnswerError for a text that is empty or too long (the
    reasons ``remark_empty`` and ``remark_long``), InputError if there is no pool.
    """
    person = session.person(token)
    remark = _remark(person, "asked", (query_id, doc_id), person.name, nonce, _checked_text(text))
    if not any(known.nonce == remark.nonce for known in session.remarks.of(person.name)):
        _check_theirs(session, person, (query_id, doc_id))
    return session.remarks.add(remark)


def answer_remark(
    session: AnnotationSession, token: str | None, thread: str, query_id: str, doc_id: str, text: str, nonce: str
) -> int:
    """Stores a lead's answer to a person's question on a pair; returns its seq. A nonce is stored only once.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError as ``ask`` does, ConflictError if the
    person asked nothing about the pair.
    """
    lead = session.person(token, "lead")
    remark = _remark(lead, "answered", (query_id, doc_id), thread, nonce, _checked_text(text))
    _of_thread(session, thread, (query_id, doc_id))
    return session.remarks.add(remark)


def close(
    session: AnnotationSession, token: str | None, thread: str, query_id: str, doc_id: str, seen_seq: int, nonce: str
) -> int:
    """Closes a conversation without an answer; returns the seq. ``seen_seq`` is its ``last_seq`` as seen. A nonce is
    stored only once.

    Raises SignedOutError, ForbiddenError for anybody but a lead, ConflictError if nothing was asked, or if something
    was written since: the reason is then ``changed``.
    """
    lead = session.person(token, "lead")
    remark = _remark(lead, "closed", (query_id, doc_id), thread, nonce)
    remarks = _of_thread(session, thread, (query_id, doc_id))
    if not any(known.nonce == remark.nonce for known in remarks) and _last_seq(remarks) != seen_seq:
        raise ConflictError("changed", "something was written here since; read it first")
    return session.remarks.add(remark)


def mark_read(session: AnnotationSession, token: str | None, query_id: str, doc_id: str, seen_seq: int) -> bool:
    """Records that a person has read the answers on a pair; False, and nothing is stored, if none are unread or there
    is a newer one. ``seen_seq`` is the conversation's ``last_seq`` as seen. Raises SignedOutError."""
    person = session.person(token)
    unread = [
        one.seq or 0 for one in session.remarks.unread(person.name) if (one.query_id, one.doc_id) == (query_id, doc_id)
    ]
    if not unread or type(seen_seq) is not int or seen_seq < unread[-1]:
        return False
    session.remarks.add(Remark(query_id=query_id, doc_id=doc_id, thread=person.name, by=person.name, action="read"))
    return True


def my_remarks(session: AnnotationSession, token: str | None) -> list[Conversation]:
    """A person's conversations, those with unread answers first, then the newest.

    Raises SignedOutError, InputError if there is no pool.
    """
    person = session.person(token)
    found = [
        _conversation(session, remarks, own=True) for remarks in _by_pair(session.remarks.of(person.name)).values()
    ]
    return sorted(found, key=lambda one: (not one.unread, -one.last_seq))


def open_remarks(session: AnnotationSession, token: str | None) -> list[Conversation]:
    """The conversations that wait for a lead's answer, with everything written in them; the longest waiting first.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    session.person(token, "lead")
    return [
        _conversation(session, _of_thread(session, one.thread, (one.query_id, one.doc_id)))
        for one in session.remarks.open()
    ]


def remarks_on(session: AnnotationSession, token: str | None, query_id: str, doc_id: str) -> list[Conversation]:
    """Everybody's conversations about a pair, open or not; the oldest first.

    Raises SignedOutError, ForbiddenError for anybody but a lead, InputError if there is no pool.
    """
    session.person(token, "lead")
    if (query_id, doc_id) not in session.pool_view:
        return []
    by_thread: dict[str, list[Remark]] = {}
    for remark in session.remarks.of_pair(query_id, doc_id):
        by_thread.setdefault(remark.thread, []).append(remark)
    return [_conversation(session, remarks) for remarks in by_thread.values()]


def _remark(person: Person, action: RemarkAction, ids: Ids, thread: str, nonce: str, text: str | None = None) -> Remark:
    """A remark as received from a page; raises AnswerError for impossible ids or an invalid nonce."""
    for value in (*ids, thread):
        if not isinstance(value, str) or id_problem(value) is not None:
            raise AnswerError("a remark is on a pair, given by its ids; reload the page")
    check_nonce(nonce)
    sent = f"{action}:{person.name}:{nonce}"
    return Remark(query_id=ids[0], doc_id=ids[1], thread=thread, by=person.name, action=action, text=text, nonce=sent)


def _checked_text(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise AnswerError("there is no text; write one", "remark_empty")
    if len(text) > LONGEST_REMARK:
        raise AnswerError(f"the text has {len(text):,} characters; shorten it to {LONGEST_REMARK:,}", "remark_long")
    return sendable(text)


def _check_theirs(session: AnnotationSession, person: Person, ids: Ids) -> None:
    """Raises ForbiddenError for a pair that this person neither holds nor has done nor practises on."""
    if ids in session.pool_view:
        if ids[1] in own_states(session.store, session.config.name, person.name, ids[0]):
            return
        if any((one.query_id, one.doc_id) == ids and one.by != person.name for one in session.training.all()):
            return
    raise ForbiddenError("this pair is not among yours; ask about one that you were given")


def _of_thread(session: AnnotationSession, thread: str, ids: Ids) -> list[Remark]:
    """The remarks of a conversation; raises ConflictError if there is none."""
    found = [remark for remark in session.remarks.of_pair(*ids) if remark.thread == thread]
    if not found:
        raise ConflictError("gone", "nothing was asked there; load the page again")
    return found


def _by_pair(remarks: Iterable[Remark]) -> dict[Ids, list[Remark]]:
    found: dict[Ids, list[Remark]] = {}
    for remark in remarks:
        found.setdefault((remark.query_id, remark.doc_id), []).append(remark)
    return found


def _conversation(session: AnnotationSession, remarks: Sequence[Remark], *, own: bool = False) -> Conversation:
    """A conversation from its remarks in order of seq; ``own`` if it is for the person who asked."""
    first = remarks[0]
    pair = session.pair(first.query_id, first.doc_id)
    return Conversation(
        thread=first.thread,
        query_id=first.query_id,
        doc_id=first.doc_id,
        query=None if pair is None else pair.query,
        narrative=None if pair is None else pair.narrative,
        text=None if pair is None else pair.text,
        messages=tuple(
            Message(
                by=None if own and remark.action == "answered" else remark.by,
                answer=remark.action == "answered",
                text=remark.text,
                created_at=remark.created_at,
            )
            for remark in remarks
            if remark.text is not None and remark.created_at is not None
        ),
        last_seq=_last_seq(remarks),
        waiting=_last(remarks, "asked", "answered", "closed") == "asked",
        unread=_last(remarks, "answered", "read") == "answered",
    )


def _last(remarks: Sequence[Remark], *actions: RemarkAction) -> RemarkAction | None:
    return next((remark.action for remark in reversed(remarks) if remark.action in actions), None)


def _last_seq(remarks: Sequence[Remark]) -> int:
    """The seq of the last remark but for the notes that answers were read."""
    return max(remark.seq or 0 for remark in remarks if remark.action != "read")
