"""What a process and its child say to each other over two pipes; ``child`` is the parent's side.

A message is its length in bytes (8 bytes, big-endian) and its bytes. Ray's leader has messages of its own. Every
other child answers one request at a time, with any number of progress messages and then the outcome: the first
byte says which of the two it is, and whether the request failed; a pickle follows.
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
    """The next message. Raises EOFError where the other side ended."""
    (size,) = _SIZE.unpack(_exactly(source, _SIZE.size))
    return _exactly(source, size)


def _exactly(source: BinaryIO | IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


def requests(messages: BinaryIO) -> Iterator[bytes]:
    """The requests that reach a child. As soon as the parent closes the pipe or dies, this process exits, in the
    middle of a request too."""
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
    """What ``function`` returns or raises for a pickled request, for ``unpack_outcome``."""
    try:
        return _DONE + pickle.dumps(function(pickle.loads(request)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        return _FAILED + pack_error(error)


def has_failed(outcome: bytes) -> bool:
    return outcome.startswith(_FAILED)


def unpack_outcome(outcome: bytes) -> Any:
    """The result of a request. Raises what the child raised."""
    if has_failed(outcome):
        raise unpack_error(outcome[len(_FAILED) :])
    return pickle.loads(memoryview(outcome)[len(_DONE) :])


def pack_progress(*state: object) -> bytes:
    """How far a request is, for ``unpack_progress``."""
    return _PROGRESS + pickle.dumps(state)


def unpack_progress(answer: bytes) -> tuple[Any, ...] | None:
    """How far a request is; None where the answer is its outcome."""
    if not answer.startswith(_PROGRESS):
        return None
    state: tuple[Any, ...] = pickle.loads(answer[len(_PROGRESS) :])
    return state
