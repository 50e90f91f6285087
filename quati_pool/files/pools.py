"""Pairs of a query and a passage as JSON lines, readable and writable by anything, without this library: the pool, and
files of pairs that come from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypedDict

from quati_pool.errors import InputError
from quati_pool.files.columns import Pairs
from quati_pool.files.digests import digest
from quati_pool.files.lines import output, read_lines
from quati_pool.files.problems import RowError, quoted
from quati_pool.files.tables import Field, checker, json_object, read_table, refuse_surrogates


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


def has_text(text: str) -> bool:
    """Whether a reader would see anything of a passage."""
    return any(character.isprintable() and not character.isspace() for character in text)


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


class FilePair(NamedTuple):
    """A pair of a file from elsewhere. ``head`` is its line as it came, with the ids that were made, but without the
    closing brace, so that further keys can follow."""

    pair: PooledPair
    narrative: str | None
    head: str


def read_pairs(path: Path, reserved: Collection[str] = ()) -> Iterator[FilePair]:
    """The pairs of a file from elsewhere, in any order: each line holds query and text (or passage), and may hold
    query_id, doc_id, narrative and other keys, but none that is ``reserved``.

    An id that is not there is made from the text it stands for, so that it is the same wherever the line is. Raises
    InputError for a pair that occurs twice, and for a query_id that comes with two queries or narratives.
    """
    pairs = Pairs()
    queries: dict[str, tuple[int, str, str | None]] = {}
    for line, text in read_lines(path):
        if not text or text.isspace():
            continue
        try:
            found = _file_pair(text, reserved)
            query_id, doc_id, query, _ = found.pair
            first, *asked = queries.setdefault(query_id, (line, query, found.narrative))
            if asked != [query, found.narrative]:
                what = "query" if asked[0] != query else "narrative"
                raise RowError(
                    f"query_id {quoted(query_id)} has another {what} than in line {first}; expected one query an id"
                )
            earlier = pairs.earlier(query_id, doc_id, line)
            if earlier is not None:
                ids = f"query_id {quoted(query_id)}, doc_id {quoted(doc_id)}"
                raise RowError(f"holds the pair of line {pairs.lines[earlier]} again ({ids}); expected one line a pair")
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None
        yield found
    if not queries:
        raise InputError(path, None, "holds no pairs; expected an object with query and text on each line")


def _file_pair(line: str, reserved: Collection[str]) -> FilePair:
    record = json_object(line)
    taken = next((name for name in record if name in reserved), None)
    if taken is not None:
        raise RowError(f"holds the key {quoted(taken)}, which the judge's answer is written under; rename it")
    if record.keys() >= {"text", "passage"}:
        raise RowError("holds both text and passage; expected one of them: rename the other")
    column = "passage" if "passage" in record else "text"
    for name, names in (("query", "query"), (column, "text, or passage")):
        if name not in record:
            raise RowError(f"holds no {names}; its keys are {', '.join(map(quoted, record)) or 'none'}: add it")
    fields = [Field("query", "query"), Field("text", column)]
    fields += [Field(name, name) for name in ("query_id", "doc_id") if name in record]
    if record.get("narrative") is not None:
        fields.append(Field("narrative", "narrative"))
    values = [record[field.column] for field in fields]
    given = dict(zip((field.name for field in fields), checker(fields)(values), strict=True))
    if "\\u" in line:
        refuse_surrogates(fields, values)
    query, text, narrative = given["query"], given["text"], given.get("narrative") or None
    query_id = given.get("query_id") or f"q{digest([query, narrative])[:16]}"
    doc_id = given.get("doc_id") or f"d{digest(text)[:16]}"
    if query_id.startswith("#"):
        raise RowError(f"query_id {quoted(query_id)} begins with '#', which marks a comment in TREC files; rename it")
    made = {"query_id": query_id, "doc_id": doc_id}
    ids = "".join(f', "{name}": "{value}"' for name, value in made.items() if name not in record)
    return FilePair(PooledPair(query_id, doc_id, query, text), narrative, line.rstrip()[:-1].rstrip() + ids)
