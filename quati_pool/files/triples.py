"""Reads a knowledge graph: triples, the texts that mention them, and the texts of entities and properties.

Triples are TSV, CSV, JSONL or Parquet (the first three may be .gz) with the columns ``subject``, ``property`` and
``object``. A TSV without a header has these three alone. With the columns ``doc_id``, ``start``, ``end`` and
``evidence`` a row is one mention of its triple, and a triple may have many rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.arrow_reader import read_with_arrow, valid_ids
from quati_pool.files.columns import integer
from quati_pool.files.corpus import read_parquet
from quati_pool.files.formats import data_suffix
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import RowError, check_id, quoted, surrogate_problem
from quati_pool.files.tables import Field, json_object, read_table
from quati_pool.records import ID, Ids, Int, numbers, release_memory

COLUMNS = ("subject", "property", "object")
EVIDENCE_COLUMNS = ("doc_id", "start", "end", "evidence")

Code = npt.NDArray[np.int32]

_Format = Literal["tsv", "csv", "jsonl", "parquet"]
_Columns: TypeAlias = Sequence[pa.DictionaryArray]

_ROWS = 100_000
_STRINGS = (pa.string(), pa.large_string(), pa.string_view())
_FORMATS: dict[str, _Format] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
# A first line with one of these words is a header: it is never read as a triple.
_HEADER_WORDS = {*COLUMNS, "predicate", "relation", "head", "tail"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_EXPECTED = "expected the columns subject, property, object"
_EMPTY = f"holds no triples; {_EXPECTED} and at least one row"
_DAMAGED = "is damaged or not Parquet; copy or write it again"


class GraphIds(NamedTuple):
    """The ids of a graph. Each vocabulary is in the order of the ids' bytes, so that codes depend neither on the order
    of rows nor on how they lie in files."""

    entities: Ids
    properties: Ids

    def keys(self, subject: npt.NDArray[Any], prop: npt.NDArray[Any], obj: npt.NDArray[Any]) -> Int:
        """One integer per triple, shape (n,); keys are ordered as the triples' ids."""
        keys: Int = (subject.astype(np.int64) * len(self.properties) + prop) * len(self.entities) + obj
        return keys


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """The rows of a graph as codes, each column of shape (rows,); rows may repeat. ``subject`` and ``object`` are codes
    of entities."""

    subject: Code
    property: Code
    object: Code
    ids: GraphIds

    def __len__(self) -> int:
        return len(self.subject)


class Mention(NamedTuple):
    """Where a document says what a triple says: its characters from ``start`` to ``end``, which are ``text``."""

    doc_id: str
    start: int
    end: int
    text: str


class EntityText(NamedTuple):
    """What an entity or a property is called; ``description`` may be empty."""

    label: str
    description: str
    aliases: tuple[str, ...]


def read_triples(paths: Sequence[Path]) -> Triples:
    """The triples of all files.

    Raises InputError for a file that is missing, empty or not in its format, with the line (in Parquet: the row), and
    QuatiPoolError for a graph whose triples cannot be numbered in 64 bits.
    """
    columns: list[list[pa.DictionaryArray]] = [[], [], []]
    for path in paths:
        empty = True
        for batch in _batches(path):
            for column, codes in zip(columns, batch, strict=True):
                column.append(pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(ID)))
            empty = empty and not len(batch[0])
        if empty:
            raise InputError(path, None, _EMPTY)
    subjects, properties, objects = columns
    property_ids, prop = _ranked(properties)
    entity_ids, entity = _ranked(subjects + objects)
    if 2 * len(entity_ids) ** 2 * len(property_ids) >= 2**63:
        raise QuatiPoolError(
            f"{len(entity_ids):,} entities with {len(property_ids):,} properties are too many to be numbered in 64 "
            "bits; leave out properties that no question needs"
        )
    del columns, subjects, properties, objects
    release_memory()
    return Triples(entity[: len(prop)], prop, entity[len(prop) :], GraphIds(entity_ids, property_ids))


def read_mentions(paths: Sequence[Path], ids: GraphIds, wanted: Int) -> dict[int, list[Mention]] | None:
    """The mentions of the triples whose keys are ``wanted`` (``GraphIds.keys``; ascending, each once), by key. None if
    no row of any triple has the columns of evidence.

    Mentions are ordered by document and place; of those of one triple with the same text the first is kept. A row
    whose ``evidence`` is empty is no mention. Raises InputError where a file or a row has some of the columns only, and
    for a row of a wanted triple whose document or place is none.
    """
    lookup = _WantedTriples(ids, wanted)
    places: dict[int, dict[str, tuple[str, int, int]]] = {}
    for path in paths:
        for line, key, values in _mention_rows(path, lookup):
            try:
                mention = _mention(values)
            except RowError as fault:
                raise InputError(path, line, str(fault)) from None
            if mention is not None:
                of_triple = places.setdefault(key, {})
                place = (mention.doc_id, mention.start, mention.end)
                of_triple[mention.text] = min(of_triple.get(mention.text, place), place)
    if not lookup.compared:
        return None
    return {
        key: sorted(Mention(*place, text) for text, place in of_triple.items()) for key, of_triple in places.items()
    }


def read_texts(paths: Sequence[Path], wanted: Collection[str]) -> dict[str, EntityText]:
    """The texts of the ``wanted`` ids, entities and properties alike, from JSONL with ``id`` and ``label``, and where
    there are any ``description`` and ``aliases``, a list. An id that no file has is left out.

    Every line is checked. Raises InputError for a faulty one, and for a wanted id with a second text.
    """
    found: dict[str, EntityText] = {}
    for path in paths:
        if _format(path) != "jsonl":
            raise InputError(path, None, "is not JSONL by its name; expected .jsonl or .jsonl.gz with id and label")
        empty = True
        for line, text in _json_lines(path):
            empty = False
            try:
                identity, described = _entity_text(json_object(text))
                if identity in wanted:
                    if identity in found:
                        raise RowError(f"id {quoted(identity)} has a text already; expected each id once")
                    found[identity] = described
            except RowError as fault:
                raise InputError(path, line, str(fault)) from None
        if empty:
            raise InputError(path, None, "holds no texts; expected a line for each entity and property")
    return found


def _ranked(chunks: list[pa.DictionaryArray]) -> tuple[Ids, Code]:
    """A vocabulary in the order of the ids' bytes, and the codes of all chunks, one after another. Dictionaries are
    unified, as to encode the values again would need the ids of all rows as text."""
    unified = pa.chunked_array(chunks).unify_dictionaries()
    ids = unified.chunk(0).dictionary
    order = pc.sort_indices(ids)
    rank = np.empty(len(ids), dtype=np.int32)
    rank[numbers(order)] = np.arange(len(ids), dtype=np.int32)
    return Ids(ids.take(order)), rank[np.concatenate([numbers(chunk.indices) for chunk in unified.chunks])]


def _format(path: Path) -> _Format:
    found = _FORMATS.get(data_suffix(path))
    if found is None:
        raise InputError(path, None, "is not in a known format; expected .tsv, .csv, .jsonl or .parquet by its name")
    return found


def _batches(path: Path) -> Iterator[_Columns]:
    """The three columns, one part of the file after another."""
    kind = _format(path)
    if kind == "jsonl":
        yield from _coded(_json_rows(path))
        return
    header = _header(path, kind)
    fast = _parquet_batches(path) if kind == "parquet" else _tsv_batches(path, header) if kind == "tsv" else None
    # A field named doc_id is checked to be an id, whatever its column.
    yield from (
        fast if fast is not None else _coded(_table_rows(path, kind, [Field("doc_id", name) for name in COLUMNS]))
    )


def _table_rows(path: Path, kind: _Format, fields: Sequence[Field]) -> Iterator[tuple[int, Sequence[str]]]:
    if kind == "parquet":
        return read_parquet(path, fields)
    return read_table(path, "csv" if kind == "csv" else "tsv", fields, headerless=kind == "tsv")


def _header(path: Path, kind: _Format) -> list[str] | None:
    """The names of a file's columns; None for a TSV without a header. Raises InputError if columns are missing."""
    line: int | None = None
    if kind == "parquet":
        names: list[str] = _parquet_names(path)
    else:
        line, text = next(((line, text) for line, text in read_lines(path) if text), (1, ""))
        if not text:
            raise InputError(path, None, _EMPTY)
        names = text.split("\t") if kind == "tsv" else next(csv.reader([text]))
        if kind == "tsv" and len(names) == len(COLUMNS) and not _HEADER_WORDS & {name.lower() for name in names}:
            return None
    missing = next((name for name in COLUMNS if name not in names), None)
    if missing is not None:
        shown = ", ".join(map(quoted, names[:10]))
        rule = "; a TSV without a header has these three alone" if kind == "tsv" else ""
        raise InputError(path, line, f"no column {missing!r} among {shown}; {_EXPECTED}{rule}")
    return names


def _tsv_batches(path: Path, header: Sequence[str] | None) -> Iterator[_Columns] | None:
    """The columns of a regular file; None for one that has to be read line by line."""
    names = COLUMNS if header is None else header
    if len(set(names)) < len(names):
        return None
    table = read_with_arrow(path, "\t", names, COLUMNS, COLUMNS, header=header is not None)
    return None if table is None else ([batch[name] for name in COLUMNS] for batch in table.to_batches())


def _parquet_names(path: Path) -> list[str]:
    try:
        names: list[str] = pq.read_schema(path).names
    except FileNotFoundError as error:
        raise InputError(path, None, "there is no such file; check the path") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, None, _DAMAGED) from error
    return names


def _parquet_batches(path: Path) -> Iterator[_Columns] | None:
    """The columns of a Parquet file; None for one with a value that is not an id, whose row ``read_parquet`` names."""
    batches: list[_Columns] = []
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            if not all(schema.names.count(name) == 1 and _is_text(schema.field(name).type) for name in COLUMNS):
                return None
            for batch in file.iter_batches(_ROWS, columns=list(COLUMNS)):
                columns = [batch[name].cast(ID) for name in COLUMNS]
                for column in columns:
                    column.validate(full=True)
                if not all(column.null_count == 0 and valid_ids(column) for column in columns):
                    return None
                batches.append([column.dictionary_encode() for column in columns])
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None
    return iter(batches)


def _is_text(kind: pa.DataType) -> bool:
    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in _STRINGS


def _coded(rows: Iterator[tuple[int, Sequence[str]]]) -> Iterator[_Columns]:
    while part := list(islice(rows, _ROWS)):
        yield [_texts([values[place] for _, values in part]).dictionary_encode() for place in range(len(COLUMNS))]


def _texts(values: Sequence[str]) -> pa.Array:
    return pa.array(values, type=ID)


def _json_lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in read_lines(path) if text and not text.isspace())


def _json_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in _json_lines(path):
        try:
            yield line, _triple(json_object(text))
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None


def _triple(record: dict[str, object]) -> list[str]:
    return [_id(record, name, f"; {_EXPECTED}") for name in COLUMNS]


def _id(record: dict[str, object], name: str, expected: str = "") -> str:
    if name not in record:
        raise RowError(f"has no {name}{expected or '; expected an id'}")
    value = record[name]
    if not isinstance(value, str):
        raise RowError(f"{name} is not a string; expected an id in quotes")
    check_id(name, value)
    return value


# Mentions.


class _WantedTriples:
    """Finds triples by their ids. Only ids of wanted triples are looked up: a graph has many more."""

    def __init__(self, ids: GraphIds, wanted: Int) -> None:
        entities, properties = len(ids.entities), len(ids.properties)
        self.compared = 0
        self._ids = ids
        self._wanted = wanted
        self._entities = np.unique(np.concatenate([wanted // entities // properties, wanted % entities]))
        self._properties = np.unique(wanted // entities % properties)
        self._entity_ids = ids.entities.decode(self._entities)
        self._property_ids = ids.properties.decode(self._properties)

    def keys(self, subjects: pa.Array, properties: pa.Array, objects: pa.Array) -> Int:
        """The key of each triple, shape (n,); -1 for one that is not wanted. ``compared`` counts them."""
        self.compared += len(subjects)
        subject = _places(subjects, self._entity_ids)
        prop = _places(properties, self._property_ids)
        obj = _places(objects, self._entity_ids)
        found = np.full(len(subject), -1, dtype=np.int64)
        known = np.flatnonzero((subject >= 0) & (prop >= 0) & (obj >= 0))
        keys = self._ids.keys(self._entities[subject[known]], self._properties[prop[known]], self._entities[obj[known]])
        is_wanted = np.isin(keys, self._wanted)
        found[known[is_wanted]] = keys[is_wanted]
        return found


def _places(values: pa.Array, ids: pa.Array) -> Int:
    return numbers(pc.fill_null(pc.index_in(values, value_set=ids), -1)).astype(np.int64)


def _mention_rows(path: Path, wanted: _WantedTriples) -> Iterator[tuple[int, int, Sequence[object]]]:
    """The line, the triple's key, and the four values of evidence of each row of a wanted triple that has them."""
    kind = _format(path)
    if kind == "jsonl":
        yield from _json_mentions(path, wanted)
        return
    names = _header(path, kind)
    present = [name for name in EVIDENCE_COLUMNS if name in (names or ())]
    if not present:
        return
    _all_columns(path, None, present)
    if kind == "parquet":
        yield from _parquet_mentions(path, wanted)
        return
    fields = [Field("doc_id", name) for name in COLUMNS] + [Field("text", name) for name in EVIDENCE_COLUMNS]
    rows = _table_rows(path, kind, fields)
    while part := list(islice(rows, _ROWS)):
        keys = wanted.keys(*(_texts([values[place] for _, values in part]) for place in range(len(COLUMNS))))
        for place in np.flatnonzero(keys >= 0).tolist():
            line, values = part[place]
            yield line, int(keys[place]), values[len(COLUMNS) :]


def _all_columns(path: Path, line: int | None, present: Collection[str]) -> None:
    missing = next((name for name in EVIDENCE_COLUMNS if name not in present), None)
    if missing is not None:
        raise InputError(path, line, f"no column {missing!r}; evidence needs doc_id, start, end, evidence")


def _json_mentions(path: Path, wanted: _WantedTriples) -> Iterator[tuple[int, int, Sequence[object]]]:
    def rows() -> Iterator[tuple[int, list[str], list[object]]]:
        for line, text in _json_lines(path):
            try:
                record = json_object(text)
                triple = _triple(record)
            except RowError as fault:
                raise InputError(path, line, str(fault)) from None
            present = [name for name in EVIDENCE_COLUMNS if name in record]
            if present:
                _all_columns(path, line, present)
                yield line, triple, [record[name] for name in EVIDENCE_COLUMNS]

    found = rows()
    while part := list(islice(found, _ROWS)):
        keys = wanted.keys(*(_texts([triple[place] for _, triple, _ in part]) for place in range(len(COLUMNS))))
        for place in np.flatnonzero(keys >= 0).tolist():
            line, _, values = part[place]
            yield line, int(keys[place]), values


def _parquet_mentions(path: Path, wanted: _WantedTriples) -> Iterator[tuple[int, int, Sequence[object]]]:
    try:
        with pq.ParquetFile(path) as file:
            first = 1
            for batch in file.iter_batches(_ROWS, columns=[*COLUMNS, *EVIDENCE_COLUMNS]):
                keys = wanted.keys(*(batch[name].cast(ID) for name in COLUMNS))
                places = np.flatnonzero(keys >= 0)
                taken = batch.take(pa.array(places.tolist(), type=pa.int64()))
                values = zip(*(taken[name].to_pylist() for name in EVIDENCE_COLUMNS), strict=True)
                for place, row in zip(places.tolist(), values, strict=True):
                    yield first + place, int(keys[place]), row
                first += len(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(path, None, _DAMAGED) from error


def _mention(values: Sequence[object]) -> Mention | None:
    doc_id, start, end, text = values
    if text is None or text == "":
        return None
    if not isinstance(doc_id, str):
        raise RowError("doc_id is not a string; expected an id")
    check_id("doc_id", doc_id)
    first, last = _character("start", start), _character("end", end)
    if last < first:
        raise RowError(f"end {last} is before start {first}; expected the characters from start to end")
    return Mention(doc_id, first, last, _prose("evidence", text))


def _character(name: str, value: object) -> int:
    found = integer(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 2**63:
        raise RowError(f"{name} {quoted(str(value))} is not a number of characters; expected 0 or more")
    return found


def _prose(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RowError(f"{name} is not a string; expected text")
    if "\0" in value:
        raise RowError(f"{name} holds the character U+0000; remove it")
    problem = surrogate_problem(value)
    if problem:
        raise RowError(f"{name} {problem}")
    return value


# Texts.


def _entity_text(record: dict[str, object]) -> tuple[str, EntityText]:
    identity = _id(record, "id")
    if "label" not in record:
        raise RowError("has no label; expected id and label")
    label = _line("label", record["label"])
    if not any(character.isprintable() and not character.isspace() for character in label):
        raise RowError("label is empty or invisible; leave the line out, and the id is shown")
    description, aliases = record.get("description"), record.get("aliases")
    if aliases is not None and not isinstance(aliases, list):
        raise RowError("aliases is not a list; expected a list of strings")
    return identity, EntityText(
        label,
        "" if description is None else _line("description", description),
        tuple(_line("an alias", alias) for alias in aliases or ()),
    )


def _line(name: str, value: object) -> str:
    text = _prose(name, value)
    found = _CONTROL.search(text)
    if found:
        raise RowError(f"{name} {quoted(text)} holds the character U+{ord(found.group()):04X}; expected one line")
    return text
