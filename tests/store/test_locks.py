"""One process holds a name; another says whom it waits for, and gets it however the first one ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from tests.patience import PATIENCE
from tests.store.processes import go, line, start
from tests.store.samples import entry

HOLDER = """
with Store.open(sys.argv[1], Path()) as store, store.lock(sys.argv[2], tell):
    tell("held")
    sys.stdin.read()
"""
NAME = "pirá.gpt-4.1/mini"


def holder(url: str, name: str = NAME) -> subprocess.Popen[str]:
    process = start(HOLDER, url, name)
    assert line(process) == "held"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("end", ["released", pytest.param("killed", marks=pytest.mark.kill)])
def test_a_second_process_waits_and_names_the_first(made_url: str, end: str) -> None:
    said: list[str] = []
    waiting, entered = threading.Event(), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        waiting.set()

    def wait() -> None:
        with Store.open(made_url, Path()) as store, store.lock(NAME, say):
            entered.set()

    with holder(made_url) as first:
        second = threading.Thread(target=wait, daemon=True)
        second.start()
        assert waiting.wait(PATIENCE)
        assert not entered.wait(0.5)
        if end == "killed":
            os.kill(first.pid, signal.SIGKILL)
        else:
            go(first)
        assert entered.wait(PATIENCE)
        second.join(30)
    assert len(said) == 1
    assert ": waiting for " in said[0]
    assert f"process {first.pid} on {socket.gethostname()} (since 20" in said[0]
    assert said[0].endswith(" UTC), which holds the lock")


def test_other_names_are_free_and_so_is_the_database(made_url: str) -> None:
    said: list[str] = []
    with holder(made_url) as first, Store.open(made_url, Path()) as store:
        with store.lock("another", said.append):
            assert len(store.append([entry()])) == 1
        go(first)
    assert said == []


def test_a_lock_is_let_go_after_an_error(store: Store) -> None:
    said: list[str] = []
    with pytest.raises(RuntimeError), store.lock(NAME, said.append):
        raise RuntimeError
    with store.lock(NAME, said.append):
        pass
    assert said == []


def test_an_error_of_what_was_done_under_a_lock_stays_itself(store: Store) -> None:
    with pytest.raises(OSError, match=r"^mine$"), store.lock(NAME, print):
        raise OSError("mine")


def test_a_name_may_be_longer_than_the_name_of_a_file(store: Store) -> None:
    with store.lock("ç" * 300, print), store.lock("ç" * 301, print):
        pass


def test_a_lock_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store:
        (tmp_path / ".labels.db.judge.lock").mkdir()
        with pytest.raises(StoreError) as caught, store.lock("judge", print):
            pass
    assert str(caught.value) == (
        f"{tmp_path / 'labels.db'}: Is a directory; check that its folder is there and that you may write to it"
    )


def test_no_lock_stays_next_to_the_database(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store:
        with store.lock(NAME, print):
            held = [path.name for path in tmp_path.iterdir() if path.suffix in (".lock", ".holder")]
            assert len(held) == 2
        assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {"labels.db"}


def test_a_database_has_one_lock_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    said: list[str] = []
    entered = threading.Event()
    with Store.open(None, tmp_path / "real") as one, Store.open(None, tmp_path / "linked") as other:

        def second() -> None:
            with other.lock(NAME, said.append):
                entered.set()

        with one.lock(NAME, print):
            waiting = threading.Thread(target=second, daemon=True)
            waiting.start()
            assert not entered.wait(0.3)
        assert entered.wait(30)
        waiting.join(30)
    assert len(said) == 1
