"""A process that this one started and talks with in messages over two pipes, and its side of that talk."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import IO, BinaryIO

_SIZE = struct.Struct(">Q")
_STOP_SECONDS = 1.0
_PRINTED_BYTES = 4096
_PRINTED_LINE = 200

# The path comes first, by which the rest is found. Neither the input nor the output of the process is left
# where a task, or a program that it starts, could read or print.
_START = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import os, pickle, sys
messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
sys.path[:], serve = pickle.load(messages), sys.argv[1]
import importlib
importlib.import_module(serve).serve(messages, answers)
"""


def send(to: BinaryIO | IO[bytes], message: bytes) -> None:
    to.write(_SIZE.pack(len(message)))
    to.write(message)
    to.flush()


def receive(source: BinaryIO | IO[bytes]) -> bytes:
    """The next message. Raises EOFError where the other side ended."""
    (size,) = _SIZE.unpack(_exactly(source, _SIZE.size))
    return _exactly(source, size)


def _exactly(source: BinaryIO | IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


class ChildEnded(Exception):  # noqa: N818 - what happened to a process; an error may be made of it
    """The process ended; says how, and the last line that it printed."""


class Child:
    """A fresh interpreter in which ``serve(messages, answers)`` of the module ``serve`` runs.

    It has this process's path, folder and environment, and ``environment`` besides. It does not hear Ctrl-C;
    ``serve`` must end when ``messages`` ends, which it does even where this process was killed. What it prints
    goes to a file.
    """

    def __init__(
        self, serve: Callable[[BinaryIO, BinaryIO], None], environment: Mapping[str, str] | None = None
    ) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, serve.__module__],
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
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: bytes) -> None:
        """Raises ChildEnded."""
        try:
            send(self._messages, message)
        except BrokenPipeError:
            raise self._ended() from None

    def receive(self) -> bytes:
        """The next answer. Raises ChildEnded."""
        try:
            return receive(self._answers)
        except EOFError:
            raise self._ended() from None

    def kill(self) -> None:
        self._process.kill()

    def finish(self) -> None:
        """Tells it to end."""
        with contextlib.suppress(BrokenPipeError):
            self._messages.close()

    def close(self, seconds: float = _STOP_SECONDS) -> None:
        """Lets it end, and kills it where that takes longer than ``seconds``."""
        self.finish()
        self._wait(seconds)
        self._answers.close()
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
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, self._printed.tell() - _PRINTED_BYTES))
        lines = self._printed.read().decode(errors="replace").split("\n")
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return ChildEnded(f"{how}: {last[-_PRINTED_LINE:]}" if last else how)
