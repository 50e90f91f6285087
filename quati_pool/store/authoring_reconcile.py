"""Authoring items together with their entries and tasks, and how the tasks are made to be those that a plan wants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from quati_pool.store.authoring_records import Entry, Item, Plan, Task, Wanted, counting
from quati_pool.store.schema import authoring_entries, authoring_items, authoring_tasks

WITHDRAWN = "withdrawn_by_author"
"""The reason of an item that is out because its author took it back."""

_ITEM = tuple(field.name for field in fields(Item))
_ENTRY = tuple(field.name for field in fields(Entry))
_IDS_A_STATEMENT = 500

ITEMS = select(*(authoring_items.c[name] for name in _ITEM))
ENTRIES = select(*(authoring_entries.c[name] for name in _ENTRY))
TASK = tuple(authoring_tasks.c[name] for name in Task._fields)
"""The columns of a ``Task``, in its order."""

NOBODYS: Mapping[str, Any] = {"holder": None, "leased_until": None, "skips": 0}
"""The columns of a task without a holder."""

Key = tuple[str, int]  # round and replicate
Id = TypeVar("Id", int, str)


def item_of(row: Row[Any]) -> Item:
    return Item(**{name: getattr(row, name) for name in _ITEM})


def entry_of(row: Row[Any]) -> Entry:
    return Entry(**{name: getattr(row, name) for name in _ENTRY})


@dataclass(frozen=True, slots=True)
class Work:
    """An item with all its entries, oldest first, and its tasks. ``taken_back``: its author has undone the entry that
    made it."""

    item: Item
    entries: Sequence[Entry]
    tasks: Mapping[Key, Task]
    taken_back: bool

    def wanted(self, plan: Plan) -> Wanted:
        """What the item wants by its entries; an item that is out has no tasks."""
        if self.taken_back:
            return Wanted(frozenset(), "out", WITHDRAWN)
        found = plan.wanted(self.item, counting(self.entries))
        return found if found.state != "out" else Wanted(frozenset(), "out", found.reason)

    def after(self, entry: Entry) -> Work:
        """The same with one more entry."""
        return replace(self, entries=(*self.entries, entry))

    def said_after(self, seq: int) -> list[Entry]:
        """The later entries that count."""
        return [entry for entry in counting(self.entries) if entry.seq > seq]

    def counting_of(self, task_id: int) -> list[Entry]:
        """The entries of a task that count."""
        return [entry for entry in counting(self.entries) if entry.task_id == task_id]


def works(connection: Connection, *conditions: ColumnElement[bool]) -> list[Work]:
    """The items that meet conditions on their own columns, by item_id, with their entries and tasks."""
    i, e, t = authoring_items.c, authoring_entries.c, authoring_tasks.c
    items = [item_of(row) for row in connection.execute(ITEMS.where(*conditions).order_by(i.item_id))]
    entries: dict[int, list[Entry]] = defaultdict(list)
    of_items = ENTRIES.join(authoring_items, i.item_id == e.item_id).where(*conditions).order_by(e.seq)
    for row in connection.execute(of_items):
        entries[row.item_id].append(entry_of(row))
    tasks: dict[int, dict[Key, Task]] = defaultdict(dict)
    of_items = select(*TASK).join(authoring_items, i.item_id == t.item_id).where(*conditions)
    for row in connection.execute(of_items):
        task = Task(*row)
        tasks[task.item_id][task.round, task.replicate] = task
    undone = select(e.undoes).join(authoring_items, i.made_by == e.undoes).where(*conditions)
    taken_back = set(connection.execute(undone).scalars())
    return [
        Work(item, entries.get(item.item_id, []), tasks.get(item.item_id, {}), item.made_by in taken_back)
        for item in items
    ]


def reconcile(connection: Connection, collection: str, plan: Plan, some: Iterable[Work]) -> None:
    """Writes the tasks and the state that the plan wants of each item.

    Wanted tasks are inserted or opened again. Open ones that are not wanted are withdrawn, except those in which
    something is stored while the item is not out; a withdrawn task in which something is stored keeps its holder.
    """
    i, t = authoring_items.c, authoring_tasks.c
    steps = {name: rules.steps for name, rules in plan.rules.items()}
    new: list[dict[str, Any]] = []
    opened: list[int] = []
    withdrawn: dict[bool, list[int]] = {True: [], False: []}  # by whether something is stored
    shortened: dict[int, list[int]] = defaultdict(list)  # by the new step
    states: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for work in some:
        wanted = work.wanted(plan)
        for name, replicate in sorted(wanted.tasks - work.tasks.keys()):
            new.append(
                {"collection": collection, "item_id": work.item.item_id, "round": name, "replicate": replicate,
                 "place": work.item.place, "state": "open", "step": 0, **NOBODYS}
            )  # fmt: skip
        for key, task in work.tasks.items():
            stored = task.holder is not None and task.leased_until is None
            if key in wanted.tasks:
                if task.state == "withdrawn":
                    opened.append(task.task_id)
                # A design with fewer steps than when the task was begun.
                if task.state != "done" and task.step >= steps.get(task.round, task.step + 1):
                    shortened[steps[task.round] - 1].append(task.task_id)
            elif task.state == "open" and not (stored and wanted.state != "out"):
                withdrawn[stored].append(task.task_id)
        if (wanted.state, wanted.reason) != (work.item.state, work.item.reason):
            states[wanted.state, wanted.reason].append(work.item.item_id)
    if new:
        connection.execute(insert(authoring_tasks), new)
    for ids, values in (
        (opened, {"state": "open"}),
        (withdrawn[True], {"state": "withdrawn"}),
        (withdrawn[False], {**NOBODYS, "state": "withdrawn"}),
        *((ids, {"step": step}) for step, ids in shortened.items()),
    ):
        for chunk in chunks(ids):
            connection.execute(update(authoring_tasks).where(t.task_id.in_(chunk)).values(values))
    for (state, reason), ids in states.items():
        for chunk in chunks(ids):
            connection.execute(update(authoring_items).where(i.item_id.in_(chunk)).values(state=state, reason=reason))


def chunks(ids: Sequence[Id]) -> Iterator[Sequence[Id]]:
    """Parts that one statement can take."""
    for start in range(0, len(ids), _IDS_A_STATEMENT):
        yield ids[start : start + _IDS_A_STATEMENT]
