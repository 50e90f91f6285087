"""The passages' vectors on disk, one per passage, in fp32, fp16 or int8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.shards import Shards

Matrix = npt.NDArray[np.float32]
Precision = Literal["fp32", "fp16", "int8"]

_COMPONENT_BYTES = {"fp32": 4, "fp16": 2, "int8": 1}
_MAPPED_BLOCK = 256 * 2**20
_DECODED_BLOCK = 128 * 2**20


class VectorError(QuatiPoolError):
    """Vectors that cannot be stored or compared."""


def vector_bytes(precision: Precision, passages: int, dimension: int) -> int:
    """The size on disk in bytes of the vectors of ``passages`` passages; other data in the shards takes a few kB."""
    return passages * (_COMPONENT_BYTES[precision] * dimension + (4 if precision == "int8" else 0))


def store_arrays(vectors: Matrix, precision: Precision) -> dict[str, npt.NDArray[Any]]:
    """The arrays to append to the shards of ``Vectors`` for passages with these vectors, shape (passages, dimension).

    ``int8`` stores a vector as integers from −127 to 127 and one float32 factor. ``longest`` is the length of the
    longest vector of the shard, as stored. Raises VectorError if a component is too large for ``fp16``.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    arrays: dict[str, npt.NDArray[Any]] = {"vectors": vectors}
    if precision == "fp16":
        if np.abs(vectors).max(initial=0) > np.finfo(np.float16).max:
            raise VectorError(
                "a vector has a component beyond 65,504, the largest number of half precision: "
                "set  precision: fp32  or  normalize: true"
            )
        arrays["vectors"] = vectors.astype(np.float16)
    elif precision == "int8":
        scale = (np.abs(vectors).max(axis=1, initial=0) / np.float32(127)).astype(np.float32)
        parts = np.divide(vectors, scale[:, None], out=np.zeros_like(vectors), where=scale[:, None] > 0)
        arrays["vectors"] = np.clip(np.rint(parts), -127, 127).astype(np.int8)
        arrays["scale"] = scale
    stored = _decoded(arrays["vectors"], arrays.get("scale")).astype(np.float64)
    longest = np.sqrt(np.einsum("ij,ij->i", stored, stored).max(initial=0))
    # Rounded up, so that it is an upper bound.
    arrays["longest"] = np.array([np.nextafter(np.float32(longest), np.float32(np.inf))], dtype=np.float32)
    return arrays


class Vectors:
    """The vectors in ``shards``, memory-mapped and read as float32; row i belongs to the passage with ordinal i.

    Raises VectorError if the shards contain none.
    """

    def __init__(self, shards: Shards) -> None:
        if "vectors" not in shards.names:
            raise VectorError(f"{shards.folder} holds no vectors: delete that folder and run the command again")
        # Plain arrays over the mapped files, because slicing a numpy.memmap is slower.
        self._stored = np.asarray(shards.array("vectors"))
        self._scale = np.asarray(shards.array("scale")) if "scale" in shards.names else None
        self.dimension = int(self._stored.shape[1])
        self.longest = float(shards.array("longest").max(initial=0))

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def mapped(self) -> Matrix | None:
        """All vectors as a memory-mapped array if they are stored as float32, else None."""
        return self._stored if self._stored.dtype == np.float32 else None

    def rows(self, ordinals: slice | npt.NDArray[np.integer[Any]]) -> Matrix:
        """The vectors of the given passages, shape (passages, dimension); a slice of float32 vectors is not copied."""
        return _decoded(self._stored[ordinals], None if self._scale is None else self._scale[ordinals])

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Matrix]]:
        """Yields the first ordinal and the vectors of consecutive blocks of ``rows`` passages. By default a block takes
        256 MiB if it is only memory-mapped, and 128 MiB if it is decoded."""
        if rows is None:
            size = _DECODED_BLOCK if self.mapped is None else _MAPPED_BLOCK
            rows = max(1, size // max(1, 4 * self.dimension))
        for start in range(0, len(self), rows):
            yield start, self.rows(slice(start, start + rows))


def _decoded(stored: npt.NDArray[Any], scale: npt.NDArray[Any] | None) -> Matrix:
    vectors: Matrix = np.asarray(stored, dtype=np.float32)
    if scale is not None:
        vectors *= scale[:, None]
    return vectors
