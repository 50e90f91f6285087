"""Reads relevance grades from TREC qrels and from tab-separated label files with a header; writes TREC qrels.

A row that repeats a pair with the same grade is ignored; a pair with two different grades is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.files.columns import Pairs, read_columns, refuse_comments, required_grade
from quati_pool.files.label_files.repeats import conflict
from quati_pool.files.lines import output, read_lines
from quati_pool.files.problems import STRICT, Problems, RowError
from quati_pool.files.tables import Field, read_table
from quati_pool.records import Qrels

_COLUMNS = ("query_id", "0", "doc_id", "relevance")


def read_judgements(path: Path, problems: Problems = STRICT) -> Qrels:
    """The judgements in qrels or in a label file, which is recognised by a tab-separated first line that names query_id
    or doc_id."""
    return read_labels(path, problems=problems) if is_label_file(path) else read_qrels(path, problems)


def is_label_file(path: Path) -> bool:
    _, first = next(read_lines(path), (1, ""))
    return not {"query_id", "doc_id"}.isdisjoint(first.split("\t"))


def read_qrels(path: Path, problems: Problems = STRICT) -> Qrels:
    """The judgements in TREC qrels: ``query_id 0 doc_id relevance``; the second column is ignored."""
    rows = ((line, (row[0], *row[2:])) for line, row in read_columns(path, _COLUMNS, problems))
    return _graded(path, rows, " ".join(_COLUMNS), problems)


def read_labels(path: Path, relevance: str = "relevance", problems: Problems = STRICT) -> Qrels:
    """The judgements in a tab-separated file whose header has query_id, doc_id and the column ``relevance``; other
    columns are ignored."""
    fields = [Field("query_id", "query_id"), Field("doc_id", "doc_id"), Field("relevance", relevance)]
    return _graded(path, read_table(path, "tsv", fields, problems=problems), "rows under a header", problems)


def write_qrels(qrels: Qrels, path: Path) -> None:
    """Writes one row ``query_id 0 doc_id relevance`` per pair, in the order of the pairs."""
    refuse_comments(path, qrels.queries.values)
    columns = [
        qrels.queries.decode(qrels.query).cast(pa.string()),
        "0",
        qrels.docs.decode(qrels.doc).cast(pa.string()),
        pa.array(qrels.relevance).cast(pa.string()),
    ]
    with output(path) as stream:
        for row in pc.binary_join_element_wise(*columns, " ").to_pylist():
            stream.write(row.encode() + b"\n")


def _graded(path: Path, rows: Iterable[tuple[int, Sequence[str]]], expected: str, problems: Problems) -> Qrels:
    """The judgements in ``rows``, which are line numbers with (query_id, doc_id, relevance)."""
    pairs = Pairs()
    grades: list[int] = []
    for line, (query_id, doc_id, relevance) in rows:
        try:
            grade = required_grade(relevance)
            before = pairs.earlier(query_id, doc_id, line)
            if before is None:
                grades.append(grade)
            elif grades[before] != grade:
                pair = ("query_id", query_id), ("doc_id", doc_id)
                raise RowError(conflict(*pair, grade, grades[before], pairs.lines[before]))
        except RowError as fault:
            problems.report(path, line, str(fault))
    if not grades and not problems.count:
        problems.report(path, None, f"holds no rows; expected {expected}")
    return Qrels(*pairs.coded(), np.array(grades, dtype=np.int64))
