"""A database that is only read stays as it is, and so does its folder; what is read is one committed state."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from pathlib import Path

import pytest

from quati_pool.store.database import Store
from quati_pool.store.errors import FormerRevisionError, StoreError
from quati_pool.store.read_only import read_only
from tests.store.processes import go, line, start
from tests.store.samples import entry

WRITER = """
store = Store.open(sys.argv[1], Path())
store.append([entry(doc_id=f"d{n}") for n in range(5)])
tell("written")
sys.stdin.read()
"""


def count(store: Store) -> int:
    return len(store.table("pira", "gpt", "v1"))


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Modification time and bytes of every file, but for the index of a write-ahead log, in which readers take turns
    with writers."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_no_database_is_none_and_stays_none(tmp_path: Path) -> None:
    assert read_only(None, tmp_path, count) is None
    (tmp_path / "labels.db").touch()
    assert read_only(None, tmp_path, count) is None
    assert everything(tmp_path).keys() == {"labels.db"}


def test_a_closed_database_in_a_folder_of_any_name(tmp_path: Path, made_sqlite: Path) -> None:
    folder = tmp_path / "a?mode=rwc#1 100% é"
    folder.mkdir()
    shutil.copy(made_sqlite, folder / "labels.db")
    with Store.open(None, folder) as store:
        store.append([entry(doc_id="d1"), entry(doc_id="d2")])
    before, listed = everything(folder), sorted(folder.rglob("*"))
    assert read_only(None, folder, count) == 2
    assert everything(folder) == before
    assert sorted(folder.rglob("*")) == listed


def test_it_cannot_be_written(tmp_path: Path, made_sqlite: Path) -> None:
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    before = everything(tmp_path)
    with pytest.raises(StoreError, match="it is read-only"):
        read_only(None, tmp_path, lambda store: store.append([entry()]))
    assert everything(tmp_path) == before


@pytest.mark.slow
def test_while_a_process_has_it_open(tmp_path: Path, made_sqlite: Path) -> None:
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    with start(WRITER, f"sqlite:///{tmp_path / 'labels.db'}") as writer:
        assert line(writer) == "written"
        before, listed = everything(tmp_path), sorted(tmp_path.rglob("*"))
        assert read_only(None, tmp_path, count) == 5
        assert everything(tmp_path) == before
        assert sorted(tmp_path.rglob("*")) == listed
        go(writer)


@pytest.mark.kill
def test_what_a_killed_process_committed_is_read_and_left_where_it_is(tmp_path: Path, made_sqlite: Path) -> None:
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    with start(WRITER, f"sqlite:///{tmp_path / 'labels.db'}") as writer:
        assert line(writer) == "written"
        writer.send_signal(signal.SIGKILL)
    before, listed = everything(tmp_path), sorted(tmp_path.rglob("*"))
    assert "labels.db-wal" in before
    assert read_only(None, tmp_path, count) == 5
    assert everything(tmp_path) == before
    assert sorted(tmp_path.rglob("*")) == listed


def test_a_write_while_it_is_read_is_not_half_seen(tmp_path: Path, made_sqlite: Path) -> None:
    """The second reading begins after the write, and sees all of it."""
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    seen = []

    def read(store: Store) -> int:
        seen.append(count(store))
        if len(seen) == 1:
            with Store.open(None, tmp_path) as other:
                other.append([entry(doc_id="d1"), entry(doc_id="d2")])
        return count(store)

    assert read_only(None, tmp_path, read) == 2
    assert seen == [0, 2]


def test_a_former_revision_is_not_upgraded(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parent / "revisions" / "0002.db", tmp_path / "labels.db")
    before = everything(tmp_path)
    with pytest.raises(FormerRevisionError, match=r"labels\.db: is of an earlier quati-pool \(revision 0002\)"):
        read_only(None, tmp_path, count)
    assert everything(tmp_path) == before


def test_databases_of_others_are_refused(tmp_path: Path, made_sqlite: Path) -> None:
    with sqlite3.connect(tmp_path / "labels.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="holds a table theirs that quati-pool did not create"):
        read_only(None, tmp_path, count)
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    with sqlite3.connect(tmp_path / "labels.db") as connection:
        connection.execute("UPDATE quati_pool_revision SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match="was written by a newer quati-pool"):
        read_only(None, tmp_path, count)
    (tmp_path / "labels.db").write_bytes(b"no database, but long enough to be one" * 100)
    with pytest.raises(StoreError, match="this file is not a SQLite database"):
        read_only(None, tmp_path, count)


def test_both_engines(made_url: str) -> None:
    with Store.open(made_url, Path()) as store:
        store.append([entry(doc_id="d1")])
    assert read_only(made_url, Path(), count) == 1
    with pytest.raises(StoreError, match="it is read-only"):
        read_only(made_url, Path(), lambda store: store.append([entry()]))


def test_an_empty_database_on_both_engines(url: str) -> None:
    assert read_only(url, Path(), count) is None
