"""The pool as JSON lines, one pair a line: readable and writable by anything, without this library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypedDict

from quati_pool.errors import InputError
from quati_pool.files.lines import output, read_lines
from quati_pool.files.problems import quoted
from quati_pool.files.tables import Field, read_table


class PoolPair(TypedDict):
    """A pair to judge. ``runs`` maps each system that returned it to its rank; ``reason`` is depth or
    extra; ``inclusion`` the probability with which the pair came into the pool."""

    query_id: str
    doc_id: str
    query: str
    text: str
    runs: dict[str, int]
    round: int
    reason: str
    inclusion: float


def write_pool(path: Path, pairs: Iterable[PoolPair]) -> None:
    """Writes pairs in their order, packed if ``path`` ends in .gz."""
    with output(path) as stream:
        for pair in pairs:
            stream.write(json.dumps(pair, ensure_ascii=False).encode() + b"\n")


_FIELDS = [Field(name, name) for name in ("query_id", "doc_id", "query", "text")]


class PooledPair(NamedTuple):
    """What a labeler needs of a pair."""

    query_id: str
    doc_id: str
    query: str
    text: str


def read_pool(path: Path) -> Iterator[list[PooledPair]]:
    """A pool's pairs, the pairs of one query that stand together in one list; see ``read_pool_rows``."""
    for _, rows in groupby(read_pool_rows(path), lambda row: row[1].query_id):
        yield [pair for _, pair in rows]


def read_pool_rows(path: Path) -> Iterator[tuple[int, PooledPair]]:
    """Each pair of a pool with its line.

    Of each line only query_id, doc_id, query and text are read, and must be there; an empty text is a
    passage without words. Raises InputError for a pair that occurs twice, for a query_id that comes with
    two different queries, and where the pairs of a query do not stand together.
    """
    last: PooledPair | None = None
    seen: set[str] = set()
    queries: set[str] = set()
    for line, values in read_table(path, "jsonl", _FIELDS):
        pair = PooledPair(*values)
        if last is None or pair.query_id != last.query_id:
            if pair.query_id in queries:
                problem = f"query_id {quoted(pair.query_id)} comes again after other queries"
                raise InputError(path, line, f"{problem}; sort the lines by query_id")
            queries.add(pair.query_id)
            seen = set()
        elif pair.query != last.query:
            problem = f"query_id {quoted(pair.query_id)} has another query than in the line before"
            raise InputError(path, line, f"{problem}; expected one query an id")
        if pair.doc_id in seen:
            problem = f"query_id {quoted(pair.query_id)} and doc_id {quoted(pair.doc_id)} stand together twice"
            raise InputError(path, line, f"{problem}; expected one line a pair")
        seen.add(pair.doc_id)
        last = pair
        yield line, pair


def pick_pool_rows(path: Path, wanted: Iterable[int]) -> Iterator[PooledPair]:
    """The pairs at some lines, ascending, of a pool that was read through before."""
    lines = iter(wanted)
    line = next(lines, None)
    if line is None:
        return
    for number, text in read_lines(path):
        if number == line:
            record = json.loads(text)
            yield PooledPair(*(record[field.column] for field in _FIELDS))
            line = next(lines, None)
            if line is None:
                return
