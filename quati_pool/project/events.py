"""How a step tells what it does; the command line and the app each listen in their own way."""

from __future__ import annotations


class Listener:
    """Hears everything and shows nothing; subclasses show."""

    def say(self, line: str) -> None:
        """A line worth keeping: what was made, reused or left out, and why."""

    def progress(self, label: str, done: int, total: int, detail: str = "") -> None:
        """How far the work named ``label`` has come; ``detail`` says what else is known of it by now."""
