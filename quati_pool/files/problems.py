"""Where readers report what is wrong: the first fault ends the reading, or a list gathers them."""

from __future__ import annotations

import re
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

    def warn(self, path: Path, message: str) -> None:
        """Takes what looks odd in a file without being wrong; here nobody hears of it."""


class Collected(Problems):
    """Keeps the first ``limit`` faults and counts all of them; keeps what looks odd, too."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.warnings: list[str] = []
        self._errors: list[InputError] = []

    @property
    def errors(self) -> list[InputError]:
        return self._errors

    @property
    def covered(self) -> int:
        """How many faults ``errors`` speaks of."""
        return len(self._errors)

    def add(self, error: InputError) -> None:
        self.count += 1
        if len(self._errors) < self.limit:
            self._errors.append(error)

    def warn(self, path: Path, message: str) -> None:
        self.warnings.append(message)


class Kinds(Collected):
    """Keeps the first ``limit`` kinds of faults, an error each, with their count and first places. Faults are of
    one kind where their messages differ in numbers and quoted values alone."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._kinds: dict[str, _Kind] = {}

    @property
    def errors(self) -> list[InputError]:
        return [kind.error() for kind in self._kinds.values()]

    @property
    def covered(self) -> int:
        return sum(kind.count for kind in self._kinds.values())

    def add(self, error: InputError) -> None:
        self.count += 1
        name = _VALUE.sub("", error.message)
        kind = self._kinds.get(name)
        if kind is None and len(self._kinds) < self.limit:
            kind = self._kinds[name] = _Kind(error)
        if kind is not None:
            kind.add(error)


# What quoted() writes, hexadecimal numbers, code points and other numbers.
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|0x[0-9A-F]+|U\+[0-9A-F]+|[0-9]+")
_PLACES = 3


class _Kind:
    def __init__(self, first: InputError) -> None:
        self._first = first
        self._places: list[str] = []
        self.count = 0

    def add(self, error: InputError) -> None:
        self.count += 1
        if len(self._places) < _PLACES:
            self._places.append(error.path if error.line is None else f"{error.path}:{error.line}")

    def error(self) -> InputError:
        if self.count == 1:
            return self._first
        more = ", …" if self.count > len(self._places) else ""
        faults = f"{self.count:,} such faults: {', '.join(self._places)}{more}"
        return InputError(self._first.path, self._first.line, f"{self._first.message} ({faults})")


STRICT = Problems()


class RowError(Exception):
    """What is wrong with the row at hand, raised to the loop that knows its line."""


def quoted(text: str) -> str:
    """A value for a message: on one line, with what cannot be seen escaped, and not too long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def in_quotes(cell: str) -> bool:
    """Whether a cell of a TSV is wrapped in double quotes, as CSV writes cells."""
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def quotes_problem(name: str, cell: str) -> str:
    """The message for a cell that is wrapped in double quotes where quotes mean themselves."""
    remedy = "write it without them, or save the file as CSV (.csv) or JSONL"
    return f"{name} {quoted(cell)} is in double quotes, and in TSV quotes belong to the cell; {remedy}"


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
