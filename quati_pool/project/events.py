"""What commands report while they run; the command line and the app each listen in their own way."""

from __future__ import annotations


class Listener:
    """Hears everything and shows nothing; subclasses show."""

    def say(self, line: str) -> None:
        """A line worth keeping: what was made, reused or left out, and why."""

    def progress(self, label: str, done: int, total: int, detail: str = "") -> None:
        """How far the work named ``label`` has come; ``detail`` says what else is known of it by now."""

    def finished(self, result: object) -> None:
        """A typed result that is complete while the command still runs, such as a built pool: it can be saved now."""
