"""Training pairs that a lead marks in the app: pairs with a known grade and an explanation, which assessors grade
first."""

from __future__ import annotations

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.review.decisions import check_grade, clean_comment, pooled_pair
from quati_pool.commands.annotate.session import AnnotationSession


def mark_training(
    session: AnnotationSession, token: str | None, query_id: str, doc_id: str, relevance: int, explanation: str
) -> int:
    """Marks a pair of the pool as a training pair; returns its training_id. People who answer it are then shown the
    grade and the explanation; their answers never count. A pair that is already marked gets the new grade and
    explanation.

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
    """Drops a pair from the training, False if it is not part of it; the answers stay in the store.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    return session.training.drop(training_id)
