"""A small design of three rounds for tests: people write questions from texts, others assess them without knowing whose
they are, and leads curate them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlalchemy import update

from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import Entry, Item, NewEntry, NewItem, RoundRules, Task, Wanted
from quati_pool.store.clock import database_now
from quati_pool.store.database import Store
from quati_pool.store.schema import authoring_tasks

LEASE = 1800.0
LEADS = ("lea", "leo")
_numbers = count()


class Rounds:
    """``write``: whether a text is related, then questions; ``assess``: an answer, which reveals the author's, then an
    opinion; ``curate``: by a lead, once all assessors are done."""

    def __init__(self, assessors: int = 2) -> None:
        self.assessors = assessors

    @property
    def rules(self) -> dict[str, RoundRules]:
        return {
            "write": RoundRules(order=0, steps=2, several=True),
            "assess": RoundRules(order=1, steps=2, apart="item", reveals=frozenset({0})),
            "curate": RoundRules(order=2, steps=1, for_leads=True),
        }

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        for entry in entries:
            if entry.action == "refused":
                return Wanted(frozenset(), "out", entry.reason)
            if entry.content.get("related") == "no":
                return Wanted(frozenset(), "out", "unrelated")
        if item.kind == "text":
            ended = any(entry.action == "ended" for entry in entries)
            return Wanted(frozenset({("write", 1)}), "kept" if ended else "open")
        tasks = {("assess", replicate) for replicate in range(1, self.assessors + 1)}
        if sum(entry.round == "assess" and entry.step == 1 for entry in entries) < self.assessors:
            return Wanted(frozenset(tasks))
        curated = any(entry.round == "curate" for entry in entries)
        return Wanted(frozenset({*tasks, ("curate", 1)}), "kept" if curated else "open")


class Drafts:
    """``write`` a question or, where there is a draft, decide on that first, and write only if it is refused; then
    ``check`` it."""

    @property
    def rules(self) -> dict[str, RoundRules]:
        names = ("write", "draft", "check")
        return {one: RoundRules(order, steps=1, apart="item" if order == 2 else "") for order, one in enumerate(names)}

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        last = {entry.round: entry for entry in entries}
        written, decided = last.get("write"), last.get("draft")
        drafted = "draft" in item.content
        tasks = {("draft", 1)} if drafted and (decided or not written) else set()
        if not drafted or written or (decided and decided.action == "refused"):
            tasks.add(("write", 1))
        if (found := written or decided) is None or found.action == "refused":
            return Wanted(frozenset(tasks))
        return Wanted(frozenset({*tasks, ("check", 1)}), "kept" if "check" in last else "open")


def drafts(store: Store, queries: int = 1) -> Authoring:
    """The rounds of texts t1, t2, … that a program may draft questions for, and the program ``m1``."""
    store.register("m1", "judge", {"name": "a model"})
    authoring = Authoring(store, "pira", "tests/drafts", Drafts())
    authoring.add([source(number) for number in range(1, queries + 1)])
    return authoring


def source(number: int, content: str = "Um texto.") -> NewItem:
    return NewItem("text", f"t{number}", {"text": content}, number)


def rounds(store: Store, texts: int = 1, assessors: int = 1, collection: str = "pira") -> Authoring:
    """The rounds of texts t1, t2, … in this order of work."""
    authoring = Authoring(store, collection, "tests/rounds", Rounds(assessors))
    authoring.add([source(number) for number in range(1, texts + 1)])
    return authoring


def nonce() -> str:
    return f"nonce {next(_numbers)}"


def taken(authoring: Authoring, name: str, lease: float = LEASE) -> Task:
    """What a person does now; there must be something."""
    task = authoring.next(name, lead=name in LEADS, lease_seconds=lease)
    assert task is not None
    return task


def given(task: Task, said: str = "") -> tuple[NewEntry, NewItem | None]:
    """The entry of a task's step, and the question that it makes."""
    own = nonce()
    if (task.round, task.step) == ("write", 0):
        return NewEntry({"related": said or "yes"}, own, 1.5, 2.5), None
    makes = NewItem("question", own, {"question": said}, 0) if task.round == "write" else None
    return NewEntry({"said": said}, own), makes


def give(authoring: Authoring, name: str, said: str = "", task: Task | None = None) -> int:
    """Stores the next step of what a person does now; the seq."""
    task = task or taken(authoring, name)
    entry, makes = given(task, said)
    return authoring.submit(name, task.task_id, task.step, entry, makes=makes).seq


def run_out(store: Store, name: str) -> None:
    """Moves the end of a person's leases into the past, by the database's clock."""
    c = authoring_tasks.c
    with store.writing() as connection:
        over = update(authoring_tasks).where(c.holder == name, c.leased_until.is_not(None))
        connection.execute(over.values(leased_until=database_now() - 1))
