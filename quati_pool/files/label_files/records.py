"""Reads the JSON objects in a label file, and the strings in them that identify a label's pair."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from quati_pool.files.formats import data_suffix
from quati_pool.files.label_files.label_file import KEYS
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import STRICT, Problems, RowError, quoted, surrogate_problem
from quati_pool.files.strict_json import decode, decode_at
from quati_pool.files.tables import Field, checker

Record = dict[str, object]

_BLANK = re.compile(r"[ \t\r\n]*")


def read_records(path: Path, problems: Problems = STRICT) -> Iterator[tuple[int, Record]]:
    """Each object with the line number at which it begins. The file is JSON Lines, or a single list, or, if its name
    ends in .json, a sequence of objects over any number of lines."""
    lines = read_lines(path, problems)
    first = next((pair for pair in lines if pair[1].strip()), None)
    if first is None:
        return
    number, text = first
    if text.lstrip().startswith("[") or data_suffix(path) == ".json":
        yield from _whole(path, number, "\n".join(chain([text], (text for _, text in lines))), problems)
        return
    for line, text in chain([first], lines):
        if not text or text.isspace():
            continue
        try:
            record = decode(text)
        except json.JSONDecodeError as error:
            problems.report(path, line, _not_json(error, "one object per line"))
        except (ValueError, RecursionError):
            problems.report(path, line, _UNREADABLE)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            if type(record) is dict:
                yield line, record
            else:
                problems.report(path, line, "is not a JSON object; expected one object per line")


def _whole(path: Path, first: int, text: str, problems: Problems) -> Iterator[tuple[int, Record]]:
    """The objects in a text that begins at line ``first``, up to the first place that is not JSON."""
    listed = text.lstrip().startswith("[")
    line, counted = first, 0
    try:
        for place, value in _of_list(text) if listed else _one_after_another(text):
            line += text.count("\n", counted, place)
            counted = place
            if type(value) is dict:
                yield line, value
            else:
                problems.report(path, line, "is not a JSON object; expected a list of objects")
    except _NotJsonError as fault:
        problems.report(path, first + text.count("\n", 0, fault.place), str(fault))


class _NotJsonError(Exception):
    def __init__(self, place: int, message: str) -> None:
        self.place = place
        super().__init__(message)


def _one_after_another(text: str) -> Iterator[tuple[int, object]]:
    place = _after_blanks(text, 0)
    while place < len(text):
        value, end = _value(text, place)
        yield place, value
        place = _after_blanks(text, end)


def _of_list(text: str) -> Iterator[tuple[int, object]]:
    place = _after_blanks(text, text.index("[") + 1)
    more = not text.startswith("]", place)
    while more:
        value, end = _value(text, place)
        yield place, value
        place = _after_blanks(text, end)
        more = text.startswith(",", place)
        if more:
            place = _after_blanks(text, place + 1)
    if not text.startswith("]", place):
        raise _NotJsonError(place, "has neither a comma nor the end of the list here; export it again")
    rest = _after_blanks(text, place + 1)
    if rest < len(text):
        raise _NotJsonError(rest, "goes on after its list; expected one list")


def _after_blanks(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int) -> tuple[object, int]:
    try:
        value, end = decode_at(text, place)
    except json.JSONDecodeError as error:
        raise _NotJsonError(error.pos, _not_json(error, "a list of objects")) from error
    except (ValueError, RecursionError) as error:
        raise _NotJsonError(place, _UNREADABLE) from error
    except RowError as fault:
        raise _NotJsonError(place, str(fault)) from fault
    return value, end


# A number of 4,300 digits, a thousand brackets.
_UNREADABLE = "holds a number too long, or nests too deeply; expected flat objects"


def _not_json(error: json.JSONDecodeError, expected: str) -> str:
    return f"is not JSON ({error.msg}, column {error.colno}); expected {expected}"


class PairKeys:
    """Reads the values that identify a pair from an object: under the first of several names that the object has, or
    under the name mapped by the caller, which the object must have."""

    def __init__(self, names: Mapping[str, Sequence[str]], columns: Mapping[str, str]) -> None:
        self._mapped = {key: columns[key] for key in KEYS if key in columns}
        self._names = {key: (columns[key],) if key in columns else names[key] for key in KEYS}
        self._checks: dict[tuple[str, str], Callable[[Sequence[object]], Sequence[str]]] = {}

    def read(self, *layers: Mapping[str, object]) -> list[str | None]:
        """The values in the order of ``KEYS``, each from the first layer that has it; None for missing values.

        Raises RowError for a value that is not a string or a valid id, and for an object that does not identify a pair.
        """
        found = [self._read(key, layers) for key in KEYS]
        query_id, query, doc_id, text = found
        for wanted, missing in (
            ("query_id", query_id is None and query is None),
            ("doc_id", doc_id is None and text is None),
        ):
            if missing:
                raise RowError(lacking(wanted, list(chain.from_iterable(layers))))
        return found

    def _read(self, key: str, layers: Sequence[Mapping[str, object]]) -> str | None:
        for name in self._names[key]:
            for layer in layers:
                # A text that is null counts as missing; an id that is null is a fault.
                if name in layer and (layer[name] is not None or key.endswith("_id")):
                    return self._checked(key, name, layer[name])
        if key in self._mapped:
            raise RowError(no_column(key, self._mapped[key], list(chain.from_iterable(layers))))
        return None

    def _checked(self, key: str, name: str, value: object) -> str:
        check = self._checks.get((key, name))
        if check is None:
            check = self._checks[key, name] = checker([Field(key, name)])
        (text,) = check([value])
        problem = None if text.isascii() else surrogate_problem(text)
        if problem:
            raise RowError(f"{name} {problem}")
        return text


def lacking(wanted: str, present: Sequence[str]) -> str:
    """The message if both the id and the text of a query or passage are missing."""
    text = {"query_id": "query", "doc_id": "text"}[wanted]
    columns = ", ".join(dict.fromkeys(present)) or "none"
    return f"no {wanted} or {text}; the columns are {columns}: add one, or name it with --column {wanted}=COLUMN"


def no_column(field: str, column: str, present: Sequence[str]) -> str:
    """The message for a missing column of a field."""
    columns = ", ".join(dict.fromkeys(present)) or "none"
    return f"no column {quoted(column)}; the columns are {columns}: add it, or name it with --column {field}=COLUMN"
