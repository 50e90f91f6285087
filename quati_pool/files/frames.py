"""Reads runs and labels that a Python program holds, as strictly as files: pandas frames, and mappings of query_id to
{doc_id: value}, as pytrec_eval, ir_measures and ranx take them.

Rows are counted from 0, as ``frame.iloc`` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from quati_pool.errors import FrameError
from quati_pool.files.label_files.label_file import LabelFile, Strings
from quati_pool.files.problems import id_error, quoted
from quati_pool.files.runs import RunRows
from quati_pool.records import ID, MAX_GRADE, Ids, Int, code_ids, id_problem

if TYPE_CHECKING:
    import pandas as pd

_IDS = ("query_id", "doc_id")
# Scores that round to more than the largest float32 would become infinite.
_TOO_LARGE = 2.0**128 - 2.0**103
_NUMBERS = frozenset({"integer", "floating", "mixed-integer-float", "empty"})


@dataclass(frozen=True, eq=False)
class Given:
    """A frame or mapping, and how the caller wrote it, such as ``runs["bm25"]``. ``rows`` are the positions of its
    rows in the frame that it is a part of, None for a whole frame."""

    data: Any
    name: str
    rows: Int | None = None


def read_run_frame(given: Given, run_tag: str) -> RunRows:
    """The rows of a run, from the columns query_id, doc_id and score; without a column rank, all ranks are 0.

    Raises FrameError for a missing column, an id that is not a string or cannot be an id, a score that is not a finite
    number as float32, a rank that is not an integer, and a pair that occurs twice.
    """
    rows = _Rows(given, "score")
    (queries, query), (docs, doc) = rows.ids("query_id"), rows.ids("doc_id")
    rows.refuse_repeats(query * len(docs) + doc)
    score = rows.numbers("score", "is not a number; expected one such as 12.5")
    rows.refuse("score", ~np.isfinite(score), "is not finite; drop the row, or give a score")
    rows.refuse("score", np.abs(score) >= _TOO_LARGE, "is too large for float32; expected at most 3.4e38")
    rank = np.zeros(len(score), dtype=np.int64)
    if "rank" in rows.frame.columns:
        ranks = rows.numbers("rank", "is not an integer; expected 1, 2, 3 and so on")
        rows.refuse("rank", ~(ranks == np.floor(ranks)), "is not an integer; expected 1, 2, 3 and so on")
        rank = ranks.astype(np.int64)
    return RunRows(run_tag, queries, docs, query, doc, rank, score.astype(np.float32))


def read_label_frame(given: Given) -> LabelFile:
    """The labels in the columns query_id, doc_id and relevance; a missing relevance (NaN, None) is a pair without a
    grade.

    Raises FrameError for a missing column, an id that is not a string or cannot be an id, a relevance that is not an
    integer, and a pair that occurs twice.
    """
    rows = _Rows(given, "relevance")
    (queries, query), (docs, doc) = rows.ids("query_id"), rows.ids("doc_id")
    rows.refuse_repeats(query * len(docs) + doc)
    grade = rows.numbers("relevance", "is not an integer; expected a grade such as 0 or 3")
    there = ~np.isnan(grade)
    rows.refuse(
        "relevance",
        there & ((grade != np.floor(grade)) | np.isinf(grade)),
        "is not an integer; expected a grade such as 0 or 3",
    )
    rows.refuse(
        "relevance", there & (np.abs(grade) > MAX_GRADE), f"is beyond ±{MAX_GRADE:,}; expected a grade such as 3"
    )
    relevance = np.full(len(grade), None, dtype=object)
    relevance[there] = grade[there].astype(np.int64)
    return LabelFile(
        Path(given.name),
        "frame",
        range(len(grade)) if given.rows is None else given.rows.tolist(),
        Strings(queries.decode(query)),
        None,
        Strings(docs.decode(doc)),
        None,
        relevance.tolist(),
    )


def parts(frame: pd.DataFrame, column: str, name: str) -> dict[str, Given]:
    """The parts of a frame that holds several runs or labelers, by the values of ``column``, in order of appearance."""
    if column not in frame.columns:
        raise FrameError(
            f"{name}: has no column {column}, which says whose each row is; add it, or pass {{name: frame}}"
        )
    names = frame[column]
    absent = np.flatnonzero(names.isna())
    if len(absent):
        raise FrameError(f"{name}, row {absent[0]}: {column} is missing; expected a name")
    for tag in names.unique().tolist():
        if not isinstance(tag, str):
            row = int(np.flatnonzero((names == tag).to_numpy())[0])
            raise FrameError(f"{name}, row {row}: {column} {tag!r} is not a string; read it with dtype=str")
    found = frame.groupby(column, sort=False, observed=True).indices
    return {
        tag: Given(frame.take(found[tag]), name, np.asarray(found[tag], dtype=np.int64))
        for tag in names.unique().tolist()
    }


class _Rows:
    """The columns of a frame or mapping, and messages that say where a value is."""

    def __init__(self, given: Given, value: str) -> None:
        self._given = given
        self._place: Callable[[int], str] = self._row
        if isinstance(given.data, Mapping):
            self.frame = _flattened(given, value)
            self._place = self._key
        else:
            self.frame = given.data
        self._check_columns((*_IDS, value))

    def _row(self, row: int) -> str:
        rows = self._given.rows
        return f"{self._given.name}, row {row if rows is None else rows[row]}"

    def _key(self, row: int) -> str:
        query_id, doc_id = (self.frame[name].iloc[[row]].tolist()[0] for name in _IDS)
        return f"{self._given.name}[{query_id!r}][{doc_id!r}]"

    def fail(self, row: int, problem: str) -> NoReturn:
        raise FrameError(f"{self._place(row)}: {problem}")

    def refuse(self, column: str, wrong: np.ndarray[Any, Any], problem: str) -> None:
        """Raises FrameError for the first row that is ``wrong``, shape (rows,)."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            self.fail(rows[0], f"{column} {self.frame[column].iloc[rows[0]]} {problem}")

    def _check_columns(self, needed: tuple[str, ...]) -> None:
        import pandas as pd

        name, frame = self._given.name, self.frame
        if not isinstance(frame, pd.DataFrame):
            expected = (
                f"a DataFrame with the columns {', '.join(needed)}, {{query_id: {{doc_id: {needed[2]}}}}} or a path"
            )
            raise FrameError(f"{name}: expected {expected}, not {type(frame).__name__}")
        columns = list(frame.columns)
        for column in needed:
            if columns.count(column) > 1:
                raise FrameError(f"{name}: has {columns.count(column)} columns {column}; keep one")
            if column in frame.index.names:
                raise FrameError(f"{name}: {column} is in its index; move it to a column with frame.reset_index()")
            if column not in columns:
                there = ", ".join(map(str, columns)) or "none"
                remedy = f"rename its columns to {', '.join(needed)}"
                if column == "score" and "rank" in columns:
                    remedy = 'runs are ranked by score: add one, such as frame["score"] = -frame["rank"]'
                raise FrameError(f"{name}: has no column {column} (it has: {there}); {remedy}")
        if not len(frame):
            raise FrameError(f"{name}: holds no rows; expected {', '.join(needed)}")

    def ids(self, column: str) -> tuple[Ids, Int]:
        """The distinct ids of a column, and each row's code, shape (rows,)."""
        series = self.frame[column]
        kind = _kind(series)
        if kind not in ("string", "empty"):
            row, value = next((row, value) for row, value in enumerate(series) if not isinstance(value, str))
            if not _missing(value):
                self.fail(row, f"{column} {value!r} is not a string; read it with dtype=str")
        absent = np.flatnonzero(series.isna())
        if len(absent):
            self.fail(absent[0], f"{column} is missing; expected an id")
        try:
            values = pa.array(series, type=ID)
        except (pa.ArrowException, UnicodeEncodeError):
            # A lone surrogate is the only string that Arrow does not accept.
            for row, value in enumerate(series):
                if problem := id_problem(value):
                    self.fail(row, id_error(column, value, problem))
            raise
        ids, (codes,) = code_ids([values])
        distinct = ids.values.to_pylist()
        if id_problem("".join(distinct)) or "" in distinct:
            for code, value in enumerate(distinct):
                if problem := id_problem(value):
                    self.fail(int(np.flatnonzero(codes == code)[0]), id_error(column, value, problem))
        return ids, codes

    def numbers(self, column: str, problem: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A column as float64, shape (rows,); missing values are NaN."""
        series = self.frame[column]
        if _kind(series) not in _NUMBERS:
            row, value = next((row, value) for row, value in enumerate(series) if not _is_number(value))
            self.fail(row, f"{column} {quoted(value) if isinstance(value, str) else value} {problem}")
        values: np.ndarray[Any, np.dtype[np.float64]] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values

    def refuse_repeats(self, pair: Int) -> None:
        """Raises FrameError if two rows have the same ``pair``, shape (rows,), naming the later one."""
        order = np.argsort(pair, kind="stable")
        again = np.flatnonzero(pair[order[1:]] == pair[order[:-1]])
        if not len(again):
            return
        at = again[np.argmin(order[again + 1])]
        row, first = int(order[at + 1]), int(order[at])
        ids = " and ".join(f"{name} {quoted(self.frame[name].iloc[row])}" for name in _IDS)
        rows = self._given.rows
        self.fail(row, f"{ids} are already in row {first if rows is None else rows[first]}; expected one row per pair")


def _flattened(given: Given, value: str) -> pd.DataFrame:
    """A mapping as a frame, one row per document."""
    import pandas as pd

    for query_id, docs in given.data.items():
        if not isinstance(docs, Mapping):
            expected = f"expected {{query_id: {{doc_id: {value}}}}}, but {query_id!r} maps to {docs!r:.60}"
            raise FrameError(f"{given.name}: {expected}; pass {{name: {{query_id: {{doc_id: {value}}}}}}}")

    def each() -> Iterator[Iterator[Any]]:
        yield chain.from_iterable(repeat(query_id, len(docs)) for query_id, docs in given.data.items())
        yield chain.from_iterable(docs.keys() for docs in given.data.values())
        yield chain.from_iterable(docs.values() for docs in given.data.values())

    return pd.DataFrame({name: list(column) for name, column in zip((*_IDS, value), each(), strict=True)})


def _kind(series: pd.Series[Any]) -> str:
    """What pandas takes the values of a column to be; those of a categorical column are its categories."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(series, skipna=True)
    return str(infer_dtype(series.cat.categories, skipna=True) if kind == "categorical" else kind)


def _missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _is_number(value: Any) -> bool:
    return (isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)) or _missing(value)
