"""The events that commands report while they run; the command line and the app display them in different ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


class Listener:
    """Ignores all events; subclasses show or store them."""

    def say(self, line: str) -> None:
        """Reports one line: what was built, reused or left out, and why."""

    def stage(self, label: str) -> AbstractContextManager[None]:
        """A context manager that names what is done in it. Progress reported in it is over when it ends, and stages may
        be nested; only one thread may enter them."""
        return nullcontext()

    def progress(self, label: str, done: int, total: int, detail: str = "", unit: str = "") -> None:
        """Reports that ``done`` of ``total`` units of the work ``label`` are done.

        ``total`` is 0 where unknown; with 0 of 0, ``label`` names a step that counts nothing and lasts until something
        else is reported. ``unit`` is the plural of what is counted, such as ``passages``; ``detail`` is free text.
        """

    def finished(self, result: object) -> None:
        """Reports a typed result that can be saved while the command still runs, such as a built pool."""


@contextmanager
def kept_if_stopped(kept: Callable[[], str]) -> Iterator[None]:
    """Adds to a KeyboardInterrupt raised within it a note on what is kept, such as ``3 of 5 runs``; "" adds nothing."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if words := kept():
            stopped.add_note(words)
        raise
