"""Builds that are killed, run out of space or meet each other end as an unbroken build does."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import re
import resource
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from filelock import FileLock

from quati_pool.files.artifacts import stale
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from tests.commands.killing import KILLED, Driver, driving
from tests.commands.small_collection import (
    SYSTEMS,
    command,
    config,
    drawn,
    environment,
    leftovers,
    make_collection,
    passages,
    products,
    run_cli,
    wait_for,
    write_corpus,
    write_settings,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.kill


def build_by(driver: Driver, folder: Path, **break_off: Any) -> dict[str, Any]:
    """A build that breaks off at a chosen writing event."""
    return driver.run(folder, "build", "-c", folder / "pool.yaml", **break_off)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with driving() as started:
        yield started


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[[], Path]:
    """Makes a fresh folder of inputs, old enough for their hashes to be remembered."""

    def make() -> Path:
        folder = tmp_path / "workspace"
        shutil.rmtree(folder, ignore_errors=True)
        make_collection(folder)
        for path in folder.iterdir():
            os.utime(path, (1_700_000_000, 1_700_000_000))
        return folder

    return make


def kind_of(event: str) -> str:
    """An event without the names of systems, reports and an index's files."""
    tags = "|".join(sorted(SYSTEMS, key=len, reverse=True))
    event = re.sub(rf"\b({tags})\b", "*", event)
    event = re.sub(r"(cache/indexes/.partial-[^/]*/).*", r"\1*", event)
    return re.sub(r"(reports/(?:.partial-)?)\w+\.\w+", r"\1*", event)


def done_so_far(folder: Path) -> dict[Path, int]:
    """The modification times of all finished artifacts and their files."""
    times = {}
    for meta in set(folder.rglob("*.meta.json")) - set(leftovers(folder)):
        path = meta.with_name(meta.name.removesuffix(".meta.json"))
        if stale(path, json.loads(meta.read_text(encoding="utf-8"))["key"]) is None:
            inside = path.rglob("*") if path.is_dir() else ()
            times |= {file: file.stat().st_mtime_ns for file in (meta, path, *inside)}
    return times


def finishes_as_unbroken(driver: Driver, folder: Path, expected: dict[str, bytes]) -> None:
    before = done_so_far(folder)
    answer = build_by(driver, folder)
    assert answer["status"] == 0, answer["stderr"]
    assert products(folder) == expected
    assert not leftovers(folder)
    assert {path: path.stat().st_mtime_ns for path in before} == before, "finished work was done again"


def test_killed_at_every_writing_step(driver: Driver, make_folder: Callable[[], Path], finished: Path) -> None:
    expected = products(finished)
    whole = build_by(driver, make_folder())
    assert whole["status"] == 0, whole["stderr"]
    events = whole["events"]
    kinds: dict[str, int] = {}
    for number, event in enumerate(events):
        kinds.setdefault(kind_of(event), number)
    # Every kind of artifact is killed while it is written, before its renaming and before its sidecar.
    for place in ("cache/corpus", "cache/indexes", "cache/candidates", "runs", "reports", "pool"):
        assert any(kind.startswith("rename") and place in kind and "meta" not in kind for kind in kinds), place
    chosen = sorted({*kinds.values(), *range(0, len(events), 100), len(events) - 1})
    for number in chosen:
        folder = make_folder()
        broken = build_by(driver, folder, at=number, deed="kill")
        assert broken["status"] == KILLED, (number, events[number])
        assert broken["events"] == events[: number + 1]
        finishes_as_unbroken(driver, folder, expected)


def test_killed_again_and_again_the_work_advances(
    driver: Driver, make_folder: Callable[[], Path], finished: Path
) -> None:
    folder = make_folder()
    builds = 0
    while builds < 30:
        builds += 1
        done = done_so_far(folder)
        # Far enough to finish the longest piece of work, an index.
        broken = build_by(driver, folder, at=45, deed="kill")
        if broken["status"] == 0:
            break
        assert done.items() <= done_so_far(folder).items()
    assert 3 < builds < 30
    finishes_as_unbroken(driver, folder, products(finished))


def test_killed_while_an_artifact_is_built_again(
    driver: Driver, make_folder: Callable[[], Path], finished: Path
) -> None:
    folder = make_folder()
    build_by(driver, folder)
    (folder / "runs" / "rrf.trec.gz").write_bytes(b"edited")
    (folder / "pool.jsonl.gz").unlink()
    events = build_by(driver, Path(shutil.copytree(folder, folder.with_name("counted"))))["events"]
    for number in range(len(events)):
        copy = Path(shutil.copytree(folder, folder.with_name(f"copy-{number}")))
        assert build_by(driver, copy, at=number, deed="kill")["status"] == KILLED
        finishes_as_unbroken(driver, copy, products(finished))


def test_killed_three_times_at_random(tmp_path: Path) -> None:
    unbroken = make_collection(tmp_path / "unbroken").parent
    started = time.monotonic()
    assert run_cli("build", "-c", unbroken / "pool.yaml").returncode == 0
    seconds = time.monotonic() - started
    folder = make_collection(tmp_path / "killed").parent
    chance = random.Random(4)
    for _ in range(3):
        delay = chance.uniform(0.4, 0.95) * seconds
        with subprocess.Popen(
            command("build", "-c", folder / "pool.yaml"), env=environment(), stderr=subprocess.DEVNULL
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(delay)
            process.kill()
        assert process.returncode in (KILLED, 0)
    done = run_cli("build", "-c", folder / "pool.yaml")
    assert done.returncode == 0, done.stderr
    assert products(folder) == products(unbroken)
    assert not leftovers(folder)


# ---- Lucene


def lucene_folder(folder: Path, times: int) -> Path:
    make_collection(folder)
    # Enough passages for indexing to be under way for a while.
    many = {f"{doc_id}-{i}": f"{text} {i}" for i in range(times) for doc_id, text in passages().items()}
    write_corpus(folder / "corpus.jsonl", many)
    systems = {
        "bm25": {"retriever": "bm25", "language": "en"},
        "bm25s": {"retriever": "bm25s"},
        "rrf": {"fuse": ["bm25", "bm25s"]},
    }
    write_settings(folder, config(systems=systems, pool={"depth": 4}))
    return folder


@pytest.mark.java
def test_killed_while_lucene_indexes(tmp_path: Path) -> None:
    unbroken, folder = lucene_folder(tmp_path / "unbroken", 100), lucene_folder(tmp_path / "killed", 100)
    done = run_cli("build", "-c", unbroken / "pool.yaml")
    assert done.returncode == 0, done.stderr
    with subprocess.Popen(
        command("build", "-c", folder / "pool.yaml"), env=environment(), stderr=subprocess.DEVNULL
    ) as process:
        indexes = folder / "cache" / "indexes"
        # Lucene's first files are there: it is writing.
        wait_for(lambda: list(indexes.glob(".partial-bm25-*/*")), "Lucene's first files")
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert workers
    assert leftovers(folder), "Lucene was faster than this test"
    wait_for(lambda: not any(alive(worker) for worker in workers), "the end of Lucene's process")
    again = run_cli("build", "-c", folder / "pool.yaml")
    assert again.returncode == 0, again.stderr
    assert products(folder) == products(unbroken)
    assert not leftovers(folder)


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# ---- no space


def is_one_line_of_error(stderr: str) -> bool:
    """Whether the last line, and it alone, is the error."""
    *before, last = stderr.splitlines()
    return last.startswith("quati-pool: ") and not any(
        line.startswith(("quati-pool: ", "Traceback", " ")) for line in before
    )


def test_a_full_disk_is_one_line_and_the_next_build_goes_on(
    driver: Driver, make_folder: Callable[[], Path], finished: Path
) -> None:
    expected = products(finished)
    events = build_by(driver, make_folder())["events"]
    # Each operation once in each folder.
    chosen: dict[str, int] = {}
    for number, event in enumerate(events):
        if not event.startswith("remove"):
            chosen.setdefault(re.sub(r"\.partial-.*|[^/ ]*$", "", event), number)
    for number in chosen.values():
        folder = make_folder()
        broken = build_by(driver, folder, at=number, deed="full")
        assert broken["status"] == 1, (events[number], broken["stderr"])
        assert is_one_line_of_error(broken["stderr"]), broken["stderr"]
        assert broken["stderr"].endswith(
            ": No space left on device; free some space and run the same command again: what is finished is kept\n"
        )
        assert not leftovers(folder), events[number]
        finishes_as_unbroken(driver, folder, expected)


# What is missing from a finished workspace, and the size that no file may grow beyond.
LIMITS = [
    ("cache/hashes.json", 50),
    ("cache/corpus", 100),
    ("cache/corpus", 2000),
    ("cache/indexes", 500),
    ("cache/candidates", 100),
    ("runs", 100),
    ("pool.jsonl.gz", 1000),
    ("pool.jsonl.gz.meta.json", 1000),
    ("reports", 100),
]


@pytest.mark.parametrize(("missing", "limit"), LIMITS)
def test_a_file_that_may_not_grow(
    driver: Driver, make_folder: Callable[[], Path], finished: Path, missing: str, limit: int
) -> None:
    """A real failure of a real write, in pyarrow, numpy, gzip and text files."""
    folder = make_folder()
    build_by(driver, folder)
    path = folder / missing
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if missing == "cache/indexes":
        # A run that needs no index would fail first.
        for run in (folder / "runs").iterdir():
            if not run.name.startswith("theirs."):
                run.unlink()
        shutil.rmtree(folder / "cache" / "candidates")
    broken = build_by(driver, folder, limit=limit)
    assert broken["status"] == 1, broken["stderr"]
    assert is_one_line_of_error(broken["stderr"]), broken["stderr"]
    last = broken["stderr"].splitlines()[-1]
    assert last.endswith("File too large; fix it and run the same command again")
    # The memory of hashes is nothing a user knows of.
    assert missing == "cache/hashes.json" or last.startswith(f"quati-pool: {folder / missing.partition('.meta')[0]}")
    assert not leftovers(folder)
    finishes_as_unbroken(driver, folder, products(finished))


def test_a_large_array_that_does_not_fit(tmp_path: Path) -> None:
    """numpy tells neither file nor reason."""

    def fill(to: Path) -> dict[str, int]:
        np.save(to, np.zeros(100_000))
        return {}

    path = tmp_path / "workspace" / "array.npy"
    builder = ArtifactBuilder(Workspace(path.parent), {}, Listener())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError, match="No space left on device") as error:
            builder.ensure("array", path, {}, fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
    assert not leftovers(path.parent)
    assert builder.ensure("array", path, {}, fill)


def test_a_small_file_system_that_is_really_full(tmp_path: Path, finished: Path) -> None:
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "quati-pool-test", str(mounted)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"a full file system was not checked: {error}")
    if done.returncode:
        pytest.skip(f"a full file system was not checked: {done.stderr.strip()}")
    try:
        make_collection(mounted / "workspace")
        broken = run_cli("build", "-c", mounted / "workspace" / "pool.yaml")
        assert broken.returncode == 1, broken.stderr
        assert is_one_line_of_error(broken.stderr), broken.stderr
        assert "No space left on device; free some space and run the same command again" in broken.stderr
        assert not leftovers(mounted)
        subprocess.run(["mount", "-o", "remount,size=20m", str(mounted)], check=True)
        again = run_cli("build", "-c", mounted / "workspace" / "pool.yaml")
        assert again.returncode == 0, again.stderr
        found = products(mounted / "workspace")
        assert {name: data for name, data in found.items() if not drawn(name)} == {
            name: data for name, data in products(finished).items() if not drawn(name)
        }
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


# ---- two at once


def test_two_builds_at_once(tmp_path: Path, finished: Path) -> None:
    folder = make_collection(tmp_path / "workspace").parent
    processes = [
        subprocess.Popen(
            command("build", "-c", folder / "pool.yaml"),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=PATIENCE) for process in processes]
    errors = [stderr for _, stderr in outputs]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert outputs[0][0] == outputs[1][0]
    lines = [line for stderr in errors for line in stderr.splitlines()]
    made = Counter(line.partition(": built ")[0] for line in lines if ": built " in line and "reports" not in line)
    # Neither did what the other had done.
    assert set(made.values()) == {1}, lines
    assert {f"run {tag}" for tag in SYSTEMS} <= made.keys()
    assert any("reused" in line or "waiting for" in line for line in lines)
    assert not leftovers(folder)
    assert {name: data for name, data in products(folder).items() if not drawn(name)} == {
        name: data for name, data in products(finished).items() if not drawn(name)
    }


def test_a_build_waits_for_who_makes_the_same_run_and_says_so(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "workspace").parent
    lock = Workspace(folder).lock("run-words")
    lock.parent.mkdir(parents=True)
    lock.with_suffix(".holder").write_text("process 1 on another-machine", encoding="utf-8")
    said = tmp_path / "said"
    with said.open("wb") as stderr, FileLock(lock) as held:
        process = subprocess.Popen(
            command("build", "-c", folder / "pool.yaml", "--only", "words"), env=environment(), stderr=stderr
        )
        expected = "run-words: waiting for process 1 on another-machine, which holds the lock\n"
        wait_for(lambda: expected in said.read_text(encoding="utf-8"), "the line that says so")
        assert process.poll() is None
        held.release()
        assert process.wait(PATIENCE) == 0
    assert "run words: built in " in said.read_text(encoding="utf-8")


def test_the_lock_of_a_killed_build_holds_nobody_up(driver: Driver, make_folder: Callable[[], Path]) -> None:
    folder = make_folder()
    broken = build_by(driver, folder, at=60, deed="kill")
    assert broken["status"] == KILLED
    assert list(folder.glob("cache/locks/*.holder"))
    answer = build_by(driver, folder)
    assert answer["status"] == 0
    assert "waiting" not in answer["stderr"]
    assert not list(folder.glob("cache/locks/*.holder"))
