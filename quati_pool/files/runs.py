"""Reads and writes TREC runs: ``query_id Q0 doc_id rank score run_tag``. A file may hold several runs, by their tags.

A regular file is read with Arrow's parser. A file that Arrow cannot read, or with anything that Arrow accepts but the
format does not, is read again line by line, so that errors name the line at fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.arrow_reader import read_with_arrow, single_blanks, valid_ids
from quati_pool.files.columns import Pairs, integer, read_columns, refuse_comments
from quati_pool.files.lines import output, read_bytes
from quati_pool.files.problems import STRICT, Problems, RowError, id_error, quoted
from quati_pool.records import ID, Float, Ids, Int, Run, code_ids, id_problem
from quati_pool.registry import nearest

_COLUMNS = ("query_id", "Q0", "doc_id", "rank", "score", "run_tag")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+\Z")
_SLICE = 1 << 18
_NAMED = 3


class RunRows(NamedTuple):
    """The rows of one run in a file, in file order and with the file's ranks."""

    run_tag: str
    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    rank: Int
    score: Float


class RankContradictions(NamedTuple):
    """The number of ``rows`` in a run file with a higher score than a better-ranked row of the same query, and the
    number of ``queries`` with such rows."""

    queries: int
    rows: int


def read_run(path: Path, run_tag: str | None = None, depth: int | None = None, problems: Problems = STRICT) -> Run:
    """The run in a file, ranked by its scores (the file's ranks are ignored) and named ``run_tag``, by default as in
    the file."""
    return ranked_run(read_run_rows(path, problems), run_tag, depth)


def ranked_run(rows: RunRows, run_tag: str | None = None, depth: int | None = None) -> Run:
    """The rows as a run, ranked by their scores and named ``run_tag``, by default as in the file."""
    name = rows.run_tag if run_tag is None else run_tag
    return Run.ranked(name, rows.queries, rows.docs, rows.query, rows.doc, rows.score, depth)


def rank_contradictions(rows: RunRows) -> RankContradictions:
    """Counts contradictions between the rank column and the scores, which take precedence; equal ranks or equal scores
    never contradict."""
    same, score = rows.query[1:] == rows.query[:-1], rows.score
    next_query = rows.query[1:] > rows.query[:-1]
    if (next_query | (same & (rows.rank[1:] > rows.rank[:-1]) & (score[1:] <= score[:-1]))).all():
        return RankContradictions(0, 0)
    order = np.lexsort((-score, rows.rank, rows.query))
    query = rows.query[order]
    levels, level = np.unique(score[order], return_inverse=True)
    # Levels are shifted down from query to query, so that a single running minimum restarts at each query.
    placed = level - query * len(levels)
    above = placed[1:] > np.minimum.accumulate(placed)[:-1]
    return RankContradictions(len(np.unique(query[1:][above])), int(above.sum()))


def read_runs(path: Path, problems: Problems = STRICT) -> dict[str, RunRows]:
    """The rows of each run in a file by its tag, in the order in which the tags first occur; the rows of a run need
    not be together.

    Warns ``problems`` about a last line without a line end, since its row may be cut off. Without a valid row the
    result is empty, as the first of its faults was reported to ``problems``.
    """
    data = read_bytes(path)
    if data and not data.endswith(b"\n"):
        problems.warn(path, "has no line end after its last row and may be cut off; check that row, or copy it again")
    return _read_regular(data) or _read_regular(_without_comments(data)) or _read_by_line(path, problems)


def run_queries(path: Path) -> dict[str, list[str]]:
    """The query_ids of each run in a file by its tag, both in the order of the file. Of a file without irregularities
    no other column is read, so that faults in these are found only when the run is.

    Raises InputError as ``read_runs`` does.
    """
    wanted = ("query_id", "run_tag")
    table = read_with_arrow(path, " ", _COLUMNS, wanted, wanted, prepare=_without_comments)
    if table is None or pc.any(pc.starts_with(table["query_id"].cast(ID), "#")).as_py():
        return {tag: rows.queries.decode(np.unique(rows.query)).to_pylist() for tag, rows in read_runs(path).items()}
    queries, (query,) = code_ids([table["query_id"]])
    tags, (tag,) = code_ids([table["run_tag"]])
    pairs = np.unique(tag * len(queries) + query)
    found = np.split(pairs % len(queries), np.searchsorted(pairs, np.arange(1, len(tags)) * len(queries)))
    return {name: queries.decode(of).to_pylist() for name, of in zip(tags.values.to_pylist(), found, strict=True)}


def read_run_rows(path: Path, problems: Problems = STRICT) -> RunRows:
    """All rows of a file of one run; raises InputError for a file of several."""
    return chosen_run(path, read_runs(path, problems), None, "expected one: split the file")


ONE_OF_SEVERAL = "name one with run_tag:, or take all with runs:"


def chosen_run(path: Path, runs: Mapping[str, RunRows], run_tag: str | None, remedy: str = ONE_OF_SEVERAL) -> RunRows:
    """The run of a file that ``run_tag`` names, or the only one.

    Raises InputError if there is no such run; if there are several to choose from, the message ends with ``remedy``.
    """
    if run_tag is not None:
        if run_tag not in runs:
            raise InputError(path, None, f"holds no run {quoted(run_tag)}; {nearest(run_tag, runs)}")
        return runs[run_tag]
    if len(runs) > 1:
        named = ", ".join(list(runs)[:_NAMED])
        more = ", …" if len(runs) > _NAMED else ""
        raise InputError(path, None, f"holds {len(runs):,} runs ({named}{more}); {remedy}")
    return next(iter(runs.values()), None) or _Lines().rows(path.name)


def write_run(run: Run, target: Path | BinaryIO) -> None:
    """Writes a run to a path (compressed with gzip if it ends in .gz) or, uncompressed, to a stream."""
    name = target if isinstance(target, Path) else Path(run.run_tag)
    problem = id_problem(run.run_tag)
    if problem:
        raise QuatiPoolError(f"{name}: {id_error('run_tag', run.run_tag, problem)}")
    refuse_comments(name, run.queries.values)
    if isinstance(target, Path):
        with output(target, level=1) as stream:
            _write(run, stream)
    else:
        _write(run, target)


def copy_run(source: Path, target: Path, run_tag: str, new_tag: str) -> None:
    """Writes the run of a file under another tag, without comments and with Q0 in the second column, as both may name
    its authors.

    The file holds the run ``run_tag`` alone and was read without a fault before. Rows stay as they are where each has
    Q0 and ends in a blank and the tag.
    """
    data = read_bytes(source)
    ending, new_ending = (f" {tag}\n".encode() for tag in (run_tag, new_tag))
    regular = data.count(b" Q0 ") == data.count(ending) == data.count(b"\n") and data.endswith(ending)
    if b"#" in data or not regular:
        write_run(read_run(source, new_tag), target)
        return
    with output(target, level=1) as stream:
        stream.write(data.replace(ending, new_ending))


def _write(run: Run, stream: BinaryIO) -> None:
    for start in range(0, len(run), _SLICE):
        part = slice(start, start + _SLICE)
        rows = pc.binary_join_element_wise(
            run.queries.decode(run.query[part]).cast(pa.string()),
            "Q0",
            run.docs.decode(run.doc[part]).cast(pa.string()),
            pa.array(run.rank[part]).cast(pa.string()),
            # Arrow writes the shortest text that reads back as the same float32.
            pa.array(run.score[part]).cast(pa.string()),
            run.run_tag + "\n",
            " ",
        )
        # The array's data buffer is the concatenation of the joined rows, so it is the file's content.
        stream.write(memoryview(rows.buffers()[2]))


def _read_regular(data: bytes) -> dict[str, RunRows] | None:
    """The runs of a file with single blanks and no comments; None for any other file."""
    parsed = _parse(data)
    if parsed is None:
        return None
    query_id, doc_id, rank, score, run_tag = parsed
    queries, (query,) = code_ids([query_id])
    docs, (doc,) = code_ids([doc_id])
    tags, (tag,) = code_ids([run_tag])
    if not all(valid_ids(ids.values) for ids in (tags, queries, docs)):
        return None
    if pc.any(pc.starts_with(queries.values, "#")).as_py() or not np.isfinite(score).all():
        return None
    triple = np.sort((tag * len(queries) + query) * len(docs) + doc)
    if (triple[1:] == triple[:-1]).any():
        return None
    columns = query, doc, rank, score
    order = slice(None) if (tag[1:] >= tag[:-1]).all() else np.argsort(tag, kind="stable")
    ends = np.cumsum(np.bincount(tag))[:-1]
    parts = zip(*(np.split(column[order], ends) for column in columns), strict=True)
    run_tags = tags.values.to_pylist()
    return {name: RunRows(name, queries, docs, *part) for name, part in zip(run_tags, parts, strict=True)}


def _without_comments(data: bytes) -> bytes:
    """The rows with a single blank between columns, none at the start or end of a line, and without comments."""
    data = single_blanks(data).strip(b"\n")
    if data.startswith(b"#") or b"\n#" in data:
        data = re.sub(rb"(?m)^#.*\n?", b"", data)
    return data


def _parse(data: bytes) -> tuple[pa.ChunkedArray, pa.ChunkedArray, Int, Float, pa.ChunkedArray] | None:
    # Arrow would end a line at a lone \r, and keep a tab in the second column, which no one looks at.
    if not data or b"\r" in data or b"\t" in data:
        return None
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(column_names=_COLUMNS, use_threads=False),
            pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_COLUMNS, pa.string())),
        )
        # Two blanks in a row make an empty column.
        if pc.any(pc.equal(table["Q0"], "")).as_py():
            return None
        # The cast alone would accept 0x10.
        if not pc.all(pc.ascii_is_decimal(table["rank"])).as_py():
            return None
        rank = table["rank"].cast(pa.int64()).to_numpy()
        score = table["score"].cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    with np.errstate(over="ignore"):
        return table["query_id"], table["doc_id"], rank, score.astype(np.float32), table["run_tag"]


class _Lines:
    """The rows of one run, read line by line."""

    def __init__(self) -> None:
        self.pairs = Pairs()
        self.ranks: list[int] = []
        self.scores: list[float] = []

    def rows(self, run_tag: str) -> RunRows:
        columns = np.array(self.ranks, dtype=np.int64), np.array(self.scores, dtype=np.float32)
        return RunRows(run_tag, *self.pairs.coded(), *columns)


def _read_by_line(path: Path, problems: Problems) -> dict[str, RunRows]:
    runs: dict[str, _Lines] = {}
    for line, (query_id, _, doc_id, rank, score, run_tag) in read_columns(path, _COLUMNS, problems):
        try:
            row = _rank(rank), _score(score)
            run = runs.get(run_tag) or _Lines()
            run.pairs.add(query_id, doc_id, line)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            runs[run_tag] = run
            run.ranks.append(row[0])
            run.scores.append(row[1])
    if not runs and not problems.count:
        problems.report(path, None, f"holds no rows; expected {' '.join(_COLUMNS)}")
    return {run_tag: run.rows(run_tag) for run_tag, run in runs.items()}


def _rank(text: str) -> int:
    rank = integer(text)
    if rank is None:
        raise RowError(f"rank {quoted(text)} is not an integer; expected 1, 2, 3 and so on")
    return rank


def _score(text: str) -> float:
    if _NUMBER.match(text):
        score = float(text)
        # Scores that round to more than the largest float32 would become infinite.
        if abs(score) < 2.0**128 - 2.0**103:
            return score
        raise RowError(f"score {quoted(text)} is too large for float32; expected at most 3.4e38")
    if _DECIMAL_COMMA.match(text):
        raise RowError(f"score {quoted(text)} has a decimal comma; write {text.replace(',', '.')}")
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise RowError(f"score {quoted(text)} is not finite; expected a number such as 12.5")
    raise RowError(f"score {quoted(text)} is not a number; expected one such as 12.5")
