"""Reads TREC qrels as a label file: ``query_id 0 doc_id relevance``."""

from __future__ import annotations

from pathlib import Path

from quati_pool.files.arrow_reader import read_with_arrow, single_blanks
from quati_pool.files.columns import read_columns
from quati_pool.files.label_files.label_file import LabelFile, Rows, regular_labels
from quati_pool.files.label_files.options import Options
from quati_pool.files.problems import Problems, RowError

_NAMES = ("query_id", "0", "doc_id", "relevance")
_IDS = ("query_id", "doc_id")
_READ = (*_IDS, "relevance")


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels in a qrels file; grades are integers or the caller's names. ``options.columns`` does not apply, since
    the columns have no names."""
    options.refuse_annotator(path, "qrels")
    return _regular(path, options) or _by_line(path, options, problems)


def _regular(path: Path, options: Options) -> LabelFile | None:
    table = read_with_arrow(path, " ", _NAMES, _READ, ids=_IDS, plain=["doc_id"], prepare=single_blanks)
    if table is None or any(
        query_id.startswith("#") for part in table["query_id"].chunks for query_id in part.dictionary.to_pylist()
    ):
        return None
    return regular_labels(path, "qrels", table, 1, options.grader, options.grader.grade_in_qrels)


def _by_line(path: Path, options: Options, problems: Problems) -> LabelFile:
    rows = Rows(path)
    for line, (query_id, _, doc_id, relevance) in read_columns(path, _NAMES, problems):
        try:
            rows.add(line, (query_id, None, doc_id, None), options.grader.grade_in_qrels(relevance))
        except RowError as fault:
            problems.report(path, line, str(fault))
    return rows.label_file("qrels", " ".join(_NAMES), problems)
