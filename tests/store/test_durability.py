"""What ``append`` returned for is there, whatever happens to the process, the disk or the server next."""

from __future__ import annotations

import random
import signal
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import event

from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from tests.patience import PATIENCE
from tests.store.cluster import Cluster
from tests.store.processes import line, start
from tests.store.samples import entry

WRITER = """
with Store.open(sys.argv[1], Path()) as store:
    for n in range(int(sys.argv[3])):
        docs = [f"{sys.argv[2]}-{n}-{m}" for m in range(3)]
        batch = [Entry(label=label(doc_id=docs[0]), sharers=(label(doc_id=docs[1]),)), entry(doc_id=docs[2])]
        tell(*store.append(batch), docs[0], docs[2])
"""


def failed(store: Store, n: int) -> str:
    """What is said where an append fails: one line."""
    with pytest.raises(StoreError) as caught:
        store.append([entry(doc_id=f"failing {n}")])
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.kill
def test_a_writer_killed_again_and_again_loses_nothing_it_had_committed(made_url: str, engine: str) -> None:
    chosen = random.Random(7)
    told: list[str] = []
    for round_number in range(3):
        with start(WRITER, made_url, f"w{round_number}", 10_000) as writer:
            for _ in range(chosen.randint(1, 30)):
                told.append(line(writer))
            writer.send_signal(signal.SIGKILL)
            assert writer.stdout is not None
            # A last line may be cut short where it was being written.
            told += [rest.rstrip("\n") for rest in writer.stdout if rest.endswith("\n")]
    committed = {}
    for one in told:
        first, second, doc, other = one.split()
        committed |= {doc: int(first), other: int(second)}
    assert len(committed) == 2 * len(told)
    with Store.open(made_url, Path()) as store:
        rows = {row["doc_id"]: row for row in store.table("pira", "gpt", "v1").to_pylist()}
        attempts = store.usage("pira", "gpt").attempts
    assert {doc: rows[doc]["seq"] for doc in committed} == committed
    # Whole appends only: three labels each, the second shared from the first, the third with an attempt.
    assert len(rows) == 3 * attempts
    shared = [row for row in rows.values() if row["shared_from"] is not None]
    assert {row["shared_from"] for row in shared} == {row["seq"] for doc, row in rows.items() if doc.endswith("-0")}
    if engine == "sqlite":
        connection = sqlite3.connect(made_url.removeprefix("sqlite:///"))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()


@pytest.mark.slow
def test_two_processes_may_append_at_once(made_url: str) -> None:
    writers = [start(WRITER, made_url, f"w{n}", 40) for n in range(2)]
    told = [line(writer).split() for _ in range(40) for writer in writers]
    for writer in writers:
        with writer:
            assert writer.wait(PATIENCE) == 0
    with Store.open(made_url, Path()) as store:
        rows = {row["doc_id"]: row for row in store.table("pira", "gpt", "v1").to_pylist()}
    assert len(rows) == len({row["seq"] for row in rows.values()}) == 240
    for first, second, doc, other in told:
        assert (rows[doc]["seq"], rows[other]["seq"]) == (int(first), int(second))
        assert rows[doc[:-1] + "1"]["shared_from"] == int(first)


def test_a_seq_is_never_given_again(made_url: str) -> None:
    """Even where rows were removed by hand: a seq that was told of must not come to mean another label."""
    from sqlalchemy import delete

    from quati_pool.store.schema import attempts, labels

    with Store.open(made_url, Path()) as store:
        first = store.append([entry(), entry(doc_id="d2")])
        with store.writing() as connection:
            connection.execute(delete(attempts))
            connection.execute(delete(labels))
        [second] = store.append([entry()])
    assert second > max(first)


LIMITED = """
with Store.open(sys.argv[1], Path()) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
    try:
        for n in range(10_000):
            store.append([entry(doc_id=f"d{n}", rationale="x" * 1000)])
            tell(n)
    except StoreError as error:
        tell(error)
"""


@pytest.mark.slow
def test_a_disk_that_takes_no_more_loses_no_committed_label(tmp_path: Path) -> None:
    """A limit on the size of files fails a write in the middle, as a full disk does."""
    with start(LIMITED, f"sqlite:///{tmp_path / 'labels.db'}") as process:
        assert process.stdout is not None
        *committed, said = process.stdout.read().splitlines()
        assert process.wait(PATIENCE) == 0
    assert said == (
        f"{tmp_path / 'labels.db'}: the disk refused to be read or written; free some space, check the disk "
        "and run the same command again: what is committed is kept"
    )
    assert len(committed) > 50
    with Store.open(None, tmp_path) as store:
        assert len(store.table("pira", "gpt", "v1")) == len(committed)
        store.append([entry(doc_id="another")])


def test_a_full_sqlite_database_says_so_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store:

        @event.listens_for(store._engine, "checkout")
        def limit(connection: sqlite3.Connection, *_: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        pages = 80
        count = 0
        said = ""
        while not said:
            try:
                store.append([entry(doc_id=f"d{count}")])
                count += 1
            except StoreError as error:
                said = str(error)
        assert said == (
            f"{tmp_path / 'labels.db'}: the disk is full; free some space and run the same command again: "
            "what is committed is kept"
        )
        assert len(store.table("pira", "gpt", "v1")) == count > 50
        pages = 4000
        store.append([entry(doc_id="another")])
        assert len(store.table("pira", "gpt", "v1")) == count + 1


def test_another_writer_that_does_not_end_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quati_pool.store.engine._WAIT", 0.1)
    with Store.open(None, tmp_path) as store:
        other = sqlite3.connect(tmp_path / "labels.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert failed(store, 1) == (
            f"{tmp_path / 'labels.db'}: another process has been writing to it for a minute; wait until it is done "
            "and run the same command again: what is committed is kept"
        )
        assert store.current("pira", "gpt", "v1", ["q1"]) == []  # whoever reads is not held up
        other.execute("ROLLBACK")
        other.close()
        assert len(store.append([entry()])) == 1


def test_a_database_that_may_not_be_written(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store:
        store.append([entry()])

        @event.listens_for(store._engine, "checkout")
        def protect(connection: sqlite3.Connection, *_: object) -> None:
            connection.execute("PRAGMA query_only = ON")

        assert failed(store, 1) == (
            f"{tmp_path / 'labels.db'}: it is read-only; check the permissions of the file and its folder"
        )
        assert len(store.table("pira", "gpt", "v1")) == 1


# What a trigger raises reaches us through the server and the driver as the real thing would.
RAISE = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.doc_id LIKE 'failing%' THEN {} END IF; RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON labels FOR EACH ROW EXECUTE FUNCTION fail();
"""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("RAISE 'no space left' USING ERRCODE = '53100';", "the server's disk is full; free some space and run the"),
        ("RAISE 'no more memory' USING ERRCODE = '53200';", "the server is short of memory or connections; run the"),
        ("RAISE 'replica' USING ERRCODE = '25006';", "it is read-only; name a server that takes writes in pool.yaml"),
        ("RAISE 'not yours' USING ERRCODE = '42501';", "its user lacks the rights; have them granted, or name"),
        ("RAISE 'deadlock' USING ERRCODE = '40P01';", "another process wrote the same thing at once; run the same"),
        ("PERFORM set_config('statement_timeout', '50', true); PERFORM pg_sleep(9);", ""),
        ("PERFORM pg_terminate_backend(pg_backend_pid());", "the server is going down or coming up; once it is back,"),
        ("RAISE 'out of order' USING ERRCODE = 'P0001';", "out of order CONTEXT: PL/pgSQL function fail()"),
    ],
)
def test_what_a_server_refuses_is_said_and_nothing_is_lost(cluster: Cluster, statement: str, said: str) -> None:
    name = cluster.create()
    with Store.open(cluster.url(name), Path()) as store:
        store.append([entry()])
        with cluster.connect(name) as connection:
            connection.execute(RAISE.format(statement).encode())
            if not said:
                # Set for the session, since a statement's own limit is read before it starts.
                connection.execute(f'ALTER DATABASE "{name}" SET statement_timeout = 100'.encode())
                store._engine.dispose()
                said = "the server cancelled a statement that took too long; run the same command again"
        assert f": {said}" in failed(store, 1)
        assert len(store.append([entry(doc_id="d2")])) == 1
        assert len(store.table("pira", "gpt", "v1")) == 2
    cluster.drop(name)


def test_a_server_that_went_away_between_two_appends_is_found_again(cluster: Cluster) -> None:
    name = cluster.create()
    with Store.open(cluster.url(name), Path()) as store:
        store.append([entry()])
        with cluster.connect() as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchall()
        assert ended
        assert len(store.append([entry(doc_id="d2")])) == 1
    cluster.drop(name)
