"""How many pairs of each query still have a slot without a holder: counted again whenever that changes.

Counting some hundred thousand slots takes a fifth of a second, and it is asked for with every label.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, and_, case, delete, func, insert, select, update

from quati_pool.store.schema import assignments, queues


def rebuild(connection: Connection, collection: str) -> None:
    """Counts all queries again; under ``lock_all``, for claims count too."""
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
    """Counts these queries again."""
    q, c = queues.c, assignments.c
    some = (q.collection == collection, q.query_id.in_(sorted(set(query_ids))))
    # A process that waited here for another's count must see what the other changed, so this is a separate statement.
    connection.execute(select(q.query_id).where(*some).order_by(q.query_id).with_for_update()).all()
    free = (
        select(func.count(c.doc_id.distinct()))
        .where(c.collection == q.collection, c.query_id == q.query_id, c.state == "open", c.holder.is_(None))
        .scalar_subquery()
    )
    connection.execute(update(queues).where(*some).values(free=free))
