"""The messages that a process and its child exchange over two pipes; ``child`` implements the parent's side.

A message is sent as its length (8 bytes, big-endian), followed by its bytes. The content of the Ray leader's messages
is described in ``ray_leader``. Every other child answers one request at a time, with any number of progress messages
and then the outcome. The first byte of an answer distinguishes progress, success and failure; a pickle follows.
"""

from __future__ import annotations

import os
import pickle
import struct
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import IO, Any, BinaryIO

from quati_pool.processes.errors import pack_error, unpack_error

_SIZE = struct.Struct(">Q")
_DONE, _FAILED, _PROGRESS = b"+", b"-", b"~"


def send(to: BinaryIO | IO[bytes], message: bytes) -> None:
    to.write(_SIZE.pack(len(message)))
    to.write(message)
    to.flush()


def receive(source: BinaryIO | IO[bytes]) -> bytes:
    """The next message. Raises EOFError if the other side has closed the pipe."""
    (size,) = _SIZE.unpack(_exactly(source, _SIZE.size))
    return _exactly(source, size)


def _exactly(source: BinaryIO | IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


def requests(messages: BinaryIO) -> Iterator[bytes]:
    """The requests that a child receives. As soon as the parent closes the pipe or dies, this process exits, even in
    the middle of a request."""
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages, waiting), daemon=True).start()
    return iter(waiting.get, None)


def _listen(messages: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    try:
        while True:
            waiting.put(receive(messages))
    except (EOFError, OSError):
        os._exit(0)


def outcome_of(function: Callable[[Any], object], request: bytes) -> bytes:
    """The pickled result or exception of ``function`` for a pickled request, for ``unpack_outcome``."""
    try:
        return _DONE + pickle.dumps(function(pickle.loads(request)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        return _FAILED + pack_error(error)


def has_failed(outcome: bytes) -> bool:
    return outcome.startswith(_FAILED)


def unpack_outcome(outcome: bytes) -> Any:
    """The result of a request. Raises the exception that the child raised, if it did."""
    if has_failed(outcome):
        raise unpack_error(outcome[len(_FAILED) :])
    return pickle.loads(memoryview(outcome)[len(_DONE) :])


def pack_progress(*state: object) -> bytes:
    """A progress message with the arguments for the caller's ``progress`` function, for ``unpack_progress``."""
    return _PROGRESS + pickle.dumps(state)


def unpack_progress(answer: bytes) -> tuple[Any, ...] | None:
    """The arguments for ``progress`` from a progress message; None if the answer is the outcome of the request."""
    if not answer.startswith(_PROGRESS):
        return None
    state: tuple[Any, ...] = pickle.loads(answer[len(_PROGRESS) :])
    return state
