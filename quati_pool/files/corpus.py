"""Streams the passages of a corpus of any size from JSONL, TSV, CSV, Parquet or TREC documents."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from quati_pool.errors import InputError
from quati_pool.files.formats import format_of
from quati_pool.files.problems import STRICT, Problems, RowError, check_id, quoted
from quati_pool.files.sgml import read_documents
from quati_pool.files.tables import Field, checker, missing_column, read_table

# A batch ends at whichever limit is reached first, so that neither many nor long passages fill the memory.
_ROWS, _CHARACTERS = 1024, 8_000_000
_STRINGS = (pa.string(), pa.large_string(), pa.string_view())


class PassageBatch(NamedTuple):
    doc_ids: list[str]
    texts: list[str]


Passage = tuple[int, str, str]
"""A passage's line (in Parquet: its row, from 1), id and text."""


def read_passages(
    paths: Sequence[Path],
    doc_id: str = "doc_id",
    text: str | list[str] = "text",
    problems: Problems = STRICT,
) -> Iterator[PassageBatch]:
    """All passages in ``paths``, in order, in batches. If ``text`` is a list of fields, the non-empty ones are joined
    by a line end. Ids are checked to be valid, but may repeat."""
    ids: list[str] = []
    texts: list[str] = []
    empty, characters = True, 0
    for path in paths:
        for _, identity, content in read_file(path, doc_id, text, problems):
            ids.append(identity)
            texts.append(content)
            characters += len(content)
            if len(ids) == _ROWS or characters >= _CHARACTERS:
                empty, characters = False, 0
                yield PassageBatch(ids, texts)
                ids, texts = [], []
    if ids:
        yield PassageBatch(ids, texts)
    elif empty and not problems.count:
        problems.report(paths[0], None, "holds no passages; expected at least one")


def read_file(
    path: Path, doc_id: str = "doc_id", text: str | list[str] = "text", problems: Problems = STRICT
) -> Iterator[Passage]:
    """The passages of one file, with their lines."""
    columns = [text] if isinstance(text, str) else text
    found = format_of(path)
    if found == "topics":
        raise InputError(path, None, "holds topics (<top>); expected passages")
    if found == "documents":
        if (doc_id, columns) != ("doc_id", ["text"]):
            message = "TREC documents have no fields to choose from; leave out doc_id and text"
            raise InputError(path, None, message)
        return _trec(path, problems)
    fields = [Field("doc_id", doc_id), *(Field("text", column) for column in columns)]
    if found == "parquet":
        parquet = read_parquet(path, fields, problems)
        return ((row, identity, texts[0] if len(texts) == 1 else _joined(texts)) for row, (identity, *texts) in parquet)
    headerless = (doc_id, columns) == ("doc_id", ["text"])
    rows = read_table(path, found, fields, headerless, problems)
    if len(columns) == 1:
        return ((line, row[0], row[1]) for line, row in rows)
    return ((line, identity, _joined(parts)) for line, (identity, *parts) in rows)


def locate_doc_ids(
    paths: Sequence[Path], wanted: set[str], doc_id: str = "doc_id", text: str | list[str] = "text"
) -> dict[str, list[tuple[Path, int]]]:
    """The files and lines (in Parquet: rows) at which each of the ``wanted`` ids occurs."""
    places: dict[str, list[tuple[Path, int]]] = {}
    for path in paths:
        for line, identity, _ in read_file(path, doc_id, text):
            if identity in wanted:
                places.setdefault(identity, []).append((path, line))
    return places


def expand_paths(
    base: Path, patterns: str | list[str], ours: Callable[[Path], bool] = lambda path: False
) -> list[Path]:
    """The files that match names and globs relative to ``base``, sorted by name, each once.

    A glob skips folders, hidden files, ``.meta.json`` sidecars and files for which ``ours`` is true (written by the
    tool). Raises InputError for a glob without matches.
    """
    found: set[Path] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        path = base / pattern
        if path.exists() or not glob.has_magic(pattern):
            found.add(path)
            continue
        matches = [base / name for name in glob.glob(pattern, root_dir=base, recursive=True)]
        files = {match for match in matches if _is_input(match) and not ours(match)}
        if not files:
            raise InputError(path, None, "no file matches; check the pattern")
        found |= files
    return sorted(found)


def _is_input(path: Path) -> bool:
    return path.is_file() and not path.name.endswith(".meta.json")


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part for part in parts if part)


def _trec(path: Path, problems: Problems) -> Iterator[Passage]:
    for line, identity, text in read_documents(path, problems):
        try:
            check_id("DOCNO", identity)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            yield line, identity, text


def read_parquet(
    path: Path, fields: Sequence[Field], problems: Problems = STRICT
) -> Iterator[tuple[int, Sequence[str]]]:
    """The number of each row of a Parquet file, from 1, and its values in the order of ``fields``, as of
    ``read_table``. The columns are in the file; one that is not ``required`` may hold nulls."""
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(path, file.schema_arrow, fields)
            row = 1
            for batch in file.iter_batches(_ROWS, columns=[field.column for field in fields]):
                columns = [batch.column(field.column).cast(pa.string()) for field in fields]
                for column in columns:
                    column.validate(full=True)
                yield from _parquet_rows(path, row, columns, fields, problems)
                row += len(batch)
    except FileNotFoundError as error:
        raise InputError(path, None, "there is no such file; check the path") from error
    except PermissionError as error:
        raise InputError(path, None, "may not be read; change its permissions") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, None, "is damaged or not Parquet; copy or write it again") from error


def _check_columns(path: Path, schema: pa.Schema, fields: Sequence[Field]) -> None:
    for field in fields:
        if schema.names.count(field.column) != 1:
            raise InputError(path, None, missing_column(field, schema.names))
        kind = schema.field(field.column).type
        if (kind.value_type if pa.types.is_dictionary(kind) else kind) not in _STRINGS:
            rule = "ids are strings" if field.is_id else "texts are strings"
            message = f"column {quoted(field.column)} is {kind}; {rule}: write it as string"
            raise InputError(path, None, message)


def _parquet_rows(
    path: Path, first: int, columns: Sequence[pa.Array], fields: Sequence[Field], problems: Problems
) -> Iterator[tuple[int, Sequence[str]]]:
    check = checker(fields)
    values_of = (
        column.to_pylist() if field.required else column.fill_null("").to_pylist()
        for field, column in zip(fields, columns, strict=True)
    )
    for row, values in enumerate(zip(*values_of, strict=True), first):
        try:
            strings = check(values)
        except RowError as fault:
            problems.report(path, row, f"row {row}: {fault}")
        else:
            yield row, strings
