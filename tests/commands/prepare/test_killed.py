"""SIGKILL of workers and of the whole command at random moments: run again, it ends with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.commands.prepare.planted import make_pile, write_pile
from tests.commands.prepare.test_prepare import outcome, run

pytestmark = pytest.mark.kill

LINES = make_pile()[0][::8]
SHARDS = 10
# The pages are few: only small shards make several.
COMMAND = """
from quati_pool.cli.main import main
from quati_pool.preparation.reading import sharding
sharding.BYTES = {bytes}
main()
"""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("unbroken")
    run(write_pile(folder, LINES))
    return outcome(folder)


def started(config: Path, workers: int = 2) -> subprocess.Popen[bytes]:
    program = COMMAND.format(bytes=sum(map(len, LINES)) // SHARDS)
    return subprocess.Popen(
        [sys.executable, "-c", program, "prepare", "-c", str(config), "--workers", str(workers)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def finished_shards(folder: Path) -> int:
    return len(list((folder / "cache" / "preparation").glob("*/[!.]*/meta.json")))


def wait_for(folder: Path, shards: int, process: subprocess.Popen[bytes]) -> None:
    """Waits until so many shards are finished, or the command is."""
    while finished_shards(folder) < shards and process.poll() is None:
        time.sleep(0.01)


def test_the_whole_command_killed_again_and_again(tmp_path: Path, unbroken: dict[str, str]) -> None:
    config = write_pile(tmp_path, LINES)
    chance = random.Random(29)
    kills = 0
    for shards in (SHARDS // 2, SHARDS + 2, 3 * SHARDS):
        process = started(config)
        wait_for(tmp_path, shards, process)
        time.sleep(chance.random() * 0.1)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
        # What was finished stays finished.
        assert finished_shards(tmp_path) >= shards or process.returncode == 0
    last = started(config)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert kills == 3
    assert b" finished before" in said
    assert outcome(tmp_path) == unbroken
    assert not list((tmp_path / "cache" / "preparation").glob("*/.partial-*"))


def test_workers_killed_while_they_work(tmp_path: Path, unbroken: dict[str, str]) -> None:
    config = write_pile(tmp_path, LINES)
    process = started(config)
    killed = 0
    for shards in (1, SHARDS + 2):
        wait_for(tmp_path, shards, process)
        if process.poll() is None:
            psutil.Process(process.pid).children()[0].kill()
            killed += 1
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert killed == 2
    assert outcome(tmp_path) == unbroken


def test_two_commands_at_once_take_turns(tmp_path: Path, unbroken: dict[str, str]) -> None:
    config = write_pile(tmp_path, LINES)
    first = started(config, 1)
    wait_for(tmp_path, 1, first)
    os.killpg(first.pid, signal.SIGSTOP)  # until the second one waits for it
    second = started(config, 1)
    assert second.stderr
    waits = any(b"waiting for process" in line for line in second.stderr)
    os.killpg(first.pid, signal.SIGCONT)
    said = [process.communicate()[1] for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], said
    assert waits
    assert outcome(tmp_path) == unbroken
