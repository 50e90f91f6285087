"""Other processes, as tests see them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable

import psutil

from tests.patience import PATIENCE


def comes_true(state: Callable[[], bool]) -> bool:
    """Whether a state comes true before the test must be given up."""
    end = time.monotonic() + PATIENCE
    while not state():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def gone(pids: Iterable[int]) -> bool:
    """Whether these processes have ended, or do soon."""
    return all(comes_true(lambda pid=pid: not runs(pid)) for pid in pids)  # type: ignore[misc]


def runs(pid: int) -> bool:
    """Whether the process runs; a zombie, which nobody has waited for, does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def children(pid: int) -> set[int]:
    """The processes that a process started and that still run."""
    return {child.pid for child in psutil.Process(pid).children() if runs(child.pid)}


def servers(pid: int) -> dict[int, str]:
    """The servers of the Ray cluster that a process started: their names by process id."""
    return {
        process.pid: process.name()
        for process in psutil.Process(pid).children(recursive=True)
        if process.name() in {"gcs_server", "raylet"}
    }


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
