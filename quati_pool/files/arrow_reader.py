"""A fast reader of regular column files, using Arrow's parser block by block.

A file with any irregularity, or with anything that Arrow accepts but the format does not, is left to the line-by-line
readers, which name the line at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from quati_pool.files.lines import read_blocks
from quati_pool.records import ID, id_problem, release_memory

_BLOCK = 1 << 20
_CODED = pa.dictionary(pa.int32(), pa.string())
_PRINTABLE = ord("!"), ord("~")


def read_with_arrow(
    path: Path,
    delimiter: str,
    names: Sequence[str],
    wanted: Collection[str],
    ids: Collection[str],
    *,
    plain: Collection[str] = (),
    header: bool = False,
    prepare: Callable[[bytes], bytes] = bytes,
) -> pa.Table | None:
    """The ``wanted`` columns of a file whose columns are ``names``, one row per line after the ``header``, if any.

    Columns are int32 codes over a dictionary of their values, except those in ``plain``, which are large strings;
    those in ``ids`` contain only valid ids. ``prepare`` transforms a block of lines before it is parsed. Returns None
    if the file has no rows, a blank line, a quoted cell (CSV), a row of a different length, an invalid id or one that
    begins with a quote, or text that is not UTF-8.
    """
    batches: list[pa.RecordBatch] = []
    try:
        for number, block in enumerate(read_blocks(path, _BLOCK)):
            lines = prepare(block.replace(b"\r\n", b"\n"))
            if header and number == 0:
                lines = lines.partition(b"\n")[2]
            # Arrow would end a line at a lone \r.
            if b"\r" in lines or (delimiter == "," and b'"' in lines):
                return None
            if lines:
                batches += _parse(lines, delimiter, names, wanted, plain)
                if not all(valid_ids(batches[-1][name], quotes=False) for name in ids):
                    return None
    except pa.ArrowInvalid:
        return None
    release_memory()
    return pa.Table.from_batches(batches) if batches else None


def single_blanks(lines: bytes) -> bytes:
    """The lines with a single blank between columns, and none at the start or end of a line."""
    lines = lines.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _parse(
    lines: bytes, delimiter: str, names: Sequence[str], wanted: Collection[str], plain: Collection[str]
) -> list[pa.RecordBatch]:
    table = pyarrow.csv.read_csv(
        pa.BufferReader(lines),
        pyarrow.csv.ReadOptions(column_names=names, use_threads=False, block_size=len(lines) + 1),
        pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            include_columns=list(wanted),
            column_types={name: ID if name in plain else _CODED for name in wanted},
            null_values=[],
        ),
    )
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return batches


def valid_ids(column: pa.Array, *, quotes: bool = True) -> bool:
    """Whether all values are ids; ``quotes``: whether one may begin with a quote."""
    values = (column.dictionary if isinstance(column, pa.DictionaryArray) else column).cast(ID)
    if not len(values):
        return True
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    if (ends[1:] == ends[:-1]).any():
        return False
    if not quotes and (np.frombuffer(data, dtype=np.uint8)[ends[:-1]] == ord('"')).any():
        return False
    characters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    low, high = _PRINTABLE
    # Below ``low`` the difference wraps around to more than ``high``.
    return bool((characters - np.uint8(low) <= high - low).all()) or id_problem(characters.tobytes().decode()) is None
