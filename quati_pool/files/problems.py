"""Receivers of the faults that readers report, which raise the first fault or collect all; and wording of messages."""

from __future__ import annotations

import re
from pathlib import Path

from quati_pool.errors import InputError, TranslatableText
from quati_pool.records import id_problem


class Problems:
    """Receives the faults that a reader finds. This class raises the first fault; with a subclass whose ``add``
    returns, readers skip the row and continue."""

    count = 0
    """The number of faults found so far."""

    def report(self, path: Path, line: int | None, message: str) -> None:
        self.add(InputError(path, line, message))

    def add(self, error: InputError) -> None:
        raise error

    def warn(self, path: Path, message: str) -> None:
        """Receives a warning about content that looks odd but is not wrong; this class ignores it."""


class Collected(Problems):
    """Keeps the first ``limit`` faults, counts all of them, and keeps all warnings."""

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
        """The number of faults that ``errors`` covers."""
        return len(self._errors)

    def add(self, error: InputError) -> None:
        self.count += 1
        if len(self._errors) < self.limit:
            self._errors.append(error)

    def warn(self, path: Path, message: str) -> None:
        self.warnings.append(message)


class CollectedByKind(Collected):
    """Keeps one error for each of the first ``limit`` kinds of faults, with its count and first places. Faults are of
    the same kind if their messages differ only in numbers and quoted values."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._kinds: dict[str, _FaultKind] = {}

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
            kind = self._kinds[name] = _FaultKind(error)
        if kind is not None:
            kind.add(error)


# Values as written by quoted(), hexadecimal numbers, code points and other numbers.
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|0x[0-9A-F]+|U\+[0-9A-F]+|[0-9]+")
_PLACES = 3


class _FaultKind:
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
    """A fault in one row, raised to the loop that knows the row's line."""


def quoted(text: str) -> str:
    """A value as shown in messages: quoted, on one line, with invisible characters escaped, cut to 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def in_quotes(cell: str) -> bool:
    """Whether a TSV cell is wrapped in double quotes, as in CSV."""
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def quotes_problem(name: str, cell: str) -> TranslatableText:
    """The message for a cell wrapped in double quotes in a format where quotes are part of the cell."""
    remedy = "write it without them, or save the file as CSV (.csv) or JSONL"
    text = f"{name} {quoted(cell)} is in double quotes, and in TSV quotes belong to the cell; {remedy}"
    return TranslatableText(text, "id_in_quotes", name=name, value=quoted(cell))


def surrogate_problem(text: str) -> str | None:
    """The message if ``text`` cannot be written as UTF-8 (it contains a lone surrogate); None if it can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair; write the whole character"
    return None


def id_error(name: str, value: str, problem: str) -> TranslatableText:
    """The message for an id for which ``records.id_problem`` returned ``problem``."""
    if not value:
        return TranslatableText(f"{name} is empty; expected an id", "id_empty", name=name)
    text = f"{name} {quoted(value)} {problem}; expected an id without white space or control characters"
    return TranslatableText(text, "id_characters", name=name, value=quoted(value))


def check_id(name: str, value: str) -> None:
    """Raises RowError for an invalid id."""
    problem = id_problem(value)
    if problem is not None:
        raise RowError(id_error(name, value, problem))
