"""Reads a label file in a given format, or in the format detected from its content."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.formats import data_suffix
from quati_pool.files.label_files import doccano, label_studio, qrels, quati, sampled, table
from quati_pool.files.label_files.grades import Grader
from quati_pool.files.label_files.label_file import FIELDS, LabelFile
from quati_pool.files.label_files.options import Options
from quati_pool.files.label_files.records import Record, read_records
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import STRICT, Collected, Problems
from quati_pool.records import GRADES
from quati_pool.registry import nearest

_READERS: dict[str, Callable[[Path, Options, Problems], LabelFile]] = {
    "qrels": qrels.read,
    "xinfap": sampled.read_strata,
    "prels": sampled.read_prels,
    "table": table.read,
    "quati": quati.read,
    "doccano": doccano.read,
    "label-studio": label_studio.read,
}

LABEL_FORMATS = tuple(_READERS)


def read_label_file(
    path: Path,
    label_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    grades: Mapping[int, str] = GRADES,
    names: Mapping[str, int | None] | None = None,
    annotator: str | None = None,
    problems: Problems = STRICT,
) -> LabelFile:
    """The labels of one labeler.

    ``label_format`` is one of ``LABEL_FORMATS``; if it is None, it is detected. ``columns`` maps the fields query_id,
    query, doc_id, text and relevance to the file's columns, except in qrels. ``grades`` is the scale, whose names are
    read as grades too; ``names`` maps further names to grades, or to None if they are not grades. ``annotator`` is the
    annotator whose labels to read if the file contains labels of several.

    Raises InputError for faults of the file, QuatiPoolError for an unknown format or field.
    """
    for field in columns or ():
        if field not in FIELDS:
            raise QuatiPoolError(f"{path}: labels have no field {field!r}; {nearest(field, FIELDS)}")
    if label_format is None:
        label_format = detect_label_format(path, columns)
    if label_format not in _READERS:
        message = f"there is no label format {label_format!r}; {nearest(label_format, LABEL_FORMATS)}"
        raise QuatiPoolError(f"{path}: {message}")
    grader = Grader(grades, names)
    read = _READERS[label_format](path, Options(columns or {}, grader, annotator), problems)
    return replace(read, set_aside=grader.set_aside)


def annotators(path: Path, label_format: str | None = None) -> list[str]:
    """The annotators that a file names, sorted; empty for most formats."""
    label_format = label_format or detect_label_format(path)
    if label_format == "label-studio":
        return label_studio.annotators(path)
    return doccano.annotators(path) if label_format == "doccano" else []


def detect_label_format(path: Path, columns: Mapping[str, str] | None = None) -> str:
    """The detected format of a label file.

    Raises InputError for an empty file, and if no format is recognised.
    """
    found = looks_like(path, columns or {})
    if found is not None:
        return found
    if not table.first_line(path)[1]:
        raise InputError(path, None, "is empty; expected labels")
    message = (
        "does not look like a label file; expected qrels (query_id 0 doc_id relevance), an export of Doccano's or "
        "Label Studio's, or a header that names query_id or query, doc_id or text, and relevance"
    )
    raise InputError(path, None, message)


def looks_like(path: Path, columns: Mapping[str, str]) -> str | None:
    """The format, by suffix and first lines; None if it is not recognised."""
    suffix = data_suffix(path)
    first = next((line for _, line in read_lines(path, Collected(0)) if line.strip() and line[0] != "#"), "")
    drawn = sampled.looks_like(first)
    if suffix == ".qrels" or not first:
        return drawn or ("qrels" if suffix == ".qrels" else None)
    if first.lstrip()[0] in "[{":
        record = _first_record(path, first)
        if record is not None:
            return _of_record(record, columns)
        # An id may begin with a brace too.
        return _by_suffix(suffix) or ("qrels" if len(first.split()) == 4 else None)
    names = table.header(path)
    if set(quati.COLUMNS) <= set(_cells(first)):
        return "quati"
    if not {*FIELDS, *columns.values()}.isdisjoint(names):
        return "table"
    return drawn or ("qrels" if len(first.split()) == 4 else _by_suffix(suffix))


def _by_suffix(suffix: str) -> str | None:
    return "table" if suffix in (".tsv", ".csv", ".jsonl", ".ndjson", ".json") else None


def _cells(first: str) -> list[str]:
    try:
        return next(csv.reader([first], delimiter="\t", strict=True), [])
    except csv.Error:
        return []


def _first_record(path: Path, first: str) -> Record | None:
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = None
    if isinstance(record, dict):
        return record
    return next((found for _, found in read_records(path, Collected(0))), None)


def _of_record(record: Record, columns: Mapping[str, str]) -> str:
    if label_studio.looks_like(record):
        return "label-studio"
    mapped = columns.get("relevance")
    if doccano.looks_like(record) and (mapped in doccano.LABELS or (mapped is None and "relevance" not in record)):
        return "doccano"
    return "table"
