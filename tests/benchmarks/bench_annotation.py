"""Annotation in a pool of 100,000 pairs, each to be graded by two people: how long the server takes, by engine.

``assign`` of the whole pool; then one person alone: the next item, the claim of a new block of a query, the
progress bar. Then 20 people at once in threads of one process, as the app has them: ``store and next`` is a
submit and the next item, ``a press`` the progress bar too, as the page is drawn. They pause for up to a second
between two labels, about ten times faster than anybody grades; then again while dashboards are made one after
the other; then without pausing themselves. The peer does the statements that cannot be left out (insert
the label, close the slot, commit, find the next slot) on the bare driver, by as many threads, in the same
database at the same durability. At last the dashboard, by the number of labels there are.

    python -m tests.benchmarks.bench_annotation [--pairs 100000] [--labels 100] [--engine sqlite]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sqlite3
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, tuple_, update

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item, progress
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.preflight import warm
from quati_pool.commands.annotate.review import dashboard
from quati_pool.commands.annotate.review.dashboard_process import separate_dashboards
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.bulk import insert_rows
from quati_pool.store.records import content_sha
from quati_pool.store.schema import assignments, labels, selections
from tests.commands.annotate.people_at_work import answer, collection, token
from tests.commands.judged import pair
from tests.store.cluster import Cluster

DOCS = 100
PEOPLE = [f"person{number:02}" for number in range(20)]
PAUSE = 1.0
WORDS = [f"palavra{number}" for number in range(20_000)]
ALONE = 300

_numbers = iter(range(10**9))


def milliseconds(times: Sequence[float]) -> str:
    """Median, 95th percentile and maximum of some seconds."""
    ordered = sorted(1000 * one for one in times)
    at95 = ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]
    return f"median {statistics.median(ordered):.1f} ms, p95 {at95:.1f}, max {ordered[-1]:.1f} (n = {len(ordered):,})"


def timed(times: list[float], function: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    result = function()
    times.append(time.perf_counter() - began)
    return result


def pool(folder: Path, pairs: int) -> Path:
    chosen = random.Random(0)
    rows = (
        pair(f"q{place // DOCS:05d}", f"d{place:07d}", " ".join(chosen.choices(WORDS, k=100))) for place in range(pairs)
    )
    return collection(folder, rows)


# One person


def alone(session: AnnotationSession) -> None:
    mine = token(session, "alone")
    first: list[float] = []
    item = timed(first, lambda: next_item(session, mine))
    print(f"  the first item of a fresh server: {1000 * first[0]:.1f} ms")
    held: list[float] = []
    stored: list[float] = []
    bars: list[float] = []
    claims: list[float] = []
    while len(held) < ALONE:
        timed(stored, partial(submit, session, mine, item, answer(next(_numbers))))
        block = session.assignments.held("alone") is None
        item = timed(claims if block else held, lambda: next_item(session, mine))
        timed(bars, lambda: progress(session, mine))
    for _ in range(12):
        session.assignments.withdraw([slot.assignment_id for slot in held_slots(session, "alone")])
        timed(claims, lambda: next_item(session, mine))
    for what, times in (("next item", held), ("next item, claiming a block", claims), ("submit", stored),
                        ("progress", bars)):  # fmt: skip
        print(f"  alone: {what}: {milliseconds(times)}", flush=True)
    session.people.revoke("alone")


def held_slots(session: AnnotationSession, name: str) -> list[Any]:
    a = assignments.c
    with session.store.reading() as connection:
        return list(connection.execute(select(a.assignment_id).where(a.holder == name, a.state == "open")))


# All at once


def together(
    session: AnnotationSession, tokens: Sequence[str], count: int, pause: float
) -> tuple[list[float], list[float], float]:
    """Seconds of store-and-next and of a press, of all people, and of the whole."""
    nexts: list[float] = []
    presses: list[float] = []
    gate = threading.Barrier(len(tokens))

    def work(mine: str) -> None:
        chance = random.Random(mine)
        item = next_item(session, mine)
        gate.wait()
        for _ in range(count):
            time.sleep(chance.random() * pause)
            given = answer(next(_numbers), chance.randrange(4))
            began = time.perf_counter()
            assert item is not None
            submit(session, mine, item, given)
            item = next_item(session, mine)
            nexts.append(time.perf_counter() - began)
            progress(session, mine)
            presses.append(time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(len(tokens)) as threads:
        list(threads.map(work, tokens))
    return nexts, presses, time.perf_counter() - began


@contextlib.contextmanager
def dashboards(session: AnnotationSession, config: Path, url: str) -> Iterator[list[float]]:
    """Dashboards are made one after the other, in the process that the server has for them."""
    ended = threading.Event()
    took: list[float] = []
    mine = token(session, "lia", "lead")

    def make() -> None:
        while not ended.is_set():
            took.append(board(session, mine))

    thread = threading.Thread(target=make)
    with separate_dashboards(session, config, url):
        board(session, mine)
        thread.start()
        try:
            yield took
        finally:
            ended.set()
            thread.join()


# The floor


COLUMNS = ("collection", "labeler_id", "kind", "version", "query_id", "doc_id", "content_sha", "phase", "sample",
           "relevance", "status", "assignment_id", "extra", "nonce", "created_at")  # fmt: skip


def bare(url: str, count: int, version: str) -> tuple[list[float], float]:
    """What store-and-next comes to on the driver alone; seconds of each, and of the whole."""
    lite = url.startswith("sqlite")
    mark = "?" if lite else "%s"
    insert = f"INSERT INTO labels ({', '.join(COLUMNS)}) VALUES ({', '.join([mark] * len(COLUMNS))})"
    close = f"UPDATE assignments SET state = 'done' WHERE assignment_id = {mark}"
    find = (
        f"SELECT * FROM assignments WHERE collection = {mark} AND holder = {mark} AND state = 'open' "
        "ORDER BY line, query_turn, skips, turn LIMIT 1"
    )
    turn = threading.Lock() if lite else contextlib.nullcontext()
    times: list[float] = []

    def connect() -> Any:
        if lite:
            made = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
            made.execute("PRAGMA synchronous = FULL")
            return made
        import psycopg

        return psycopg.connect(url, autocommit=True)

    def work(name: str) -> None:
        connection = connect()
        now = datetime.now(UTC)
        row = connection.execute(find, ("test", name)).fetchone()
        for _ in range(count):
            began = time.perf_counter()
            values = ("test", name, "assessor", version, row[3], row[4], content_sha(row[3], row[4]), "blind", 1, 2,
                      "ok", row[0], "{}", f"bare {next(_numbers)}", now.isoformat(" ") if lite else now)  # fmt: skip
            with turn:
                connection.execute("BEGIN IMMEDIATE" if lite else "BEGIN")
                connection.execute(insert, values)
                connection.execute(close, (row[0],))
                connection.execute("COMMIT")
            row = connection.execute(find, ("test", name)).fetchone()
            times.append(time.perf_counter() - began)
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(len(PEOPLE)) as threads:
        list(threads.map(work, [f"bare{number}" for number in range(len(PEOPLE))]))
    return times, time.perf_counter() - began


def give(session: AnnotationSession, count: int) -> None:
    """Slots for the bare people, as many as they do and one more."""
    a = assignments.c
    with session.store.reading() as connection:
        free = connection.execute(
            select(a.assignment_id).where(a.state == "open", a.holder.is_(None), a.replicate == 1)
            .order_by(a.assignment_id.desc()).limit(len(PEOPLE) * (count + 1))
        ).scalars().all()  # fmt: skip
    with session.store.writing() as connection:
        for place, one in enumerate(free):
            changed = {"holder": f"bare{place % len(PEOPLE)}", "query_turn": 1, "turn": place}
            connection.execute(update(assignments).where(a.assignment_id == one).values(changed))


def bare_assign(session: AnnotationSession, url: str) -> float:
    """Seconds for the rows that ``assign`` wrote, into tables with the same indexes, in one transaction."""
    tables = [(selections, list(selections.c.keys())), (assignments, list(assignments.c.keys()))]
    with session.store.reading() as connection:
        rows = [[tuple(row) for row in connection.execute(select(table))] for table, _ in tables]
        lite = connection.dialect.name == "sqlite"
        made: dict[str, list[str]] = {}
        for table, _ in tables:
            if lite:
                found = connection.exec_driver_sql(
                    "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type = 'index'",
                    (table.name,),
                ).scalars().all()  # fmt: skip
                made[table.name] = list(found)
    if lite:
        with tempfile.TemporaryDirectory(dir=Path(url.removeprefix("sqlite:///")).parent) as folder:
            other = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
            other.execute("PRAGMA journal_mode = WAL")
            other.execute("PRAGMA synchronous = FULL")
            for statements in made.values():
                for statement in statements:
                    other.execute(statement)
            began = time.perf_counter()
            other.execute("BEGIN IMMEDIATE")
            for (table, columns), some in zip(tables, rows, strict=True):
                marks = ", ".join("?" * len(columns))
                other.executemany(f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", some)
            other.execute("COMMIT")
            took = time.perf_counter() - began
            other.close()
            return took
    import psycopg

    with psycopg.connect(url) as other:
        for table, _ in tables:
            other.execute(f"CREATE TABLE bare_{table.name} (LIKE {table.name} INCLUDING ALL)".encode())
        other.commit()
        began = time.perf_counter()
        for (table, columns), some in zip(tables, rows, strict=True):
            statement = f"COPY bare_{table.name} ({', '.join(columns)}) FROM STDIN".encode()
            with other.cursor().copy(statement) as copy:
                for row in some:
                    copy.write_row(row)
        other.commit()
        took = time.perf_counter() - began
        for table, _ in tables:
            other.execute(f"DROP TABLE bare_{table.name}".encode())
    return took


# The dashboard


def fill(session: AnnotationSession, wanted: int) -> int:
    """Lets people have graded so many more slots than they did; how many labels there are then."""
    a, chance = assignments.c, random.Random(1)
    now = datetime.now(UTC)
    frame = session.pool_view
    with session.store.reading() as connection:
        nobodys = select(a.query_id, a.doc_id).group_by(a.query_id, a.doc_id).having(func.count(a.holder) == 0)
        rows = connection.execute(
            select(a.assignment_id, a.query_id, a.doc_id, a.replicate)
            .where(a.state == "open", tuple_(a.query_id, a.doc_id).in_(nobodys))
            .order_by(a.query_order, a.assignment_id).limit(wanted)
        ).all()  # fmt: skip
    written = []
    kind = labels.c.created_at.type
    with session.store.writing() as connection:
        bind = kind.dialect_impl(connection.dialect).bind_processor(connection.dialect)
        for place, row in enumerate(rows):
            shown = frame.pair(row.query_id, row.doc_id)
            assert shown is not None
            # Whoever did one of a pair's slots did not do the other.
            name = PEOPLE[2 * (place // 2 % 10) + row.replicate - 1]
            seen = content_sha(shown.query, shown.text)
            extra = f'{{"active_seconds": {chance.random() * 20:.3f}}}'
            written.append((session.config.name, name, "assessor", session.version, row.query_id, row.doc_id, seen,
                            "blind", 1, chance.randrange(4), "ok", row.assignment_id, extra,
                            f"filled {row.assignment_id}", bind(now) if bind else now))  # fmt: skip
        columns = COLUMNS
        if connection.dialect.name == "sqlite":
            insert_rows(connection, labels, columns, written)
        else:
            statement = f"COPY labels ({', '.join(columns)}) FROM STDIN"
            cursor = connection.connection.cursor()
            with cursor.copy(statement) as copy:
                for one in written:
                    copy.write_row(one)
        done = (
            "UPDATE assignments SET state = 'done', label_seq = labels.seq, holder = labels.labeler_id FROM labels "
            "WHERE labels.assignment_id = assignments.assignment_id AND assignments.state = 'open' "
            "AND labels.nonce LIKE 'filled %'"
        )
        connection.exec_driver_sql(done.replace("%", "%%") if connection.dialect.name != "sqlite" else done)
    with session.store.writing() as connection:
        connection.exec_driver_sql("ANALYZE")
        from quati_pool.store.queues import rebuild

        rebuild(connection, session.config.name)
    return sum(labeler.rows for labeler in session.store.labelers(session.config.name))


def board(session: AnnotationSession, lead: str) -> float:
    """Seconds that a dashboard takes."""
    latest = dashboard.dashboard(session, lead, 120.0, refresh=True)
    assert latest.value is not None, latest.problem
    return latest.value.seconds


def boards(session: AnnotationSession, config: Path, url: str, mine: str, lead: str, wanted: Sequence[int]) -> None:
    for count in wanted:
        if count:
            fill(session, count)
        there = sum(labeler.rows for labeler in session.store.labelers(session.config.name))
        again = []
        with separate_dashboards(session, config, url):
            first = board(session, lead)
            for _ in range(3):
                item = next_item(session, mine)
                assert item is not None
                submit(session, mine, item, answer(next(_numbers)))
                again.append(board(session, lead))
        print(
            f"  dashboard of {there:,} labels: {first:.2f} s; after one more {statistics.median(again):.2f} s",
            flush=True,
        )


def measure(config: Path, url: str, count: int) -> None:
    began = time.perf_counter()
    assign(config, AssignOptions(everything=True, overlap=2), url)
    took = time.perf_counter() - began
    with AnnotationSession.open(config, url) as session:
        warm(session)
        print(f"  assign --all --overlap 2: {took:.1f} s; the rows alone, bare: {bare_assign(session, url):.1f} s")
        alone(session)
        tokens = [token(session, name) for name in PEOPLE]
        nexts, presses, _ = together(session, tokens, count, PAUSE)
        print(f"  20 people, pausing: store and next: {milliseconds(nexts)}", flush=True)
        print(f"  20 people, pausing: a press: {milliseconds(presses)}", flush=True)
        with dashboards(session, config, url) as made:
            nexts, presses, _ = together(session, tokens, count, PAUSE)
        print(f"  20 people, pausing, {len(made)} dashboards meanwhile: store and next: {milliseconds(nexts)}")
        print(f"  20 people, pausing, {len(made)} dashboards meanwhile: a press: {milliseconds(presses)}", flush=True)
        nexts, presses, whole = together(session, tokens, count, 0)
        print(f"  20 people, not pausing: store and next: {milliseconds(nexts)}; {len(nexts) / whole:.0f} labels/s")
        give(session, count)
        times, whole = bare(url, count, session.version)
        print(f"  20 people, not pausing, bare driver: {milliseconds(times)}; {len(times) / whole:.0f} labels/s")
        boards(session, config, url, tokens[0], token(session, "mia", "lead"), (0, 20_000, 100_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=100, help="of each person in each part")
    parser.add_argument("--engine", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ResourceWarning)
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, {options.pairs:,} pairs")
    with tempfile.TemporaryDirectory() as name:
        config = pool(Path(name) / "workspace", options.pairs)
        took: list[float] = []
        with AnnotationSession.open(config) as session:
            timed(took, lambda: session.pool_view)
        with AnnotationSession.open(config) as session:
            timed(took, lambda: session.pool_view)
        print(f"the frame of the pool: made in {took[0]:.1f} s, opened in {took[1]:.2f} s", flush=True)
        for engine in ("sqlite", "postgresql"):
            if options.engine in (None, engine):
                print(f"{engine}, load {os.getloadavg()[0]:.1f}", flush=True)
                if engine == "sqlite":
                    measure(config, f"sqlite:///{Path(name) / 'bench.db'}", options.labels)
                else:
                    cluster = Cluster()
                    try:
                        measure(config, cluster.url(cluster.create()), options.labels)
                    finally:
                        cluster.stop()


if __name__ == "__main__":
    main()
