"""Commands in forked processes, each of its own, so that what a judge imports is imported once.

``Forks`` starts this module as a process, which reads requests and writes answers as JSON lines:
``{"start": ["judge", …], "out": "…", "err": "…"}`` gives the new process's id, ``{"poll": id}`` its exit status (-9
for a kill) or null while it runs; until that has told how a process ended, its id is no other's.
``"crash": ["upload", "before"]`` ends the process there (see ``crash``).
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.commands.forked import run_and_leave
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


class Forked:
    """A command under way, or at its end."""

    def __init__(self, forks: Forks, pid: int, out: Path, err: Path) -> None:
        self.returncode: int | None = None
        self.pid = pid
        self._forks = forks
        self._out, self._err = out, err

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._forks.ask({"poll": self.pid})
        return self.returncode

    def send_signal(self, number: int) -> None:
        assert self.poll() is None, self.said()
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        end = time.monotonic() + PATIENCE
        while self.poll() is None:
            assert time.monotonic() < end, f"waited {PATIENCE} s for a command's end: {self.said()}"
            time.sleep(0.01)
        assert self.returncode is not None
        return self.returncode

    def said(self) -> tuple[str, str]:
        """stdout and stderr."""
        return self._out.read_text(encoding="utf-8"), self._err.read_text(encoding="utf-8")


class Forks:
    """The process that starts commands; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Forked] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.commands.forked_commands"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
        self._process.communicate()

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, *arguments: object, crash: tuple[str, str] | None = None) -> Forked:
        """Starts ``quati-pool`` with arguments, in this process's environment."""
        name = self._folder / str(len(self._started))
        out, err = name.with_suffix(".out"), name.with_suffix(".err")
        for path in (out, err):
            path.touch()  # so that what is said can be read from now on
        request = {"start": [str(part) for part in arguments], "out": str(out), "err": str(err)}
        pid = self.ask({**request, "environment": dict(os.environ), "crash": crash})
        self._started.append(Forked(self, pid, out, err))
        return self._started[-1]


def crash(place: str, when: str) -> None:
    """The process ends, at once, ``before`` or ``after`` something of the store's or of the provider's is done."""
    from quati_pool.llm.batches import Batches
    from quati_pool.store.database import Store

    owner: type = Store if place in ("prepare_batch", "update_batch", "append") else Batches
    original = getattr(owner, place)

    def dying(*arguments: Any, **named: Any) -> None:
        if when == "after":
            original(*arguments, **named)
        os._exit(9)

    async def dying_later(*arguments: Any, **named: Any) -> None:
        if when == "after":
            await original(*arguments, **named)
        os._exit(9)

    setattr(owner, place, dying if owner is Store else dying_later)


def child(request: dict[str, Any]) -> None:
    from quati_pool.cli.main import main

    def ready() -> None:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        # Whoever runs the tests in the background has it ignored, and a child would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["crash"]:
            crash(*request["crash"])

    run_and_leave(request["start"], ready, main)


def answer(request: dict[str, Any]) -> int | None:
    if "start" in request:
        process = os.fork()
        if process == 0:
            child(request)
        return process
    ended, status = os.waitpid(request["poll"], os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def warm() -> None:
    """What the commands import; nothing here starts a thread."""
    import aiohttp  # noqa: F401
    import alembic.command
    import alembic.op  # noqa: F401
    import h11  # noqa: F401
    import mako.template  # noqa: F401
    import openai.resources.batches
    import openai.resources.chat
    import openai.resources.files  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.pandas_compat  # noqa: F401
    import sqlalchemy.dialects.sqlite  # noqa: F401
    import typer.main

    from quati_pool.cli.main import app

    # Made for each command otherwise, and always the same.
    commands = typer.main.get_command(app)
    typer.main.get_command = lambda _: commands
    gc.freeze()


if __name__ == "__main__":
    warm()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
