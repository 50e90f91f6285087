"""Authoring: which task of which item a person gets next, and the entries of what they write, assess and decide.

An item's tasks and state follow from its entries by the design's plan (see ``reconcile``); what is stored here is who
holds which task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Update,
    and_,
    bindparam,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from quati_pool.store.authoring_reading import ONLY_SEEN, AuthoringReading
from quati_pool.store.authoring_reconcile import (
    ENTRIES,
    NOBODYS,
    TASK,
    Work,
    chunks,
    entry_of,
    reconcile,
    works,
)
from quati_pool.store.authoring_records import (
    DRAFT,
    SAYING,
    Added,
    Entry,
    EntryAction,
    NewEntry,
    NewItem,
    Task,
    as_added,
    counting,
)
from quati_pool.store.clock import database_now
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.json_content import canonical, refuse_unfit
from quati_pool.store.records import Submitted
from quati_pool.store.schema import authoring_entries, authoring_items, authoring_tasks, versions
from quati_pool.store.slots import lock_all

LATE = 2  # skips after which a task waits until everything else is done

_SAID = {
    "done": "it is done already",
    "taken": "it is somebody else's now",
    "withdrawn": "it is no longer wanted",
    "gone": "it is not there",
    "changed": "it has changed since",
    "used": "somebody has worked on what came of it",
    "revealed": "what was hidden has been shown since",
}

i, t, e = authoring_items.c, authoring_tasks.c, authoring_entries.c


class Authoring(AuthoringReading):
    """The items of one collection and design, over an open store; as safe with threads and processes as the store.

    A task is *held* by the person it was given to until their lease expires and somebody else claims it; once
    something is stored in it, until a lead frees it. A nonce that is in the store is not written again: the methods
    then return what they returned the first time, and raise StoreError if it was used for something else. Every other
    refusal is a ConflictError, and nothing is written.
    """

    # Items

    def add(self, items: Sequence[NewItem]) -> Added:
        """Adds the items that are not there yet, by kind and source_id, with the tasks that they want. A draft that an
        item was given since does not make it another.

        Raises StoreError for a text that databases cannot hold, a parent that does not exist, or a drafter that is not
        registered (see ``Store.register``).
        """
        new: dict[tuple[str, str], NewItem] = {}
        there = changed = 0
        for item in items:
            self._check_item(item)
        with self._writing() as connection:
            known = self._contents(connection, items)
            for item in items:
                key = (item.kind, item.source_id)
                if key not in known:
                    new[key] = item
                    known[key] = item.content
                elif canonical(as_added(known[key])) == canonical(as_added(item.content)):
                    there += 1
                else:
                    changed += 1
            if new:
                self._check_references(connection, new.values())
                last = connection.execute(select(func.max(i.item_id))).scalar() or 0
                connection.execute(insert(authoring_items), [self._row(item) for item in new.values()])
                reconcile(connection, self._collection, self._plan, works(connection, self._mine, i.item_id > last))
        return Added(len(new), there, changed)

    def draft(self, drafts: Mapping[int, Mapping[str, str]], drafted_by: str) -> set[int]:
        """Gives items, by item_id, each a draft of its texts by field, and ``drafted_by`` as the version that wrote it:
        only those that nobody has ever opened and that have no draft. Returns which these are; the others stay as they
        are.

        Raises StoreError, and writes nothing, for a text that databases cannot hold or a drafter that is not registered
        (see ``Store.register``).
        """
        for item_id, draft in drafts.items():
            refuse_unfit(f"the draft of item {item_id}", {**draft})
        taken: dict[int, dict[str, Any]] = {}
        with self._writing() as connection:
            self._check_drafters(connection, {drafted_by})
            for some in chunks(sorted(drafts)):
                free = (i.item_id.in_(some), i.drafted_by.is_(None), ~exists().where(e.item_id == i.item_id))
                for row in connection.execute(select(i.item_id, i.content).where(self._mine_by_id, *free)):
                    if DRAFT not in row.content:
                        taken[row.item_id] = {**row.content, DRAFT: dict(drafts[row.item_id])}
            if taken:
                changed = update(authoring_items).where(i.item_id == bindparam("of_item"))
                values = {"content": bindparam("with_draft"), "drafted_by": drafted_by}
                connection.execute(
                    changed.values(values), [{"of_item": one, "with_draft": taken[one]} for one in sorted(taken)]
                )
            for some in chunks(sorted(taken)):
                self._reconcile(connection, *some)
        return set(taken)

    def _contents(self, connection: Connection, items: Sequence[NewItem]) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The stored content of those of these items that are there, by kind and source_id."""
        of_kinds = i.kind.in_({item.kind for item in items})
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for some in chunks([item.source_id for item in items]):
            wanted = select(i.kind, i.source_id, i.content).where(self._mine, of_kinds, i.source_id.in_(some))
            found |= {(row.kind, row.source_id): row.content for row in connection.execute(wanted)}
        return found

    def reconcile_all(self) -> None:
        """Brings the tasks and states of all items to what the plan wants now, as a design's parameters may have
        changed."""
        with self._writing() as connection:
            reconcile(connection, self._collection, self._plan, works(connection, self._mine))

    def _row(self, item: NewItem, made_by: int | None = None) -> dict[str, Any]:
        return {**item._asdict(), "collection": self._collection, "design": self._design, "state": "open",
                "reason": None, "made_by": made_by, "created_at": datetime.now(UTC)}  # fmt: skip

    def _check_item(self, item: NewItem) -> None:
        refuse_unfit(f"{item.kind} {item.source_id!r}", item._asdict())

    def _check_references(self, connection: Connection, items: Iterable[NewItem]) -> None:
        self._check_drafters(connection, {item.drafted_by for item in items if item.drafted_by is not None})
        parents = sorted({item.parent_id for item in items if item.parent_id is not None})
        for some in chunks(parents):
            found = set(connection.execute(select(i.item_id).where(self._mine_by_id, i.item_id.in_(some))).scalars())
            if missing := set(some) - found:
                raise StoreError(f"item {min(missing)}: there is no such item to add others to; add it first")

    @staticmethod
    def _check_drafters(connection: Connection, drafters: Collection[str]) -> None:
        known = set(connection.execute(select(versions.c.version)).scalars()) if drafters else set()
        if missing := set(drafters) - known:
            raise StoreError(f"{min(missing)}: no version of this name is registered; register the drafter first")

    # Who gets what

    def next(
        self, name: str, *, lead: bool, lease_seconds: float, rounds: Collection[str] | None = None
    ) -> Task | None:
        """The task that a person does now, in one of ``rounds`` (None: all): the first that they hold, or else the
        first that they may claim; None if there is none. Later rounds come first. Tasks that the person skipped come
        after all that they may claim, and tasks that were skipped and given back last of all. A lease that has less
        than half left is renewed."""
        served = [
            one
            for one in reversed(self._rounds)
            if (rounds is None or one in rounds) and self._may(self._rules[one], lead)
        ]
        with self._writing() as connection:
            held = self._holds(connection, name, served)
            if (first := next((task for task in held if not task.skips), None)) is None:
                first = self._claim(connection, name, served, lease_seconds, t.skips < LATE)
            if first is None and held:
                first = min(held, key=lambda task: task.skips)
            if first is None:
                first = self._claim(connection, name, served, lease_seconds, t.skips >= LATE)
            if first is None or first.leased_until is None:
                return first
            enough = database_now() + lease_seconds / 2
            short = update(authoring_tasks).where(t.task_id == first.task_id, t.leased_until < enough)
            renewed = short.values(leased_until=database_now() + lease_seconds).returning(*TASK)
            row = connection.execute(renewed).first()
        return first if row is None else Task(*row)

    def _holds(self, connection: Connection, name: str, served: Sequence[str]) -> list[Task]:
        """The open tasks that a person holds, in the order in which they do them, skips aside; without those that they
        should not do any more, as they have seen what the round keeps from them."""
        mine = (t.collection == self._collection, t.holder == name, t.state == "open", self._mine_by_id)
        may = (and_(t.round == one, or_(t.leased_until.is_(None), and_(*self._free_for(name, one)))) for one in served)
        wanted = select(*TASK).join(authoring_items, i.item_id == t.item_id).where(*mine, or_(false(), *may))
        found = [Task(*row) for row in connection.execute(wanted.order_by(t.place, t.task_id))]
        return sorted(found, key=lambda task: served.index(task.round))

    def _claim(
        self,
        connection: Connection,
        name: str,
        served: Sequence[str],
        lease_seconds: float,
        *which: ColumnElement[bool],
    ) -> Task | None:
        """Gives a person the first task in line that they may take."""
        over = and_(t.holder != name, t.leased_until < database_now())
        for one in served:
            wanted = (
                select(t.task_id)
                .join(authoring_items, i.item_id == t.item_id)
                .where(t.collection == self._collection, t.round == one, t.state == "open", self._mine_by_id, *which)
                .where(or_(t.holder.is_(None), over), *self._free_for(name, one))
                .order_by(t.skips, t.place, t.task_id)
                .limit(1)
            )
            task_id = connection.execute(wanted).scalar()
            if task_id is not None:
                lease = {"holder": name, "leased_until": database_now() + lease_seconds, "skips": 0}
                task = Task(*connection.execute(_task(task_id).values(lease).returning(*TASK)).one())
                self._write(connection, task, name, "opened", task.step)
                return task
        return None

    def _free_for(self, name: str, one: str) -> list[ColumnElement[bool]]:
        """Conditions for tasks of a round that a person has no other task like, and where it is apart, of items that
        are new to them: that they have neither made nor have an entry on, except of having seen this very task or
        taken back what they entered in it, nor on what came of them."""
        other = authoring_tasks.alias().c
        like = (other.item_id == t.item_id, other.round == t.round, other.task_id != t.task_id)
        conditions = [~exists().where(*like, other.holder == name)]
        if apart := self._rules[one].apart:
            only_seen = and_(func.coalesce(e.task_id, 0) == t.task_id, ONLY_SEEN)
            conditions.append(~exists().where(e.by == name, e.item_id == i.item_id, ~only_seen))
            conditions.append(~exists().where(e.by == name, e.seq == i.made_by))
            child = authoring_items.alias().c
            of_children = (e.item_id == child.item_id, child.parent_id == i.item_id)
            conditions.append(~exists().where(e.by == name, *of_children))
            if apart == "parent":
                conditions.append(~exists().where(e.by == name, e.item_id == i.parent_id))
        return conditions

    # What people do

    def submit(self, name: str, task_id: int, step: int, entry: NewEntry, *, makes: NewItem | None = None) -> Submitted:
        """Stores a step of a task that a person holds, who then keeps the task. The last step completes it; in a round
        with ``several``, it makes the item ``makes`` instead, a child of the task's.

        Raises ConflictError if the task is ``gone``, ``withdrawn``, ``taken``, ``done``, or at another step
        (``changed``).
        """
        sent: dict[str, Any] = {"step": step, "content": entry.content}
        with self._writing() as connection:
            if (known := self._known(connection, entry.nonce, name, "given", task_id, **sent)) is not None:
                return Submitted(known, again=True)
            task = self._held(connection, name, task_id, step)
            rules = self._rules[task.round]
            last = step == rules.steps - 1
            if (rules.several and last) != (makes is not None):
                problem = "makes an item; send the item" if makes is None else "makes no item; send the entry alone"
                raise StoreError(f"{task.round}: step {step} {problem}")
            times: dict[str, Any] = {"active_seconds": entry.active_seconds, "elapsed_seconds": entry.elapsed_seconds}
            seq = self._write(connection, task, name, "given", **sent, nonce=entry.nonce, **times)
            changed = {"step": step if makes else step + 1, "state": "open" if makes or not last else "done"}
            connection.execute(_task(task_id).values(**changed, leased_until=None, skips=0))
            made = [] if makes is None else [self._make(connection, task, seq, makes)]
            self._reconcile(connection, task.item_id, *made)
        return Submitted(seq, again=False)

    def _make(self, connection: Connection, task: Task, seq: int, item: NewItem) -> int:
        self._check_item(item)
        item = item._replace(parent_id=task.item_id)
        self._check_references(connection, [item])
        same = (self._mine, i.kind == item.kind, i.source_id == item.source_id)
        if connection.execute(select(i.item_id).where(*same)).first() is not None:
            raise StoreError(f"{item.kind} {item.source_id!r}: there is such an item already; reload the page")
        given = connection.execute(insert(authoring_items).values(self._row(item, seq))).inserted_primary_key
        assert given is not None
        return int(given[0])

    def end(self, name: str, task_id: int, nonce: str) -> Submitted:
        """Completes a task of a round with ``several``: nothing more is to be made. Raises ConflictError as ``submit``
        does, ``changed`` before the last step."""
        return self._complete(name, task_id, None, "ended", nonce)

    def refuse(self, name: str, task_id: int, step: int, reason: str, comment: str | None, nonce: str) -> Submitted:
        """Completes a task by refusing the item for a reason; the entry's content has the comment, if any. Raises
        ConflictError as ``submit`` does."""
        content = {} if comment is None else {"comment": comment}
        return self._complete(name, task_id, step, "refused", nonce, reason=reason, content=content)

    def _complete(
        self, name: str, task_id: int, step: int | None, action: EntryAction, nonce: str, **sent: Any
    ) -> Submitted:
        with self._writing() as connection:
            at = {} if step is None else {"step": step}
            if (known := self._known(connection, nonce, name, action, task_id, **sent, **at)) is not None:
                return Submitted(known, again=True)
            task = self._held(connection, name, task_id, step)
            if action == "ended":
                if not (rules := self._rules[task.round]).several:
                    raise StoreError(f"{task.round}: this round ends with its last step; send that")
                if task.step != rules.steps - 1:
                    raise _conflict("changed", f"task {task_id}")
            seq = self._write(connection, task, name, action, task.step, nonce=nonce, **sent)
            connection.execute(_task(task_id).values(state="done", leased_until=None, skips=0))
            self._reconcile(connection, task.item_id)
        return Submitted(seq, again=False)

    def skip(self, name: str, task_id: int, nonce: str) -> Submitted:
        """Puts a task behind all others that the person may do; skipped once more, it is given back unless something is
        stored in it. Raises ConflictError as ``submit`` does."""
        with self._writing() as connection:
            if (known := self._known(connection, nonce, name, "skipped", task_id)) is not None:
                return Submitted(known, again=True)
            task = self._held(connection, name, task_id, None)
            seq = self._write(connection, task, name, "skipped", task.step, nonce=nonce)
            changed: dict[str, Any] = {"skips": task.skips + 1}
            if changed["skips"] >= LATE and task.leased_until is not None:
                changed = {**NOBODYS, **changed}
            connection.execute(_task(task_id).values(changed))
        return Submitted(seq, again=False)

    def undo(self, name: str, seq: int, nonce: str, lease_seconds: float) -> int:
        """Takes back a person's last entry of a task that counts, or one that made an item; returns the seq of the
        ``undone`` entry. The task is the person's again, at that entry's step; under a lease if nothing else is stored
        in it. An item that the entry made is out.

        Raises ConflictError if there is no such entry of theirs (``gone``), the task is no longer theirs (``taken``),
        the entry does not count or is not the last one (``changed``), hidden things were shown after it (``revealed``),
        or somebody has worked on what came of it (``used``).
        """
        with self._writing() as connection:
            known = self._known(connection, nonce, name, "undone", None, undoes=seq)
            if known is not None:
                return known
            entry, task, before = self._undoable(connection, name, seq)
            later = self._rounds[self._rounds.index(task.round) + 1 :]
            if any(one.round in later for one in before.said_after(seq)):
                raise _conflict("used", f"entry {seq}")
            made = connection.execute(select(i.item_id).where(i.made_by == seq)).scalars().all()
            if any(self._touched(connection, item_id) for item_id in made):
                raise _conflict("used", f"entry {seq}")
            own = before.counting_of(task.task_id)
            back = self._write(connection, task, name, "undone", entry.step, undoes=seq, nonce=nonce)
            if own[-1].seq == seq:
                stored = any(one.action == "given" and one.seq != seq for one in own)
                until = None if stored else database_now() + lease_seconds
                reopened = {"state": "open", "step": entry.step, "skips": 0, "leased_until": until}
                connection.execute(_task(task.task_id).values(reopened))
            after = self._work(connection, task.item_id)
            fewer = before.wanted(self._plan).tasks - after.wanted(self._plan).tasks
            if self._orphaned(before, after, task) or (fewer and self._added_to(connection, task.item_id)):
                raise _conflict("used", f"entry {seq}")
            self._reconcile(connection, task.item_id, *made)
        return back

    def _undoable(self, connection: Connection, name: str, seq: int) -> tuple[Entry, Task, Work]:
        """An entry of a person that may be undone as far as its own task goes, the task, and its item."""
        mine = (self._mine_by_id, e.seq == seq, e.by == name, e.action.in_(SAYING), e.task_id.is_not(None))
        row = connection.execute(ENTRIES.join(authoring_items, i.item_id == e.item_id).where(*mine)).first()
        if row is None:
            raise _conflict("gone", f"entry {seq}")
        entry, task = entry_of(row), self._task(connection, row.task_id)
        assert task is not None
        if task.holder != name or task.round not in self._rules:
            raise _conflict("taken", f"entry {seq}")
        work = self._work(connection, task.item_id)
        own = work.counting_of(task.task_id)
        steps = {one.step for one in own if one.action == "given" and one.step >= entry.step}
        if entry not in own:
            raise _conflict("changed", f"entry {seq}")
        rules = self._rules[task.round]
        if entry.action == "given" and steps & rules.reveals:
            raise _conflict("revealed", f"entry {seq}")
        makes = rules.several and entry.action == "given" and entry.step == rules.steps - 1
        if not makes and own[-1].seq != seq:
            raise _conflict("changed", f"entry {seq}")
        return entry, task, work

    def _touched(self, connection: Connection, item_id: int) -> bool:
        """Whether anybody has opened a task of an item, or something was added to it."""
        opened = select(e.seq).where(e.item_id == item_id).limit(1)
        added = select(i.item_id).where(i.parent_id == item_id).limit(1)
        return any(connection.execute(one).first() is not None for one in (opened, added))

    def _added_to(self, connection: Connection, item_id: int) -> bool:
        """Whether a program has added something to an item, such as the draft of a question on a text."""
        added = select(i.item_id).where(i.parent_id == item_id, i.made_by.is_(None)).limit(1)
        return connection.execute(added).first() is not None

    def _orphaned(self, before: Work, after: Work, undone: Task) -> bool:
        """Whether tasks that people have worked on would lose what they were for, as also the undone one does where
        somebody has gone on in another one."""
        was, is_now = before.wanted(self._plan).tasks, after.wanted(self._plan).tasks
        order = {name: rules.order for name, rules in self._rules.items()}
        # A plan may name tasks that are done or not, so the order of rounds decides where it names neither.
        begun = {entry.task_id for entry in after.entries}
        return any(
            task.task_id in begun
            and key not in is_now
            and (key in was or order.get(task.round, -1) > order[undone.round])
            for key, task in after.tasks.items()
        )

    # For leads

    def give_back(self, task_id: int, by: str, nonce: str) -> None:
        """Frees an open task that somebody holds, which begins again; what is stored in it no longer counts. Raises
        ConflictError if the task is ``gone``, ``withdrawn``, ``done``, or nobody's (``changed``)."""
        with self._writing() as connection:
            if self._known(connection, nonce, by, "released", task_id, reason="given_back") is not None:
                return
            task = self._task(connection, task_id)
            if task is None or task.state != "open":
                raise _conflict("gone" if task is None else task.state, f"task {task_id}")
            if task.holder is None:
                raise _conflict("changed", f"task {task_id}")
            self._release(connection, task, by, "given_back", nonce)
            self._reconcile(connection, task.item_id)

    def restore(self, item_id: int, by: str, nonce: str) -> None:
        """Puts an item that is out back by freeing the tasks whose entries made it so: all in which it was refused,
        then as many others as needed, the newest first. Raises ConflictError if there is no such item (``gone``), it is
        not out (``changed``), or no entry is the cause (``used``)."""
        with self._writing() as connection:
            if self._known(connection, nonce, by, "released", None, item_id=item_id, reason="restored") is not None:
                return
            found = works(connection, self._mine_by_id, i.item_id == item_id)
            if not found or found[0].item.state != "out":
                raise _conflict("changed" if found else "gone", f"item {item_id}")
            [work] = found
            tasks = {task.task_id: task for task in work.tasks.values()}
            freed: list[Task] = []
            said = [(one.action, one.task_id) for one in reversed(counting(work.entries)) if one.task_id is not None]
            # A refusal that stayed would put the item out again as soon as the others have spoken.
            refused = dict.fromkeys(task_id for action, task_id in said if action == "refused")
            for task_id in refused | dict.fromkeys(task_id for _, task_id in said):
                if task_id not in refused and work.wanted(self._plan).state != "out":
                    break
                newest = work.entries[-1]
                work = work.after(replace(newest, seq=newest.seq + 1, task_id=task_id, action="released", undoes=None))
                freed.append(tasks[task_id])
            if work.wanted(self._plan).state == "out":
                raise _conflict("used", f"item {item_id}", "it is out for what it is, not for what somebody entered")
            for number, task in enumerate(freed):
                self._release(connection, task, by, "restored", None if number else nonce)
            self._reconcile(connection, item_id)

    def _release(self, connection: Connection, task: Task, by: str, reason: str, nonce: str | None) -> None:
        self._write(connection, task, by, "released", task.step, reason=reason, nonce=nonce)
        connection.execute(_task(task.task_id).values(**NOBODYS, state="open", step=0))

    # Shared by the methods above

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A write transaction, one at a time in the collection: what an item wants follows from all its entries."""
        with self._store.writing() as connection:
            lock_all(connection, f"authoring: {self._collection}")
            yield connection

    def _held(self, connection: Connection, name: str, task_id: int, step: int | None) -> Task:
        """A task that a person holds, at this step if it is given."""
        task = self._task(connection, task_id)
        if task is None:
            raise _conflict("gone", f"task {task_id}")
        if task.state == "withdrawn" or task.round not in self._rules:
            raise _conflict("withdrawn", f"task {task_id}")
        if task.holder != name:
            raise _conflict("taken", f"task {task_id}")
        if task.state == "done":
            raise _conflict("done", f"task {task_id}")
        if step not in (None, task.step):
            raise _conflict("changed", f"task {task_id}")
        return task

    def _known(
        self, connection: Connection, nonce: str, by: str, action: EntryAction, task_id: int | None, **sent: Any
    ) -> int | None:
        """The seq of the entry that was sent with this nonce; None if there is none."""
        refuse_unfit(f"{by}'s entry", {**sent, "nonce": nonce})
        row = connection.execute(select(e.collection, *ENTRIES.selected_columns).where(e.nonce == nonce)).first()
        if row is None:
            return None
        expected = {**sent, "collection": self._collection, "by": by, "action": action}
        if task_id is not None:
            expected["task_id"] = task_id
        if any(canonical(getattr(row, name)) != canonical(value) for name, value in expected.items()):
            raise StoreError(f"{by}: this nonce was already used for another entry; reload the page")
        return int(row.seq)

    def _write(self, connection: Connection, task: Task, by: str, action: EntryAction, step: int, **values: Any) -> int:
        row = {
            "collection": self._collection, "item_id": task.item_id, "task_id": task.task_id, "round": task.round,
            "by": by, "action": action, "step": step, "content": {}, "created_at": datetime.now(UTC), **values,
        }  # fmt: skip
        given = connection.execute(insert(authoring_entries).values(row)).inserted_primary_key
        assert given is not None
        return int(given[0])

    def _work(self, connection: Connection, item_id: int) -> Work:
        [work] = works(connection, i.item_id == item_id)
        return work

    def _reconcile(self, connection: Connection, *item_ids: int) -> None:
        reconcile(connection, self._collection, self._plan, works(connection, i.item_id.in_(item_ids)))


def _task(task_id: int) -> Update:
    return update(authoring_tasks).where(t.task_id == task_id)


def _conflict(reason: str, what: str, because: str | None = None) -> ConflictError:
    return ConflictError(reason, f"{what}: {because or _SAID[reason]}; nothing was written: go on with the next")
