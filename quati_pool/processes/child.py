"""A child process that exchanges messages with this one."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

from quati_pool.processes.messages import receive, send, unpack_progress

_STOP_SECONDS = 1.0
_PRINTED_BYTES = 4096
_PRINTED_LINE = 200

# sys.path comes first, because everything else is imported through it. The pipes are moved away from stdin and stdout,
# so that no task, and no program that a task starts, can read from or print into them.
_START = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import os, pickle, sys
messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
sys.path[:], module = pickle.load(messages), sys.argv[1]
import importlib
try:
    importlib.import_module(module).serve(messages, answers)
except BrokenPipeError:
    os._exit(0)  # nobody is left to answer
"""


class ChildEnded(Exception):  # noqa: N818 - what happened to a process; callers raise an error for it
    """The process ended. The message says how, and quotes the last line that it printed."""


class Child:
    """A fresh interpreter that runs ``serve(messages, answers)`` of ``module``.

    It inherits this process's ``sys.path``, working directory and environment, to which ``environment`` is added. It
    ignores Ctrl-C. ``serve`` must return when ``messages`` ends, which happens even if this process is killed. The
    child's output goes to a temporary file or, if not ``quiet``, to this process's stderr.
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None, *, quiet: bool = True) -> None:
        self._printed = tempfile.TemporaryFile() if quiet else None  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            # -P: a json.py in the user's working directory must not shadow the standard library.
            [sys.executable, "-P", "-c", _START, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdin
        assert self._process.stdout
        self._messages, self._answers = self._process.stdin, self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._messages.write(pickle.dumps(sys.path))
            self._messages.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: bytes) -> None:
        """Sends a message. Raises ChildEnded if the process has ended."""
        try:
            send(self._messages, message)
        except BrokenPipeError:
            raise self._ended() from None

    def receive(self) -> bytes:
        """The next answer. Raises ChildEnded if the process has ended."""
        try:
            return receive(self._answers)
        except EOFError:
            raise self._ended() from None

    def call(self, request: bytes, progress: Callable[..., None] = lambda *state: None) -> bytes:
        """Sends a request and returns its outcome, for ``unpack_outcome``; until then, ``progress`` is called with each
        state that the child reports. Raises ChildEnded if the process ends."""
        self.send(request)
        while (state := unpack_progress(answer := self.receive())) is not None:
            progress(*state)
        return answer

    def printed(self, lines: int = 1) -> str:
        """The last lines that the child printed, joined; "" if it is not quiet."""
        if self._printed is None:
            return ""
        # pread instead of seek: the child shares the file offset, at which it writes.
        file = self._printed.fileno()
        text = os.pread(file, _PRINTED_BYTES, max(0, os.fstat(file).st_size - _PRINTED_BYTES)).decode(errors="replace")
        found = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
        return " | ".join(found[-lines:])[-lines * _PRINTED_LINE :]

    def kill(self) -> None:
        self._process.kill()

    def finish(self) -> None:
        """Asks the process to end, by closing the pipe of messages."""
        with contextlib.suppress(BrokenPipeError):
            self._messages.close()

    def close(self, seconds: float = _STOP_SECONDS) -> None:
        """Asks the process to end, and kills it if that takes longer than ``seconds``."""
        self.finish()
        self._wait(seconds)
        self._answers.close()
        if self._printed is not None:
            self._printed.close()

    def _wait(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ended(self) -> ChildEnded:
        self._wait(_STOP_SECONDS)
        code = self._process.returncode
        how = f"exit status {code}"
        if code < 0:
            known = {number.value: number.name for number in signal.Signals}
            how = f"killed by {known.get(-code, f'signal {-code}')}"
        last = self.printed()
        return ChildEnded(f"{how}: {last}" if last else how)
