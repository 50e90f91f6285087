"""Artifacts are whole or absent, say why they are stale, and are made by one process at a time."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quati_pool import __version__
from quati_pool.files import artifacts
from quati_pool.files.artifacts import (
    clear_partials,
    digest,
    file_digest,
    lock_path,
    locked,
    locked_output,
    read_counts,
    sidecar,
    stale,
    write_file,
    write_folder,
)
from tests.patience import PATIENCE

KEY: dict[str, Any] = {"depth": 10, "index": {"k1": 0.9, "language": "pt"}, "corpus": "0" * 64, "files": ["a"]}


def filled(text: str) -> Callable[[Path], dict[str, Any]]:
    def fill(path: Path) -> dict[str, Any]:
        path.write_text(text)
        return {"rows": len(text)}

    return fill


def folder_of(**files: str) -> Callable[[Path], dict[str, Any]]:
    def fill(path: Path) -> dict[str, Any]:
        (path / "inner").mkdir()
        for name, text in files.items():
            (path / "inner" / name).write_text(text)
        return {"files": len(files)}

    return fill


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "bm25.trec.gz"
    write_file(path, KEY, {"seed": 7}, filled("content"))
    return path


def test_a_finished_file_is_current(made: Path) -> None:
    assert stale(made, KEY) is None
    assert stale(made, dict(reversed(KEY.items()))) is None
    assert read_counts(made) == {"rows": 7}
    assert sorted(path.name for path in made.parent.iterdir()) == ["bm25.trec.gz", "bm25.trec.gz.meta.json"]


def test_the_sidecar_says_what_it_came_from(made: Path) -> None:
    meta = json.loads(sidecar(made).read_text())
    assert meta.keys() == {"tool", "created", "seed", "key", "counts", "content"}
    assert (meta["tool"], meta["seed"], meta["key"]) == (f"quati-pool {__version__}", 7, KEY)
    # SHA-256 of the seven bytes "content", by sha256sum.
    assert meta["content"] == {"sha256": "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"}


def test_a_file_that_was_never_made(tmp_path: Path) -> None:
    assert stale(tmp_path / "none", KEY) == "not there yet"


def test_a_sidecar_alone_counts_as_nothing(made: Path) -> None:
    made.unlink()
    assert stale(made, KEY) == "not there yet"


def test_a_file_without_its_sidecar_was_not_finished(made: Path) -> None:
    sidecar(made).unlink()
    assert stale(made, KEY) == "was not finished"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"content": {"sha256": "0"}}', '{"key": {}, "content": null}'])
def test_a_sidecar_that_says_nothing(made: Path, text: str) -> None:
    sidecar(made).write_text(text)
    assert stale(made, KEY) == "bm25.trec.gz.meta.json cannot be read"


def test_an_edit_of_the_same_length_is_noticed(made: Path) -> None:
    made.write_text("CONTENT")
    assert stale(made, KEY) == "was changed since it was written"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"depth": 20}, "depth was 10, is 20"),
        ({"index": {"k1": 1.2, "language": "pt"}}, "index.k1 was 0.9, is 1.2"),
        ({"index": {"k1": 0.9, "language": "en"}}, 'index.language was "pt", is "en"'),
        ({"index": {"k1": 0.9, "language": "pt", "b": 0.4}}, "index.b was absent, is 0.4"),
        ({"index": {"k1": 0.9}}, 'index.language was "pt", is absent'),
        ({"corpus": "1" * 64}, "corpus changed"),
        ({"files": ["a", "b"]}, 'files was ["a"], is ["a", "b"]'),
        ({"seed": None}, "seed was absent, is null"),
        # The first in alphabetical order speaks for all.
        ({"depth": 20, "index": {}}, "depth was 10, is 20"),
    ],
)
def test_another_key_says_what_differs(made: Path, change: dict[str, Any], reason: str) -> None:
    assert stale(made, {**KEY, **change}) == reason


def test_a_key_that_lost_a_nested_part_alone(made: Path) -> None:
    write_file(made, {"a": 1, "b": {}}, {}, filled("x"))
    assert stale(made, {"a": 1}) == "its settings changed"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_while_a_file_is_made_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fill(path: Path) -> dict[str, Any]:
        path.write_text("half")
        raise error

    with pytest.raises(error):
        write_file(tmp_path / "file", KEY, {}, fill)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_finished_file_that_was_there(made: Path) -> None:
    def fill(path: Path) -> dict[str, Any]:
        path.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_file(made, {"other": 1}, {}, fill)
    assert stale(made, KEY) is None
    assert made.read_text() == "content"


def test_a_kill_between_data_and_sidecar_is_noticed(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New data beside the old sidecar must serve neither the old key nor the new one."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(artifacts, "_write_sidecar", killed)
    with pytest.raises(KeyboardInterrupt):
        write_file(made, {**KEY, "depth": 20}, {}, filled("others!"))
    assert made.read_text() == "others!"
    assert stale(made, KEY) == "was changed since it was written"
    assert stale(made, {**KEY, "depth": 20}) == "depth was 10, is 20"


def test_a_folder_is_current_until_a_file_in_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "index"
    write_folder(path, KEY, {}, folder_of(one="1", two="22"))
    assert stale(path, KEY) is None
    assert read_counts(path) == {"files": 2}
    (path / "inner" / "two").write_text("333")
    assert stale(path, KEY) == "was changed since it was written"
    (path / "inner" / "two").write_text("22")
    assert stale(path, KEY) is None
    (path / "inner" / "two").unlink()
    assert stale(path, KEY) == "was changed since it was written"


def test_a_folder_built_again_holds_nothing_old(tmp_path: Path) -> None:
    path = tmp_path / "index"
    (tmp_path / ".partial-index").mkdir()
    (tmp_path / ".partial-index" / "left by a kill").write_text("x")
    write_folder(path, KEY, {}, folder_of(one="1"))
    write_folder(path, {"new": 1}, {}, folder_of(two="2"))
    assert [file.name for file in path.rglob("*")] == ["inner", "two"]
    assert stale(path, {"new": 1}) is None
    assert sorted(file.name for file in tmp_path.iterdir()) == ["index", "index.meta.json"]


def test_a_failure_while_a_folder_is_made_leaves_the_old_one(tmp_path: Path) -> None:
    def fill(path: Path) -> dict[str, Any]:
        (path / "half").write_text("x")
        raise RuntimeError

    write_folder(tmp_path / "index", KEY, {}, folder_of(one="1"))
    with pytest.raises(RuntimeError):
        write_folder(tmp_path / "index", KEY, {}, fill)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "index.meta.json"]
    assert stale(tmp_path / "index", KEY) is None


def test_what_a_kill_left_half_made_is_cleared(made: Path) -> None:
    folder = made.parent
    (folder / ".partial-bm25.trec.gz").write_text("half")
    (folder / ".partial-bm25.trec.gz.meta.json").write_text("{")
    (folder / ".partial-lsa.trec.gz").write_text("another process is at work on it")
    clear_partials(made)
    assert stale(made, KEY) is None
    assert sorted(path.name for path in folder.iterdir()) == [
        ".partial-lsa.trec.gz",
        "bm25.trec.gz",
        "bm25.trec.gz.meta.json",
    ]
    (folder / ".partial-index").mkdir()
    (folder / ".partial-index" / "half").touch()
    clear_partials(folder / "index")
    assert not (folder / ".partial-index").exists()


def test_digests() -> None:
    # The order of keys does not count. SHA-256 of {"a":1,"b":["é"]} by sha256sum.
    expected = "023a8698a7c3c25e97260857c604120c43cc731c72fc227019bb5d85d6cad4cb"
    assert digest({"b": ["é"], "a": 1}) == digest({"a": 1, "b": ["é"]}) == expected
    assert digest({"a": 1}) != digest({"a": "1"})


def test_the_digest_of_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    # The published SHA-256 of no bytes.
    assert file_digest(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


HOLDER = """
import sys
from pathlib import Path
from quati_pool.files.artifacts import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(lock: Path) -> subprocess.Popen[str]:
    """A process that holds ``lock`` until its input is closed."""
    command = [sys.executable, "-c", HOLDER, str(lock)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("end", ["released", pytest.param("killed", marks=pytest.mark.kill)])
def test_a_second_process_waits_and_names_the_first(tmp_path: Path, end: str) -> None:
    lock = tmp_path / "locks" / "run-bm25.lock"
    said: list[str] = []
    waiting, entered = threading.Event(), threading.Event()

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    def wait() -> None:
        with locked(lock, say):
            entered.set()

    with holder(lock) as first:
        second = threading.Thread(target=wait, daemon=True)
        second.start()
        assert waiting.wait(PATIENCE)
        assert not entered.wait(0.2)
        assert first.stdin is not None
        if end == "killed":
            os.kill(first.pid, signal.SIGKILL)
        else:
            first.stdin.close()
        assert entered.wait(PATIENCE)
        second.join(30)
    assert len(said) == 1
    assert said[0].startswith(f"run-bm25: waiting for process {first.pid} on {socket.gethostname()} (since 20")
    assert said[0].endswith(" UTC), which holds the lock")


def test_a_free_lock_is_taken_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []
    lock = tmp_path / "lock.lock"
    with pytest.raises(RuntimeError), locked(lock, said.append):
        raise RuntimeError
    with locked(lock, said.append):
        pass
    assert said == []


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_a_failed_write_that_came_without_a_name_gets_the_artifacts(tmp_path: Path, write: Callable[..., Any]) -> None:
    path = tmp_path / "out"

    def full(partial: Path) -> dict[str, Any]:
        raise OSError(errno.EFBIG, "File too large")

    with pytest.raises(OSError, match="File too large") as caught:
        write(path, KEY, {}, full)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))

    def named(partial: Path) -> dict[str, Any]:
        raise OSError(errno.ENOSPC, "No space left on device", "elsewhere")

    with pytest.raises(OSError, match="No space left") as caught:
        write(path, KEY, {}, named)
    assert caught.value.filename == "elsewhere"
    assert list(tmp_path.iterdir()) == []


def test_a_target_has_one_lock_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "real")
    names = [tmp_path / "real" / "out", tmp_path / "linked" / "out", Path("out"), Path("../linked/../real/out")]
    assert {lock_path(path) for path in names} == {tmp_path.resolve() / "real" / ".out.lock"}


def test_the_lock_of_an_output_is_gone_afterwards(tmp_path: Path) -> None:
    with locked_output(tmp_path / "out", print):
        assert {path.name for path in tmp_path.iterdir()} == {".out.lock", ".out.holder"}
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError), locked_output(tmp_path / "out", print):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.kill
def test_what_a_killed_process_leaves_holds_nobody_up_and_goes(tmp_path: Path) -> None:
    with holder(tmp_path / ".out.lock") as first:
        os.kill(first.pid, signal.SIGKILL)
    assert {path.name for path in tmp_path.iterdir()} == {".out.lock", ".out.holder"}
    said: list[str] = []
    with locked_output(tmp_path / "out", said.append):
        pass
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_somebody_elses_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.lock").write_text("mine", encoding="utf-8")
    with locked_output(tmp_path / "out", print):
        pass
    assert (tmp_path / ".out.lock").read_text(encoding="utf-8") == "mine"


TAKING_TURNS = """
import os, sys
from pathlib import Path
from quati_pool.files.artifacts import locked_output
out = Path(sys.argv[1])
inside = out.with_name("inside")
for _ in range(40):
    with locked_output(out, lambda line: None):
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        out.write_text(str(int(out.read_text()) + 1))
        inside.unlink()
"""


def test_one_process_at_a_time_holds_a_lock_that_is_removed(tmp_path: Path) -> None:
    """4 processes hold it 40 times each: a second one inside would find the file ``inside``, or lose a count."""
    out = tmp_path / "out"
    out.write_text("0", encoding="utf-8")
    processes = [subprocess.Popen([sys.executable, "-c", TAKING_TURNS, str(out)]) for _ in range(4)]
    assert [process.wait(300) for process in processes] == [0, 0, 0, 0]
    assert out.read_text(encoding="utf-8") == "160"
    assert list(tmp_path.iterdir()) == [out]


def test_a_removed_lock_that_keeps_a_name_is_not_taken(tmp_path: Path) -> None:
    """On NFS a file that is removed while it is open gets another name, so its links do not tell that it is gone:
    another process that opened it in time would hold it while a third makes a new one."""
    lock, kept = tmp_path / ".out.lock", tmp_path / ".nfs01"
    with locked_output(tmp_path / "out", print):
        os.link(lock, kept)
    kept.rename(lock)  # what a client that has not looked again still takes for the lock
    entered = threading.Event()

    def take() -> None:
        with locked_output(tmp_path / "out", print):
            entered.set()

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    assert not entered.wait(0.5)
    lock.unlink()
    assert entered.wait(30)
    taking.join(30)
