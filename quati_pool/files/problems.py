"""Where readers report what is wrong: the first fault ends the reading, or a list gathers them."""

from __future__ import annotations

from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.records import id_problem


class Problems:
    """Takes the faults a reader finds. This one raises the first; where ``add`` returns, readers leave
    the row out and go on."""

    count = 0
    """How many faults were found so far."""

    def report(self, path: Path, line: int | None, message: str) -> None:
        self.add(InputError(path, line, message))

    def add(self, error: InputError) -> None:
        raise error


class Collected(Problems):
    """Keeps the first ``limit`` faults and counts all of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.errors: list[InputError] = []
        self.count = 0

    def add(self, error: InputError) -> None:
        self.count += 1
        if len(self.errors) < self.limit:
            self.errors.append(error)


STRICT = Problems()


class RowError(Exception):
    """What is wrong with the row at hand, raised to the loop that knows its line."""


def quoted(text: str) -> str:
    """A value for a message: on one line, with what cannot be seen escaped, and not too long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def surrogate_problem(text: str) -> str | None:
    """Why ``text`` cannot be written, as only half a character can hinder it; None where it can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair; write the whole character"
    return None


def id_error(name: str, value: str, problem: str) -> str:
    """The message for an id that ``records.id_problem`` finds fault with."""
    if not value:
        return f"{name} is empty; expected an id"
    return f"{name} {quoted(value)} {problem}; expected an id without white space or control characters"


def check_id(name: str, value: str) -> None:
    """Raises RowError for what cannot be an id."""
    problem = id_problem(value)
    if problem is not None:
        raise RowError(id_error(name, value, problem))
