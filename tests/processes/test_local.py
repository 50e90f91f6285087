"""The local engine: whose workers live on between runs, are told apart when they die, and end with it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from quati_pool.processes.errors import EngineError
from quati_pool.processes.local import LocalEngine, usable_cores
from tests.other_processes import gone
from tests.processes import tasks


def test_there_is_a_worker_for_each_usable_core() -> None:
    with LocalEngine() as engine:
        assert engine.workers == usable_cores() == len(os.sched_getaffinity(0))


def test_workers_live_over_several_runs_and_end_with_the_engine() -> None:
    with LocalEngine(1) as engine:
        found = {pid for _ in range(3) for _, pid in engine.run(tasks.who, range(2), str)}
        assert len(found) == 1
        assert os.getpid() not in found
    assert gone(found)


@pytest.mark.kill
def test_a_worker_that_died_between_runs_is_replaced() -> None:
    with LocalEngine(1) as engine:
        ((_, first),) = engine.run(tasks.who, [0], str)
        os.kill(first, signal.SIGKILL)
        assert gone([first])
        ((_, second),) = engine.run(tasks.who, [0], str)
        assert second != first


@pytest.mark.kill
def test_how_a_worker_died_and_what_it_said_last_are_told(tmp_path: Path) -> None:
    with (
        LocalEngine(1) as engine,
        pytest.raises(EngineError, match=r"^shard 7: its worker died 3 times \(killed by SIGKILL: about to die\); "),
    ):
        list(engine.run(tasks.killed, [(tmp_path / "a", 9)], lambda task: "shard 7"))


def test_closing_the_engine_in_the_middle_of_a_run_stops_it(tmp_path: Path) -> None:
    paths = [tmp_path / "first", tmp_path / "hanging"]
    paths[0].touch()
    with LocalEngine(2) as engine:
        done = engine.run(tasks.answered_when_there_is, paths, str)
        assert next(done) == (0, "first")
        tasks.wait_for(tmp_path / "hanging.begun")
    assert gone([int(pid) for pid in (tmp_path / "hanging.begun").read_text().split()])
    with pytest.raises(EngineError, match=r"^the engine was closed"):
        next(done)
