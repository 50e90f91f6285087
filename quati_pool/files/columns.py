"""Reads TREC column files: one row per line, columns separated by blanks; blank lines and ``#`` lines are skipped."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.errors import QuatiPoolError
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import STRICT, Problems, RowError, check_id, quoted
from quati_pool.records import MAX_GRADE, Ids, Int, code_ids

# Only blanks and tabs separate columns, so that other white space inside an id is reported.
_WORD = re.compile(r"[^ \t]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_GRADE = re.compile(r"([+-]?[0-9]+)(?:\.0+)?\Z")


def read_columns(path: Path, names: Sequence[str], problems: Problems = STRICT) -> Iterator[tuple[int, list[str]]]:
    """The line number and the columns of each row; ids and run tags are checked."""
    checked = [(i, name) for i, name in enumerate(names) if name in ("query_id", "doc_id", "run_tag")]
    for line, text in read_lines(path, problems):
        columns = _WORD.findall(text)
        if not columns or columns[0].startswith("#"):
            continue
        try:
            if len(columns) != len(names):
                raise RowError(f"{len(columns)} columns; expected {len(names)}: {' '.join(names)}")
            for i, name in checked:
                check_id(name, columns[i])
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            yield line, columns


def integer(text: str) -> int | None:
    """The integer written in ASCII digits, or None; Python's ``int`` would also accept 1_000 and non-ASCII digits."""
    return int(text) if _INTEGER.match(text) else None


@lru_cache(maxsize=1024)
def grade_of(text: str) -> int | None:
    """The grade written in ASCII digits, where a fraction of zeros is allowed (2.0 is 2); None for any other text.

    Raises RowError for a grade beyond ±``MAX_GRADE``.
    """
    found = _GRADE.match(text)
    return None if found is None else checked_grade(integer(found[1]), text)


def checked_grade(grade: int | None, text: object) -> int:
    """Returns ``grade``, which is written as ``text``. Raises RowError for a grade beyond ±``MAX_GRADE``, and for None
    (too many digits)."""
    if grade is None or abs(grade) > MAX_GRADE:
        raise RowError(f"relevance {quoted(str(text))} is beyond ±{MAX_GRADE:,}; expected a grade such as 0 or 3")
    return grade


def required_grade(text: str) -> int:
    """As ``grade_of``, but raises RowError for a text that is not a grade."""
    grade = grade_of(text)
    if grade is None:
        raise RowError(f"relevance {quoted(text)} is not an integer; expected a grade such as 0 or 3")
    return grade


class Pairs:
    """The distinct pairs in a file, in order; ``lines`` is the line number of each."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], int] = {}
        self.lines = array("q")

    def earlier(self, query_id: str, doc_id: str, line: int) -> int | None:
        """The position of a pair that occurred in an earlier row; None for a new pair, which is added."""
        new = len(self.lines)
        place = self._places.setdefault((query_id, doc_id), new)
        if place != new:
            return place
        self.lines.append(line)
        return None

    def add(self, query_id: str, doc_id: str, line: int) -> None:
        """Adds a new pair; raises RowError for a pair that occurred in an earlier row."""
        before = self.earlier(query_id, doc_id, line)
        if before is not None:
            raise RowError(
                f"query_id {quoted(query_id)} and doc_id {quoted(doc_id)} are already "
                f"in line {self.lines[before]}; expected one row per pair"
            )

    def coded(self) -> tuple[Ids, Ids, Int, Int]:
        """The query and document vocabularies, and each pair's codes in them."""
        queries, (query,) = code_ids([pa.array([pair[0] for pair in self._places], type=pa.string())])
        docs, (doc,) = code_ids([pa.array([pair[1] for pair in self._places], type=pa.string())])
        return queries, docs, query, doc


def refuse_comments(path: Path, query_ids: pa.Array | pa.ChunkedArray) -> None:
    """Raises QuatiPoolError for a query_id that begins with ``#``: its rows would be skipped as comments."""
    begun = query_ids.filter(pc.starts_with(query_ids, "#"))
    if len(begun):
        raise QuatiPoolError(
            f"{path}: query_id {quoted(begun[0].as_py())} begins with '#', "
            "which marks a comment in TREC files; rename this query"
        )
