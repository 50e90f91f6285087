"""People's changes of their own labels: each is a new label, and the one that it replaces becomes history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_writer import write
from quati_pool.store.records import Entry, Label
from quati_pool.store.schema import assignments, labels
from quati_pool.store.slots import lock_person

_NONCES_A_STATEMENT = 500


class Change(NamedTuple):
    """A label with a nonce, to replace the label with the seq ``seen``. ``content_shas`` are those with which labels
    count for the pair's current texts."""

    seen: int
    content_shas: Collection[str]
    label: Label


def known_changes(store: Store, nonces: Collection[str], status: str, relevance: int | None) -> list[int]:
    """The seqs of the labels with these nonces, in their order; empty if there are none.

    Raises ConflictError if only some of them are in the store, or with another answer.
    """
    with store.reading() as connection:
        return _known(connection, nonces, status, relevance)


def write_changes(store: Store, changes: Sequence[Change]) -> list[int]:
    """Writes changes by one person of pairs of one query, all with the same answer, all or nothing; returns their
    seqs. Each gets the assignment_id of the person's slot, which stays as it is. Changes whose nonces are in the store
    are not written again.

    Raises ConflictError, and writes nothing, with the reason ``changed`` and a count if labels were replaced since
    they were seen, and ``gone`` if the person has not done a slot of a pair.
    """
    first = changes[0].label
    a = assignments.c
    done = select(a.doc_id, a.assignment_id).where(
        a.collection == first.collection, a.holder == first.labeler_id, a.query_id == first.query_id,
        a.phase == first.phase, a.state == "done",
    )  # fmt: skip
    with store.writing() as connection:
        lock_person(connection, first.collection, first.labeler_id)
        nonces = [str(change.label.nonce) for change in changes]
        if known := _known(connection, nonces, first.status, first.relevance):
            return known
        last = _last_seqs(connection, changes)
        stale = sum(last.get(change.label.doc_id) != change.seen for change in changes)
        if stale:
            raise ConflictError(
                "changed", f"{stale} of {len(changes)} labels have changed since; look at them again", stale
            )
        slots = {row.doc_id: row.assignment_id for row in connection.execute(done.with_for_update())}
        gone = sum(change.label.doc_id not in slots for change in changes)
        if gone:
            raise ConflictError("gone", f"{gone} of {len(changes)} pairs are not done; grade them instead", gone)
        return write(
            connection,
            [Entry(label=replace(change.label, assignment_id=slots[change.label.doc_id])) for change in changes],
        )


def _last_seqs(connection: Connection, changes: Sequence[Change]) -> dict[str, int]:
    """The seq of the last label of the current texts of each passage, by doc_id."""
    first = changes[0].label
    counting = {change.label.doc_id: change.content_shas for change in changes}
    c = labels.c
    wanted = select(c.doc_id, c.content_sha, c.seq).where(
        c.collection == first.collection, c.labeler_id == first.labeler_id, c.version == first.version,
        c.query_id == first.query_id, c.phase == first.phase,
    )  # fmt: skip
    found: dict[str, int] = {}
    for row in connection.execute(wanted.order_by(c.seq)):
        if row.content_sha in counting.get(row.doc_id, ()):
            found[row.doc_id] = row.seq
    return found


def _known(connection: Connection, nonces: Collection[str], status: str, relevance: int | None) -> list[int]:
    c = labels.c
    wanted = list(nonces)
    found: dict[str, Any] = {}
    for start in range(0, len(wanted), _NONCES_A_STATEMENT):
        some = c.nonce.in_(wanted[start : start + _NONCES_A_STATEMENT])
        rows = connection.execute(select(c.nonce, c.seq, c.status, c.relevance).where(some))
        found |= {row.nonce: row for row in rows}
    same = all((row.status, row.relevance) == (status, relevance) for row in found.values())
    if found and not (same and len(found) == len(wanted)):
        raise ConflictError("done", "this nonce was already used for another change; reload the page")
    return [found[nonce].seq for nonce in wanted] if found else []
