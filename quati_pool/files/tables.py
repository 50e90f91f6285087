"""Reads rows of named fields from JSONL, TSV and CSV; used for corpora, queries and label files.

Blank lines are skipped. Every value is checked to be a string, and every id to be valid.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, cast

from quati_pool.errors import InputError, TranslatableText, message_of
from quati_pool.files.formats import TableFormat
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import (
    STRICT,
    Problems,
    RowError,
    check_id,
    in_quotes,
    quoted,
    quotes_problem,
    surrogate_problem,
)
from quati_pool.files.strict_json import decode

# The module's default limit, 131,072 characters per cell, is too low for long pages.
csv.field_size_limit(2**31 - 1)

# A first line that consists only of these words is a header, even if the caller names other columns.
_ID_HEADERS = {"id", "_id", "num", "number", "topic", "qid", "query_id", "pid", "docno", "docid", "doc_id"}
_TEXT_HEADERS = {"query", "question", "text", "title", "passage", "contents", "body", "description", "url"}
_HEADERS = _ID_HEADERS | _TEXT_HEADERS


class Field(NamedTuple):
    """A field to read: its name in this library, its column in the file, and whether it is required in the file."""

    name: str
    column: str
    required: bool = True

    @property
    def is_id(self) -> bool:
        return self.name in ("query_id", "doc_id")


RawRows = Iterator[tuple[int, Sequence[object]]]
"""The line number and the field values of each row; a missing value of an optional field is an empty string."""


def read_table(
    path: Path,
    table_format: TableFormat,
    fields: Sequence[Field],
    headerless: bool = False,
    problems: Problems = STRICT,
) -> Iterator[tuple[int, Sequence[str]]]:
    """The first line number of each row, and its values in the order of ``fields``, where optional fields come last.

    With ``headerless`` a TSV may lack a header; its columns are then the required fields.
    """
    rows: RawRows
    if table_format == "jsonl":
        rows = _jsonl(path, fields, problems)
    elif table_format == "csv":
        rows = _csv(path, fields, problems)
    else:
        rows = _tsv(path, fields, headerless, problems)
    check = checker(fields)
    for line, values in rows:
        try:
            strings = check(values)
        except RowError as fault:
            problems.report(path, line, message_of(fault))
        else:
            yield line, strings


def checker(fields: Sequence[Field]) -> Callable[[Sequence[object]], Sequence[str]]:
    """A function that returns a row's values, or raises RowError for a value that is not a string or an invalid id."""
    ids = [(place, field.column) for place, field in enumerate(fields) if field.is_id]

    def check(values: Sequence[object]) -> Sequence[str]:
        for field, value in zip(fields, values, strict=True):
            if type(value) is not str:
                raise RowError(_not_a_string(field, value))
        strings = cast("Sequence[str]", values)
        for place, column in ids:
            check_id(column, strings[place])
        return strings

    return check


def _not_a_string(field: Field, value: object) -> str:
    if value is None:
        expected = "an id" if field.is_id else "a string (it may be empty)"
        return f"{field.column} is null; expected {expected}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'{field.column} is the number {value}; expected a string: write "{value}"'
    kind = {bool: "true or false", list: "a list"}.get(type(value), "an object")
    return f"{field.column} is {kind}; expected a string"


def missing_column(field: Field, present: Sequence[str]) -> str:
    columns = ", ".join(present) or "none"
    return f"no column {quoted(field.column)}; the columns are {columns}: add it, or set {field.name} to the right one"


def _jsonl(path: Path, fields: Sequence[Field], problems: Problems) -> RawRows:
    take = _taker([field.column for field in fields if field.required])
    optional = [field.column for field in fields if not field.required]
    for line, text in read_lines(path, problems):
        if not text or text.isspace():
            continue
        try:
            record = json_object(text)
            values = take(record)
            if optional:
                found = map(record.get, optional)
                values = (*values, *("" if value is None else value for value in found))
            # Only an escape can produce a lone surrogate, which neither UTF-8 nor Arrow can represent.
            if "\\u" in text:
                refuse_surrogates(fields, values)
        except KeyError:
            missing = next(field for field in fields if field.required and field.column not in record)
            problems.report(path, line, missing_column(missing, list(record)))
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            yield line, values


def _taker(columns: Sequence[str]) -> Callable[[dict[str, object]], tuple[object, ...]]:
    """A function from a record to its values in some columns; it raises KeyError if one is missing."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda record: tuple(record[column] for column in columns)


def json_object(text: str) -> dict[str, object]:
    """The object in one line of JSON Lines; raises RowError for any other text."""
    try:
        record = decode(text)
    except json.JSONDecodeError as error:
        problem = f"is not JSON ({error.msg}, column {error.colno}); expected one object per line"
        raise RowError(problem) from error
    except (ValueError, RecursionError) as error:  # a number of 4,300 digits, a thousand brackets
        problem = "holds a number too long, or nests too deeply; expected one flat object per line"
        raise RowError(problem) from error
    if type(record) is not dict:
        raise RowError("is not a JSON object; expected one object per line")
    return record


def refuse_surrogates(fields: Sequence[Field], values: Sequence[object]) -> None:
    """Raises RowError for a value that contains a lone surrogate."""
    for field, value in zip(fields, values, strict=True):
        problem = surrogate_problem(str(value))
        if problem:
            raise RowError(f"{field.column} {problem}")


def _csv(path: Path, fields: Sequence[Field], problems: Problems) -> RawRows:
    reader = csv.reader((text + "\n" for _, text in read_lines(path, problems)), strict=True)
    pick: Callable[[Sequence[str]], list[str]] | None = None
    width = 0
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            problems.report(path, line, f"is not CSV ({error}); expected quotes in pairs, doubled inside")
            continue
        if row is None:
            return
        if not row:
            continue
        if pick is None:
            pick, width = _picker(path, line, row, fields), len(row)
        elif len(row) != width:
            problems.report(path, line, f"{_columns(row)}; expected {width}: as in the header")
        else:
            yield line, pick(row)


def _tsv(path: Path, fields: Sequence[Field], headerless: bool, problems: Problems) -> RawRows:
    names = [field.column for field in fields if field.required]
    pick: Callable[[Sequence[str]], list[str]] | None = None
    width, model = 0, ""
    for line, text in read_lines(path, problems):
        if not text:
            continue
        row = text.split("\t")
        if pick is None:
            if not headerless and in_quotes(row[0]):
                raise InputError(path, line, quotes_problem("the column", row[0]))
            if not headerless or _looks_like_header(row, names):
                pick, width, model = _picker(path, line, row, fields), len(row), "as in the header"
                continue
            pick, width, model = _picker(path, line, names, fields), len(names), " <tab> ".join(names)
        if len(row) != width:
            message = f"{_columns(row)}; expected {width}: {model}"
            problems.report(path, line, TranslatableText(message, "columns", count=len(row), expected=width))
            continue
        values = pick(row)
        fault = _id_in_quotes(fields, values) if '"' in text else None
        if fault:
            problems.report(path, line, fault)
        else:
            yield line, values


def _id_in_quotes(fields: Sequence[Field], values: Sequence[str]) -> str | None:
    pairs = zip(fields, values, strict=True)
    return next((quotes_problem(field.column, cell) for field, cell in pairs if field.is_id and in_quotes(cell)), None)


def _looks_like_header(row: Sequence[str], names: Sequence[str]) -> bool:
    if row[0] in names or set(names) <= set(row):
        return True
    return len(row) > 1 and all(cell.strip().lower() in _HEADERS for cell in row)


def _picker(
    path: Path, line: int, header: Sequence[str], fields: Sequence[Field]
) -> Callable[[Sequence[str]], list[str]]:
    """A function from a row under ``header`` to the cells of ``fields``."""
    for field in fields:
        if field.required and field.column not in header:
            raise InputError(path, line, missing_column(field, header))
        if header.count(field.column) > 1:
            raise InputError(path, line, f"column {quoted(field.column)} occurs twice; expected it once")
    places = [header.index(field.column) if field.column in header else None for field in fields]
    return lambda row: ["" if place is None else row[place] for place in places]


def _columns(row: Sequence[str]) -> str:
    return "1 column" if len(row) == 1 else f"{len(row)} columns"
