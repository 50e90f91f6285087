"""Reproducible pseudo-random numbers from a seed and texts: one per row, the same on every machine.

Every text is prefixed with its length, so that ("a", "bc") and ("ab", "c") differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import xxhash

Hashes = npt.NDArray[np.uint64]


def hashes(purpose: str, seed: int, *columns: Sequence[str]) -> Hashes:
    """XXH3 (64 bits) of the purpose, the seed and each row's texts: shape (rows,). All columns have the same
    length. ``purpose`` makes draws for different purposes independent."""
    start = f"{purpose}:{seed}:"
    digest = xxhash.xxh3_64_intdigest
    if len(columns) == 1:
        (column,) = columns
        texts: Iterable[str] = (f"{start}{len(a)}:{a}" for a in column)
    elif len(columns) == 2:
        texts = (f"{start}{len(a)}:{a}{len(b)}:{b}" for a, b in zip(*columns, strict=True))
    else:
        rows = zip(*columns, strict=True)
        texts = (start + "".join([f"{len(text)}:{text}" for text in row]) for row in rows)
    found = [digest(text.encode("utf-8", "surrogatepass")) for text in texts]
    return np.array(found, dtype=np.uint64)


def places(drawn: Hashes, *columns: Sequence[str]) -> npt.NDArray[np.int64]:
    """The rows from the smallest hash to the largest, shape (rows,). Ties are ordered by the texts, so that the
    order of the input rows never matters."""
    order = np.argsort(drawn, kind="stable")
    ordered = drawn[order]
    if (ordered[1:] == ordered[:-1]).any():
        rows = sorted(range(len(drawn)), key=lambda row: (int(drawn[row]), *(column[row] for column in columns)))
        return np.array(rows, dtype=np.int64)
    return order.astype(np.int64)
