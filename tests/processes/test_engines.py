"""What both engines promise, in processes of this machine and on a Ray cluster that is there already."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.processes.base import Engine
from quati_pool.processes.errors import EngineError, WorkerTraceback
from quati_pool.processes.opening import open_engine
from tests.other_processes import comes_true, free_port, gone, servers
from tests.patience import PATIENCE
from tests.processes import tasks
from tests.processes.cluster import running_cluster


@contextmanager
def ray_engine() -> Iterator[Engine]:
    """With one worker a CPU of a cluster that was there, and goes on when the engine closes."""
    with running_cluster(cpus=2) as (address, started_by):
        before = servers(started_by)
        assert {"gcs_server", "raylet"} <= set(before.values())
        with open_engine("ray", None, address) as engine:
            assert engine.workers == 2
            yield engine
        assert before.items() <= servers(started_by).items()


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "3")
        with ray_engine() if request.param == "ray" else open_engine("local", 2) as engine:
            yield engine


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_each_task_is_done_once_whatever_their_number(engine: Engine, count: int) -> None:
    done = list(engine.run(tasks.squared, range(count), str))
    assert sorted(done) == [(place, place * place) for place in range(count)]


def test_results_come_as_they_finish_with_their_position(engine: Engine, tmp_path: Path) -> None:
    paths = [tmp_path / "first", tmp_path / "second"]
    done = engine.run(tasks.answered_when_there_is, paths, str)
    paths[1].touch()
    assert next(done) == (1, "second")
    paths[0].touch()
    assert list(done) == [(0, "first")]


def test_while_results_are_awaited_idle_is_called(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("local", "ray"):
        monkeypatch.setattr(f"quati_pool.processes.{module}.IDLE_SECONDS", 0.05)
    path = tmp_path / "there"
    calls = []

    def idle() -> None:
        calls.append(1)
        if len(calls) == 2:
            path.touch()

    # The task ends only when idle was called twice.
    assert list(engine.run(tasks.answered_when_there_is, [path], str, idle)) == [(0, "there")]


@pytest.mark.parametrize("kind", list(tasks.ERRORS))
def test_what_a_task_raises_comes_back_as_it_was(engine: Engine, kind: str) -> None:
    expected = tasks.ERRORS[kind]
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - of every type
        list(engine.run(tasks.raised, [kind], str))
    error = caught.value
    assert type(error) is type(expected)
    assert (str(error), error.args, vars(error)) == (str(expected), expected.args, vars(expected))
    for name in ("errno", "strerror", "filename", "filename2", "code", "reason", "object"):
        assert getattr(error, name, None) == getattr(expected, name, None)
    assert isinstance(error.__cause__, WorkerTraceback)
    assert "in raised" in str(error.__cause__)


def test_an_error_that_cannot_travel_comes_as_the_nearest_that_can(engine: Engine) -> None:
    with pytest.raises(ConfigError, match=r"^it is odd: even it out$") as caught:
        list(engine.run(tasks.raised_as_a_class_of_its_own, [1], str))
    assert "OddError: it is odd" in str(caught.value.__cause__)


def test_a_result_that_cannot_travel_is_an_error_and_the_worker_goes_on(engine: Engine) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        list(engine.run(tasks.returned_what_cannot_travel, [1], str))
    assert list(engine.run(tasks.squared, [3], str)) == [(0, 9)]


def test_after_an_error_no_task_is_begun_and_those_that_run_are_stopped(engine: Engine, tmp_path: Path) -> None:
    paths = [tmp_path / f"{place}" for place in range(6)]
    with pytest.raises(ConfigError, match=r"^it cannot be: change it$"):
        list(engine.run(tasks.failed_once_another_began, [(path, paths[1]) for path in paths], str))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.begun", "1.begun"]
    assert gone(pids(paths[1]))


def test_tasks_and_results_may_be_larger_than_a_pipe_holds(engine: Engine) -> None:
    data = bytes(range(256)) * 40_000
    done = sorted(engine.run(tasks.mirrored, [data, data[5:]], lambda task: "data"))
    assert done == [(0, data[::-1]), (1, data[5:][::-1])]


def test_tasks_and_results_of_many_at_once_do_not_wait_for_each_other(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than a pipe holds, both ways, and more at once than there are workers: so several results are under way
    # while the next task is.
    monkeypatch.setattr(engine, "workers", 8)
    data = bytes(range(256)) * 600
    found = engine.run(tasks.mirrored, [data] * 120, lambda task: "data")
    assert sorted(place for place, result in found if result == data[::-1]) == list(range(120))


@pytest.mark.kill
def test_a_worker_that_is_killed_is_replaced_and_only_its_task_begun_again(engine: Engine, tmp_path: Path) -> None:
    work = [(tmp_path / f"{place}", 1 if place == 1 else 0) for place in range(4)]
    done = sorted(engine.run(tasks.killed, work, str))
    assert done == [(0, ("0", 1)), (1, ("1", 2)), (2, ("2", 1)), (3, ("3", 1))]


@pytest.mark.kill
def test_a_task_that_kills_its_worker_three_times_is_named(engine: Engine, tmp_path: Path) -> None:
    work = [(tmp_path / "good", 0), (tmp_path / "bad", 9)]
    with pytest.raises(EngineError, match=r"^bad: its worker died 3 times .*fewer workers.*") as caught:
        list(engine.run(tasks.killed, work, lambda task: task[0].name))
    assert "\n" not in str(caught.value)
    assert len(pids(tmp_path / "bad")) == 3
    assert list(engine.run(tasks.squared, [3], str)) == [(0, 9)]


def test_closing_the_iterator_stops_what_runs_and_the_engine_goes_on(engine: Engine, tmp_path: Path) -> None:
    first, hanging = tmp_path / "first", tmp_path / "hanging"
    first.touch()
    done = engine.run(tasks.answered_when_there_is, [first, hanging], str)
    assert next(done) == (0, "first")
    tasks.wait_for(hanging.with_suffix(".begun"))
    done.close()  # type: ignore[attr-defined]
    assert gone(pids(hanging))
    assert list(engine.run(tasks.squared, [3], str)) == [(0, 9)]


def test_workers_have_the_drivers_environment(engine: Engine) -> None:
    assert list(engine.run(tasks.seen, ["OMP_NUM_THREADS"], str)) == [(0, "3")]


def test_two_runs_and_two_engines_at_once_do_not_mix(engine: Engine) -> None:
    with open_engine("local", 1) as other:
        runs = [engine.run(tasks.squared, range(start, start + 3), str) for start in (0, 10)]
        runs.append(other.run(tasks.squared, range(20, 23), str))
        begun = [next(run) for run in runs]
        found = [sorted([first, *run]) for first, run in zip(begun, runs, strict=True)]
    assert found == [[(place, (start + place) ** 2) for place in range(3)] for start in (0, 10, 20)]


def pids(path: Path) -> list[int]:
    return [int(line) for line in path.with_suffix(".begun").read_text().split()]


LEADS = """
import sys
from pathlib import Path
from quati_pool.processes.opening import open_engine
from tests.processes import tasks

name, folder = sys.argv[1], Path(sys.argv[2])
engine = open_engine(name, 2)
assert sorted(engine.run(tasks.printed, ["one", "two"], str)) == [(0, "one"), (1, "two")]
assert list(engine.run(tasks.killed, [(folder / "died", 1)], str)) == [(0, ("died", 2))]
print("ours", flush=True)
try:
    list(engine.run(tasks.answered_when_there_is, [folder / "a", folder / "b"], str))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.kill
@pytest.mark.parametrize(
    ("name", "ending"),
    [("local", "SIGKILL"), ("local", "SIGINT"), pytest.param("ray", "SIGKILL", marks=pytest.mark.ray)],
)
def test_workers_print_nothing_and_do_not_outlive_their_driver(name: str, ending: str, tmp_path: Path) -> None:
    # Ray makes sockets in its folder, whose name must be short.
    scratch = Path(tempfile.mkdtemp(prefix="q-", dir="/tmp"))
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", LEADS, name, str(tmp_path)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as driver:
        try:
            for path in (tmp_path / "a.begun", tmp_path / "b.begun"):
                while not path.exists() and driver.poll() is None:
                    time.sleep(0.01)
            # As Ctrl-C does, to all that a terminal runs.
            sent = os.killpg if ending == "SIGINT" else os.kill
            sent(driver.pid, signal.Signals[ending])
            # Pipes end when the last process that could print to them has: workers do not hold them.
            said = driver.communicate(timeout=PATIENCE)
        except BaseException:
            driver.kill()
            raise
    assert said == ("ours\ninterrupted\n" if ending == "SIGINT" else "ours\n", "")
    assert gone(pids(tmp_path / "a") + pids(tmp_path / "b"))
    # Ray's folder goes with Ray.
    assert comes_true(lambda: not any(scratch.iterdir()))
    scratch.rmdir()


@pytest.mark.ray
def test_a_cluster_that_does_not_answer_is_said() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=f"^no Ray cluster could be reached at {address} "):
        open_engine("ray", None, address)


@pytest.mark.parametrize("name", ["local", "ray"])
def test_fewer_than_one_worker_is_refused(name: Literal["local", "ray"]) -> None:
    with pytest.raises(ConfigError, match=r"^0 workers"):
        open_engine(name, 0)


def test_an_address_without_ray_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--address head:6379 .* --engine ray"):
        open_engine("local", 2, "head:6379")


def test_ray_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.processes.ray.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"^the engine ray needs the package ray.*\[ray\]'$"):
        open_engine("ray")
