"""The protocol of child processes: its messages, and what happens when either side ends."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quati_pool.errors import InputError
from quati_pool.processes.base import pack_call
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.errors import WorkerTraceback
from quati_pool.processes.messages import receive, send, unpack_outcome
from quati_pool.processes.service import Service
from tests.other_processes import gone
from tests.patience import PATIENCE
from tests.processes import tasks

WORKER, COUNTING = "quati_pool.processes.worker", "tests.processes.counting"
SIZES = [0, 1, 7, 65_536, 10_000_000]
HANG = pickle.dumps(-1)


@pytest.fixture
def worker() -> Iterator[Child]:
    child = Child(WORKER)
    yield child
    child.kill()
    child.close()


@pytest.fixture
def counting() -> Iterator[Service]:
    service = Service(partial(Child, COUNTING))
    yield service
    service.close()


def counted(service: Service, number: int) -> Any:
    return unpack_outcome(service.call(pickle.dumps(number)))


def pid_of(service: Service) -> int:
    assert service.child is not None
    return service.child.pid


@pytest.mark.parametrize("size", SIZES)
def test_a_message_is_read_as_it_was_sent(size: int) -> None:
    pipe, message = io.BytesIO(), os.urandom(size)
    for sent in (message, b"next"):
        send(pipe, sent)
    pipe.seek(0)
    assert (receive(pipe), receive(pipe)) == (message, b"next")
    with pytest.raises(EOFError):
        receive(pipe)


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 12])
def test_a_message_that_was_cut_short_is_none(cut: int) -> None:
    pipe = io.BytesIO()
    send(pipe, b"hello")
    with pytest.raises(EOFError):
        receive(io.BytesIO(pipe.getvalue()[:cut]))


@pytest.mark.parametrize("size", SIZES)
def test_requests_and_results_of_every_size_pass_the_pipes(worker: Child, size: int) -> None:
    data = os.urandom(size)
    assert unpack_outcome(worker.call(pack_call(tasks.mirrored, data))) == data[::-1]


def test_progress_comes_before_the_outcome(counting: Service) -> None:
    seen: list[tuple[int, int]] = []
    outcome = counting.call(pickle.dumps(3), lambda *state: seen.append(state))
    assert (seen, unpack_outcome(outcome)) == ([(1, 3), (2, 3), (3, 3)], 3)


def test_an_error_travels_and_the_child_goes_on(worker: Child) -> None:
    with pytest.raises(InputError) as caught:
        unpack_outcome(worker.call(pack_call(tasks.raised, "input")))
    assert (str(caught.value), vars(caught.value)) == (str(tasks.ERRORS["input"]), vars(tasks.ERRORS["input"]))
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert unpack_outcome(worker.call(pack_call(tasks.squared, 3))) == 9


def test_a_request_that_cannot_be_read_is_an_error_of_its_own(worker: Child) -> None:
    with pytest.raises(pickle.UnpicklingError):
        unpack_outcome(worker.call(b"no pickle"))


def test_how_a_child_died_is_one_line(worker: Child, tmp_path: Path) -> None:
    with pytest.raises(ChildEnded, match=r"^killed by SIGKILL: about to die$"):
        worker.call(pack_call(tasks.killed, (tmp_path / "a", 1)))
    with pytest.raises(ChildEnded, match=r"^killed by SIGKILL: about to die$"):
        worker.call(pack_call(tasks.squared, 3))
    assert not worker.alive


def test_a_child_that_cannot_start_says_why() -> None:
    child = Child("quati_pool.processes.absent")
    with pytest.raises(ChildEnded, match=r"^exit status 1: ModuleNotFoundError: .*absent'$"):
        child.call(b"")
    child.close()


def test_what_a_child_prints_never_blocks_it_and_its_last_lines_are_kept(worker: Child) -> None:
    lines = "\n".join(f"line {number} {'x' * 90}" for number in range(20_000))
    assert unpack_outcome(worker.call(pack_call(tasks.printed_to_stderr, lines))) is None
    assert worker.printed().startswith("line 19999 x")
    assert [line.split()[1] for line in worker.printed(3).split(" | ")] == ["19997", "19998", "19999"]
    # To read what a child printed does not move where it prints.
    assert unpack_outcome(worker.call(pack_call(tasks.printed_to_stderr, "after"))) is None
    assert worker.printed(5) == "after"


def test_a_child_that_is_not_quiet_prints_where_its_parent_does(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child("quati_pool.processes.absent", quiet=False)
    with pytest.raises(ChildEnded, match=r"^exit status 1$"):
        child.call(b"")
    child.close()
    assert capfd.readouterr().err.rstrip().endswith("absent'")


def test_a_child_has_the_environment_it_is_given() -> None:
    child = Child(WORKER, {"QUATI_TEST": "seen"})
    assert unpack_outcome(child.call(pack_call(tasks.seen, "QUATI_TEST"))) == "seen"
    child.close()
    assert gone([child.pid])


def test_a_worker_imports_nothing_heavy(worker: Child) -> None:
    imported = unpack_outcome(worker.call(pack_call(tasks.imported, None)))
    assert not imported & {"jnius", "numpy", "pyarrow", "pydantic", "ray", "torch"}


def test_a_service_starts_its_child_when_it_is_needed_and_keeps_it(counting: Service) -> None:
    assert counting.child is None
    assert [counted(counting, number) for number in (1, 2)] == [1, 2]
    first = pid_of(counting)
    assert counted(counting, 3) == 3
    assert pid_of(counting) == first
    counting.end()
    assert gone([first])
    assert counted(counting, 4) == 4
    assert pid_of(counting) != first


def test_a_service_replaces_a_child_that_died_but_not_twice_for_one_request(counting: Service) -> None:
    killed: list[int] = []

    def kill(times: int, *state: int) -> None:
        if len(killed) < times:
            killed.append(pid_of(counting))
            os.kill(killed[-1], signal.SIGKILL)

    assert unpack_outcome(counting.call(pickle.dumps(100_000), partial(kill, 1))) == 100_000
    assert len(killed) == 1
    with pytest.raises(ChildEnded, match=r"^killed by SIGKILL$"):
        counting.call(HANG, partial(kill, 3))
    assert len(set(killed)) == 3
    assert counting.child is None
    assert gone(killed)
    assert counted(counting, 2) == 2


def test_an_interrupted_request_ends_the_child(counting: Service) -> None:
    started: list[int] = []

    def interrupt(*state: int) -> None:
        started.append(pid_of(counting))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counting.call(HANG, interrupt)
    assert gone(started)
    assert counted(counting, 2) == 2


def test_closing_a_service_ends_a_request_of_another_thread() -> None:
    service, hangs = Service(partial(Child, COUNTING)), threading.Event()
    ended: list[ChildEnded] = []

    def ask() -> None:
        try:
            service.call(HANG, lambda *state: hangs.set())
        except ChildEnded as end:
            ended.append(end)

    thread = threading.Thread(target=ask)
    thread.start()
    assert hangs.wait(PATIENCE)
    pid = pid_of(service)
    service.close()
    thread.join(PATIENCE)
    assert [str(end) for end in ended] == ["killed by SIGKILL"]
    assert service.child is None
    assert gone([pid])
    with pytest.raises(ChildEnded):
        service.call(HANG)


PARENT = """
import pickle, signal, sys
from quati_pool.processes.base import pack_call
from quati_pool.processes.child import Child
from tests.processes import tasks
if sys.argv[1] == "starting":
    child = Child("tests.processes.counting", quiet=False)
    print(child.pid, flush=True)
elif sys.argv[1] == "working":
    child = Child("tests.processes.counting", quiet=False)
    child.call(pickle.dumps(-1), lambda *state: print(child.pid, flush=True))
else:
    # The child answers with more than a pipe holds, and nobody reads.
    child = Child("quati_pool.processes.worker")
    child.send(pack_call(tasks.mirrored, bytes(10_000_000)))
    print(child.pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("when", ["starting", "working", "answering"])
def test_a_child_does_not_outlive_a_parent_that_is_killed(when: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, when],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        if when == "working":
            # As Ctrl-C does, to all that a terminal runs: the parent ends by it, the child with the parent.
            os.killpg(parent.pid, signal.SIGINT)
        else:
            parent.kill()
        _, printed = parent.communicate(timeout=PATIENCE)
    assert gone([child])
    if when == "working":
        assert printed.rstrip().endswith("KeyboardInterrupt")
        assert printed.count("Traceback") == 1
    else:
        assert printed == ""
