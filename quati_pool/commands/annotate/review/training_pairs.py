"""Training pairs, which a lead marks in the app: pairs of known grade, with the reason for the grade, that assessors
grade first."""

from __future__ import annotations

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.review.decisions import check_grade, clean_comment, pooled_pair
from quati_pool.commands.annotate.session import AnnotationSession


def mark_training(
    session: AnnotationSession, token: str | None, query_id: str, doc_id: str, relevance: int, explanation: str
) -> int:
    """Marks a pair of the pool as one to practise on; returns its training_id. Everybody who answers it is then shown
    the grade and the explanation, and the answers count nowhere. A pair that is marked already takes the new ones.

    Raises SignedOutError, ForbiddenError for anybody but a lead, AnswerError for a grade off the scale or an empty
    explanation, ConflictError for a pair that is not in the pool.
    """
    lead = session.person(token, "lead")
    check_grade(session, relevance)
    cleaned = clean_comment(explanation)
    if cleaned is None:
        raise AnswerError("a pair to practise on needs an explanation; say why it has this grade")
    pair = pooled_pair(session, query_id, doc_id)
    return session.training.add(pair.query_id, pair.doc_id, relevance, cleaned, lead.name)


def drop_training(session: AnnotationSession, token: str | None, training_id: int) -> bool:
    """Drops a pair from the training, False where it is not part of it; what was answered stays in the store.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    return session.training.drop(training_id)
