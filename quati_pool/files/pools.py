"""Reads and writes pairs of a query and a passage as JSON lines: the pool, and files of pairs from other sources."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from quati_pool.errors import InputError
from quati_pool.files.columns import Pairs
from quati_pool.files.digests import digest
from quati_pool.files.lines import output, read_lines
from quati_pool.files.problems import RowError, quoted
from quati_pool.files.tables import Field, checker, json_object, read_table, refuse_surrogates


class PoolPair(TypedDict):
    """A pair to judge. ``runs`` maps each system that returned the passage to its rank; ``round`` counts from 1;
    ``reason`` is ``depth``, ``extra``, the name of an adaptive method, ``random`` or ``kept``; ``inclusion`` is the
    probability with which the pair was included in the pool, None where grades or the draw of others chose it."""

    query_id: str
    doc_id: str
    query: str
    text: str
    runs: dict[str, int]
    round: int
    reason: str
    inclusion: float | None


def write_pool(path: Path, pairs: Iterable[PoolPair]) -> None:
    """Writes pairs in the order given, compressed with gzip if ``path`` ends in .gz."""
    with output(path, level=4) as stream:
        for pair in pairs:
            stream.write(json.dumps(pair, ensure_ascii=False).encode() + b"\n")


_FIELDS = [Field(name, name) for name in ("query_id", "doc_id", "query", "text")]


class PooledPair(NamedTuple):
    """The fields of a pair that a labeler needs."""

    query_id: str
    doc_id: str
    query: str
    text: str


def has_text(text: str) -> bool:
    """Whether a passage has any visible character."""
    return any(character.isprintable() and not character.isspace() for character in text)


def read_pool(path: Path) -> Iterator[list[PooledPair]]:
    """A pool's pairs, one list per query; raises InputError as ``read_pool_rows`` does."""
    for _, rows in groupby(read_pool_rows(path), lambda row: row[1].query_id):
        yield [pair for _, pair in rows]


def read_pool_rows(path: Path) -> Iterator[tuple[int, PooledPair]]:
    """Each pair in a pool with its line number, from 1.

    Only query_id, doc_id, query and text of each line are read, and all four are required; a text may be empty.
    Raises InputError for a pair that occurs twice, for a query_id with two different queries, and if the pairs of a
    query are not on consecutive lines.
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
            raise InputError(path, line, f"{problem}; expected one query per id")
        if pair.doc_id in seen:
            problem = f"query_id {quoted(pair.query_id)} and doc_id {quoted(pair.doc_id)} occur twice"
            raise InputError(path, line, f"{problem}; expected one line per pair")
        seen.add(pair.doc_id)
        last = pair
        yield line, pair


def pick_pool_rows(path: Path, wanted: Iterable[int]) -> Iterator[PooledPair]:
    """The pairs at the ``wanted`` line numbers (ascending) of a pool that ``read_pool_rows`` has accepted."""
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
    """A pair from an external file. ``head`` is its line as read, with generated ids added and without the closing
    brace, so that further keys can be appended."""

    pair: PooledPair
    narrative: str | None
    head: str


def read_pairs(path: Path, reserved: Collection[str] = ()) -> Iterator[FilePair]:
    """The pairs in an external file, in any order. Each line must have query and text (or passage), and may have
    query_id, doc_id, narrative and other keys, but none that is ``reserved``.

    A missing id is generated as a hash of the query and narrative, or of the passage, so that equal texts get the same
    id on every line. Raises InputError for a pair that occurs twice, and for a query_id with two different queries or
    narratives.
    """
    pairs = Pairs()
    queries: dict[str, tuple[int, str, str | None]] = {}
    for line, text in read_lines(path):
        if not text or text.isspace():
            continue
        try:
            file_pair = _file_pair(text, reserved)
            query_id, doc_id, query, _ = file_pair.pair
            first_line, *earlier_texts = queries.setdefault(query_id, (line, query, file_pair.narrative))
            if earlier_texts != [query, file_pair.narrative]:
                what = "query" if earlier_texts[0] != query else "narrative"
                problem = f"query_id {quoted(query_id)} has another {what} than in line {first_line}"
                raise RowError(f"{problem}; expected one query per id")
            earlier = pairs.earlier(query_id, doc_id, line)
            if earlier is not None:
                ids = f"query_id {quoted(query_id)}, doc_id {quoted(doc_id)}"
                first_pair = pairs.lines[earlier]
                raise RowError(f"holds the pair of line {first_pair} again ({ids}); expected one line per pair")
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None
        yield file_pair
    if not queries:
        raise InputError(path, None, "holds no pairs; expected an object with query and text on each line")


def _file_pair(line: str, reserved: Collection[str]) -> FilePair:
    record = json_object(line)
    texts = _texts(line, record, _text_key(record, reserved))
    query, text, narrative = texts["query"], texts["text"], texts.get("narrative") or None
    query_id = texts.get("query_id") or f"q{digest([query, narrative])[:16]}"
    doc_id = texts.get("doc_id") or f"d{digest(text)[:16]}"
    if query_id.startswith("#"):
        raise RowError(f"query_id {quoted(query_id)} begins with '#', which marks a comment in TREC files; rename it")
    ids = {"query_id": query_id, "doc_id": doc_id}
    added = "".join(f', "{name}": "{value}"' for name, value in ids.items() if name not in record)
    return FilePair(PooledPair(query_id, doc_id, query, text), narrative, line.rstrip()[:-1].rstrip() + added)


def _text_key(record: Mapping[str, Any], reserved: Collection[str]) -> str:
    """The key of the passage's text, ``text`` or ``passage``; raises RowError if the record is not a valid pair."""
    taken = next((name for name in record if name in reserved), None)
    if taken is not None:
        raise RowError(f"holds the key {quoted(taken)}, under which the judge's answer is written; rename it")
    if record.keys() >= {"text", "passage"}:
        raise RowError("holds both text and passage; expected one of them: rename the other")
    key = "passage" if "passage" in record else "text"
    for name, names in (("query", "query"), (key, "text, or passage")):
        if name not in record:
            raise RowError(f"holds no {names}; its keys are {', '.join(map(quoted, record)) or 'none'}: add it")
    return key


def _texts(line: str, record: Mapping[str, Any], text_key: str) -> dict[str, str]:
    """The checked values of the fields of a pair, by field name; optional fields only if the record has them."""
    fields = [Field("query", "query"), Field("text", text_key)]
    fields += [Field(name, name) for name in ("query_id", "doc_id") if name in record]
    if record.get("narrative") is not None:
        fields.append(Field("narrative", "narrative"))
    values = [record[field.column] for field in fields]
    texts = dict(zip((field.name for field in fields), checker(fields)(values), strict=True))
    if "\\u" in line:
        refuse_surrogates(fields, values)
    return texts
