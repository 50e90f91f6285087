"""The process that talks to Ray for ``RayEngine``.

Ray takes over the process that it runs in: it prints, sets signal handlers and environment variables, allows only one
cluster per process, and ends the process if parts of it fail. So it runs in a process of its own, which ends, with
everything that it started, when the driver closes the pipe of messages.

The first message is a ``Settings``; it is answered with the number of CPUs of the cluster or, as a string, the reason
why Ray could not start. After that, (number, call) starts a task and (number, None) stops it; a task is answered with
(number, outcome) or (number, Lost).
"""

from __future__ import annotations

import contextlib
import pickle
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from quati_pool.processes.messages import receive, send

_STORE_BYTES = 100_000_000
_LONGEST_FOLDER = 40
"""Ray creates sockets below its folder, and the path of a socket may have at most 107 bytes."""


@dataclass(frozen=True)
class Settings:
    """The settings of the cluster. ``environment`` is for the workers of a running cluster; those of a cluster started
    here inherit this process's environment."""

    address: str | None
    workers: int | None
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Lost:
    """A task without an outcome: ``how`` says why, ``again`` whether it may be started again."""

    how: str
    again: bool


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    """Passes tasks to Ray until ``messages`` ends."""
    settings: Settings = pickle.loads(receive(messages))
    folder = None if settings.address else _folder()
    try:
        try:
            ray: Any = import_module("ray")
            _connect(ray, settings, folder)
            cpus = ray.cluster_resources().get("CPU", 0)
        except Exception as error:
            send(answers, pickle.dumps(_line(error)))
            return
        send(answers, pickle.dumps(int(cpus)))
        _Tasks(ray, answers).lead(messages)
        ray.shutdown()
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    parent = tempfile.gettempdir()
    if len(parent) > _LONGEST_FOLDER and Path("/tmp").is_dir():
        parent = "/tmp"
    return Path(tempfile.mkdtemp(prefix="quati-ray-", dir=parent))


def _connect(ray: Any, settings: Settings, folder: Path | None) -> None:
    if folder is None:
        ray.init(
            settings.address,
            logging_level="ERROR",
            log_to_driver=False,
            runtime_env={"env_vars": dict(settings.environment)} if settings.environment else None,
        )
        return
    ray.init(
        "local",
        num_cpus=settings.workers,
        object_store_memory=_STORE_BYTES,
        include_dashboard=False,
        logging_level="ERROR",
        log_to_driver=False,
        _temp_dir=str(folder),
    )


class _Tasks:
    """The tasks that Ray is running."""

    def __init__(self, ray: Any, answers: BinaryIO) -> None:
        self._ray = ray
        self._answers = answers
        self._lock = threading.Lock()
        self._running: dict[int, Any] = {}
        # No retries by Ray, because the engine counts how often a task's worker died.
        self._begin = ray.remote(num_cpus=1, max_retries=0)(_carried())

    def lead(self, messages: BinaryIO) -> None:
        with contextlib.suppress(EOFError):
            while True:
                number, call = pickle.loads(receive(messages))
                if call is None:
                    self._stop(number)
                else:
                    self._start(number, call)
        for number in list(self._running):
            self._stop(number)

    def _start(self, number: int, call: bytes) -> None:
        task = self._begin.remote(sys.path, call)
        with self._lock:
            self._running[number] = task
        task.future().add_done_callback(lambda future: self._answer(number, future))

    def _stop(self, number: int) -> None:
        with self._lock:
            task = self._running.get(number)
        if task is not None:
            self._ray.cancel(task, force=True)

    def _answer(self, number: int, future: Future[bytes]) -> None:
        error = future.exception()
        answer = future.result() if error is None else self._lost(error)
        with self._lock, contextlib.suppress(BrokenPipeError):
            del self._running[number]
            send(self._answers, pickle.dumps((number, answer)))

    def _lost(self, error: BaseException) -> Lost:
        # An exception that a task raises is part of its outcome, so this error comes from the worker itself.
        if isinstance(error, self._ray.exceptions.RayTaskError):
            return Lost(
                f"a worker of the cluster fails ({_line(error.cause)}): install this quati-pool on all nodes", False
            )
        if isinstance(error, self._ray.exceptions.RuntimeEnvSetupError):
            return Lost(f"a worker of the cluster cannot be set up ({_line(error)}): fix that and run it again", False)
        return Lost(f"Ray says {_line(error)}", True)


def _line(error: BaseException) -> str:
    """The type of an error and its first sentence, in one line."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first.strip().partition('. ')[0]}"


def _carried() -> Callable[[list[str], bytes], bytes]:
    """The function that a worker runs for a task. Ray sends its code rather than a reference, because a worker can
    import this package only once it has the driver's ``sys.path``."""

    def begin(path: list[str], call: bytes) -> bytes:
        import sys

        sys.path.extend(folder for folder in path if folder not in sys.path)
        from quati_pool.processes.base import perform

        return perform(call)

    return begin
