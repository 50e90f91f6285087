"""Complete lists of slots, sign-ins and nonces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import func, or_, select

from quati_pool.store.database import Store
from quati_pool.store.records import AUDITING, Slot
from quati_pool.store.schema import assignments, labels, sessions
from quati_pool.store.slots import SLOT, slot_of

_NONCES_A_STATEMENT = 500


def slots(store: Store, collection: str, holder: str | None = None) -> list[Slot]:
    """All slots of a collection, including withdrawn ones but without repeats, or those that ``holder`` holds or has
    done, in the order in which they were created."""
    c = assignments.c
    wanted = select(*SLOT).where(c.collection == collection, c.phase == "blind").order_by(c.assignment_id)
    if holder is not None:
        wanted = wanted.where(c.holder == holder)
    with store.reading() as connection:
        return [slot_of(row) for row in connection.execute(wanted)]


def slot_counts(store: Store, collection: str) -> dict[str, int]:
    """The number of a collection's slots in each state, without repeats."""
    c = assignments.c
    wanted = select(c.state, func.count()).where(c.collection == collection, c.phase == "blind").group_by(c.state)
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(wanted)}


def slot_counts_by_design(store: Store, collection: str) -> dict[int, dict[str, int]]:
    """The number of slots in each state that each design created, without repeats, by design_id."""
    c = assignments.c
    mine = (c.collection == collection, c.phase == "blind")
    wanted = select(c.design_id, c.state, func.count()).where(*mine).group_by(c.design_id, c.state)
    found: dict[int, dict[str, int]] = {}
    with store.reading() as connection:
        for design_id, state, count in connection.execute(wanted):
            found.setdefault(design_id, {})[state] = count
    return found


def pairs_given(store: Store, collection: str) -> dict[str | None, set[tuple[str, str]]]:
    """The pairs (query_id, doc_id) of each person's open and done slots, without repeats, by name; those of slots
    without a holder under None."""
    c = assignments.c
    given = (c.collection == collection, c.state != "withdrawn", c.phase == "blind")
    found: dict[str | None, set[tuple[str, str]]] = {}
    with store.reading() as connection:
        for holder, query_id, doc_id in connection.execute(select(c.holder, c.query_id, c.doc_id).where(*given)):
            found.setdefault(holder, set()).add((query_id, doc_id))
    return found


def labelled_pairs(store: Store, collection: str) -> set[tuple[str, str]]:
    """The pairs (query_id, doc_id) of a collection with any label, of any labeler and state, except a judge's answers
    in audits."""
    c = labels.c
    graded = or_(c.kind != "judge", c.phase.not_in(AUDITING))
    wanted = select(c.query_id, c.doc_id).where(c.collection == collection, graded).distinct()
    with store.reading() as connection:
        return {(query_id, doc_id) for query_id, doc_id in connection.execute(wanted)}


class DoneSlot(NamedTuple):
    """A done slot, with the version and content_sha of its label."""

    assignment_id: int
    query_id: str
    doc_id: str
    version: str
    content_sha: str


def done_slots(store: Store, collection: str) -> list[DoneSlot]:
    """All done slots of a collection without repeats, in the order in which they were created."""
    a, label = assignments.c, labels.c
    wanted = (
        select(a.assignment_id, a.query_id, a.doc_id, label.version, label.content_sha)
        .join_from(assignments, labels, label.seq == a.label_seq)
        .where(a.collection == collection, a.state == "done", a.phase == "blind")
        .order_by(a.assignment_id)
    )
    with store.reading() as connection:
        return [DoneSlot(*row) for row in connection.execute(wanted)]


def last_seen(store: Store, collection: str) -> dict[str, datetime]:
    """The time at which each person who ever signed in was last seen, by name; in UTC, to the minute."""
    c = sessions.c
    wanted = select(c.name, func.max(c.seen_at).label("seen_at")).where(c.collection == collection).group_by(c.name)
    with store.reading() as connection:
        return {row.name: datetime.fromtimestamp(row.seen_at, UTC) for row in connection.execute(wanted)}


def sent(store: Store, nonces: Iterable[str]) -> set[str]:
    """Which of these nonces belong to labels in the store."""

    def parts() -> Iterator[list[str]]:
        wanted = sorted(set(nonces))
        for start in range(0, len(wanted), _NONCES_A_STATEMENT):
            yield wanted[start : start + _NONCES_A_STATEMENT]

    with store.reading() as connection:
        asked = select(labels.c.nonce)
        return {str(row.nonce) for some in parts() for row in connection.execute(asked.where(labels.c.nonce.in_(some)))}
