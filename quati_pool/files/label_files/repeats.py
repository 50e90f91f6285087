"""Finds rows of one labeler that repeat a pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from quati_pool.files.label_files.label_file import LabelFile
from quati_pool.files.problems import Problems, quoted
from quati_pool.records import ID, Int, code_ids


def grouped(pair: Int, lines: Int) -> tuple[Int, Int]:
    """All rows sorted by pair and then by line, and for each of them the first row of its pair; both shape (n,).

    ``pair``, shape (n,), is a number for each row, equal for equal pairs; ``lines``, shape (n,), are the rows' lines.
    """
    rows = np.lexsort((lines, pair))
    if not len(rows):
        return rows, rows
    sorted_pair = pair[rows]
    starts = np.flatnonzero(np.r_[True, sorted_pair[1:] != sorted_pair[:-1]])
    return rows, np.repeat(rows[starts], np.diff(np.r_[starts, len(rows)]))


def conflict(query: tuple[str, str], doc: tuple[str, str], relevance: int, first: int, first_line: int) -> str:
    """The message for a pair with two grades; ``query`` and ``doc`` are the name and the value of a key."""
    pair = " and ".join(f"{name} {quoted(value)}" for name, value in (query, doc))
    return f"{pair} have the grade {relevance} here and {first} in line {first_line}; keep the correct row"


def repeats(file: LabelFile, problems: Problems) -> list[int]:
    """The positions of graded rows that repeat a pair with the same grade, in file order; pairs are compared by id, or
    by text if there are no ids. Repeats with a different grade are reported to ``problems``."""
    kept = [place for place, grade in enumerate(file.relevance) if grade is not None]
    query_name, query, query_code = _key(file, "query_id", "query", kept)
    doc_name, doc, doc_code = _key(file, "doc_id", "text", kept)
    rows, first = grouped(query_code * (len(kept) + 1) + doc_code, np.array(file.lines, dtype=np.int64)[kept])
    again = np.flatnonzero(rows != first)
    repeated = []
    for row, before in sorted(zip(rows[again].tolist(), first[again].tolist(), strict=True)):
        here, there = kept[row], kept[before]
        grade, old = file.relevance[here], file.relevance[there]
        if grade is None or old is None or grade == old:
            repeated.append(here)
        else:
            message = conflict((query_name, query[here]), (doc_name, doc[here]), grade, old, file.lines[there])
            problems.report(file.path, file.lines[here], message)
    return repeated


def _key(file: LabelFile, identity: str, text: str, rows: list[int]) -> tuple[str, list[str], Int]:
    name = identity if identity in file.keys else text
    values: list[str] = getattr(file, name) or [""] * len(file)
    _, (codes,) = code_ids([pa.array([values[row] for row in rows], type=ID)])
    return name, values, codes
