"""Reads pages from Parquet, one row group after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quati_pool.errors import InputError
from quati_pool.preparation.reading.fields import Fields, Named, check_names, not_ids, page_of
from quati_pool.preparation.reading.page import NOT_UTF8, TOO_LONG, BrokenError, Page, Place, RefusedError, excerpt
from quati_pool.preparation.reading.streams import raw_file

_ROWS = 256
_BUFFER = 1 << 20
_TEXTS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def read_parquet(place: Place, fields: Fields) -> Iterator[Page]:
    """The pages of a part. A damaged row group is noted, and reading continues with the next.

    Raises InputError for a file that is not Parquet or lacks the columns.
    """
    with raw_file(place.path, place.part) as raw, parquet_file(place.path, raw) as file:
        columns = _columns(place.path, file.schema_arrow, fields)
        if not place.part.start:
            named = Named(fields)
            named.see(file.schema_arrow.names)
            named.tell(place.note)
        sizes = group_sizes(file.metadata)
        end = place.part.end or len(sizes)
        row = 1 + sum(file.metadata.row_group(group).num_rows for group in range(place.part.start))
        for group in range(place.part.start, end):
            rows = file.metadata.row_group(group).num_rows
            line, found = row, 0
            try:
                for batch in _batches(file, group, columns):
                    for page in _pages(place, batch, line, fields):
                        found += 1
                        yield page
                    line += len(batch)
            except BrokenError:
                place.note(
                    f"its row group {group + 1} is damaged: of its rows {row:,} to {row + rows - 1:,} those before "
                    f"{line:,} were read, which gave {found:,} pages; copy or write the file again"
                )
            row += rows
            place.done += sizes[group]


@contextmanager
def parquet_file(path: Path, raw: object) -> Iterator[pq.ParquetFile]:
    """Opens a Parquet file. Raises InputError if it is not one."""
    try:
        file = pq.ParquetFile(raw, buffer_size=_BUFFER, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, None, "is damaged or not Parquet; copy or write it again") from error
    with file:
        yield file


def group_sizes(metadata: pq.FileMetaData) -> list[int]:
    """The size on disk of each row group, in bytes."""
    groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
    return [sum(group.column(place).total_compressed_size for place in range(group.num_columns)) for group in groups]


def _columns(path: Path, schema: pa.Schema, fields: Fields) -> list[str]:
    """The columns to read; url and language are left out if the file lacks them."""
    check_names(path, schema.names, fields)
    wanted = [*fields.texts, fields.url, fields.language, *([fields.doc_id] if fields.doc_id is not None else [])]
    columns = []
    for name in dict.fromkeys(wanted):
        if name not in schema.names:
            continue
        if schema.names.count(name) > 1:
            raise InputError(path, None, f"has several columns {name!r}; keep one")
        kind = schema.field(name).type
        if (kind.value_type if pa.types.is_dictionary(kind) else kind) not in _TEXTS:
            message = not_ids(name) if name == fields.doc_id else f"column {name!r} is {kind}; write it as string"
            raise InputError(path, None, message)
        columns.append(name)
    return columns


def _batches(file: pq.ParquetFile, group: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        yield from file.iter_batches(_ROWS, row_groups=[group], columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise BrokenError("is damaged") from error


def _pages(place: Place, batch: pa.RecordBatch, first: int, fields: Fields) -> Iterator[Page]:
    names = batch.schema.names
    columns = [_as_bytes(column) for column in batch.columns]
    lengths = pa.array([0] * len(batch), pa.int64())
    for column in columns:
        lengths = pc.add(lengths, pc.fill_null(pc.binary_length(column), 0).cast(pa.int64()))
    sound = pc.less_equal(lengths, place.limit)
    # A row that is too long is never copied out of Arrow's memory.
    values = [pc.if_else(sound, column, pa.scalar(None, column.type)).to_pylist() for column in columns]
    for row, length in enumerate(lengths.to_pylist()):
        try:
            if length > place.limit:
                raise RefusedError(TOO_LONG, f"{length:,} bytes; at most {place.limit:,}")
            page = page_of(
                {name: _decoded(name, column[row]) for name, column in zip(names, values, strict=True)},
                fields,
                first + row,
                place.name,
            )
        except RefusedError as refused:
            place.refuse(first + row, refused)
        else:
            yield page


def _as_bytes(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_binary())


def _decoded(name: str, value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        fault = f"{name}, byte {error.start + 1}: "
        raise RefusedError(NOT_UTF8, fault + excerpt(value[max(0, error.start - 40) :] if value else b"")) from None
