"""The records of authoring as plain values: items that people write, the tasks that an item wants, and the entries of
what they did. Nothing here uses SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

ItemState = Literal["open", "kept", "out"]
TaskState = Literal["open", "done", "withdrawn"]
EntryAction = Literal["opened", "given", "refused", "skipped", "ended", "undone", "released"]
Apart = Literal["", "item", "parent"]

SAYING: tuple[EntryAction, ...] = ("given", "refused", "ended")
"""The actions that say something about an item; the others are about its tasks."""

DRAFT = "draft"
"""The part of an item's content that a program wrote for people to decide on, added after the item was."""


class NewItem(NamedTuple):
    """An item to be added. ``source_id`` identifies it within its kind, so that it is added once; ``place`` is its
    place in the order of work, a signed 64-bit number; ``drafted_by`` is the version of the program that wrote it."""

    kind: str
    source_id: str
    content: Mapping[str, Any]
    place: int
    parent_id: int | None = None
    drafted_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to be written or assessed: a text, a question, a paraphrase. Its ``content`` is as it came in, and
    nothing that anybody has seen of it ever changes: what people write is in entries, and a ``DRAFT`` is added only to
    an item that nobody has opened (``Authoring.draft``). ``drafted_by`` is then the version of the program that wrote
    the draft, else of the one that wrote the item. ``reason`` says why it is ``out``. ``made_by`` is the seq of the
    entry that created it, None for an item that was added; ``created_at`` is in UTC."""

    item_id: int
    kind: str
    source_id: str
    parent_id: int | None
    content: Mapping[str, Any]
    place: int
    state: ItemState
    reason: str | None
    made_by: int | None
    drafted_by: str | None
    created_at: datetime


class Task(NamedTuple):
    """One person's work on an item in one round: ``step`` counts the steps that are stored, from 0. ``replicate``
    counts the item's tasks of the round from 1. ``leased_until`` is in seconds since 1970 by the database's clock; None
    with a holder means that something is stored, and that the task is the holder's until a lead frees it."""

    task_id: int
    item_id: int
    round: str
    replicate: int
    state: TaskState
    holder: str | None
    leased_until: float | None
    step: int
    skips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that a person did, appended and never changed; ``step`` is the step's number in its round.
    ``undoes`` is the seq of the entry that an ``undone`` one takes back."""

    seq: int
    item_id: int
    task_id: int | None
    round: str
    step: int
    by: str
    action: EntryAction
    content: Mapping[str, Any]
    reason: str | None
    undoes: int | None
    active_seconds: float | None
    elapsed_seconds: float | None
    nonce: str | None
    created_at: datetime


class NewEntry(NamedTuple):
    """What a person sends for a step; the nonce is chosen by the sender and unique in the store."""

    content: Mapping[str, Any]
    nonce: str
    active_seconds: float | None = None
    elapsed_seconds: float | None = None


class RoundRules(NamedTuple):
    """What the store must know of a round. Rounds with a higher ``order`` are served first. ``steps`` is their number;
    with ``several`` the last one repeats, each time making an item, until its holder ends the task. After a step of
    ``reveals`` the steps up to it cannot be undone. ``apart``: nobody who has seen or written the item (or its parent)
    gets the task, and no lead."""

    order: int
    steps: int
    for_leads: bool = False
    several: bool = False
    apart: Apart = ""
    reveals: frozenset[int] = frozenset()


class Wanted(NamedTuple):
    """What an item wants: its state with the reason for ``out``, and its tasks as (round, replicate)."""

    tasks: frozenset[tuple[str, int]]
    state: ItemState = "open"
    reason: str | None = None


class Plan(Protocol):
    """What a design tells the store. ``wanted`` is a pure function of an item and of the entries that count, of the
    actions ``SAYING``, oldest first."""

    @property
    def rules(self) -> Mapping[str, RoundRules]: ...

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted: ...


class Added(NamedTuple):
    """How many items were added, were there already, and are there with other content than now given (they stay as
    people saw them)."""

    new: int
    there: int
    changed: int


class Changes(NamedTuple):
    """The items that are new or that something was entered on, and those made from them; ``seq`` and ``newest`` are
    the last entry and the last item by then."""

    seq: int
    newest: int
    items: Sequence[Item]


class RoundProgress(NamedTuple):
    """Counts of a round's tasks: without a holder, held, done."""

    round: str
    open: int
    held: int
    done: int


def as_added(content: Mapping[str, Any]) -> dict[str, Any]:
    """An item's content as it came in, without the draft that was added since."""
    return {name: value for name, value in content.items() if name != DRAFT}


def counting(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of ``SAYING`` that count, in order: those not undone, and made since their task was last freed by a
    lead. ``entries`` are all of one item, oldest first."""
    undone = {entry.undoes for entry in entries if entry.action == "undone"}
    freed = {entry.task_id: entry.seq for entry in entries if entry.action == "released"}
    return [
        entry
        for entry in entries
        if entry.action in SAYING and entry.seq not in undone and entry.seq > freed.get(entry.task_id, -1)
    ]
