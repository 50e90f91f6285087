"""Whatever people do in whatever order, tasks and states follow from the entries, and no entry is lost or changed."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import Entry, Item, NewEntry, NewItem, Task
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.schema import authoring_entries
from tests.store.authoring import LEADS, LEASE, Rounds, run_out, source
from tests.store.cluster import Cluster

pytestmark = pytest.mark.slow

PEOPLE = ("ana", "bia", "caio")
NAMES = st.sampled_from([*PEOPLE, *LEADS])
WHICH = st.integers(0, 10**6)  # of what there is
SAID = ("given", "refused", "ended")


class Written(NamedTuple):
    """An entry as the model has it."""

    by: str
    action: str
    task_id: int
    step: int
    content: dict[str, Any]
    reason: str | None = None
    undoes: int | None = None
    nonce: str | None = None


class Machine(RuleBasedStateMachine):
    @staticmethod
    def fresh() -> AbstractContextManager[Store]:
        """An empty database at the newest revision."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.context = type(self).fresh()
        self.store = self.context.__enter__()
        self.plan = Rounds(2)
        self.authoring = Authoring(self.store, "pira", "tests/rounds", self.plan)
        assert self.authoring.add([source(1), source(2)]) == (2, 0, 0)
        self.model: dict[int, Written] = {}  # by seq
        self.made: dict[int, str] = {}  # by the seq of the entry: the author of an item
        self.contents: dict[int, Any] = {}  # by item_id, once it is there
        self.store.register("m1", "judge", {"name": "a model"})
        self.nonces = 0
        self.read: tuple[list[Task], list[Item]] | None = None  # while the rules are checked
        self.over: set[int] = set()  # tasks whose leases ran out

    def teardown(self) -> None:
        self.context.__exit__(None, None, None)

    # The model's own reading of entries

    def counting(self, ids: set[int]) -> dict[int, Written]:
        """The entries of these tasks that count, by seq."""
        found: dict[int, Written] = {}
        for seq, entry in self.model.items():
            if entry.task_id not in ids:
                continue
            if entry.action in SAID:
                found[seq] = entry
            elif entry.action == "undone":
                found.pop(entry.undoes or 0, None)
            elif entry.action == "released":
                found = {seq: one for seq, one in found.items() if one.task_id != entry.task_id}
        return found

    def only_seen(self) -> set[int]:
        """The entries of people who have seen a task and say nothing in it, or have taken back what they said."""
        seen = {seq for seq, one in self.model.items() if one.action in ("opened", "skipped", "undone")}
        return seen | {one.undoes for one in self.model.values() if one.undoes is not None}

    def tasks(self) -> dict[int, Task]:
        return {task.task_id: task for task in (self.read[0] if self.read else self.authoring.tasks())}

    def items(self) -> list[Item]:
        return self.read[1] if self.read else self.authoring.items()

    def item(self, item_id: int) -> Item:
        [item] = [one for one in self.items() if one.item_id == item_id]
        return item

    def begun(self, task_id: int) -> bool:
        return any(entry.task_id == task_id for entry in self.model.values())

    def author(self, item_id: int) -> str | None:
        return self.made.get(self.item(item_id).made_by or 0)

    def wanted(self, item_id: int, without: int | None = None) -> Any:
        """What the plan wants of the entries that count by the model; ``without`` one of them."""
        item, tasks = self.item(item_id), self.tasks()
        ids = {task.task_id for task in tasks.values() if task.item_id == item_id}
        entries = [
            Entry(seq=seq, item_id=item_id, task_id=one.task_id, round=tasks[one.task_id].round, step=one.step,
                  by=one.by, action=one.action, content=one.content, reason=one.reason, undoes=None, nonce=None,
                  active_seconds=None, elapsed_seconds=None, created_at=item.created_at)
            for seq, one in self.counting(ids).items() if seq != without
        ]  # fmt: skip
        return self.plan.wanted(item, entries)

    def nonce(self) -> str:
        """The next one; the same again when Hypothesis replays a run."""
        self.nonces += 1
        return f"n{self.nonces}"

    def wrote(self, seq: int, entry: Written) -> None:
        assert seq not in self.model
        self.model[seq] = entry

    # What people do

    @rule(name=NAMES)
    def open(self, name: str) -> None:
        self._next(name)

    def _next(self, name: str) -> Task | None:
        before = self.tasks()
        lead = name in LEADS
        task = self.authoring.next(name, lead=lead, lease_seconds=LEASE)
        held = [one for one in before.values() if (one.holder, one.state) == (name, "open")]
        if task is None:
            assert not [one for one in held if one.round != ("assess" if lead else "curate")]
            return None
        former = before[task.task_id]
        assert (task.round == "curate") <= lead
        assert (task.round == "assess") <= (not lead)
        assert (task.holder, task.state) == (name, "open")
        if former.holder == name:  # held, so that nothing is written
            assert task.leased_until is None or former.leased_until is not None
            assert (former.skips, former.step) == (task.skips, task.step)
            return task
        assert not any(one.skips == 0 for one in held)  # nothing else that they should do first
        assert former.state == "open"
        assert former.holder is None or task.task_id in self.over
        assert not self.counting({task.task_id})
        same = [one for one in before.values() if (one.item_id, one.round) == (task.item_id, task.round)]
        assert name not in {one.holder for one in same}
        if task.round == "assess":
            of_item = {one.task_id for one in before.values() if one.item_id == task.item_id}
            known = {
                (one.task_id, seq in self.only_seen())
                for seq, one in self.model.items()
                if one.by == name and one.task_id in of_item
            }
            assert known <= {(task.task_id, True)}
            assert self.author(task.item_id) != name
        self.over.discard(task.task_id)
        [opened] = [one for one in self.authoring.entries([task.item_id])[task.item_id] if one.seq not in self.model]
        self.wrote(opened.seq, Written(name, "opened", task.task_id, task.step, {}))
        return task

    @initialize(author=st.sampled_from(PEOPLE), questions=st.integers(1, 3), steps=st.integers(0, 8))
    def begin(self, author: str, questions: int, steps: int) -> None:
        """Somebody writes questions, and others assess them as far as these steps go."""
        self.work([author] * (1 + questions), "")
        self.work([(*PEOPLE, "lea")[step % 4] for step in range(steps)], "")

    @rule(names=st.lists(NAMES, min_size=1, max_size=5), said=st.sampled_from(["", "", "", "no"]))
    def work(self, names: list[str], said: str) -> None:
        """What pages do: the next step of the next task."""
        for name in names:
            task = self._next(name)
            if task is not None:
                self._give(name, task, task.step, said)

    @rule(name=NAMES, which=WHICH, step=st.integers(0, 2))
    def give(self, name: str, which: int, step: int) -> None:
        """Any step of any task, as a page would that was left open."""
        tasks = list(self.tasks().values())
        self._give(name, tasks[which % len(tasks)], step, "")

    def _give(self, name: str, task: Task, step: int, said: str) -> None:
        related = (task.round, step) == ("write", 0)
        content = {"related": said or "yes"} if related else {"said": said}
        entry = NewEntry(content, self.nonce(), 1.5, None)
        making = (task.round, step) == ("write", 1)
        makes = NewItem("question", entry.nonce, {"question": said}, which_place(entry.nonce)) if making else None

        def send(one: NewEntry) -> Any:
            return self.authoring.submit(name, task.task_id, step, one, makes=makes)

        seq = self._sent(name, task, step, lambda: send(entry))
        if seq is None:
            return
        self.wrote(seq, Written(name, "given", task.task_id, step, content, nonce=entry.nonce))
        if making:
            self.made[seq] = name
            [item] = [one for one in self.authoring.items() if one.made_by == seq]
            assert (item.parent_id, item.source_id) == (task.item_id, entry.nonce)
        self._again(name, task, lambda: send(entry), seq)
        with pytest.raises(StoreError, match="already used for another entry"):
            send(entry._replace(content={"said": "something else"}))

    @rule(name=NAMES, which=WHICH, step=st.integers(0, 1), stray=st.booleans())
    def refuse(self, name: str, which: int, step: int, stray: bool) -> None:
        task = self._some(name, which, stray)
        if task is None:
            return
        step = step if stray else task.step
        sent = ("unclear", "Porquê?", self.nonce())
        do = lambda: self.authoring.refuse(name, task.task_id, step, *sent)  # noqa: E731
        seq = self._sent(name, task, step, do)
        if seq is not None:
            content = {"comment": "Porquê?"}
            self.wrote(seq, Written(name, "refused", task.task_id, step, content, "unclear", nonce=sent[2]))
            self._again(name, task, do, seq)

    def _some(self, name: str, which: int, stray: bool) -> Task | None:
        """The task that a person does now, or any for a page that was left open."""
        tasks = list(self.tasks().values())
        return tasks[which % len(tasks)] if stray else self._next(name)

    @rule(name=NAMES, which=WHICH, stray=st.booleans())
    def end(self, name: str, which: int, stray: bool) -> None:
        task = self._some(name, which, stray)
        if task is None or task.round != "write":
            return
        own = self.nonce()
        do = lambda: self.authoring.end(name, task.task_id, own)  # noqa: E731
        seq = self._sent(name, task, 1, do)
        if seq is not None:
            self.wrote(seq, Written(name, "ended", task.task_id, 1, {}, nonce=own))
            self._again(name, task, do, seq)

    @rule(name=NAMES)
    def skip(self, name: str) -> None:
        task = self._next(name)
        if task is None:
            return
        own = self.nonce()
        do = lambda: self.authoring.skip(name, task.task_id, own)  # noqa: E731
        seq = self._sent(name, task, task.step, do)
        assert seq is not None
        self.wrote(seq, Written(name, "skipped", task.task_id, task.step, {}, nonce=own))
        self._again(name, task, do, seq)
        after = self.tasks()[task.task_id]
        given_back = task.skips == 1 and task.leased_until is not None
        assert (after.skips, after.holder) == (task.skips + 1, None if given_back else name)

    def _sent(self, name: str, task: Task, step: int, do: Callable[[], Any]) -> int | None:
        """The seq of what a person sent; None if it was refused, as it had to be."""
        reason = (
            "withdrawn" if task.state == "withdrawn"
            else "taken" if task.holder != name
            else "done" if task.state == "done"
            else "changed" if task.step != step
            else None
        )  # fmt: skip
        if reason is None:
            sent = do()
            assert not sent.again
            return int(sent.seq)
        with pytest.raises(ConflictError) as caught:
            do()
        assert caught.value.reason == reason
        return None

    def _again(self, name: str, task: Task, do: Callable[[], Any], seq: int) -> None:
        assert do() == (seq, True)
        with pytest.raises(StoreError, match="already used for another entry"):
            self.authoring.skip("somebody else", task.task_id, self.model[seq].nonce or "")

    @precondition(lambda self: any(one.action in SAID for one in self.model.values()))
    @rule(which=WHICH, newest=st.booleans(), other=st.sampled_from([None, None, None, "bia"]))
    def undo(self, which: int, newest: bool, other: str | None) -> None:
        """The newest entry of the store, or any; mostly by whom it is."""
        seqs = [seq for seq, one in self.model.items() if one.action in SAID]
        seq = max(seqs) if newest else seqs[which % len(seqs)]
        entry = self.model[seq]
        name, own = other or entry.by, self.nonce()
        task = self.tasks()[entry.task_id]
        reason = self._not_undoable(name, seq, task)
        if reason is not None:
            with pytest.raises(ConflictError) as caught:
                self.authoring.undo(name, seq, own, LEASE)
            assert caught.value.reason == reason
            return
        back = self.authoring.undo(name, seq, own, LEASE)
        assert self.authoring.undo(name, seq, own, LEASE) == back
        self.wrote(back, Written(name, "undone", task.task_id, entry.step, {}, undoes=seq, nonce=own))
        if seq in self.made:
            [item] = [one for one in self.authoring.items() if one.made_by == seq]
            assert (item.state, item.reason) == ("out", "withdrawn_by_author")
        after = self.tasks()[task.task_id]
        if after.state == "open":
            assert after.holder == name
            assert after.step == entry.step

    def _not_undoable(self, name: str, seq: int, task: Task) -> str | None:
        entry = self.model[seq]
        own = self.counting({task.task_id})
        if entry.by != name:
            return "gone"
        if task.holder != name:
            return "taken"
        if seq not in own:
            return "changed"
        if task.round == "assess" and (entry.action, entry.step) == ("given", 0):
            return "revealed"
        curations = {
            one.task_id for one in self.tasks().values() if (one.item_id, one.round) == (task.item_id, "curate")
        }
        if task.round == "assess" and max(self.counting(curations), default=0) > seq:
            return "used"
        if seq in self.made:
            [item] = [one for one in self.authoring.items() if one.made_by == seq]
            its_tasks = {one.task_id for one in self.tasks().values() if one.item_id == item.item_id}
            return "used" if any(map(self.begun, its_tasks)) else None
        if seq != max(own):
            return "changed"
        # A lead has begun to curate what these assessors said.
        begun = task.round == "assess" and any(map(self.begun, curations))
        if begun and ("curate", 1) not in self.wanted(task.item_id, without=seq).tasks:
            return "used"
        return None

    @rule(name=NAMES)
    def lapse(self, name: str) -> None:
        run_out(self.store, name)
        self.over |= {one.task_id for one in self.tasks().values() if one.holder == name and one.leased_until}

    @precondition(lambda self: any(one.action == "given" for one in self.model.values()))
    @rule(by=st.sampled_from(LEADS), which=WHICH, any_holder=st.booleans())
    def give_back(self, by: str, which: int, any_holder: bool) -> None:
        tasks = [
            one
            for one in self.tasks().values()
            if one.holder is not None and (any_holder or (one.leased_until is None and one.state == "open"))
        ]
        if not tasks or which % 3:  # else nothing would come to its end
            return
        task = tasks[which % len(tasks)]
        own = self.nonce()
        if task.state != "open":
            with pytest.raises(ConflictError) as caught:
                self.authoring.give_back(task.task_id, by, own)
            assert caught.value.reason == task.state
            return
        for _ in range(2):
            self.authoring.give_back(task.task_id, by, own)
        self._released(by, task, "given_back", own)

    def _released(self, by: str, task: Task, reason: str, own: str) -> None:
        entries = self.authoring.entries([task.item_id])[task.item_id]
        [released] = [one for one in entries if one.seq not in self.model]
        self.wrote(released.seq, Written(by, "released", task.task_id, task.step, {}, reason, nonce=own))
        after = self.tasks()[task.task_id]
        assert (after.holder, after.leased_until, after.step, after.skips) == (None, None, 0, 0)

    @precondition(lambda self: any(one.action in ("refused", "undone") for one in self.model.values()))
    @rule(by=st.sampled_from(LEADS), which=WHICH)
    def restore(self, by: str, which: int) -> None:
        items = self.authoring.items()
        out = [item for item in items if item.state == "out"]
        item = out[which % len(out)] if out else items[which % len(items)]
        own = self.nonce()
        if item.state != "out" or item.reason == "withdrawn_by_author":
            with pytest.raises(ConflictError) as caught:
                self.authoring.restore(item.item_id, by, own)
            assert caught.value.reason == ("changed" if item.state != "out" else "used")
            return
        # Once an item is out nothing more is entered: the newest entry that counts is the cause.
        ids = {task.task_id for task in self.tasks().values() if task.item_id == item.item_id}
        cause = self.counting(ids)
        task = self.tasks()[cause[max(cause)].task_id]
        for _ in range(2):
            self.authoring.restore(item.item_id, by, own)
        self._released(by, task, "restored", own)
        restored = self.authoring.item(item.item_id)
        assert restored is not None
        assert restored.state != "out"

    @rule(which=WHICH, newest=st.booleans())
    def draft(self, which: int, newest: bool) -> None:
        """A program drafts something for an item, which takes it only if nobody has ever opened it."""
        items = self.items()
        item = items[-1] if newest else items[which % len(items)]
        tasks = [task for task in self.tasks().values() if task.item_id == item.item_id]
        free = "draft" not in item.content and not any(self.begun(task.task_id) for task in tasks)
        draft = {"question.en": f"Draft {which}?"}
        assert self.authoring.draft({item.item_id: draft}, "m1") == ({item.item_id} if free else set())
        if free:
            self.contents[item.item_id] = {**item.content, "draft": draft}

    @rule(assessors=st.integers(1, 3))
    def change_the_plan(self, assessors: int) -> None:
        self.plan.assessors = assessors
        self.authoring.reconcile_all()

    # What always holds

    @invariant()
    def all_rules_are_kept(self) -> None:
        self.read = self.authoring.tasks(), self.authoring.items()  # once for all of them
        self.no_entry_is_lost_or_changed_or_written_twice()
        self.contents_stay_but_for_drafts_of_what_nobody_has_seen()
        self.items_and_tasks_follow_from_the_entries_that_count()
        self.tasks_are_at_the_step_that_their_holders_entries_say()
        self.nobody_assesses_what_they_wrote_or_an_item_twice()
        self.what_nobody_may_take_is_counted()
        self.progress_counts_the_tasks()
        self.the_last_entry_is_the_newest_that_is_neither_undone_nor_put_aside()
        self.read = None

    def no_entry_is_lost_or_changed_or_written_twice(self) -> None:
        with self.store.reading() as connection:
            rows = connection.execute(select(authoring_entries).order_by(authoring_entries.c.seq)).all()
        found = {
            row.seq: Written(row.by, row.action, row.task_id, row.step, row.content, row.reason, row.undoes, row.nonce)
            for row in rows
        }
        assert found == self.model
        nonces = [row.nonce for row in rows if row.nonce is not None]
        assert len(nonces) == len(set(nonces))

    def contents_stay_but_for_drafts_of_what_nobody_has_seen(self) -> None:
        for item in self.items():
            assert self.contents.setdefault(item.item_id, item.content) == item.content
            assert (item.drafted_by is not None) == ("draft" in item.content)

    def items_and_tasks_follow_from_the_entries_that_count(self) -> None:
        undone = {one.undoes for one in self.model.values()}
        tasks: dict[int, list[Task]] = defaultdict(list)
        for task in self.tasks().values():
            tasks[task.item_id].append(task)
        for item in self.items():
            wanted = self.wanted(item.item_id)
            if item.made_by is not None and item.made_by in undone:
                assert (item.state, item.reason) == ("out", "withdrawn_by_author")
                keys = set()
            else:
                assert (item.state, item.reason) == (wanted.state, wanted.reason)
                keys = set(wanted.tasks)
            own = tasks[item.item_id]
            there = {(one.round, one.replicate) for one in own if one.state != "withdrawn"}
            begun = {(one.round, one.replicate) for one in own if self._stays(one, item.state)}
            assert there == keys | begun

    def _stays(self, task: Task, state: str) -> bool:
        """Whether a task stays if it is not wanted: done, or something is stored in it and the item is not out."""
        own = self.counting({task.task_id})
        done = self._done(task, own.values())
        return done or (bool(own) and state != "out")

    def _done(self, task: Task, own: Any) -> bool:
        ends = {"ended", "refused"} if task.round == "write" else {"refused"}
        steps = {"assess": 1, "curate": 0}.get(task.round)
        return any(one.action in ends or (one.action == "given" and one.step == steps) for one in own)

    def tasks_are_at_the_step_that_their_holders_entries_say(self) -> None:
        for task in self.tasks().values():
            own = list(self.counting({task.task_id}).values())
            given = [one.step for one in own if one.action == "given"]
            if task.round == "write":
                assert task.step == min(len(given), 1)
            else:
                assert given == list(range(task.step))
            assert {one.by for one in own} <= {task.holder}
            assert (task.state == "done") == self._done(task, own)
            if task.state == "open":
                assert (task.holder is not None and task.leased_until is None) == bool(own)
            elif task.state == "withdrawn":
                assert (task.holder is not None) == bool(own)
            assert task.holder is not None or task.leased_until is None

    def nobody_assesses_what_they_wrote_or_an_item_twice(self) -> None:
        tasks = self.tasks()
        of_item: dict[int, set[tuple[str, int]]] = defaultdict(set)
        for one in self.model.values():
            if one.action != "released":
                of_item[tasks[one.task_id].item_id].add((one.by, one.task_id))
        for task in tasks.values():
            if task.round == "assess" and task.holder is not None:
                assert task.holder not in LEADS
                assert task.holder != self.author(task.item_id)
                assert {task_id for by, task_id in of_item[task.item_id] if by == task.holder} == {task.task_id}

    def what_nobody_may_take_is_counted(self) -> None:
        """Against a trial: everybody asks for all there is, in a copy of who holds what."""
        counts = dict.fromkeys(("write", "assess", "curate"), 0)
        tasks = self.tasks()
        for task in tasks.values():
            if task.state != "open":
                continue
            able = set(LEADS) if task.round == "curate" else {*PEOPLE} if task.round == "assess" else {*PEOPLE, *LEADS}
            if task.holder is not None:
                continue  # who holds a task may go on with it: all of them are people here
            of_item = [one for one in tasks.values() if one.item_id == task.item_id]
            able -= {one.holder for one in of_item if one.round == task.round and one.holder is not None}
            if task.round == "assess":
                able -= {self.author(task.item_id) or ""}
                able -= {
                    one.by
                    for seq, one in self.model.items()
                    if one.task_id in {other.task_id for other in of_item}
                    and (one.task_id != task.task_id or seq not in self.only_seen())
                }
            counts[task.round] += not able
        everybody = {name: name in LEADS for name in (*PEOPLE, *LEADS)}
        assert self.authoring.unassignable(everybody) == {name: count for name, count in counts.items() if count}

    def progress_counts_the_tasks(self) -> None:
        tasks: Sequence[Task] = list(self.tasks().values())
        for row in self.authoring.progress():
            own = [one for one in tasks if one.round == row.round]
            is_open = [one for one in own if one.state == "open"]
            assert row[1:] == (
                sum(one.holder is None for one in is_open),
                sum(one.holder is not None for one in is_open),
                sum(one.state == "done" for one in own),
            )

    def the_last_entry_is_the_newest_that_is_neither_undone_nor_put_aside(self) -> None:
        undone = {one.undoes for one in self.model.values()}
        freed = {one.task_id: seq for seq, one in self.model.items() if one.action == "released"}
        for name in (*PEOPLE, *LEADS):
            said = [
                seq
                for seq, one in self.model.items()
                if one.by == name and one.action in SAID and seq not in undone and seq > freed.get(one.task_id, 0)
            ]
            last = self.authoring.last(name)
            assert (last.seq if last else None) == max(said, default=None)


def which_place(source: str) -> int:
    """A place in line that differs from the order of writing."""
    return crc32(source.encode()) % 1000


@cache
def made() -> bytes:
    """A database at the newest revision: migrating one for each run would take as long as half the run."""
    with tempfile.TemporaryDirectory() as folder:
        Store.open(None, Path(folder)).close()
        return (Path(folder) / "labels.db").read_bytes()


class OnSqlite(Machine):
    @staticmethod
    @contextmanager
    def fresh() -> Iterator[Store]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "labels.db").write_bytes(made())
            with Store.open(None, Path(folder)) as store:
                yield store


# Every step writes to the disk.
OnSqlite.TestCase.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestRounds = OnSqlite.TestCase


def test_rounds_on_postgresql(cluster: Cluster, made_postgresql: str) -> None:
    class OnPostgresql(Machine):
        @staticmethod
        @contextmanager
        def fresh() -> Iterator[Store]:
            name = cluster.create(template=made_postgresql)
            with Store.open(cluster.url(name), Path()) as store:
                yield store
            cluster.drop(name)

    fewer = settings(
        max_examples=8, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(OnPostgresql, settings=fewer)
