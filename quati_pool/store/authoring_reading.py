"""Reading of authoring: items, entries and tasks, and how far the rounds are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, case, exists, func, or_, select

from quati_pool.store.authoring_reconcile import ENTRIES, ITEMS, TASK, chunks, entry_of, item_of
from quati_pool.store.authoring_records import (
    SAYING,
    Changes,
    Entry,
    EntryAction,
    Item,
    ItemState,
    Plan,
    RoundProgress,
    RoundRules,
    Task,
)
from quati_pool.store.database import Store
from quati_pool.store.schema import authoring_entries, authoring_items, authoring_tasks
from quati_pool.store.slots import looked_up

SEEN: tuple[EntryAction, ...] = ("opened", "skipped")
"""The actions of a person who has seen an item and entered nothing."""

i, t, e = authoring_items.c, authoring_tasks.c, authoring_entries.c

_undoing = authoring_entries.alias().c
ONLY_SEEN = or_(e.action.in_((*SEEN, "undone")), exists().where(_undoing.undoes == e.seq))
"""The entries of a person who has seen an item and says nothing about it, or has taken back what they said."""


class AuthoringReading:
    """The part of ``Authoring`` that writes nothing."""

    def __init__(self, store: Store, collection: str, design: str, plan: Plan) -> None:
        self._store = store
        self._collection = collection
        self._plan = plan
        self._design = design
        self._rules = dict(plan.rules)
        self._rounds = sorted(self._rules, key=lambda name: self._rules[name].order)
        self._mine = and_(i.collection == collection, i.design == design)
        # For statements that find items by item_id: PostgreSQL too may read the whole collection else.
        self._mine_by_id = and_(looked_up(i.collection) == collection, looked_up(i.design) == design)

    def task(self, task_id: int) -> Task | None:
        """A task by its id; anybody may hold it."""
        with self._store.reading() as connection:
            return self._task(connection, task_id)

    def _task(self, connection: Connection, task_id: int) -> Task | None:
        wanted = (
            select(*TASK).join(authoring_items, i.item_id == t.item_id).where(self._mine_by_id, t.task_id == task_id)
        )
        row = connection.execute(wanted).first()
        return None if row is None else Task(*row)

    def item(self, item_id: int) -> Item | None:
        """An item by its id."""
        with self._store.reading() as connection:
            row = connection.execute(ITEMS.where(self._mine_by_id, i.item_id == item_id)).first()
        return None if row is None else item_of(row)

    def items(self, kind: str | None = None, state: ItemState | None = None) -> list[Item]:
        """The items, of one kind or in one state if it is given, by item_id."""
        wanted = ITEMS.where(self._mine).order_by(i.item_id)
        if kind is not None:
            wanted = wanted.where(i.kind == kind)
        if state is not None:
            wanted = wanted.where(i.state == state)
        with self._store.reading() as connection:
            return [item_of(row) for row in connection.execute(wanted)]

    def changes_since(self, seq: int, newest: int) -> Changes:
        """What has changed since the entry ``seq`` and the item ``newest``, both 0 for everything."""
        since = select(e.item_id, func.max(e.seq).label("last")).where(e.collection == self._collection, e.seq > seq)
        with self._store.reading() as connection:
            entered = {row.item_id: row.last for row in connection.execute(since.group_by(e.item_id))}
            rows = [*connection.execute(ITEMS.where(self._mine, i.item_id > newest))]
            # By these alone: on PostgreSQL the statements below may already see items of a later moment.
            last = max((row.item_id for row in rows), default=newest)
            for some in chunks(sorted(entered)) if newest else ():
                changed = ITEMS.where(self._mine, or_(i.item_id.in_(some), i.parent_id.in_(some)))
                rows += connection.execute(changed)
        items = {row.item_id: item_of(row) for row in rows}
        return Changes(max(entered.values(), default=seq), last, list(items.values()))

    def entries(self, item_ids: Sequence[int] | None = None) -> dict[int, list[Entry]]:
        """All entries of these items (None: of all), of every action, by item and oldest first; an item without entries
        is left out."""
        every = ENTRIES.join(authoring_items, i.item_id == e.item_id).order_by(e.seq)
        parts = [every.where(self._mine)]
        if item_ids is not None:
            parts = [every.where(self._mine_by_id, e.item_id.in_(some)) for some in chunks(sorted({*item_ids}))]
        found: dict[int, list[Entry]] = defaultdict(list)
        with self._store.reading() as connection:
            for part in parts:
                for row in connection.execute(part):
                    found[row.item_id].append(entry_of(row))
        return dict(found)

    def tasks(self) -> list[Task]:
        """All tasks, in any state, by task_id."""
        wanted = select(*TASK).join(authoring_items, i.item_id == t.item_id).where(self._mine).order_by(t.task_id)
        with self._store.reading() as connection:
            return [Task(*row) for row in connection.execute(wanted)]

    def progress(self) -> list[RoundProgress]:
        """Counts of each round's tasks, in the rounds' order."""
        how = case((t.state != "open", t.state), (t.holder.is_(None), "open"), else_="held")
        counted = (
            select(t.round, how, func.count())
            .join(authoring_items, i.item_id == t.item_id)
            .where(self._mine)
            .group_by(t.round, how)
        )
        with self._store.reading() as connection:
            counts = {(one, state): count for one, state, count in connection.execute(counted)}
        return [
            RoundProgress(one, *(counts.get((one, state), 0) for state in ("open", "held", "done")))
            for one in self._rounds
        ]

    def last(self, name: str) -> Entry | None:
        """The newest entry in which a person said something about an item, that they have not undone and that a lead
        has not put aside by freeing its task."""
        freeing = authoring_entries.alias().c
        freed = exists().where(freeing.task_id == e.task_id, freeing.action == "released", freeing.seq > e.seq)
        with self._store.reading() as connection:
            row = connection.execute(self._said(name).where(~freed).order_by(e.seq.desc()).limit(1)).first()
        return None if row is None else entry_of(row)

    def said_since(self, name: str, moment: datetime) -> int:
        """How many entries a person has made since a moment in which they said something and that they have not
        undone."""
        since = self._said(name).where(e.created_at >= moment).subquery()
        with self._store.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(since)).scalar_one())

    def _said(self, name: str) -> Select[Any]:
        undoing = authoring_entries.alias().c
        return ENTRIES.join(authoring_items, i.item_id == e.item_id).where(
            e.collection == self._collection, e.by == name, e.action.in_(SAYING), self._mine_by_id,
            ~exists().where(undoing.undoes == e.seq),
        )  # fmt: skip

    def entry(self, *, seq: int | None = None, nonce: str | None = None) -> Entry | None:
        """The entry of this seq, or with this nonce."""
        this = e.seq == seq if nonce is None else e.nonce == nonce
        wanted = ENTRIES.join(authoring_items, i.item_id == e.item_id).where(self._mine_by_id, this)
        with self._store.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else entry_of(row)

    def unassignable(self, people: Mapping[str, bool]) -> dict[str, int]:
        """By round, how many open tasks none of these people (by name: whether a lead) may take or holds; rounds
        without such tasks are left out."""
        known: dict[int, set[tuple[str, int | None]]] = defaultdict(set)  # by item: who, and the task if only seen
        of_children: dict[int, set[str]] = defaultdict(set)
        holders: dict[tuple[int, str], set[str]] = defaultdict(set)
        counts: dict[str, int] = defaultdict(int)
        having = (
            select(*TASK, i.parent_id, e.by.label("author"))
            .join(authoring_items, i.item_id == t.item_id)
            .join(authoring_entries, e.seq == i.made_by, isouter=True)
            .where(self._mine)
        )
        seen = case((ONLY_SEEN, e.task_id), else_=None)
        having_entries = (
            select(e.item_id, i.parent_id, e.by, seen).join(authoring_items, i.item_id == e.item_id).where(self._mine)
        )
        with self._store.reading() as connection:
            rows = connection.execute(having).all()
            for item_id, parent_id, by, task_id in connection.execute(having_entries.distinct()):
                known[item_id].add((by, task_id))
                if parent_id is not None:
                    of_children[parent_id].add(by)
        for row in rows:
            if row.holder is not None:
                holders[row.item_id, row.round].add(row.holder)
        for row in rows:
            if row.state != "open" or (rules := self._rules.get(row.round)) is None:
                continue
            able = {name for name, lead in people.items() if self._may(rules, lead)}
            if row.holder is None or row.leased_until is not None:
                others = holders[row.item_id, row.round] - {row.holder}
                if rules.apart:
                    about = known[row.item_id] | (known[row.parent_id] if rules.apart == "parent" else set())
                    others |= {by for by, task_id in about if task_id != row.task_id} | {row.author}
                    others |= of_children[row.item_id]
                able -= others - {row.holder}
            else:
                able &= {row.holder}
            counts[row.round] += not able
        return {one: counts[one] for one in self._rounds if counts[one]}

    @staticmethod
    def _may(rules: RoundRules, lead: bool) -> bool:
        return not (rules.for_leads and not lead) and not (rules.apart and lead)
