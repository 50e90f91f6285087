"""Slots (a slot is a pair to be graded by one person): which slot a person gets next, and the labels they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, and_, case, func, insert, or_, select, update

from quati_pool.records import State
from quati_pool.store import statements
from quati_pool.store.clock import database_now
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.label_writer import write
from quati_pool.store.queues import rebuild, recount
from quati_pool.store.records import Entry, Label, OpenQuery, QueryProgress, Slot, Submitted
from quati_pool.store.rows import label_of
from quati_pool.store.schema import assessors, assignments, labels
from quati_pool.store.slots import (
    NOBODYS,
    SLOT,
    free_now,
    held_by,
    lock_all,
    lock_person,
    looked_up,
    not_yet,
    slot_of,
)

LATE = 2  # skips after which a slot waits until everything else is done
_NEXT = -1  # query_turn of a repeat; those of other slots are 0 or more
_KEPT = 0.9  # of a lease; renewed only when less is left, or every label would update all of a person's slots

_SAID = {
    "done": "it is graded already",
    "taken": "its lease expired and somebody else has it now",
    "withdrawn": "it was withdrawn",
    "gone": "there is no such slot",
    "changed": "it has changed since",
}
_IDS_A_STATEMENT = 500
_SLOT_TO_CHANGE = statements.SLOT_OF_ID.with_for_update()
_PAIR = tuple(assignments.c[name] for name in ("assignment_id", "design_id", "query_id", "doc_id"))


class Assignments:
    """The slots of one collection, over an open store; as safe with threads and processes as the store.

    A slot is *held* by the person it was given to, either for good or until its lease expires. An expired slot
    stays with its holder until somebody else claims it. All times are the database's.
    """

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    # Who gets what

    def held(self, name: str) -> Slot | None:
        """The slot that a person is working on: the first of the open ones they hold. Undone slots come first, slots
        skipped twice or more last; the rest are ordered by query_turn, skips and turn."""

        with self._store.reading() as connection:
            row = connection.execute(statements.HELD, self._of(name)).first()
        return None if row is None else slot_of(row)

    def slot(self, assignment_id: int) -> Slot | None:
        """A slot by its id, whoever holds it."""

        with self._store.reading() as connection:
            return self._slot(connection, assignment_id)

    def _slot(self, connection: Connection, assignment_id: int, *, changing: bool = False) -> Slot | None:
        wanted = _SLOT_TO_CHANGE if changing else statements.SLOT_OF_ID
        row = connection.execute(wanted, {"assignment_id": assignment_id, "of": self._collection}).first()
        return None if row is None else slot_of(row)

    def open_queries(self, name: str, start: float = 0.0) -> list[OpenQuery]:
        """The queries with pairs that a person could be given, by query_order, then query_id; those after the share
        ``start`` (0 to below 1) of all queries first, open or not, then those before it. A pair counts once however
        many of its slots are free, and not at all if the person holds or has done one of them."""

        with self._store.reading() as connection:
            queries = connection.execute(statements.QUEUES, {"of": self._collection}).all()
            counts = Counter({row.query_id: row.free for row in queries})
            counts.subtract(dict(connection.execute(statements.HAD, self._of(name)).all()))
            counts.update(dict(connection.execute(statements.OVER, self._of(name)).all()))
        found = [OpenQuery(row.query_id, row.query_order, counts[row.query_id]) for row in queries]
        found.sort(key=lambda one: (one.query_order, one.query_id))
        first = int(start * len(found))
        return [one for one in (*found[first:], *found[:first]) if one.free > 0]

    def free_pairs(self, name: str) -> int:
        """How many pairs a person could be given, of all queries together."""

        with self._store.reading() as connection:
            return int(connection.execute(statements.FREE_PAIRS, self._of(name)).scalar_one())

    def pairs_of_idle_leads(self, name: str) -> int:
        """How many more pairs a person could be given if leads who do not grade (see ``graders``) held none."""

        with self._store.reading() as connection:
            return int(connection.execute(statements.IDLE_PAIRS, self._of(name)).scalar_one())

    def graders(self) -> frozenset[str]:
        """Everybody with an access code, except leads who have neither done a slot nor hold one for good: what they
        hold under a lease they got by opening the page."""

        with self._store.reading() as connection:
            return frozenset(connection.execute(statements.GRADERS, {"of": self._collection}).scalars())

    def free(self, name: str, query_id: str, design_id: int | None = None) -> list[Slot]:
        """The slots of a query (of one design, if it is given) that a person could be given, one per pair (the lowest
        replicate), by doc_id."""

        c = assignments.c
        wanted = select(*SLOT).where(
            c.collection == self._collection, c.query_id == query_id, free_now(), not_yet(name)
        )
        if design_id is not None:
            wanted = wanted.where(c.design_id == design_id)
        lowest: dict[str, Slot] = {}
        with self._store.reading() as connection:
            for row in connection.execute(wanted.order_by(c.doc_id, c.replicate, c.assignment_id)):
                slot = slot_of(row)
                lowest.setdefault(slot.doc_id, slot)
        return list(lowest.values())

    def claim(
        self, name: str, assignment_ids: Sequence[int], lease_seconds: float, limit: Mapping[int, int] | None = None
    ) -> list[Slot]:
        """Assigns free slots to a person, in this order and after the slots they already hold; returns those they got.

        They get at most one slot per pair. ``limit`` (by design_id; a design not in it is unlimited) is the most
        slots of a design that the person may have, done ones included. Slots that somebody else claimed in the
        meantime are left out."""

        c = assignments.c
        wanted = list(dict.fromkeys(assignment_ids))
        with self._store.writing() as connection:
            lock_person(connection, self._collection, name)
            # Slots that others are claiming right now are skipped, not waited for. "takable" is a column, not a
            # condition, so that SQLite looks the slots up by these few ids.
            there = {
                row.assignment_id: row
                for row in connection.execute(
                    select(*_PAIR, and_(free_now(), not_yet(name)).label("takable"))
                    .where(c.assignment_id.in_(wanted), looked_up(c.collection) == self._collection)
                    .with_for_update(skip_locked=True)
                )
                if row.takable
            }
            left = self._left(connection, name, limit or {})
            pairs = set()
            taken = []
            for assignment_id in wanted:
                row = there.get(assignment_id)
                if row is None or (row.query_id, row.doc_id) in pairs or left.get(row.design_id, 1) <= 0:
                    continue
                if row.design_id in left:
                    left[row.design_id] -= 1
                pairs.add((row.query_id, row.doc_id))
                taken.append(assignment_id)
            if not taken:
                return []
            last = select(func.max(c.query_turn)).where(*held_by(self._collection, name))
            changed = {
                **NOBODYS,
                "holder": name,
                "leased_until": database_now() + lease_seconds,
                "query_turn": (connection.execute(last).scalar() or 0) + 1,
                "turn": case({one: turn for turn, one in enumerate(taken)}, value=c.assignment_id),
            }
            still = or_(c.holder.is_(None), c.leased_until < database_now())
            now_mine = update(assignments).where(c.assignment_id.in_(taken), still, c.state != "done").values(changed)
            got = [slot_of(row) for row in connection.execute(now_mine.returning(*SLOT))]
            recount(connection, self._collection, (slot.query_id for slot in got))
        return sorted(got, key=lambda slot: slot.turn or 0)

    def _left(self, connection: Connection, name: str, limit: Mapping[int, int]) -> dict[int, int]:
        """How many more slots of each limited design a person may get."""
        if not limit:
            return {}
        c = assignments.c
        had = select(c.design_id, func.count()).where(*held_by(self._collection, name)).group_by(c.design_id)
        counts: Counter[int] = Counter(dict(connection.execute(had).all()))
        return {design_id: load - counts[design_id] for design_id, load in limit.items()}

    # Labels

    def submit(self, name: str, assignment_id: int, label: Label, lease_seconds: float) -> Submitted:
        """Writes a person's label for a slot they hold and renews their leases, so that each has at least nine tenths
        left. ``ok`` and ``unsure`` complete the slot; ``skipped`` leaves it open, later in the queue, and puts a
        repeat behind all others. A label whose nonce is in the store is not written again.

        Raises ConflictError, and writes nothing, if the slot is done, withdrawn, gone or no longer theirs;
        StoreError for a label of another person, pair, phase or state, or a nonce that another label has.
        """

        if label.status not in (State.ok, State.unsure, State.skipped):
            raise StoreError(
                f"{label.query_id} {label.doc_id}: a person's label cannot be {label.status}; grade it again"
            )
        with self._store.writing() as connection:
            lock_person(connection, self._collection, name)
            if (known := self._known(connection, label)) is not None:
                return Submitted(known, again=True)
            slot = self._slot(connection, assignment_id, changing=True)
            if slot is None:
                raise self._conflict("gone", assignment_id)
            self._check(label, name, slot)
            if slot.state == "withdrawn" or slot.holder != name:
                raise self._conflict("withdrawn" if slot.state == "withdrawn" else "taken", assignment_id)
            if slot.state == "done":
                raise self._conflict("done", assignment_id)
            [seq] = write(connection, [Entry(label=replace(label, assignment_id=assignment_id))])
            changed: dict[str, Any] = {"label_seq": seq, "state": "done", "line": 0}
            if label.status == State.skipped:
                skips = slot.skips + 1
                # A repeat is before all others otherwise.
                late = skips >= LATE or slot.phase == "repeat"
                changed.update(state="open", skips=skips, line=int(late))
            connection.execute(statements.CHANGE_SLOT, {"changed": assignment_id, **changed})
            renewed = {"seconds": lease_seconds, "enough": lease_seconds * _KEPT}
            connection.execute(statements.RENEW_USED, {**self._of(name), **renewed})
        return Submitted(seq, again=False)

    def _check(self, label: Label, name: str, slot: Slot) -> None:
        theirs = (self._collection, name, slot.query_id, slot.doc_id, slot.phase)
        named = (label.collection, label.labeler_id, label.query_id, label.doc_id, label.phase)
        if named != theirs or label.kind != "assessor":
            raise StoreError(
                f"{label.labeler_id}'s label of {label.query_id} {label.doc_id} is not of slot {slot.assignment_id}; "
                "load the page again"
            )

    def _known(self, connection: Connection, label: Label) -> int | None:
        """The seq of this label if it was already written, as found by its nonce; None if it was not."""
        if label.nonce is None:
            return None
        row = connection.execute(statements.LABEL_OF_NONCE, {"nonce": label.nonce}).mappings().first()
        if row is None:
            return None
        known = label_of(row)
        for reason, names in (
            ("", ("collection", "labeler_id", "query_id", "doc_id", "phase")),
            ("done", ("status", "relevance")),
        ):
            if any(getattr(known, one) != getattr(label, one) for one in names):
                problem = (
                    f"{label.query_id} {label.doc_id}: its nonce was already used for another label; reload the page"
                )
                raise ConflictError(reason, problem) if reason else StoreError(problem)
        return known.seq

    def _conflict(self, reason: str, assignment_id: int) -> ConflictError:
        return ConflictError(reason, f"slot {assignment_id}: {_SAID[reason]}; nothing was written: go on with the next")

    def add_label(self, label: Label) -> Submitted:
        """Writes a label that belongs to no slot (training, revealed or final); a nonce is written only once.

        Raises StoreError for a nonce that another label has.
        """

        with self._store.writing() as connection:
            lock_person(connection, self._collection, label.labeler_id)
            if label.collection != self._collection:
                raise StoreError(
                    f"a label of {label.collection} does not belong to {self._collection}; open that collection"
                )
            if (known := self._known(connection, label)) is not None:
                return Submitted(known, again=True)
            [seq] = write(connection, [Entry(label=label)])
        return Submitted(seq, again=False)

    def last(self, name: str) -> tuple[Slot, Label] | None:
        """The slot that a person labelled last and still holds, with its label: what they can undo."""

        c = assignments.c
        mine = (*held_by(self._collection, name), c.label_seq.is_not(None))
        with self._store.reading() as connection:
            row = connection.execute(select(*SLOT).where(*mine).order_by(c.label_seq.desc()).limit(1)).first()
            if row is None:
                return None
            slot = slot_of(row)
            given = connection.execute(select(labels).where(labels.c.seq == slot.label_seq)).mappings().one()
        return slot, label_of(given)

    def undo(self, name: str, assignment_id: int, seq: int, retraction: Label, lease_seconds: float = 1800.0) -> int:
        """Writes the retraction of the label ``seq``, or of its last change, and returns the retraction's seq. The slot
        is open again, first in the queue, with its previous number of skips. A retraction whose nonce is in the store
        is not written again.

        Raises ConflictError, and writes nothing, if ``seq`` is no longer the slot's label.
        """

        if retraction.status != State.retracted:
            raise StoreError(
                f"{retraction.query_id} {retraction.doc_id}: {retraction.status} takes nothing back; undo again"
            )
        c = assignments.c
        with self._store.writing() as connection:
            lock_person(connection, self._collection, name)
            if (known := self._known(connection, retraction)) is not None:
                return known
            slot = self._slot(connection, assignment_id, changing=True)
            if slot is None:
                raise self._conflict("gone", assignment_id)
            self._check(retraction, name, slot)
            if slot.state == "withdrawn" or slot.holder != name:
                raise self._conflict("withdrawn" if slot.state == "withdrawn" else "taken", assignment_id)
            if slot.label_seq != seq:
                raise self._conflict("changed", assignment_id)
            given = self._newest(connection, slot)
            # It retracts exactly that label, even if the guidelines or the passage have changed since.
            back = replace(
                retraction, assignment_id=assignment_id, version=given.version, content_sha=given.content_sha,
                phase=given.phase, sample=given.sample, extra={**retraction.extra, "retracts": given.seq},
            )  # fmt: skip
            [new] = write(connection, [Entry(label=back)])
            changed: dict[str, Any] = {"state": "open", "label_seq": None, "line": -new}
            if given.status == State.skipped:
                changed["skips"] = slot.skips - 1
            if slot.leased_until is not None:
                changed["leased_until"] = database_now() + lease_seconds
            connection.execute(update(assignments).where(c.assignment_id == assignment_id).values(changed))
        return new

    def _newest(self, connection: Connection, slot: Slot) -> Label:
        """The last label of a slot's holder for it: the slot's own, or the last change of it."""
        c = labels.c
        own = label_of(connection.execute(select(labels).where(c.seq == slot.label_seq)).mappings().one())
        same = (
            c.collection == own.collection, c.labeler_id == own.labeler_id, c.version == own.version,
            c.query_id == own.query_id, c.doc_id == own.doc_id, c.phase == own.phase,
            c.assignment_id == slot.assignment_id,
        )  # fmt: skip
        newest = select(labels).where(*same).order_by(c.seq.desc()).limit(1)
        return label_of(connection.execute(newest).mappings().one())

    def give_back(self, name: str, assignment_id: int) -> bool:
        """Frees an open slot that a person holds; False if they do not."""
        c = assignments.c
        mine = (*held_by(self._collection, name), c.state == "open", c.phase == "blind")
        with self._store.writing() as connection:
            lock_person(connection, self._collection, name)
            freed = update(assignments).where(c.assignment_id == assignment_id, *mine).values(NOBODYS)
            query_ids = connection.execute(freed.returning(c.query_id)).scalars().all()
            recount(connection, self._collection, query_ids)
        return bool(query_ids)

    # Repeats

    def add_repeat(self, name: str, design_id: int, block: int, done: Slot) -> Slot | None:
        """Gives a person a pair again that they have graded in the slot ``done``: a new slot of phase ``repeat``,
        before their other open slots except undone ones. ``block``, from 1, is stored as its replicate: a person gets
        at most one repeat per block and pair. None, and nothing is written, if they already got it, perhaps by
        another page."""
        c = assignments.c
        row = {
            "collection": self._collection, "design_id": design_id, "query_id": done.query_id, "doc_id": done.doc_id,
            "replicate": block, "query_order": done.query_order, "state": "open", "holder": name,
            "query_turn": _NEXT, "turn": 0, "skips": 0, "line": 0, "phase": "repeat",
        }  # fmt: skip
        same = or_(c.replicate == block, and_(c.query_id == done.query_id, c.doc_id == done.doc_id))
        with self._store.writing() as connection:
            lock_person(connection, self._collection, name)
            got = select(c.assignment_id).where(*held_by(self._collection, name), c.phase == "repeat", same).limit(1)
            if connection.execute(got).first() is not None:
                return None
            return slot_of(connection.execute(insert(assignments).values(row).returning(*SLOT)).one())

    def repeats(self, name: str) -> list[Slot]:
        """The pairs that a person got again, in any state, in this order."""
        c = assignments.c
        wanted = select(*SLOT).where(*held_by(self._collection, name), c.phase == "repeat").order_by(c.assignment_id)
        with self._store.reading() as connection:
            return [slot_of(row) for row in connection.execute(wanted)]

    # For leads

    def withdraw(self, assignment_ids: Sequence[int]) -> int:
        """Withdraws open slots; done ones stay, and repeats keep their holder. Returns how many it withdrew."""

        c = assignments.c
        taken = 0
        ids = sorted(set(assignment_ids))
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            for start in range(0, len(ids), _IDS_A_STATEMENT):
                some = c.assignment_id.in_(ids[start : start + _IDS_A_STATEMENT])
                mine = (some, looked_up(c.collection) == self._collection, c.state == "open")
                holder = case((c.phase == "repeat", c.holder), else_=None)
                gone = update(assignments).where(*mine).values({**NOBODYS, "state": "withdrawn", "holder": holder})
                query_ids = connection.execute(gone.returning(c.query_id)).scalars().all()
                recount(connection, self._collection, query_ids)
                taken += len(query_ids)
        return taken

    def withdraw_design(self, design_id: int) -> int:
        """Withdraws the open slots of a design, whoever holds them; done ones stay, and so do people's repeats.
        Returns how many it withdrew."""

        c = assignments.c
        mine = (c.collection == self._collection, c.design_id == design_id, c.state == "open", c.phase == "blind")
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            gone = update(assignments).where(*mine).values({**NOBODYS, "state": "withdrawn"})
            taken = connection.execute(gone).rowcount
            rebuild(connection, self._collection)
        return taken

    def release(self, name: str) -> int:
        """Frees a person's open slots, including those given for good, and withdraws their repeats. Returns how many
        it freed."""

        c = assignments.c
        theirs = update(assignments).where(*held_by(self._collection, name), c.state == "open")
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            connection.execute(theirs.where(c.phase == "repeat").values(state="withdrawn"))
            freed = connection.execute(theirs.values(NOBODYS)).rowcount
            rebuild(connection, self._collection)
        return freed

    def reopen(self, assignment_ids: Sequence[int]) -> int:
        """Opens done slots again, except repeats, and keeps their labels; returns how many it opened. The person who
        did a slot is asked again; if that person's code was revoked, the slot returns to the open queue."""

        c, a = assignments.c, assessors.c
        revoked = select(a.name).where(a.collection == self._collection, a.revoked_at.is_not(None))
        ids = sorted(set(assignment_ids))
        opened = 0
        with self._store.writing() as connection:
            lock_all(connection, self._collection)
            for start in range(0, len(ids), _IDS_A_STATEMENT):
                some = c.assignment_id.in_(ids[start : start + _IDS_A_STATEMENT])
                mine = (some, looked_up(c.collection) == self._collection, c.phase == "blind")
                done = update(assignments).where(*mine, c.state == "done")
                nobodys = done.where(c.holder.in_(revoked)).values({**NOBODYS, "state": "open"})
                opened += connection.execute(nobodys).rowcount
                again = {"state": "open", "label_seq": None, "skips": 0, "line": 0}
                opened += connection.execute(done.values(again)).rowcount
            rebuild(connection, self._collection)
        return opened

    def open_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs (query_id, doc_id) that somebody is still to grade for the first time."""
        a = assignments.c
        first = (a.collection == self._collection, a.state == "open", a.phase == "blind")
        wanted = select(a.query_id, a.doc_id).where(*first).distinct()
        with self._store.reading() as connection:
            return frozenset((row.query_id, row.doc_id) for row in connection.execute(wanted))

    def progress(self) -> list[QueryProgress]:
        """How many slots are open, done and skipped, per holder (None: no holder) and query, without repeats."""

        return self._progress(statements.PROGRESS, {"of": self._collection})

    def mine(self, name: str) -> list[QueryProgress]:
        """``progress`` of one person, with their repeats."""

        return self._progress(statements.MINE, self._of(name))

    def _progress(self, wanted: Select[Any], whose: Mapping[str, str]) -> list[QueryProgress]:
        with self._store.reading() as connection:
            found = [QueryProgress(*row) for row in connection.execute(wanted, whose)]
        return sorted(found, key=lambda row: (row.holder is None, row.holder or "", row.query_id))

    def _of(self, name: str) -> dict[str, str]:
        """The parameters that name a person."""
        return {"of": self._collection, "name": name}
