"""A Ray cluster that somebody else started: one node on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.other_processes import comes_true, free_port, gone


@contextmanager
def running_cluster(cpus: int) -> Iterator[tuple[str, int]]:
    """Its address, and the id of the process that started it. Its workers know neither the path nor the
    environment of this process."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    environment = {**kept, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    # The folder's name must be short: Ray makes sockets in it.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"]
        command += [f"--num-cpus={cpus}", "--include-dashboard=false", "--object-store-memory=100000000"]
        command += [f"--temp-dir={folder}", "--node-ip-address=127.0.0.1", "--disable-usage-stats"]
        with tempfile.TemporaryFile("w+") as said:
            # A session of its own, so that all of it can be ended.
            process = subprocess.Popen(
                command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            try:
                if not comes_true(lambda: process.poll() is not None or _started(said.fileno())):
                    raise TimeoutError("Ray does not start")
                if process.poll() is not None:
                    said.seek(0)
                    raise RuntimeError(f"Ray does not start: {said.read()}")
                yield f"127.0.0.1:{port}", process.pid
            finally:
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    started = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
                    os.killpg(process.pid, signal.SIGKILL)
                    # Only then is nothing written to the folder any more.
                    gone(started)
                process.wait()


def _started(said: int) -> bool:
    return b"Ray runtime started" in os.pread(said, 100_000, 0)
