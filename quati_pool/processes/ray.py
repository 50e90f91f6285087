"""An engine whose workers are processes of a Ray cluster, either a running one or one started on this machine.

All nodes of a cluster need the same versions of quati-pool, Python and Ray, and a file system that they share under the
same paths, in which tasks read and write files. ``address`` is what Ray expects: ``HOST:PORT`` of the head node, or
``auto`` on a node of the cluster. A task takes one CPU. Ray replaces a worker that dies; the engine starts its task
again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import secrets
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

from quati_pool.errors import MissingExtraError
from quati_pool.processes.base import (
    DEATHS,
    IDLE_SECONDS,
    A,
    Engine,
    R,
    check_workers,
    lost,
    pack_call,
    stopped,
)
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.errors import EngineError
from quati_pool.processes.messages import unpack_outcome
from quati_pool.processes.ray_leader import Lost, Settings

_CARRIED = ("OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "QUATI_POOL_")
"""Prefixes of the environment variables that are passed on to the workers of a running cluster."""
_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 15.0
_STOP_SECONDS = 10.0


class RayEngine(Engine):
    """Runs up to ``workers`` tasks at once, by default one per CPU of the cluster. Without ``address``, a cluster is
    started on this machine and ended by ``close``; a cluster that was already running is left as it was.

    Raises MissingExtraError if Ray is not installed, and EngineError if the cluster does not answer.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        check_workers(workers)
        if find_spec("ray") is None:
            raise MissingExtraError("the engine ray", "ray", "ray")
        if address is not None:
            _check_reachable(address)
        self._numbers = itertools.count()
        # Two locks, because answers must be read while a large task is being sent: otherwise both sides would deadlock.
        self._sending, self._noting = threading.Lock(), threading.Lock()
        self._runs: dict[int, _Answers] = {}
        self._closed = False
        self._leader = Child("quati_pool.processes.ray_leader", _leader_environment(address))
        try:
            cpus = self._open(address, workers)
        except BaseException:
            self._leader.close(_CLOSE_SECONDS)
            raise
        self.workers = workers or max(1, cpus)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _open(self, address: str | None, workers: int | None) -> int:
        carried = {name: value for name, value in os.environ.items() if name.startswith(_CARRIED)}
        try:
            self._leader.send(pickle.dumps(Settings(address, workers, carried)))
            opened = pickle.loads(self._leader.receive())
        except ChildEnded as end:
            opened = str(end)
        if isinstance(opened, int):
            return opened
        if address is None:
            raise EngineError(f"Ray could not start on this machine ({opened}): fix that, or use --engine local")
        raise _unreachable(address, opened)

    def run(
        self,
        function: Callable[[A], R],
        tasks: Sequence[A],
        name: Callable[[A], str],
        idle: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, R]]:
        waiting = deque(range(len(tasks)))
        deaths: Counter[int] = Counter()
        running: dict[int, int] = {}
        answers = _Answers(idle)
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    place = waiting.popleft()
                    call = pack_call(function, tasks[place])
                    number = next(self._numbers)
                    running[number] = place
                    with self._noting:
                        self._runs[number] = answers
                    self._send(number, call)
                number, answer = answers.next()
                place = running.pop(number)
                if isinstance(answer, Lost):
                    deaths[place] += 1
                    if not answer.again:
                        raise EngineError(f"{name(tasks[place])}: {answer.how}")
                    if deaths[place] == DEATHS:
                        raise lost(name(tasks[place]), answer.how)
                    # At the end of the queue, fewer other tasks compete with it for memory.
                    waiting.append(place)
                else:
                    yield place, unpack_outcome(answer)
        finally:
            self._stop(running, answers)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._noting:
            for answers in self._runs.values():
                answers.put(stopped())
        self._leader.finish()
        self._reader.join(_CLOSE_SECONDS)
        if self._reader.is_alive():
            self._leader.kill()
            self._reader.join()
        self._leader.close()

    def _send(self, number: int, call: bytes | None) -> None:
        with self._sending:
            if self._closed:
                raise stopped()
            try:
                self._leader.send(pickle.dumps((number, call)))
            except ChildEnded as end:
                raise _ray_ended(end) from None

    def _read(self) -> None:
        """Passes answers on to the runs that wait for them; runs in a thread of the driver."""
        try:
            while True:
                number, answer = pickle.loads(self._leader.receive())
                with self._noting:
                    answers = self._runs.pop(number)
                answers.put((number, answer))
        except ChildEnded as end:
            with self._noting:
                for answers in self._runs.values():
                    answers.put(_ray_ended(end))

    def _stop(self, running: dict[int, int], answers: _Answers) -> None:
        """Stops the running tasks of a run, and waits until they have stopped."""
        with contextlib.suppress(EngineError):
            for number in running:
                self._send(number, None)
            answers.drop(set(running))


class _Answers:
    """The leader's answers about the tasks of one ``run``."""

    def __init__(self, idle: Callable[[], None]) -> None:
        self._idle = idle
        self._idle_at = time.monotonic() + IDLE_SECONDS
        self._queue: queue.SimpleQueue[tuple[int, bytes | Lost] | EngineError] = queue.SimpleQueue()

    def put(self, answer: tuple[int, bytes | Lost] | EngineError) -> None:
        self._queue.put(answer)

    def next(self) -> tuple[int, bytes | Lost]:
        while True:
            try:
                return self._taken(max(0.0, self._idle_at - time.monotonic()))
            except queue.Empty:
                self._idle()
                self._idle_at = time.monotonic() + IDLE_SECONDS

    def drop(self, numbers: set[int]) -> None:
        """Waits for these answers and discards them; gives up after some seconds, as a node that cannot be reached
        never answers."""
        end = time.monotonic() + _STOP_SECONDS
        with contextlib.suppress(queue.Empty):
            while numbers:
                numbers.discard(self._taken(max(0.0, end - time.monotonic()))[0])

    def _taken(self, seconds: float) -> tuple[int, bytes | Lost]:
        answer = self._queue.get(timeout=seconds)
        if isinstance(answer, EngineError):
            raise answer
        return answer


def _check_reachable(address: str) -> None:
    """Raises EngineError if nothing listens at the address; Ray itself would keep trying for over a minute."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from None


def _unreachable(address: str, why: str) -> EngineError:
    return EngineError(
        f"no Ray cluster could be reached at {address} ({why}): give the HOST:PORT of one that runs, as `ray start "
        "--head` printed it, with the same versions of Python and Ray as here"
    )


def _leader_environment(address: str | None) -> dict[str, str]:
    added = {"RAY_USAGE_STATS_ENABLED": "0"}
    if address is None and not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ):
        # Otherwise Ray would write a token to a file in the user's home directory.
        added["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    return added


def _ray_ended(end: ChildEnded) -> EngineError:
    return EngineError(
        f"the connection to Ray was lost ({end}): see that the cluster runs, then run the command again; finished "
        "work is kept"
    )
