"""TREC qrels as a label file: ``query_id 0 doc_id relevance``."""

from __future__ import annotations

from pathlib import Path

from quati_pool.files.columns import read_columns
from quati_pool.files.label_files.label_file import LabelFile, Rows
from quati_pool.files.label_files.options import Options
from quati_pool.files.problems import Problems, RowError


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The columns have no names, so that ``options.columns`` does not concern them; grades are integers, or
    names of the caller's."""
    options.refuse_annotator(path, "qrels")
    rows = Rows(path)
    names = ("query_id", "0", "doc_id", "relevance")
    for line, (query_id, _, doc_id, relevance) in read_columns(path, names, problems):
        try:
            grade = options.grader.grade_in_qrels(relevance)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            rows.add(line, (query_id, None, doc_id, None), grade)
    return rows.label_file("qrels", " ".join(names), problems)
