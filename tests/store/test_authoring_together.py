"""Many people write and assess at once, and processes are killed: nothing is lost and nothing is there twice."""

from __future__ import annotations

import random
import signal
from collections import Counter, defaultdict

import pytest

from quati_pool.store.authoring import Authoring
from quati_pool.store.authoring_records import NewEntry, NewItem, Task
from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from tests.patience import PATIENCE
from tests.store import authoring as helpers
from tests.store.authoring import LEASE, Rounds, give, nonce, rounds, taken
from tests.store.processes import go, line, start
from tests.store.test_together import at_once

QUESTIONS = 2  # of each text


def step(authoring: Authoring, name: str, lead: bool) -> bool:
    """What a person does next, sent twice; False if there is nothing for them to do."""
    task = authoring.next(name, lead=lead, lease_seconds=LEASE)
    if task is None:
        return False
    own = f"{name} {task.task_id} {task.step}"
    if task.round == "write" and task.step == 1:
        made = sum(item.parent_id == task.item_id for item in authoring.items("question"))
        if made == QUESTIONS:
            seq = authoring.end(name, task.task_id, f"{own} end").seq
            assert authoring.end(name, task.task_id, f"{own} end") == (seq, True)
            return True
        own += f" {made}"
        makes = NewItem("question", own, {"question": name}, made)
    else:
        makes = None
    entry = NewEntry({"said": name}, own)
    seq = authoring.submit(name, task.task_id, task.step, entry, makes=makes).seq
    assert authoring.submit(name, task.task_id, task.step, entry, makes=makes) == (seq, True)
    return True


def all_is_done_once(authoring: Authoring, texts: int, assessors: int) -> None:
    """Every item is kept, each of its tasks was done once, and nobody assessed what they wrote or an item twice."""
    items, tasks, entries = authoring.items(), authoring.tasks(), authoring.entries()
    assert Counter(item.kind for item in items) == {"text": texts, "question": texts * QUESTIONS}
    assert {item.state for item in items} == {"kept"}
    assert {task.state for task in tasks} == {"done"}
    assert Counter(task.round for task in tasks) == {
        "write": texts, "assess": texts * QUESTIONS * assessors, "curate": texts * QUESTIONS
    }  # fmt: skip
    by_seq = {entry.seq: entry for some in entries.values() for entry in some}
    said: dict[int, list[tuple[str, int, str]]] = defaultdict(list)
    for _, entry in sorted(by_seq.items()):
        if entry.action != "opened":
            said[entry.task_id or 0].append((entry.action, entry.step, entry.by))
    expected = {
        "write": [("given", 0), *[("given", 1)] * QUESTIONS, ("ended", 1)],
        "assess": [("given", 0), ("given", 1)],
        "curate": [("given", 0)],
    }
    for task in tasks:
        assert said[task.task_id] == [(*one, task.holder) for one in expected[task.round]]
    for item in items:
        if item.kind == "question":
            author = by_seq[item.made_by or 0].by
            assessed = [task.holder for task in tasks if (task.item_id, task.round) == (item.item_id, "assess")]
            assert author not in assessed
            assert len(assessed) == len(set(assessed)) == assessors
    nonces = [entry.nonce for entry in by_seq.values()]
    given = [one for one in nonces if one is not None]
    assert len(given) == len(set(given)) == sum(map(len, said.values()))


@pytest.mark.slow
def test_twenty_people_in_mixed_rounds(store: Store) -> None:
    authoring = rounds(store, texts=12, assessors=2)
    names = [(f"person{number}", number % 5 == 4) for number in range(20)]
    waiting = [True]

    def until_all_is_done(number: int) -> None:
        name, lead = names[number]
        while waiting:
            if not step(authoring, name, lead) and not any(row.open + row.held for row in authoring.progress()):
                waiting.clear()

    at_once(20, until_all_is_done)
    all_is_done_once(authoring, 12, 2)


@pytest.mark.parametrize("people", [2, 8])
def test_all_who_ask_at_once_get_different_tasks(store: Store, people: int) -> None:
    authoring = rounds(store, texts=people)
    got = at_once(people, lambda number: taken(authoring, f"person{number}").task_id)
    assert sorted(got) == list(range(1, people + 1))  # type: ignore[type-var]


def test_two_windows_of_one_person_get_the_same_task(store: Store) -> None:
    authoring = rounds(store, texts=8)
    assert len(set(at_once(8, lambda _: taken(authoring, "ana").task_id))) == 1
    assert [entry.action for entry in authoring.entries()[1]] == ["opened"]


def test_an_entry_that_is_sent_eight_times_at_once_is_written_once(store: Store) -> None:
    authoring = rounds(store)
    give(authoring, "ana")
    entry, makes = NewEntry({"question": "?"}, nonce()), NewItem("question", "q1", {"question": "?"}, 0)
    got = at_once(8, lambda _: authoring.submit("ana", 1, 1, entry, makes=makes))
    assert sorted(one.again for one in got) == [False] + [True] * 7  # type: ignore[attr-defined]
    assert len(authoring.items("question")) == 1


def outcome(do: object, *arguments: object) -> str:
    try:
        do(*arguments)  # type: ignore[operator]
    except ConflictError as error:
        return error.reason
    return "written"


def test_of_two_windows_that_send_one_step_one_is_refused(store: Store) -> None:
    authoring = rounds(store, texts=10)
    for _ in range(10):
        task = taken(authoring, "ana")

        def send(_: int, task: Task = task) -> str:
            return outcome(give, authoring, "ana", "", task)

        assert sorted(map(str, at_once(2, send))) == ["changed", "written"]
        authoring.end("ana", task.task_id, nonce())


def test_an_author_takes_a_question_back_as_somebody_opens_it(store: Store) -> None:
    """Either it is out before it is seen, or it stays."""
    authoring = rounds(store)
    give(authoring, "ana")
    for number in range(10):
        seq = give(authoring, "ana")
        name = f"person{number}"

        def either(which: int, seq: int = seq, name: str = name) -> str:
            if which:
                return outcome(authoring.undo, "ana", seq, nonce(), LEASE)
            found = authoring.next(name, lead=False, lease_seconds=LEASE, rounds=["assess"])
            return "seen" if found else "nothing"

        assert at_once(2, either) in (["seen", "used"], ["nothing", "written"])
    for item in authoring.items("question"):
        assert (item.state == "out") == (item.item_id not in authoring.entries())


def test_a_draft_comes_as_somebody_opens_the_item(store: Store) -> None:
    """Either the person sees the draft, or there is none; never one that came after they had seen the item without."""
    authoring = helpers.drafts(store, 20)
    won = Counter[str]()
    for item in authoring.items():

        def either(which: int, item_id: int = item.item_id) -> object:
            if which:
                return authoring.draft({item_id: {"question.en": "Who?"}}, "m1")
            return authoring.next(f"person{item_id}", lead=False, lease_seconds=LEASE)

        task, drafted = at_once(2, either)
        assert isinstance(task, Task)
        assert task.item_id == item.item_id
        assert (task.round, drafted) in (("draft", {item.item_id}), ("write", set()))
        won[task.round] += 1
        # What the person sees is theirs from then on.
        assert authoring.draft({item.item_id: {"question.en": "Another?"}}, "m1") == set()
        [after] = [one for one in authoring.items() if one.item_id == item.item_id]
        assert after.content.get("draft") == ({"question.en": "Who?"} if task.round == "draft" else None)
    assert won.total() == 20


DRAFTING = """
from tests.store.authoring import Drafts
from quati_pool.store.authoring import Authoring
with Store.open(sys.argv[1], Path()) as store:
    authoring = Authoring(store, "pira", "tests/drafts", Drafts())
    ids = [item.item_id for item in authoring.items()]
    tell("ready")
    sys.stdin.read()
    taken = set()
    for start in range(0, len(ids), 7):
        drafts = {one: {"question.en": f"By {sys.argv[2]}?"} for one in ids[start : start + 7]}
        taken |= authoring.draft(drafts, "m1")
    tell(*taken)
"""


def test_two_processes_give_each_item_one_draft_while_people_open_them(store: Store, made_url: str) -> None:
    authoring = helpers.drafts(store, 100)
    processes = [start(DRAFTING, made_url, number) for number in (1, 2)]
    assert [line(process) for process in processes] == ["ready", "ready"]
    opened = [taken(authoring, "ana").item_id]
    for process in processes:
        go(process)
    opened += [taken(authoring, f"person{number}").item_id for number in range(20)]
    said = [{int(one) for one in line(process).split()} for process in processes]
    for process in processes:
        with process:
            assert process.wait(PATIENCE) == 0
    assert not said[0] & said[1]
    items, tasks = authoring.items(), authoring.tasks()
    for number, ids in enumerate(said, 1):
        drafted = {item.item_id for item in items if item.content.get("draft") == {"question.en": f"By {number}?"}}
        assert drafted == ids
    assert {item.item_id for item in items if item.drafted_by} == said[0] | said[1]
    # Whatever has no draft was open by then, to be written; all else is to be decided on.
    by_item = {task.item_id: task.round for task in tasks if task.state == "open"}
    assert by_item == {item.item_id: "draft" if item.drafted_by else "write" for item in items}
    assert {item.item_id for item in items if not item.drafted_by} <= set(opened)


@pytest.mark.slow
def test_everything_at_once_ends_without_a_deadlock(store: Store) -> None:
    plan = Rounds(assessors=2)
    authoring = Authoring(store, "pira", "tests/rounds", plan)
    authoring.add([helpers.source(number) for number in range(8)])

    def some(number: int) -> None:
        name, lead = f"person{number}", number == 7
        chosen = random.Random(number)
        for turn in range(15):
            try:
                step(authoring, name, lead)
                task = authoring.next(name, lead=lead, lease_seconds=-1 if turn % 4 == 1 else LEASE)
                if task is not None and turn % 5 == 2:
                    authoring.refuse(name, task.task_id, task.step, "unclear", None, nonce())
                elif task is not None and turn % 5 == 3:
                    authoring.skip(name, task.task_id, nonce())
                if turn % 3 == 1 and (last := authoring.last(name)):
                    authoring.undo(name, last.seq, nonce(), LEASE)
                if lead:
                    authoring.give_back(chosen.randint(1, 8), name, nonce())
                    authoring.reconcile_all()
                if number == 6:
                    authoring.restore(
                        chosen.choice(authoring.items(state="out") or authoring.items()).item_id, name, nonce()
                    )
                if number == 5:
                    authoring.add([helpers.source(turn + 4)])
            except ConflictError:
                pass

    at_once(8, some)
    before = (authoring.items(), authoring.tasks())
    authoring.reconcile_all()
    assert (authoring.items(), authoring.tasks()) == before  # all that is stored is what the entries say
    nonces = [entry.nonce for some in authoring.entries().values() for entry in some if entry.nonce]
    assert len(nonces) == len(set(nonces)) > 50


WORKERS = """
from concurrent.futures import ThreadPoolExecutor
from tests.store.authoring import Rounds
from tests.store.test_authoring_together import step
from quati_pool.store.authoring import Authoring
with Store.open(sys.argv[1], Path()) as store:
    authoring = Authoring(store, "pira", "tests/rounds", Rounds(2))
    tell("ready")
    sys.stdin.read()
    def work(number):
        lead = number == 4
        while any(row.open + row.held for row in authoring.progress()):
            step(authoring, f"person{sys.argv[2]}-{number}", lead)
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    tell("done")
"""


@pytest.mark.slow
def test_two_processes_and_their_threads_share_the_rounds(store: Store, made_url: str) -> None:
    authoring = rounds(store, texts=10, assessors=2)
    processes = [start(WORKERS, made_url, number) for number in (1, 2)]
    assert [line(process) for process in processes] == ["ready", "ready"]
    for process in processes:
        go(process)
    assert [line(process) for process in processes] == ["done", "done"]
    for process in processes:
        with process:
            assert process.wait(PATIENCE) == 0
    all_is_done_once(authoring, 10, 2)


KILLED = """
from tests.store.authoring import Rounds
from tests.store.test_authoring_together import step
from quati_pool.store.authoring import Authoring
class Announcing(Authoring):
    def submit(self, name, task_id, step, entry, *, makes=None):
        tell("sent", name, task_id, step, entry.nonce.replace(" ", "_"))
        stored = super().submit(name, task_id, step, entry, makes=makes)
        tell("stored", stored.seq, entry.nonce.replace(" ", "_"))
        return stored
with Store.open(sys.argv[1], Path()) as store:
    authoring = Announcing(store, "pira", "tests/rounds", Rounds(1))
    authoring.reconcile_all()
    people = [("ana", False), ("bia", False), ("lea", True)]
    while any([step(authoring, name, lead) for name, lead in people]):
        pass
    tell("end")
"""


@pytest.mark.kill
def test_processes_killed_at_any_moment_lose_nothing_and_double_nothing(store: Store, made_url: str) -> None:
    texts = 12
    authoring = rounds(store, texts=texts)
    chosen = random.Random(11)
    acknowledged: dict[str, int] = {}
    kills = 0
    ended = False
    while not ended:
        with start(KILLED, made_url) as process:
            printed = []
            for _ in range(chosen.randint(5, 60)):
                printed.append(line(process))
                if printed[-1] in ("end", ""):
                    break
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            # A last line may be cut short where it was being written.
            printed += [rest.rstrip("\n") for rest in process.stdout if rest.endswith("\n")]
        ended = "end" in printed
        kills += not ended
        sent = None
        for one in filter(None, printed):
            what, *values = one.split()
            if what == "sent":
                sent = (values[0], int(values[1]), int(values[2]), values[3].replace("_", " "))
            elif what == "stored":
                seq, own = int(values[0]), values[1].replace("_", " ")
                assert acknowledged.setdefault(own, seq) == seq
                sent = None
        if sent is not None:
            # A page sends again what it got no answer to, as the same.
            name, task_id, number, own = sent
            task = authoring.task(task_id)
            assert task is not None
            makes = NewItem("question", own, {"question": name}, int(own[-1])) if own.count(" ") == 3 else None
            stored = authoring.submit(name, task_id, number, NewEntry({"said": name}, own), makes=makes)
            assert authoring.submit(name, task_id, number, NewEntry({"said": name}, own), makes=makes) == (
                stored.seq,
                True,
            )
            acknowledged[own] = stored.seq
    assert kills >= 3
    all_is_done_once(authoring, texts, 1)
    by_nonce = {entry.nonce: entry.seq for some in authoring.entries().values() for entry in some}
    assert {own: by_nonce[own] for own in acknowledged} == acknowledged
