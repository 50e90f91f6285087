"""Reads the format of the annotations released with Quati: tab-separated; cells that contain quotes are quoted as in
CSV.

The columns are doccano_id, query, passage, passage_id, label and score, which is the grade; there is no query_id.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.files.label_files.label_file import KEYS, LabelFile, Rows
from quati_pool.files.label_files.options import Options
from quati_pool.files.label_files.table import check_header
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import Problems, RowError
from quati_pool.files.tables import Field, checker

COLUMNS = ("query", "passage", "passage_id", "label", "score")
"""A file with these columns is read as this format."""

_DEFAULTS = {"query": "query", "doc_id": "passage_id", "text": "passage", "relevance": "score"}


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels in a file of this format. Raises InputError for a header that lacks one of the columns read."""
    options.refuse_annotator(path, "Quati annotations")
    rows = Rows(path)
    lines = _rows(path, problems)
    first, names = next(lines, (1, []))
    if names:
        mapping = options.mapped(_DEFAULTS)
        check_header(path, first, names, mapping, mapping)
        keys = [key for key in KEYS if key in mapping]
        check = checker([Field(key, mapping[key]) for key in keys])
        for column in mapping.values():
            if names.count(column) > 1:
                raise InputError(path, first, f"column {column!r} occurs twice; expected it once")
        place = {field: names.index(column) for field, column in mapping.items()}
        for line, row in lines:
            try:
                if len(row) != len(names):
                    raise RowError(f"{len(row)} columns; expected {len(names)}: as in the header")
                values = dict(zip(keys, check([row[place[key]] for key in keys]), strict=True))
                relevance = options.grader.grade(row[place["relevance"]])
                rows.add(line, [values.get(key) for key in KEYS], relevance)
            except RowError as fault:
                problems.report(path, line, str(fault))
    return rows.label_file("quati", "rows under a header", problems)


def _rows(path: Path, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((text + "\n" for _, text in read_lines(path, problems)), delimiter="\t", strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            problems.report(path, line, f"is not quoted correctly ({error}); expected quotes in pairs, doubled inside")
            continue
        if row is None:
            return
        if row:
            yield line, row
