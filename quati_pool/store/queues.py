"""Cached counts of the pairs of each query that have an open slot without a holder, updated whenever that changes.

Counting some hundred thousand slots takes a fifth of a second, and the counts are needed with every label.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, and_, case, delete, func, insert, select, update

from quati_pool.store.schema import assignments, queues


def rebuild(connection: Connection, collection: str) -> None:
    """Recounts all queries; call it under ``lock_all``, because claims recount too."""
    c = assignments.c
    free = func.count(case((and_(c.state == "open", c.holder.is_(None)), c.doc_id)).distinct())
    counted = (
        select(c.collection, c.query_id, func.min(c.query_order), free)
        .where(c.collection == collection)
        .group_by(c.collection, c.query_id)
    )
    connection.execute(delete(queues).where(queues.c.collection == collection))
    connection.execute(insert(queues).from_select(["collection", "query_id", "query_order", "free"], counted))


def recount(connection: Connection, collection: str, query_ids: Iterable[str]) -> None:
    """Recounts these queries."""
    q, c = queues.c, assignments.c
    some = (q.collection == collection, q.query_id.in_(sorted(set(query_ids))))
    # A separate statement, so that a process that waited here for another's count sees what the other changed.
    connection.execute(select(q.query_id).where(*some).order_by(q.query_id).with_for_update()).all()
    free = (
        select(func.count(c.doc_id.distinct()))
        .where(c.collection == q.collection, c.query_id == q.query_id, c.state == "open", c.holder.is_(None))
        .scalar_subquery()
    )
    connection.execute(update(queues).where(*some).values(free=free))
