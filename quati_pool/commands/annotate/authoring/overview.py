"""How far the rounds of authoring are, for leads: what waits for whom, what is out, what somebody keeps; and what a
person has written themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.base import Design
from quati_pool.commands.annotate.authoring.records import Records
from quati_pool.commands.annotate.authoring.sources import rounds_of
from quati_pool.commands.annotate.authoring.step import OwnItem
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.authoring_records import Entry, Item, RoundProgress, Task, counting


class ItemCount(NamedTuple):
    """The number of items of a kind by state."""

    kind: str
    open: int
    kept: int
    out: int


class PersonRound(NamedTuple):
    """A person's entries in a round that count, and the active seconds that they took; None if none was measured."""

    person: str
    round: str
    entries: int
    seconds: float | None


class OutItem(NamedTuple):
    """An item that is out, with its first text, the reason, and the person and comment of the entry that put it out, if
    any. ``restorable``: an entry is the cause."""

    item_id: int
    kind: str
    text: str
    reason: str
    by: str | None
    comment: str | None
    restorable: bool


class HeldTask(NamedTuple):
    """An open task that somebody has, with the item's first text; ``since`` is the time of their last entry in it, in
    UTC. ``kept``: something is stored in it; else it lapses by itself."""

    task_id: int
    round: str
    holder: str
    text: str
    since: datetime
    kept: bool


@dataclass(frozen=True)
class RoundsOverview:
    """The state of the rounds. ``for_leads`` are the rounds that only leads do; ``unassignable`` counts, by round, open
    tasks that none of the people here may take."""

    items: tuple[ItemCount, ...]
    rounds: tuple[RoundProgress, ...]
    for_leads: frozenset[str]
    unassignable: Mapping[str, int]
    people: tuple[PersonRound, ...]
    out: tuple[OutItem, ...]
    held: tuple[HeldTask, ...]


def rounds_overview(session: AnnotationSession, token: str | None) -> RoundsOverview:
    """The state of the rounds, for leads. Questions that are left out because of others are out."""
    session.person(token, role="lead")
    design, authoring = rounds_of(session)
    entries, tasks = authoring.entries(), authoring.tasks()
    stored = {item.item_id: item for item in authoring.items()}
    left_out = Records(session.config, design, stored, entries, (), {}).left_out
    items = [
        replace(item, state="out", reason=left_out[item_id]) if item_id in left_out else item
        for item_id, item in stored.items()
    ]
    people = {one.name: one.role == "lead" for one in session.people.all() if one.revoked_at is None}
    return RoundsOverview(
        items=_kinds(items),
        rounds=tuple(authoring.progress()),
        for_leads=frozenset(name for name, rules in design.rules.items() if rules.for_leads),
        unassignable=authoring.unassignable(people),
        people=_people(list(design.rounds), entries),
        out=tuple(
            _out(design, item, entries.get(item.item_id, ()), because_of_others=item.item_id in left_out)
            for item in items
            if item.state == "out"
        ),
        held=_held(design, [task for task in tasks if task.round in design.rounds], items, entries),
    )


def restore(session: AnnotationSession, token: str | None, item_id: int, nonce: str) -> None:
    """Puts an item that is out back, for leads: what put it out counts no more, and its tasks are open again. Raises
    ConflictError as ``Authoring.restore`` does."""
    person = session.person(token, role="lead")
    rounds_of(session)[1].restore(item_id, person.name, f"restored:{item_id}:{person.name}:{nonce}")


def give_back(session: AnnotationSession, token: str | None, task_id: int, nonce: str) -> None:
    """Frees a task that somebody keeps, for leads: another person begins it again. Raises ConflictError as
    ``Authoring.give_back`` does."""
    person = session.person(token, role="lead")
    rounds_of(session)[1].give_back(task_id, person.name, f"released:{task_id}:{person.name}:{nonce}")


def own_work(session: AnnotationSession, token: str | None) -> list[OwnItem]:
    """The items that a person has made and that are not out, the newest first."""
    person = session.person(token)
    design, authoring = rounds_of(session)
    items = [item for item in authoring.items() if item.made_by is not None and item.state != "out"]
    parents = authoring.entries([item.parent_id for item in items if item.parent_id is not None])
    mine = {entry.seq for of_item in parents.values() for entry in of_item if entry.by == person.name}
    return [
        OwnItem(item.made_by, design.in_short(item, ()))
        for item in reversed(items)
        if item.made_by in mine and item.made_by
    ]


def _kinds(items: Sequence[Item]) -> tuple[ItemCount, ...]:
    counts: dict[str, dict[str, int]] = {}
    for item in items:
        of_kind = counts.setdefault(item.kind, {"open": 0, "kept": 0, "out": 0})
        of_kind[item.state] += 1
    return tuple(ItemCount(kind, **of_kind) for kind, of_kind in counts.items())


def _people(rounds: Sequence[str], entries: Mapping[int, Sequence[Entry]]) -> tuple[PersonRound, ...]:
    """By person, and in the order of the rounds."""
    found: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for of_item in entries.values():
        for entry in counting(of_item):
            found[entry.by, entry.round].append(entry.active_seconds)
    order = {name: place for place, name in enumerate(rounds)}
    people = []
    for (person, one), times in sorted(found.items(), key=lambda pair: (pair[0][0], order.get(pair[0][1], -1))):
        measured = [seconds for seconds in times if seconds is not None]
        people.append(PersonRound(person, one, len(times), sum(measured) if measured else None))
    return tuple(people)


def _out(design: Design[Any], item: Item, entries: Sequence[Entry], because_of_others: bool) -> OutItem:
    said = counting(entries)
    text = design.in_short(item, said)
    if because_of_others:
        return OutItem(item.item_id, item.kind, text, item.reason or "", None, None, restorable=False)
    # An item that its author took back, or that came in held back, has no entries.
    cause = next((one for one in reversed(said) if one.reason == item.reason), said[-1] if said else None)
    by, comment = (None, None) if cause is None else (cause.by, cause.content.get("comment"))
    return OutItem(item.item_id, item.kind, text, item.reason or "", by, comment, restorable=bool(said))


def _held(
    design: Design[Any], tasks: Sequence[Task], items: Sequence[Item], entries: Mapping[int, Sequence[Entry]]
) -> tuple[HeldTask, ...]:
    """The longest held first."""
    by_id = {item.item_id: item for item in items}
    found = []
    for task in tasks:
        if task.state == "open" and task.holder is not None:
            own = [one for one in entries.get(task.item_id, ()) if (one.task_id, one.by) == (task.task_id, task.holder)]
            held = HeldTask(
                task.task_id,
                task.round,
                task.holder,
                design.in_short(by_id[task.item_id], counting(entries.get(task.item_id, ()))),
                own[-1].created_at,
                kept=task.leased_until is None,
            )
            found.append(held)
    return tuple(sorted(found, key=lambda one: one.since))
