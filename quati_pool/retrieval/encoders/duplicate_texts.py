"""Passages with the same text, which are encoded only once, so that they get the same vectors and the same scores.

The last bits of a text's vector depend on the batch in which it is encoded. Web corpora contain repeated texts, and
equal texts must be tied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Int
from quati_pool.retrieval.shards import Shards

Array = npt.NDArray[Any]
_READ = 4096
_OF_A_SHARD = ("longest",)
"""Arrays with one row per shard instead of rows for passages."""


def first_equal_text(corpus: CorpusStore, ordinals: Int) -> Int:
    """For each of the passages ``ordinals``, the position of the first of them with the same text, shape (n,).

    Texts are compared by 128-bit hashes, which takes about 40 bytes of memory per passage.
    """
    hashes = np.empty((len(ordinals), 2), dtype=np.uint64)
    for start in range(0, len(ordinals), _READ):
        texts = corpus.texts(ordinals[start : start + _READ])
        digests = b"".join(xxhash.xxh3_128_digest(text.encode()) for text in texts)
        hashes[start : start + len(texts)] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    return first_equal(hashes)


def first_equal(hashes: npt.NDArray[np.uint64]) -> Int:
    """For each row of ``hashes``, shape (n, 2), the position of the first row equal to it, shape (n,)."""
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    changed = (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)
    starts = np.flatnonzero(np.append(True, changed)) if len(order) else order
    first = np.empty(len(hashes), dtype=np.int64)
    # lexsort is stable, so the first of each group is also the first in the input.
    first[order] = np.repeat(order[starts], np.diff(np.append(starts, len(order))))
    return first


def with_duplicates(shards: Shards, fresh: Mapping[str, Array], counts: Int | None, sources: Int) -> dict[str, Array]:
    """The arrays to append to ``shards`` for the next passages, some of which repeat others.

    ``sources``, shape (passages,), gives for each new passage the position of the passage whose rows it takes: one in
    the shards or, numbered after those, one of the new passages. ``fresh`` holds the rows of the new passages that are
    their own source: one row per passage or, if ``counts`` is given, as many as it says. In the latter case the array
    ``ends`` is added, which holds the end of each passage's rows.
    """
    before = shards.passages
    own = sources == before + np.arange(len(sources))
    late = sources >= before
    held = _rows_before(shards, counts)
    # The rows to add are numbered after those in the shards.
    starts, lengths = np.zeros(len(sources), dtype=np.int64), np.ones(len(sources), dtype=np.int64)
    lengths[own] = 1 if counts is None else counts
    starts[own] = held + np.cumsum(lengths[own]) - lengths[own]
    starts[late], lengths[late] = starts[sources[late] - before], lengths[sources[late] - before]
    if not late.all():
        starts[~late], lengths[~late] = _spans(shards, sources[~late], counts is None)
    ends = np.cumsum(lengths)
    arrays = dict(fresh)
    if not own.all():
        rows = np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]))
        arrays = {
            name: array if name in _OF_A_SHARD else _picked(shards, name, array, held, rows)
            for name, array in fresh.items()
        }
    return arrays if counts is None else {**arrays, "ends": held + ends}


def _rows_before(shards: Shards, counts: Int | None) -> int:
    if counts is None:
        return shards.passages
    return int(shards.array("ends")[-1]) if shards.passages else 0


def _spans(shards: Shards, ordinals: Int, one_each: bool) -> tuple[Int, Int]:
    """The first row and the number of rows of each of these passages in the shards."""
    if one_each:
        return ordinals, np.ones(len(ordinals), dtype=np.int64)
    ends: Int = shards.array("ends")
    starts = np.where(ordinals > 0, ends[np.maximum(ordinals - 1, 0)], 0)
    return starts, ends[ordinals] - starts


def _picked(shards: Shards, name: str, added: Array, held: int, rows: Int) -> Array:
    """The given rows of an array, numbered through the rows in the shards and then those in ``added``."""
    picked = np.empty((len(rows), *added.shape[1:]), dtype=added.dtype)
    late = rows >= held
    picked[late] = added[rows[late] - held]
    if not late.all():
        picked[~late] = shards.array(name)[rows[~late]]
    return picked
