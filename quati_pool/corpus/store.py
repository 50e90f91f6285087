"""The corpus on disk: a memory-mapped Arrow file that gives doc_id and text by ordinal, and the ordinal by doc_id.

A corpus is never loaded into memory. An id is looked up by its 64-bit hash in the sorted hashes of all ids (16 bytes
per id, memory-mapped too), and then compared with the stored id itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from quati_pool.records import ID, Ids, Int

# A batch ends at whichever limit it reaches first, so that neither many passages nor long ones fill the memory.
BATCH_ROWS = 4096
BATCH_CHARACTERS = 8_000_000
SCHEMA = pa.schema([("doc_id", pa.string()), ("text", pa.string())])
_PASSAGES, _HASHES, _ORDINALS = "passages.arrow", "hashes.npy", "ordinals.npy"


class DuplicateDocIdError(Exception):
    """Raised when ids occur more than once in a corpus; ``ordinals`` maps each such id to its ordinals, ascending."""

    def __init__(self, ordinals: dict[str, list[int]]) -> None:
        self.ordinals = ordinals
        super().__init__(f"{len(ordinals)} doc_ids occur more than once")


class CorpusStore:
    """A memory-mapped corpus; ``ids`` is its vocabulary of doc_ids, whose codes are the ordinals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = pa.memory_map(str(folder / _PASSAGES))
        reader = pa.ipc.open_file(source)
        self._batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self._ends = np.cumsum([len(batch) for batch in self._batches], dtype=np.int64)
        self._length = int(self._ends[-1]) if self._batches else 0
        self.ids: Ids = _StoreIds(self)

    def __len__(self) -> int:
        return self._length

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All passages in ordinal order, as batches of doc_id and text."""
        yield from self._batches

    def text_bytes(self) -> int:
        """The total size of all texts in bytes."""
        return sum(batch.column("text").nbytes for batch in self._batches)

    def texts(self, ordinals: npt.ArrayLike) -> list[str]:
        """The texts at ``ordinals``, in the given order."""
        texts: list[str] = self.column("text", ordinals).to_pylist()
        return texts

    def column(self, name: str, ordinals: npt.ArrayLike) -> pa.Array:
        """The values of a column at ``ordinals``, in the given order; raises IndexError for an ordinal out of range.

        Reads batch by batch, because Arrow's own ``take`` would copy the whole column."""
        ordinals = np.asarray(ordinals, dtype=np.int64)
        if len(ordinals) == 0:
            return pa.array([], type=ID)
        if ordinals.min() < 0 or ordinals.max() >= self._length:
            raise IndexError(f"ordinals run from 0 to {self._length - 1}")
        order = np.argsort(ordinals, kind="stable")
        batch_of = np.searchsorted(self._ends, ordinals[order], side="right")
        pieces = []
        for start, end in _spans(batch_of):
            batch = self._batches[batch_of[start]]
            rows = ordinals[order[start:end]] - (self._ends[batch_of[start]] - len(batch))
            pieces.append(batch.column(name).take(pa.array(rows)).cast(ID))
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_arrays(pieces).take(pa.array(back))

    @staticmethod
    def write(folder: Path, passages: Iterable[tuple[Sequence[str], Sequence[str]]]) -> int:
        """Writes batches of (doc_ids, texts) into ``folder`` and returns the number of passages.

        Raises DuplicateDocIdError if an id occurs more than once.
        """
        hashes = []
        with pa.OSFile(str(folder / _PASSAGES), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            for doc_ids, texts in _rebatched(passages):
                hashes.append(_hashed(doc_ids))
                columns = [pa.array(doc_ids, type=pa.string()), pa.array(texts, type=pa.string())]
                writer.write_batch(pa.record_batch(columns, schema=SCHEMA))
        hashed = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
        ordinals = np.argsort(hashed, kind="stable")
        hashed = hashed[ordinals]
        np.save(folder / _HASHES, hashed)
        np.save(folder / _ORDINALS, ordinals)
        _refuse_duplicates(CorpusStore(folder), hashed, ordinals)
        return len(hashed)


class _StoreIds(Ids):
    """The ids of a store, read from its memory map instead of a vocabulary in memory."""

    def __init__(self, store: CorpusStore) -> None:
        self._store = store
        self._hashes = np.load(store.folder / _HASHES, mmap_mode="r")
        self._ordinals = np.load(store.folder / _ORDINALS, mmap_mode="r")

    def __len__(self) -> int:
        return len(self._store)

    @property
    def values(self) -> pa.ChunkedArray:
        return pa.chunked_array([batch.column("doc_id") for batch in self._store.batches()], type=pa.string())

    def decode(self, codes: npt.NDArray[Any]) -> pa.Array:
        return self._store.column("doc_id", codes)

    def encode(self, ids: pa.Array | pa.ChunkedArray | Sequence[str]) -> Int:
        wanted: list[str] = ids.to_pylist() if isinstance(ids, (pa.Array, pa.ChunkedArray)) else list(ids)
        codes = np.full(len(wanted), -1, dtype=np.int64)
        if not wanted or not len(self):
            return codes
        hashed = _hashed(wanted)
        at = np.searchsorted(self._hashes, hashed)
        open_rows = np.arange(len(wanted))
        # Different ids may have the same hash, so go through all equal hashes until the id itself is found.
        while len(open_rows):
            open_rows = open_rows[at[open_rows] < len(self._hashes)]
            open_rows = open_rows[self._hashes[at[open_rows]] == hashed[open_rows]]
            found = self._ordinals[at[open_rows]]
            same = np.array(
                [wanted[row] == doc_id for row, doc_id in zip(open_rows, self.decode(found).to_pylist(), strict=True)],
                dtype=bool,
            )
            codes[open_rows[same]] = found[same]
            open_rows = open_rows[~same]
            at[open_rows] += 1
        return codes


def _hashed(doc_ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    digests = (xxhash.xxh3_64_intdigest(doc_id.encode()) for doc_id in doc_ids)
    return np.fromiter(digests, dtype=np.uint64, count=len(doc_ids))


def _rebatched(
    passages: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The same passages in batches of at most BATCH_ROWS, fewer where texts are long."""
    ids: list[str] = []
    texts: list[str] = []
    characters = 0
    for some_ids, some_texts in passages:
        for doc_id, text in zip(some_ids, some_texts, strict=True):
            ids.append(doc_id)
            texts.append(text)
            characters += len(text)
            if len(ids) >= BATCH_ROWS or characters >= BATCH_CHARACTERS:
                yield ids, texts
                ids, texts, characters = [], [], 0
    if ids:
        yield ids, texts


def _spans(values: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The start and end of each run of equal consecutive values."""
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    yield from zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True)


def _refuse_duplicates(store: CorpusStore, hashed: npt.NDArray[np.uint64], ordinals: Int) -> None:
    same = np.r_[False, hashed[1:] == hashed[:-1]]
    suspects = np.sort(ordinals[same | np.r_[same[1:], False]]) if len(hashed) else ordinals
    places: dict[str, list[int]] = {}
    for ordinal, doc_id in zip(suspects.tolist(), store.ids.decode(suspects).to_pylist(), strict=True):
        places.setdefault(doc_id, []).append(ordinal)
    repeated = {doc_id: found for doc_id, found in places.items() if len(found) > 1}
    if repeated:
        raise DuplicateDocIdError(repeated)
