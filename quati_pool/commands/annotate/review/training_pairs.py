"""Pairs of known grade that assessors do first: a lead marks them, and says why the grade is what it is."""

from __future__ import annotations

from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.reviewing import clean_comment, shown_now
from quati_pool.commands.annotate.session import Desk


def mark_training(desk: Desk, token: str | None, query_id: str, doc_id: str, relevance: int, explanation: str) -> int:
    """Makes a pair of the pool one to practise on; its training_id. Whoever answers it sees the grade and the
    explanation, and the answer counts nowhere.

    Raises SignedOutError, ForbiddenError for whoever is no lead, AnswerError for a grade off the scale or no
    explanation, ConflictError for a pair that the pool does not have, StoreError for one marked already.
    """
    lead = desk.person(token, "lead")
    if type(relevance) is not int or relevance not in desk.config.grades:
        grades = ", ".join(map(str, sorted(desk.config.grades)))
        raise AnswerError(f"the grade {str(relevance)[:20]} is not of the scale {grades}; choose one of them")
    told = clean_comment(explanation)
    if told is None:
        raise AnswerError("a pair to practise on needs an explanation; say why it has this grade")
    pair = shown_now(desk, query_id, doc_id)
    return desk.assignments.add_training(pair.query_id, pair.doc_id, relevance, told, lead.name)


def drop_training(desk: Desk, token: str | None, training_id: int) -> bool:
    """Takes a pair from practice again, False where it was none; what was answered stays in the store.

    Raises SignedOutError, and ForbiddenError for whoever is no lead.
    """
    desk.person(token, "lead")
    return desk.assignments.drop_training(training_id)
