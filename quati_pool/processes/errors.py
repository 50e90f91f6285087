"""What an engine may raise of itself, and how a task's own error travels from a worker to the driver."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from quati_pool.errors import QuatiPoolError


class EngineError(QuatiPoolError):
    """Tasks that cannot be carried out where they run: workers that keep dying, a cluster out of reach."""


class WorkerTraceback(Exception):  # noqa: N818 - it tells of an error, and is none
    """Where in a worker a task's error was raised, as text: the ``__cause__`` of that error in the driver."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def pack_error(error: BaseException) -> bytes:
    """The error for ``unpack_error``: type, message and attributes as they are.

    Errors often cannot be pickled as Python does it, by calling their class with what ``args`` holds: the
    arguments of InputError are not its message. An error whose class or attributes do not travel comes as the
    nearest class it inherits from, with the same message.
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
    """The error, with the worker's traceback as its cause."""
    way, text = pickle.loads(packed)
    error = _made(way)
    error.__cause__ = WorkerTraceback(text)
    return error


def _made(way: tuple[Any, ...]) -> BaseException:
    if len(way) == 1:
        error: BaseException = way[0]
        return error
    kind, args, state = way
    # Without __init__, whose parameters may be others than args.
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def _message(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()
