"""The statements that run with every label, built once with named parameters: SQLAlchemy needs several times as long
to build one as the database needs to answer it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Double,
    Integer,
    Select,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy import cast as as_type

from quati_pool.store.clock import database_now
from quati_pool.store.schema import assessors, assignments, designs, labels, queues, sessions
from quati_pool.store.slots import IN_LINE, SLOT, held_by, lease_over, looked_up, not_yet

COLLECTION: BindParameter[str] = bindparam("of")  # not a column's name: an UPDATE would take it for a value to set
NAME: BindParameter[str] = bindparam("name")

_c = assignments.c
_theirs = held_by(COLLECTION, NAME)
_seconds: Any = bindparam("seconds", type_=Double())

SIGNED_IN = (
    select(
        sessions.c.name, assessors.c.role, assessors.c.settings, sessions.c.created_at, sessions.c.seen_at,
        sessions.c.expires_at, (database_now() - sessions.c.seen_at).label("ago"),
    )
    .join_from(
        sessions,
        assessors,
        (assessors.c.collection == sessions.c.collection) & (assessors.c.name == sessions.c.name),
    )
    .where(
        sessions.c.token_sha == bindparam("token_sha"), sessions.c.collection == COLLECTION,
        sessions.c.ended_at.is_(None), sessions.c.expires_at > database_now(), assessors.c.revoked_at.is_(None),
    )
)  # fmt: skip
"""The sign-in of a token_sha in this collection, if it is valid now; ``ago`` is the seconds since it was last seen."""

HELD = select(*SLOT).where(*_theirs, _c.state == "open").order_by(*IN_LINE).limit(1)
"""The slot that a person is working on: a row of SLOT."""

SLOT_OF_ID = select(*SLOT).where(_c.assignment_id == bindparam("assignment_id"), _c.collection == COLLECTION)
"""A slot by its assignment_id."""

OWN_STATES = select(_c.doc_id, _c.state).where(_c.collection == COLLECTION, _c.query_id == bindparam("query_id"),
                                               _c.holder == NAME)  # fmt: skip
"""The doc_id and state of a person's slots of a query, in any state."""

LABEL_OF_NONCE = select(labels).where(labels.c.nonce == bindparam("nonce"))
"""The label that was sent with a nonce."""

SEQ_OF_NONCE = select(labels.c.seq).where(labels.c.nonce == bindparam("nonce"))
"""Only the seq of that label."""

CHANGE_SLOT = update(assignments).where(_c.assignment_id == bindparam("changed"))
"""Sets columns, given as parameters with their names, of the slot ``changed``."""

RENEW_USED = (
    update(assignments)
    .where(*_theirs, _c.state == "open", _c.leased_until.is_not(None),
           _c.leased_until < database_now() + bindparam("enough", type_=Double()))
    .values(leased_until=database_now() + _seconds)
)  # fmt: skip
"""Extends to ``seconds`` from now a person's leases that have less than ``enough`` seconds left."""

OUTLINES = (
    select(designs.c.design_id, designs.c.method, designs.c.parameters)
    .where(designs.c.collection == COLLECTION, designs.c.method != "repeats")
    .order_by(designs.c.design_id)
)
"""The designs that assign pairs, without their strata."""

REPEATS = select(designs.c.design_id).where(designs.c.collection == COLLECTION, designs.c.method == "repeats")
"""The design_id of the design of repeats."""

# Free pairs


def _also_free() -> ColumnElement[bool]:
    """Condition for slots of pairs that have an open slot without a holder."""
    nobodys = assignments.alias("nobodys")
    n = nobodys.c
    same = (n.collection == _c.collection, n.query_id == _c.query_id, n.doc_id == _c.doc_id, n.holder.is_(None))
    return exists(select(n.assignment_id).where(*same, n.state == "open").correlate(assignments))


_had = (*_theirs, _c.phase == "blind", _also_free())
_over = (_c.collection == COLLECTION, lease_over(), not_yet(NAME), ~_also_free())

QUEUES = select(queues.c.query_id, queues.c.query_order, queues.c.free).where(queues.c.collection == COLLECTION)
"""The queries, with how many pairs have a slot without a holder."""


def _by_query(*conditions: ColumnElement[bool]) -> Select[str, int]:
    query_id = looked_up(_c.query_id)
    wanted = select(query_id, func.count(_c.doc_id.distinct()))
    return wanted.where(*conditions).group_by(query_id)


HAD = _by_query(*_had)
"""Per query, how many of those pairs a person already holds or has done."""

OVER = _by_query(*_over)
"""Per query, how many other pairs a person could be given because a lease has expired."""

FREE_PAIRS = select(
    select(func.coalesce(func.sum(queues.c.free), 0)).where(queues.c.collection == COLLECTION).scalar_subquery()
    - select(func.count()).select_from(select(_c.assignment_id).where(*_had).subquery()).scalar_subquery()
    + select(func.count())
    .select_from(select(_c.query_id, _c.doc_id).where(*_over).distinct().subquery())
    .scalar_subquery()
)
"""How many pairs a person could be given, over all queries: QUEUES minus HAD plus OVER."""

# Who grades

_a = assessors.c
_of_theirs = assignments.alias("of_theirs")
_begun = exists(
    select(_of_theirs.c.assignment_id).where(
        _of_theirs.c.collection == _a.collection, _of_theirs.c.holder == _a.name,
        or_(_of_theirs.c.state == "done", and_(_of_theirs.c.state == "open", _of_theirs.c.leased_until.is_(None))),
    )
)  # fmt: skip

GRADERS = select(_a.name).where(_a.collection == COLLECTION, _a.revoked_at.is_(None), or_(_a.role != "lead", _begun))
"""Everybody with an access code, except leads who have neither done a slot nor hold one for good."""

_idle_leads = select(_a.name).where(_a.collection == COLLECTION, _a.role == "lead", _a.name != NAME, ~_begun)

IDLE_PAIRS = select(func.count()).select_from(
    select(_c.query_id, _c.doc_id)
    .where(_c.collection == COLLECTION, _c.state == "open", _c.leased_until >= database_now(),
           _c.holder.in_(_idle_leads), not_yet(NAME), ~_also_free())
    .distinct()
    .subquery()
)  # fmt: skip
"""How many pairs, not among FREE_PAIRS, a person could be given if leads who are not GRADERS held none."""

# Progress


def progress(whose: ColumnElement[bool]) -> Select[Any]:
    """How many of these slots are open, done and skipped, per holder and query."""
    query_id = looked_up(_c.query_id)
    is_open = as_type(_c.state == "open", Integer)
    skipped = as_type(and_(_c.state == "open", _c.skips > 0), Integer)
    return (
        select(_c.holder, query_id, func.sum(is_open), func.sum(1 - is_open), func.sum(skipped))
        .where(whose, _c.state != "withdrawn")
        .group_by(_c.holder, query_id)
    )


# Repeats are recognized by their design, which an index covers together with the rest.
PROGRESS = progress(and_(_c.collection == COLLECTION, _c.design_id.not_in(REPEATS)))
"""Progress of everybody, without repeats."""

MINE = progress(and_(*_theirs))
"""Progress of one person, with their repeats."""
