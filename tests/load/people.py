"""People who grade at once through the steps: a thread each, in this process or in others.

    python -m tests.load.people CONFIG DATABASE LABELS NAME...

lets each NAME give so many LABELS without a pause; with 0 each goes on, with pauses, until its input ends. It
tells a JSON line of each slot that was given out and of each label, once the step that stores it has returned:
what it told of must be in the store.
Now and then somebody sends an answer twice at once, sends an old one again, or forges one.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import select

from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import Outcome, submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.schema import assignments, labels
from tests.commands.annotate.people_at_work import assigned, collection, pairs, token
from tests.patience import PATIENCE
from tests.store.processes import ROOT

T = TypeVar("T")

TWICE, OLD, FORGED = 0.1, 0.05, 0.05
"""How often an answer is sent twice at once, an old one again, and a forged one before the true one."""

PAUSE = 1.0
"""Seconds between two labels of somebody who goes on until told to stop, at most: half of it on average."""


class Stored(NamedTuple):
    """A label that a person was told is stored."""

    name: str
    assignment_id: int
    query_id: str
    doc_id: str
    seq: int
    relevance: int


@dataclasses.dataclass
class Acknowledged:
    """The assignments that people were given and the labels that were acknowledged to them, in order."""

    given: dict[int, set[str]] = dataclasses.field(default_factory=lambda: defaultdict(set))
    stored: list[Stored] = dataclasses.field(default_factory=list)

    def hear(self, line: str) -> None:
        kind, *rest = json.loads(line)
        if kind == "given":
            self.given[rest[0]].add(rest[1])
        else:
            self.stored.append(Stored(*rest))

    def asserts_nothing_lost_or_doubled(self, session: AnnotationSession, names: Sequence[str]) -> None:
        """The store holds of these people the labels that they were told of, and no others; each is of a slot of
        its own, which one person alone was ever given, and nobody graded a pair twice."""
        c, a = labels.c, assignments.c
        with session.store.reading() as connection:
            columns = (c.labeler_id, c.assignment_id, c.query_id, c.doc_id, c.seq, c.relevance)
            written = [Stored(*row) for row in connection.execute(select(*columns).where(c.labeler_id.in_(names)))]
            done = connection.execute(
                select(a.holder, a.assignment_id, a.query_id, a.doc_id, a.label_seq).where(
                    a.state == "done", a.holder.in_(names)
                )
            ).all()
        assert sorted(written) == sorted(self.stored)
        assert len({one.assignment_id for one in written}) == len(written)
        assert len({(one.name, one.query_id, one.doc_id) for one in written}) == len(written)
        assert {tuple(row) for row in done} == {one[:5] for one in written}
        assert all(len(holders) == 1 for holders in self.given.values())
        assert {one.assignment_id: {one.name} for one in written}.items() <= self.given.items()


def waited_for(session: AnnotationSession, act: Callable[[], T]) -> T:
    """Does it again, as a page does, while the database is out of reach."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except ConflictError:
            raise
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def work(
    session: AnnotationSession, name: str, wanted: int, tell: Callable[..., None], goes_on: Callable[[], bool]
) -> None:
    """One person's work; raises AssertionError where something was stored that must not be."""
    mine, chance = f"token-of-{name}", random.Random(name)
    before: tuple[Item, Answer] | None = None
    given = 0
    while given < wanted if wanted else goes_on():
        if not wanted:
            time.sleep(chance.random() * PAUSE)
        item = waited_for(session, lambda: next_item(session, mine))
        assert item is not None, f"{name} found nothing to grade after {given}"
        tell("given", item.assignment_id, name)
        grade = chance.randrange(4)
        answer = Answer(status="ok", relevance=grade, nonce=f"{chance.getrandbits(128):032x}", elapsed_seconds=1.0)
        if chance.random() < FORGED:
            _refused(session, mine, chance.choice(_forgeries(item)), answer)
        if before is not None and chance.random() < OLD:
            again = dataclasses.replace(before[1], nonce=f"{chance.getrandbits(128):032x}", relevance=0)
            _refused(session, mine, before[0], again)
        times = 2 if chance.random() < TWICE else 1
        outcomes = _sent(session, mine, item, answer, times)
        assert len({outcome.seq for outcome in outcomes}) == 1
        assert sum(not outcome.again for outcome in outcomes) <= 1
        tell("stored", name, item.assignment_id, item.query_id, item.doc_id, outcomes[0].seq, grade)
        before = (item, answer)
        given += 1


def _sent(session: AnnotationSession, mine: str, item: Item, answer: Answer, times: int) -> list[Outcome]:
    def send(_: int) -> Outcome:
        return waited_for(session, lambda: submit(session, mine, item, answer))

    if times == 1:
        return [send(0)]
    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(send, range(times)))


def _forgeries(item: Item) -> list[Item]:
    number = item.assignment_id or 0
    return [
        dataclasses.replace(item, assignment_id=number + 1),  # not theirs, or of another pair
        dataclasses.replace(item, assignment_id=10**9),
        dataclasses.replace(item, doc_id="none"),
        dataclasses.replace(item, content_sha="0" * 64),
        dataclasses.replace(item, kind="training", training_id=1),
    ]


def _refused(session: AnnotationSession, mine: str, item: Item, answer: Answer) -> None:
    def send() -> None:
        try:
            submit(session, mine, item, answer)
        except ConflictError:
            return
        except StoreError:
            raise
        except QuatiPoolError:
            return
        raise AssertionError(f"stored: {item.assignment_id} {answer}")

    waited_for(session, send)


def all_at_once(
    session: AnnotationSession,
    names: Sequence[str],
    wanted: int,
    tell: Callable[..., None],
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Everybody works in a thread of their own; the first fault of any is raised when all have ended."""
    with ThreadPoolExecutor(len(names)) as pool:
        for done in [pool.submit(work, session, name, wanted, tell, goes_on) for name in names]:
            done.result()


def workspace(folder: Path, database: str, people: Sequence[str], queries: int, docs: int) -> Path:
    """A workspace whose every pair two people are to grade, whoever comes, and signed-in people."""
    config = collection(folder, pairs(queries, docs))
    with AnnotationSession.open(config, database) as session:
        assigned(session, (None, None))
        for name in people:
            token(session, name)
    return config


class AtWork:
    """People at work in another process."""

    def __init__(self, config: Path, database: str, names: Sequence[str], wanted: int) -> None:
        self.names = names
        command = [sys.executable, "-m", "tests.load.people", str(config), database, str(wanted), *names]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._lines.extend(self._process.stdout)

    def stored(self) -> int:
        """How many labels they were told of so far."""
        return sum(line.startswith('["stored"') for line in list(self._lines))

    def end(self, acknowledged: Acknowledged) -> None:
        """Lets them finish, and adds what they were told."""
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        said = self._process.stderr.read()
        assert self._process.wait(PATIENCE) == 0, said
        self._reader.join(PATIENCE)
        for line in self._lines:
            acknowledged.hear(line)

    def kill(self) -> None:
        with self._process as process:  # closes its pipes too
            process.kill()


@contextmanager
def at_work(config: Path, database: str, groups: Sequence[Sequence[str]], wanted: int = 0) -> Iterator[list[AtWork]]:
    """A process for each group of people."""
    started: list[AtWork] = []
    try:
        for names in groups:
            started.append(AtWork(config, database, names, wanted))
        yield started
    finally:
        for group in started:
            group.kill()


def main() -> None:
    config, database, wanted, *names = sys.argv[1:]
    lock, ended = threading.Lock(), threading.Event()

    def tell(*what: Any) -> None:
        with lock:
            print(json.dumps(what), flush=True)

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    with AnnotationSession.open(Path(config), database) as session:
        all_at_once(session, names, int(wanted), tell, lambda: not ended.is_set())


if __name__ == "__main__":
    main()
