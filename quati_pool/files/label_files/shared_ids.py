"""A shared vocabulary for the doc_ids of several label files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quati_pool.files.label_files.label_file import LabelFile, Strings, arrow_strings
from quati_pool.records import ID, arrow_array, numbers, release_memory

_PARTS = 16
Codes = npt.NDArray[np.int32]


class SharedIds:
    """Encodes the doc_ids of one file after another.

    The vocabulary is built in disjoint parts, since Arrow's index of a million strings at once takes several times the
    memory of the strings. Read ``vocabulary`` only after the last file.
    """

    def __init__(self) -> None:
        self._parts = [pa.nulls(0, ID)] * _PARTS

    def hold(self, file: LabelFile) -> LabelFile:
        """The file with its doc_ids as codes over the vocabulary of all files."""
        if file.doc_id is None:
            return file
        column = arrow_strings(file.doc_id)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return replace(file, doc_id=_SharedStrings(self, self._numbered(chunks)))

    def _numbered(self, chunks: Sequence[pa.Array]) -> Codes:
        """The number of each id, shape (rows,): its place in its part times the number of parts, plus the part."""
        parts = [_part(chunk) for chunk in chunks]
        part = np.concatenate(parts)
        found = np.empty(len(part), dtype=np.int32)
        for number, known in enumerate(self._parts):
            theirs = [
                chunk.take(arrow_array(np.flatnonzero(of == number))) for chunk, of in zip(chunks, parts, strict=True)
            ]
            # Known ids come first and so keep their position.
            encoded = pa.concat_arrays([known, *theirs]).dictionary_encode()
            found[part == number] = numbers(encoded.indices)[len(known) :] * _PARTS + number
            self._parts[number] = encoded.dictionary
        release_memory()
        return found

    @cached_property
    def vocabulary(self) -> tuple[pa.Array, Codes]:
        """All ids, each once, in arbitrary order, and the position of the first id of each part."""
        starts = np.cumsum([0, *map(len, self._parts[:-1])], dtype=np.int32)
        ids = pa.concat_arrays(self._parts)
        # Nothing is encoded after this point; free the parts, so that the ids are not stored twice.
        self._parts = []
        release_memory()
        return ids, starts


class _SharedStrings(Strings):
    def __init__(self, ids: SharedIds, found: Codes) -> None:
        self._ids, self._found = ids, found

    def __len__(self) -> int:
        return len(self._found)

    @property
    def array(self) -> pa.DictionaryArray:
        ids, starts = self._ids.vocabulary
        codes = starts[self._found % _PARTS] + self._found // _PARTS
        indices = pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes)])
        return pa.DictionaryArray.from_arrays(indices, ids)


def _part(column: pa.Array) -> npt.NDArray[np.uint8]:
    """The part of each id, computed from the sum of its bytes; shape (rows,)."""
    if not len(column):
        return np.empty(0, dtype=np.uint8)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    sums = np.add.reduceat(np.frombuffer(data, dtype=np.uint8)[: ends[-1]], ends[:-1], dtype=np.uint8)
    parts: npt.NDArray[np.uint8] = sums % _PARTS
    return parts
