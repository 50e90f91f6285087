"""Leads' decisions on pairs: each is a label by ``adjudicated``; people's own labels stay unchanged."""

from __future__ import annotations

from quati_pool.commands.annotate.annotation_pair import Ids, label_sha
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.review.annotated_pairs import peoples_pairs
from quati_pool.commands.annotate.review.disagreements import decisions_of
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.files.problems import quoted
from quati_pool.judging.pair import Pair
from quati_pool.labels.labelers import REVEALED
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_queries import append_once, rationales_of
from quati_pool.store.records import ADJUDICATED, Label, Submitted
from quati_pool.text.fencing import sendable

LONGEST_COMMENT = 10_000
_LONGEST_NONCE = 64


def decide(
    session: AnnotationSession,
    token: str | None,
    query_id: str,
    doc_id: str,
    shown_sha: str,
    relevance: int | None,
    comment: str | None,
    nonce: str,
    seen: int | None = None,
) -> Submitted:
    """Stores a lead's grade of a pair (None if nobody can judge it); a later decision replaces it.

    The label is marked if names and grades of judges or systems were revealed to the lead before. ``shown_sha`` and
    ``seen`` are the ``content_sha`` and ``last_seq`` of the pair as shown to the lead. A nonce is written only once.

    Raises SignedOutError, ForbiddenError, AnswerError for a grade off the scale, and ConflictError if the pair has
    left the pool, has changed, or was decided in the meantime. In these cases nothing is written.
    """
    if relevance is not None:
        check_grade(session, relevance)
    return _write(session, token, (query_id, doc_id), shown_sha, _status(relevance), relevance, comment, nonce, seen)


def change_comment(
    session: AnnotationSession,
    token: str | None,
    query_id: str,
    doc_id: str,
    shown_sha: str,
    comment: str | None,
    nonce: str,
    seen: int,
) -> Submitted:
    """Stores the decision ``seen`` again with another comment; nothing is written if it has this comment.

    The label is marked if that decision is, or if names and grades of judges or systems were revealed to the lead
    before. Raises the errors of ``decide``, and ConflictError if ``seen`` is no longer the pair's decision.
    """
    session.person(token, "lead")
    ids = query_id, doc_id
    with session.store.snapshot():
        decision = decisions_of(peoples_pairs(session)).get(ids)
        former = rationales_of(session.store, [seen]).get(seen)
    if decision is None or decision.seq != seen:
        raise ConflictError("changed", f"{query_id} {doc_id} was decided meanwhile; look at it again")
    if clean_comment(comment) == former:
        return Submitted(seen, True)
    grade = decision.relevance
    return _write(
        session, token, ids, shown_sha, _status(grade), grade, comment, nonce, seen, revealed=decision.revealed
    )


def take_back(
    session: AnnotationSession, token: str | None, query_id: str, doc_id: str, shown_sha: str, nonce: str, seen: int
) -> Submitted:
    """Retracts the decision ``seen``, so that the pair is undecided. Raises the errors of ``decide``."""
    return _write(session, token, (query_id, doc_id), shown_sha, State.retracted, None, None, nonce, seen)


def _write(
    session: AnnotationSession,
    token: str | None,
    ids: Ids,
    shown_sha: str,
    status: State,
    relevance: int | None,
    comment: str | None,
    nonce: str,
    seen: int | None,
    *,
    revealed: bool = False,
) -> Submitted:
    lead = session.person(token, "lead")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= _LONGEST_NONCE:
        raise AnswerError("a decision needs a nonce of 1 to 64 characters; reload the page")
    comment = clean_comment(comment)
    if label_sha(pooled_pair(session, *ids)) != shown_sha:
        raise ConflictError("changed", f"{ids[0]} {ids[1]} has another text now; look at it again")
    revealed = revealed or ids in session.reveals.of(lead.name, ids[0])
    label = Label(
        collection=session.config.name,
        labeler_id=ADJUDICATED,
        kind="assessor",
        version=session.version,
        query_id=ids[0],
        doc_id=ids[1],
        content_sha=shown_sha,
        status=status,
        relevance=relevance,
        phase="final",
        rationale=comment,
        extra={"by": lead.name, **({REVEALED: True} if revealed else {})},
        nonce=nonce,
    )
    return append_once(session.store, label, seen)


def _status(relevance: int | None) -> State:
    return State.unsure if relevance is None else State.ok


def check_grade(session: AnnotationSession, relevance: int) -> None:
    """Raises AnswerError for a grade off the scale."""
    if type(relevance) is not int or relevance not in session.config.grades:
        grades = ", ".join(map(str, sorted(session.config.grades)))
        raise AnswerError(f"the grade {str(relevance)[:20]} is not on the scale {grades}; choose one of them")


def clean_comment(comment: str | None) -> str | None:
    """A comment without surrounding white space; None if empty. Raises AnswerError if it is too long."""
    comment = (comment or "").strip()
    if len(comment) > LONGEST_COMMENT:
        raise AnswerError(f"the comment has more than {LONGEST_COMMENT:,} characters; shorten it")
    return sendable(comment) or None


def pooled_pair(session: AnnotationSession, query_id: str, doc_id: str) -> Pair:
    """A pair with its current texts; raises ConflictError if it is not in the pool."""
    pair = session.pair(query_id, doc_id)
    if pair is None:
        raise ConflictError("gone", f"the pool has no pair {quoted(query_id)} {quoted(doc_id)} any more; go on")
    return pair
