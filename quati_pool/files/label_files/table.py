"""Reads label files that are tables: TSV or CSV with a header, or JSON objects; the caller may map the columns."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.files.arrow_reader import read_with_arrow
from quati_pool.files.formats import TableFormat, data_suffix
from quati_pool.files.label_files.label_file import FIELDS, KEYS, LabelFile, Rows, regular_labels
from quati_pool.files.label_files.options import Options
from quati_pool.files.label_files.records import PairKeys, lacking, no_column, read_records
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Collected, Problems, RowError
from quati_pool.files.tables import Field, read_table

_NAMES = {key: (key,) for key in KEYS}


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels in a table; a row with an empty relevance has no grade.

    Raises InputError for a header without relevance, or without columns that identify query and passage.
    """
    options.refuse_annotator(path, "a table")
    rows = Rows(path)
    line, first = first_line(path)
    if data_suffix(path) in (".jsonl", ".ndjson", ".json") or first.lstrip().startswith(("{", "[")):
        _read_objects(path, options, rows, problems)
    elif first:
        regular = _regular(path, options) if line == 1 else None
        if regular is not None:
            return regular
        _read_rows(path, options, rows, problems)
    return rows.label_file("table", "rows under a header", problems)


def first_line(path: Path) -> tuple[int, str]:
    """The number and text of the first line that is not blank; (1, "") if there is none."""
    return next(((line, text) for line, text in read_lines(path, Collected(0)) if text.strip()), (1, ""))


def header(path: Path) -> list[str]:
    """The column names of a TSV or CSV; empty for an empty file."""
    if _layout(path) == "tsv":
        return first_line(path)[1].split("\t")
    lines = (text + "\n" for _, text in read_lines(path, Collected(0)))
    try:
        return next((row for row in csv.reader(lines, strict=True) if row), [])
    except csv.Error:
        return []


def _layout(path: Path) -> TableFormat:
    return "csv" if data_suffix(path) == ".csv" else "tsv"


def check_header(
    path: Path, line: int, names: Sequence[str], mapping: Mapping[str, str], needed: Collection[str]
) -> None:
    """Raises InputError for a header that lacks relevance, columns that identify query and passage, or the column of a
    field that is ``needed``."""
    for field, column in mapping.items():
        if column not in names and (field == "relevance" or field in needed):
            raise InputError(path, line, no_column(field, column, names))
    for wanted, text in (("query_id", "query"), ("doc_id", "text")):
        if {mapping.get(wanted), mapping.get(text)}.isdisjoint(names):
            raise InputError(path, line, lacking(wanted, names))


def _regular(path: Path, options: Options) -> LabelFile | None:
    """The labels in a regular table; None for a table that must be read by line."""
    names = header(path)
    fields = _fields(path, 1, names, options)
    columns = [field.column for field in fields]
    if len(set(names)) < len(names) or len(set(columns)) < len(columns):
        return None
    table = read_with_arrow(
        path,
        "," if _layout(path) == "csv" else "\t",
        names,
        columns,
        ids=[field.column for field in fields if field.is_id],
        plain=[field.column for field in fields if field.name in ("doc_id", "text")],
        header=True,
    )
    if table is None:
        return None
    table = table.rename_columns([field.name for field in fields])
    return regular_labels(path, "table", table, 2, options.grader, options.grader.grade)


def _fields(path: Path, line: int, names: Sequence[str], options: Options) -> list[Field]:
    mapping = options.mapped({field: field for field in FIELDS})
    check_header(path, line, names, mapping, options.columns)
    return [Field(field, mapping[field]) for field in FIELDS if mapping[field] in names]


def _read_rows(path: Path, options: Options, rows: Rows, problems: Problems) -> None:
    (line, _), names = first_line(path), header(path)
    fields = _fields(path, line, names, options)
    order = [field.name for field in fields]
    places = [order.index(key) if key in order else None for key in KEYS]
    for line, values in read_table(path, _layout(path), fields, problems=problems):
        try:
            relevance = options.grader.grade(values[-1])
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            rows.add(line, [None if place is None else values[place] for place in places], relevance)


def _read_objects(path: Path, options: Options, rows: Rows, problems: Problems) -> None:
    column = options.columns.get("relevance", "relevance")
    keys = PairKeys(_NAMES, options.columns)
    for line, record in read_records(path, problems):
        try:
            if column not in record:
                raise RowError(no_column("relevance", column, list(record)))
            rows.add(line, keys.read(record), options.grader.grade(record[column]))
        except RowError as fault:
            problems.report(path, line, str(fault))
