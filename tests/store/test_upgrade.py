"""Which databases are opened, how quickly, and what is said of those that cannot be."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from quati_pool.errors import MissingExtraError
from quati_pool.store import upgrade
from quati_pool.store.database import Store
from quati_pool.store.database_url import parse_database_url
from quati_pool.store.errors import StoreError
from quati_pool.store.schema import HEAD, REVISION_TABLE
from tests.new_databases import copied, migrated
from tests.patience import PATIENCE
from tests.store.cluster import PASSWORD, Cluster
from tests.store.processes import ROOT, go, line, start
from tests.store.samples import entry


def refused(url: str | None, folder: Path = Path()) -> str:
    """What is said of a database that cannot be opened: one line."""
    with pytest.raises(StoreError) as caught:
        Store.open(url, folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def execute(url: str, statement: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_a_database_is_made_and_opened_again(url: str) -> None:
    with Store.open(url, Path()) as store:
        store.append([entry()])
    with Store.open(url, Path()) as store:
        assert len(store.current("pira", "gpt", "v1", ["q1"])) == 1


def test_new_databases_of_the_other_tests_are_as_migrated_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name, make in (("migrated", migrated), ("first", copied), ("second", copied)):
        monkeypatch.setattr(upgrade, "_upgrade", make)
        Store.open(f"sqlite:///{name}.db", tmp_path).close()
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection:
            made.append(list(connection.iterdump()))
    assert made[0] == made[1] == made[2]


def test_a_relative_database_lies_in_the_given_folder(tmp_path: Path) -> None:
    Store.open(None, tmp_path).close()
    Store.open("sqlite:///100%?.db", tmp_path / ".").close()
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"labels.db", "100%"}


def test_sqlite_keeps_a_write_ahead_journal_and_syncs_it(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store, store.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000}


def test_a_database_that_lost_its_journal_mode_gets_it_back(tmp_path: Path) -> None:
    Store.open(None, tmp_path).close()
    connection = sqlite3.connect(tmp_path / "labels.db")
    assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    connection.close()
    with Store.open(None, tmp_path) as store, store.reading() as opened:
        assert opened.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_an_up_to_date_database_is_opened_without_alembic(made_url: str) -> None:
    script = f"""
import sys
from contextlib import closing
from pathlib import Path
from quati_pool.store import upgrade
from quati_pool.store.database import Store
Store.open({made_url!r}, Path()).close()
print(sorted(name for name in ("alembic", "mako", "openai", "pandas") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_records_and_errors_need_no_database_package() -> None:
    script = """
import sys
import quati_pool.store.records, quati_pool.store.errors
print(sorted(name for name in ("sqlalchemy", "alembic", "psycopg") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_processes_that_open_a_fresh_database_at_once_all_get_it(url: str) -> None:
    script = """
tell("ready")
sys.stdin.read()
with Store.open(sys.argv[1], Path()) as store:
    store.register("v1", "judge", {"model": "m"})
    tell(*store.append([entry(doc_id=sys.argv[2])]))
"""
    processes = [start(script, url, f"d{n}") for n in range(4)]
    assert [line(process) for process in processes] == ["ready"] * 4
    for process in processes:
        go(process)
    seqs = [line(process) for process in processes]
    for process in processes:
        with process:
            assert process.wait(PATIENCE) == 0
    with Store.open(url, Path()) as store:
        found = {row.doc_id: str(row.seq) for row in store.current("pira", "gpt", "v1", ["q1"])}
        assert found == {f"d{n}": seq for n, seq in enumerate(seqs)}
        assert store.definition("v1") == {"model": "m"}


def test_a_database_of_a_newer_revision_is_refused_and_left_alone(url: str) -> None:
    Store.open(url, Path()).close()
    execute(url, f"UPDATE {REVISION_TABLE} SET version_num = '9999'")
    for _ in range(2):
        assert refused(url).endswith(
            f": was written by a newer quati-pool (revision 9999; this one knows up to {HEAD}); "
            "run: pip install --upgrade quati-pool"
        )


def test_a_database_of_another_program_is_refused_and_left_alone(url: str, engine: str) -> None:
    execute(url, "CREATE TABLE labels (colour TEXT)")
    assert "holds a table labels that quati-pool did not create; name a database of its own" in refused(url)
    opened = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with opened.connect() as connection:
        assert opened.dialect.get_table_names(connection) == ["labels"]
    opened.dispose()


def test_an_sqlite_file_serves_one_program_alone(tmp_path: Path) -> None:
    execute(f"sqlite:///{tmp_path / 'places.db'}", "CREATE TABLE bookmarks (url TEXT)")
    assert "holds a table bookmarks that quati-pool did not create" in refused("sqlite:///places.db", tmp_path)


def test_a_postgresql_database_may_serve_others_too(cluster: Cluster) -> None:
    name = cluster.create()
    execute(cluster.url(name), "CREATE TABLE bookmarks (url TEXT); CREATE TABLE alembic_version (version_num TEXT)")
    with Store.open(cluster.url(name), Path()) as store:
        assert store.append([entry()]) == [1]
    cluster.drop(name)


@pytest.mark.parametrize("content", [b"query_id\tdoc_id\trelevance\n" * 100, b"\x00" * 4096, b"PK\x03\x04" * 50])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.db"
    path.write_bytes(content)
    assert refused(None, tmp_path) == (
        f"{path}: this file is not a SQLite database; name another one in pool.yaml under labels: url:"
    )
    assert path.read_bytes() == content


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "labels.db").touch()
    Store.open(None, tmp_path).close()


@pytest.mark.parametrize("name", ["none/labels.db", "."])
def test_a_path_that_cannot_be_a_file(tmp_path: Path, name: str) -> None:
    assert refused(f"sqlite:///{name}", tmp_path) == (
        f"{tmp_path / name}: it cannot be opened; check that the path is a file in a folder you may write to"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://me:hunter2@host/db", "labels: url: mysql is not supported; write sqlite:///labels.db or postgresql"),
        ("postgresql+psycopg2://me:hunter2@host/db", "labels: url: postgresql+psycopg2 is not supported; write"),
        ("sqlite+aiosqlite:///hunter2.db", "labels: url: sqlite+aiosqlite is not supported; write"),
        ("hunter2.db", "labels: url: is not a valid database URL; write sqlite:///labels.db"),
        (
            "postgresql://me:p@ss/hunter2:x@host/db",
            "labels: url: is not a valid database URL; write sqlite:///labels.db",
        ),
        ("postgresql://me:p@hunter2@host/db", "labels: url: is not a valid database URL; write sqlite:///labels.db"),
        ("postgresql://me:hunter2@host:port/db", "labels: url: is not a valid database URL; write sqlite:///labels.db"),
        ("sqlite://hunter2.db", "labels: url: names no SQLite file; write sqlite:///labels.db, with three slashes"),
        ("sqlite://", "labels: url: names no SQLite file"),
        ("sqlite:///:memory:", "labels: url: names no SQLite file"),
        ("sqlite:///file:hunter2?mode=memory&uri=true", "labels: url: names no SQLite file"),
    ],
)
def test_a_wrong_url_is_not_quoted(url: str, said: str) -> None:
    with pytest.raises(StoreError) as caught:
        parse_database_url(url, Path())
    assert str(caught.value).startswith(said)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_goes_by_its_usual_names(cluster: Cluster, scheme: str) -> None:
    name = cluster.create()
    Store.open(cluster.url(name).replace("postgresql", scheme, 1), Path()).close()
    cluster.drop(name)


def test_a_wrong_password_is_said_but_not_told(cluster: Cluster) -> None:
    said = refused(cluster.url("postgres", password="hunter2"))
    assert said.startswith("PostgreSQL database postgres on this machine: no connection (")
    assert "password authentication failed" in said
    assert said.endswith("); check that the server runs, and pool.yaml under labels: url:")
    assert "hunter2" not in said


def test_a_password_is_not_told_even_where_the_driver_quotes_it(cluster: Cluster) -> None:
    """The name of the database here holds the password, and the server names the database."""
    said = refused(cluster.url(f"db-{PASSWORD.replace('/', '%2F')}"))
    assert "***" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("place", ["localhost:1", "nohost.invalid"])
def test_an_unreachable_server(cluster: Cluster, place: str) -> None:
    said = refused(f"postgresql://me:hunter2@{place}/db")
    assert said.startswith(f"PostgreSQL database db on {place.partition(':')[0]}: no connection (")
    assert said.endswith("); check that the server runs, and pool.yaml under labels: url:")
    assert "hunter2" not in said


def test_an_encoding_that_cannot_hold_all_text_is_refused(cluster: Cluster) -> None:
    name = cluster.create(encoding="LATIN1")
    assert refused(cluster.url(name)).endswith(
        ": its encoding is LATIN1; make a database with ENCODING 'UTF8' and name that"
    )
    cluster.drop(name)


def test_postgresql_without_psycopg_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'quati-pool\[postgres\]'"):
        Store.open("postgresql://host/db", Path())


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    with Store.open(None, tmp_path) as store:
        store.append([entry(doc_id=f"d{n}") for n in range(200)])
    with (tmp_path / "labels.db").open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096 * 30)
    return tmp_path


def test_a_damaged_file_is_named_as_such(damaged: Path) -> None:
    with pytest.raises(StoreError) as caught, Store.open(None, damaged) as store:
        store.table("pira", "gpt", "v1")
    assert str(caught.value) == (
        f"{damaged / 'labels.db'}: the file is damaged; put a copy in its place, "
        "or save what is left with sqlite3's .recover"
    )
