"""The errors of engines, and how an exception raised by a task travels from a worker to the driver."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from quati_pool.errors import QuatiPoolError


class EngineError(QuatiPoolError):
    """Raised when tasks cannot be run: workers that keep dying, or a cluster that cannot be reached."""


class WorkerTraceback(Exception):  # noqa: N818 - it tells of an error, and is none
    """The traceback of a task's error in the worker, as text: set as the ``__cause__`` of that error in the driver."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def pack_error(error: BaseException) -> bytes:
    """Pickles an error with its type, message and attributes, for ``unpack_error``.

    Python unpickles an error by calling its class with ``args``, which often fails: InputError, for example, takes
    other arguments than its message. If the class or the attributes of an error cannot be pickled, the nearest base
    class for which it works is used, with the same message.
    """
    text = "".join(traceback.format_exception(error))
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, BaseException)]
    ways: list[tuple[Any, ...]] = [(error,)]
    ways += [(kind, error.args, state) for kind in kinds for state in (vars(error), {})]
    for way in ways:
        try:
            packed = pickle.dumps((way, text))
            twin = _made(pickle.loads(packed)[0])
            if isinstance(error, type(twin)) and (str(twin), twin.args) == (str(error), error.args):
                return packed
        except Exception:
            continue
    return pickle.dumps(((RuntimeError, (_message(error),), {}), text))


def unpack_error(packed: bytes) -> BaseException:
    """The error packed by ``pack_error``, with the worker's traceback as its cause."""
    way, text = pickle.loads(packed)
    error = _made(way)
    error.__cause__ = WorkerTraceback(text)
    return error


def _made(way: tuple[Any, ...]) -> BaseException:
    if len(way) == 1:
        error: BaseException = way[0]
        return error
    kind, args, state = way
    # Bypasses __init__, whose parameters may differ from args.
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def _message(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()
