"""Queries about the pairs that check people: repeats, and gold pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy import BindParameter, Integer, bindparam, func, select

from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.label_resolution import resolved
from quati_pool.store.records import CurrentLabel, Slot
from quati_pool.store.rows import KEY, RESOLVING, current_of
from quati_pool.store.schema import assignments, labels
from quati_pool.store.slots import SLOT, free_now, held_by, not_yet, slot_of
from quati_pool.store.statements import COLLECTION, NAME, REPEATS

_SEQS_A_STATEMENT = 500

_c = assignments.c
_mine = held_by(COLLECTION, NAME)
# Run with every item, so built once. Repeats are recognized by their design, so that an index answers the first.
_ANSWERS = select(func.count()).where(*_mine, _c.state == "done", _c.design_id.not_in(REPEATS))
_REPEAT_OF_BLOCK = select(_c.assignment_id).where(
    *_mine, _c.design_id.in_(REPEATS), _c.replicate == bindparam("block", type_=Integer())
)
_QUERY_IDS: BindParameter[list[str]] = bindparam("query_ids", expanding=True)
_DOC_IDS: BindParameter[list[str]] = bindparam("doc_ids", expanding=True)
_THESE = (_c.collection == COLLECTION, _c.query_id.in_(_QUERY_IDS), _c.doc_id.in_(_DOC_IDS))
_FREE_OF = select(_c.query_id, _c.doc_id).where(*_THESE, free_now(), not_yet(NAME)).distinct()
_FREE_SLOTS = select(_c.query_id, _c.doc_id, func.count()).where(*_THESE, free_now()).group_by(_c.query_id, _c.doc_id)
_HOLDERS = select(_c.query_id, _c.doc_id, _c.holder).where(*_THESE, _c.holder.is_not(None)).distinct()
_ANSWERED = (
    select(labels.c.query_id, labels.c.doc_id, labels.c.labeler_id)
    .where(labels.c.collection == COLLECTION, labels.c.version == bindparam("version"), labels.c.phase == "training")
    .where(labels.c.query_id.in_(_QUERY_IDS), labels.c.doc_id.in_(_DOC_IDS), labels.c.status.in_(("ok", "unsure")))
    .distinct()
)
_TRAINING_LABELS = (
    select(*RESOLVING)
    .where(labels.c.collection == COLLECTION, labels.c.labeler_id == NAME, labels.c.version == bindparam("version"))
    .where(labels.c.query_id.in_(_QUERY_IDS), labels.c.phase == "training")
    .order_by(labels.c.query_id, labels.c.seq)
)


class GradedSlot(NamedTuple):
    """A done slot with its label's status, version and content_sha."""

    slot: Slot
    status: str
    version: str
    content_sha: str


def answers(store: Store, collection: str, name: str) -> int:
    """How many slots a person has done, without repeats."""
    with store.reading() as connection:
        return int(connection.execute(_ANSWERS, {"of": collection, "name": name}).scalar_one())


def has_repeat(store: Store, collection: str, name: str, block: int) -> bool:
    """Whether a person got the repeat of a block, in any state."""
    with store.reading() as connection:
        return (
            connection.execute(_REPEAT_OF_BLOCK, {"of": collection, "name": name, "block": block}).first() is not None
        )


def graded_slots(store: Store, collection: str, name: str) -> list[GradedSlot]:
    """The slots that a person has done, without repeats, in the order in which they were answered."""
    wanted = (
        select(*SLOT, labels.c.status, labels.c.version, labels.c.content_sha)
        .join_from(assignments, labels, labels.c.seq == _c.label_seq)
        .where(*held_by(collection, name), _c.state == "done", _c.phase == "blind")
        .order_by(_c.label_seq)
    )
    with store.reading() as connection:
        return [GradedSlot(slot_of(row[: len(SLOT)]), *row[len(SLOT) :]) for row in connection.execute(wanted)]


def free_of(store: Store, collection: str, name: str, pairs: Collection[tuple[str, str]]) -> int:
    """How many of these pairs (query_id, doc_id) a person could be given."""
    of = {"of": collection, "name": name, **_ids(pairs)}
    with store.reading() as connection:
        return sum((row.query_id, row.doc_id) in pairs for row in connection.execute(_FREE_OF, of))


def designs_with_free(store: Store, collection: str, name: str) -> set[int]:
    """The design_id of each design with slots that a person could be given."""
    wanted = select(_c.design_id).where(_c.collection == collection, free_now(), not_yet(name)).distinct()
    with store.reading() as connection:
        return set(connection.execute(wanted).scalars())


def free_slots(store: Store, collection: str, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """How many slots of each of these pairs (query_id, doc_id) anybody could be given; pairs without one are absent."""
    with store.reading() as connection:
        found = connection.execute(_FREE_SLOTS, {"of": collection, **_ids(pairs)}).all()
    return {(query_id, doc_id): count for query_id, doc_id, count in found if (query_id, doc_id) in pairs}


def people_with(
    store: Store, collection: str, version: str, pairs: Collection[tuple[str, str]]
) -> dict[tuple[str, str], set[str]]:
    """Who holds or has done a slot of each of these pairs (query_id, doc_id), or answered it under a version in
    training or as gold."""
    of = {"of": collection, "version": version, **_ids(pairs)}
    people: dict[tuple[str, str], set[str]] = {pair: set() for pair in pairs}
    with store.reading() as connection:
        for wanted in (_HOLDERS, _ANSWERED):
            for query_id, doc_id, name in connection.execute(wanted, of):
                people.get((query_id, doc_id), set()).add(name)
    return people


def training_labels(
    store: Store, collection: str, name: str, version: str, pairs: Collection[tuple[str, str]]
) -> list[CurrentLabel]:
    """A person's last label under a version of each of these training pairs (query_id, doc_id), by seq."""
    of = {"of": collection, "name": name, "version": version, "query_ids": _ids(pairs)["query_ids"]}
    with store.reading() as connection:
        found = map(current_of, resolved(connection.execute(_TRAINING_LABELS, of).all(), KEY))
        return sorted((row for row in found if (row.query_id, row.doc_id) in pairs), key=lambda row: row.seq)


def _ids(pairs: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    query_ids, doc_ids = (sorted(set(some)) for some in zip(*pairs, strict=True))
    return {"query_ids": query_ids, "doc_ids": doc_ids}


def repeat_labels(store: Store, collection: str, version: str) -> list[tuple[str, CurrentLabel]]:
    """The label of each repeat that was graded under a version, with the person who gave it, by seq."""
    wanted = (
        select(*RESOLVING, _c.holder)
        .join_from(assignments, labels, labels.c.seq == _c.label_seq)
        .where(_c.collection == collection, _c.design_id.in_(REPEATS.params(of=collection)))
        .where(labels.c.version == version, labels.c.status == State.ok.value)
        .order_by(labels.c.seq)
    )
    with store.reading() as connection:
        return [(row.holder, current_of(row)) for row in connection.execute(wanted)]


def grades_of(store: Store, seqs: Iterable[int]) -> dict[int, int]:
    """The grades of these labels, by seq; labels without a grade are absent."""
    wanted = sorted(set(seqs))
    found: dict[int, int] = {}
    with store.reading() as connection:
        for start in range(0, len(wanted), _SEQS_A_STATEMENT):
            some = labels.c.seq.in_(wanted[start : start + _SEQS_A_STATEMENT])
            graded = select(labels.c.seq, labels.c.relevance).where(some, labels.c.relevance.is_not(None))
            found.update({row.seq: row.relevance for row in connection.execute(graded)})
    return found
