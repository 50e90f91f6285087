"""The labels of a file as columns, one row per label."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import pyarrow as pa

from quati_pool.files.label_files.grades import Grader
from quati_pool.files.problems import Problems, RowError
from quati_pool.records import ID

KEYS = ("query_id", "query", "doc_id", "text")
"""The columns that identify a row's pair: the id or text of the query, and the id or text of the passage."""

FIELDS = (*KEYS, "relevance")

_SLICE = 1 << 16
_BY_PEOPLE = frozenset({"quati", "doccano", "label-studio"})


class Strings(Sequence[str]):
    """A column of strings stored in Arrow, without a Python object per string; ``array`` contains large strings, or
    codes over a dictionary of them."""

    def __init__(self, array: pa.Array | pa.DictionaryArray | pa.ChunkedArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Strings: ...
    def __getitem__(self, row: int | slice) -> str | Strings:
        if isinstance(row, slice):
            return Strings(self.array[row])
        value: str = self.array[row].as_py()
        return value

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _SLICE):
            yield from self.array.slice(start, _SLICE).to_pylist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def arrow_strings(values: Sequence[str]) -> pa.Array | pa.ChunkedArray:
    """A column as large strings, or as codes over a dictionary of them."""
    return values.array if isinstance(values, Strings) else pa.array(values, type=ID)


def dictionary_coded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """The same column as codes over a dictionary."""
    if pa.types.is_dictionary(column.type):
        return column
    encoded = column.dictionary_encode()
    return encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded


@dataclass(frozen=True, eq=False)
class LabelFile:
    """The labels of one labeler, in file order; all columns have the same length.

    ``lines`` is the line number at which each row begins. A column that the file lacks is None. In a file with ids an
    empty text means that the row has no text. ``relevance`` is None in a row without a grade. A pair may occur in
    several rows. ``set_aside`` is the number of labels that the caller declared not to be grades.

    In sampled qrels every row has the ``stratum`` that its pair was drawn from, or the probability of its
    ``inclusion``.
    """

    path: Path
    format: str
    lines: Sequence[int]
    query_id: Sequence[str] | None
    query: Sequence[str] | None
    doc_id: Sequence[str] | None
    text: Sequence[str] | None
    relevance: list[int | None]
    set_aside: int = 0
    stratum: Sequence[str] | None = None
    inclusion: Sequence[float] | None = None

    def __len__(self) -> int:
        return len(self.relevance)

    @property
    def keys(self) -> tuple[str, ...]:
        """Which of query_id, query, doc_id and text the file has."""
        return tuple(key for key in KEYS if getattr(self, key) is not None)

    @property
    def by_people(self) -> bool:
        """Whether the format is one in which human annotations are exported."""
        return self.format in _BY_PEOPLE


def regular_labels(
    path: Path,
    label_format: str,
    table: pa.Table,
    first_line: int,
    grader: Grader,
    grade: Callable[[str], int | None],
) -> LabelFile | None:
    """The labels of a file that was read as a ``table`` with one row per line, whose columns are those of ``FIELDS``
    that the file has; ``grade``, a method of ``grader``, reads a relevance. None if any row is at fault."""
    before = grader.set_aside
    try:
        relevance, set_aside = _grades(table["relevance"], grade)
    except RowError:
        return None
    finally:
        # Each distinct text was read only once, so the grader's own count is too low.
        grader.set_aside = before
    columns = {key: _strings(table[key]) if key in table.column_names else None for key in KEYS}
    for identity, words in (("query_id", "query"), ("doc_id", "text")):
        if columns[identity] is None and any(not value or value.isspace() for value in columns[words] or ()):
            return None
    grader.set_aside += set_aside
    lines = range(first_line, first_line + len(relevance))
    query_id, query, doc_id, text = (columns[key] for key in KEYS)
    return LabelFile(path, label_format, lines, query_id, query, doc_id, text, relevance)


def _strings(column: pa.ChunkedArray) -> Strings:
    if not pa.types.is_dictionary(column.type):
        return Strings(column)
    coded = column.unify_dictionaries().combine_chunks()
    return Strings(pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(ID)))


def _grades(column: pa.ChunkedArray, grade: Callable[[str], int | None]) -> tuple[list[int | None], int]:
    """The grade of each row, and the number of labels set aside."""
    relevance: list[int | None] = []
    set_aside = 0
    for chunk in column.chunks:
        texts, places = chunk.dictionary.to_pylist(), np.from_dlpack(chunk.indices)
        grades = np.array([grade(text) for text in texts], dtype=object)
        unread = [
            grade is None and bool(text) and not text.isspace() for text, grade in zip(texts, grades, strict=True)
        ]
        relevance += grades[places].tolist()
        set_aside += int(np.array(unread, dtype=bool)[places].sum())
    return relevance, set_aside


class Rows:
    """Collects a file's rows. Equal query_ids and texts are stored only once, since they recur."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = array("q")
        self._columns: dict[str, list[str | None]] = {key: [] for key in KEYS}
        self._relevance: list[int | None] = []
        self._held: dict[str, str] = {}
        self._append = [self._columns[key].append for key in KEYS]

    def add(self, line: int, keys: Sequence[str | None], relevance: int | None) -> None:
        """Adds a row; ``keys`` are in the order of ``KEYS``, with None for those that the row lacks."""
        hold = self._held.setdefault
        query_id, query, doc_id, text = keys
        add_query_id, add_query, add_doc_id, add_text = self._append
        self._lines.append(line)
        self._relevance.append(relevance)
        add_query_id(None if query_id is None else hold(query_id, query_id))
        add_query(None if query is None else hold(query, query))
        add_doc_id(doc_id)
        add_text(None if text is None else hold(text, text))

    def label_file(self, label_format: str, expected: str, problems: Problems) -> LabelFile:
        """The label file with all rows; reports a file without rows, and rows that lack an id that other rows have."""
        if not self._lines and not problems.count:
            problems.report(self._path, None, f"holds no labels; expected {expected}")
        query_id, doc_id = (self._ids(key, problems) for key in ("query_id", "doc_id"))
        query = self._texts("query", "query_id" if query_id is None else None, problems)
        text = self._texts("text", "doc_id" if doc_id is None else None, problems)
        return LabelFile(self._path, label_format, self._lines, query_id, query, doc_id, text, self._relevance)

    def _ids(self, key: str, problems: Problems) -> list[str] | None:
        column = self._columns[key]
        ids = [value for value in column if value is not None]
        if len(ids) == len(column):
            return ids or None
        if ids:
            line = self._lines[column.index(None)]
            problems.report(self._path, line, f"has no {key}, which other rows have; add it")
        return None

    def _texts(self, key: str, missing_id: str | None, problems: Problems) -> list[str] | None:
        column = self._columns[key]
        if missing_id is not None:
            for line, value in zip(self._lines, column, strict=True):
                if not value or value.isspace():
                    message = f"{key} is empty and there is no {missing_id}; expected one of them in every row"
                    problems.report(self._path, line, message)
        if column.count(None) == len(column):
            return None
        return [value or "" for value in column]
