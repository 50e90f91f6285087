"""The events that commands report while they run; the command line and the app display them in different ways."""

from __future__ import annotations


class Listener:
    """Ignores all events; subclasses show or store them."""

    def say(self, line: str) -> None:
        """Reports one line: what was built, reused or left out, and why."""

    def progress(self, label: str, done: int, total: int, detail: str = "") -> None:
        """Reports that ``done`` of ``total`` units of the work ``label`` are done; ``total`` is 0 where unknown, and
        ``detail`` is free text."""

    def finished(self, result: object) -> None:
        """Reports a typed result that can be saved while the command still runs, such as a built pool."""
