"""The parameters of an index over vectors, and the keys and sizes that follow from them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from quati_pool.retrieval import base
from quati_pool.retrieval.vector_index.faiss_library import faiss_version

IndexKind = Literal["flat", "hnsw", "ivf-pq"]

# The fields that change an index, and those that change only the search in it.
_BUILT: dict[IndexKind, tuple[str, ...]] = {
    "flat": (),
    "hnsw": ("hnsw_m", "ef_construction"),
    "ivf-pq": ("lists", "pq_bytes", "train_sample"),
}
_SEARCHED: dict[IndexKind, tuple[str, ...]] = {
    "flat": (),
    "hnsw": ("ef_search", "overfetch"),
    "ivf-pq": ("probes", "overfetch"),
}


class IndexParameters(base.Parameters):
    """The fields of an index and its search, for the parameters of a retriever over vectors."""

    index: Annotated[
        IndexKind,
        Field(description="flat: exact; hnsw: a graph, fast to search; ivf-pq: compressed vectors in lists, small"),
    ] = "flat"
    hnsw_m: Annotated[int, Field(ge=2, le=512, description="hnsw: links of a passage on every level")] = 32
    ef_construction: Annotated[int, Field(ge=1, description="hnsw: passages looked at to place one")] = 100
    ef_search: Annotated[int, Field(ge=1, description="hnsw: passages looked at, at least, for a query")] = 256
    lists: Annotated[int | None, Field(ge=1, description="ivf-pq: lists; by default 4 √passages")] = None
    probes: Annotated[int | None, Field(ge=1, description="ivf-pq: lists asked; by default 256 or lists / 16")] = None
    pq_bytes: Annotated[
        int | None,
        Field(
            ge=1,
            description="ivf-pq: bytes of a compressed vector, raised to a divisor of the dimension; "
            "by default dimension / 4",
        ),
    ] = None
    train_sample: Annotated[
        int | None,
        Field(ge=1, description="ivf-pq: passages it learns from; by default 32 per list, at least 65,536"),
    ] = None
    overfetch: Annotated[
        int | None,
        Field(
            ge=1,
            description="hnsw, ivf-pq: candidates fetched for each passage wanted, then scored exactly; "
            "by default 2 and 8",
        ),
    ] = None

    @model_validator(mode="after")
    def _of_this_index(self) -> IndexParameters:
        of_any = {name for fields in (*_BUILT.values(), *_SEARCHED.values()) for name in fields}
        strange = sorted((of_any & self.model_fields_set) - {*_BUILT[self.index], *_SEARCHED[self.index]})
        if strange:
            kinds = [kind for kind in _BUILT if strange[0] in (*_BUILT[kind], *_SEARCHED[kind])]
            raise ValueError(f"{strange[0]} is for  index: {' or '.join(kinds)}, and the index is {self.index}")
        return self


_COPIES_BYTES = 16
"""Bytes per passage for ``duplicate_vectors``: its number, and the end of its vector's passages."""


def index_key(parameters: IndexParameters, seed: int) -> dict[str, Any] | None:
    """Everything besides the vectors that changes the index; None if there is none (``flat``)."""
    if parameters.index == "flat":
        return None
    built = {name: getattr(parameters, name) for name in _BUILT[parameters.index]}
    return {"index": parameters.index, **built, "seed": seed, "faiss": faiss_version()}


def search_key(parameters: IndexParameters) -> dict[str, Any]:
    """Everything besides the vectors and the index that changes what is found."""
    searched = {name: getattr(parameters, name) for name in _SEARCHED[parameters.index]}
    return {"index": parameters.index, **searched, "faiss": faiss_version()}


def lists_of(parameters: IndexParameters, passages: int) -> int:
    """The number of lists, at most one per passage (or per passage of the training sample), so that none has to be
    empty."""
    wanted = parameters.lists or round(4 * math.sqrt(passages))
    return max(1, min(wanted, passages, parameters.train_sample or passages))


def probes_of(parameters: IndexParameters, lists: int) -> int:
    """The number of lists searched per query."""
    return min(lists, parameters.probes or max(256, lists // 16))


def sample_of(parameters: IndexParameters, passages: int) -> int:
    """The number of passages on which the lists and the codes are trained."""
    return min(passages, parameters.train_sample or max(32 * lists_of(parameters, passages), 65536))


def pq_bytes_of(parameters: IndexParameters, dimension: int) -> int:
    """Bytes per compressed vector: the lowest divisor of the dimension that is not below the requested number."""
    wanted = min(dimension, parameters.pq_bytes or math.ceil(dimension / 4))
    return next(count for count in range(wanted, dimension + 1) if dimension % count == 0)


def overfetch_of(parameters: IndexParameters) -> int:
    """The number of candidates that are scored exactly for each passage requested."""
    return parameters.overfetch or (8 if parameters.index == "ivf-pq" else 2)


def index_bytes(parameters: IndexParameters, passages: int, dimension: int) -> int:
    """The size on disk in bytes of an index over ``passages`` passages, without the vectors themselves."""
    if parameters.index == "hnsw":
        # Half-precision vectors; 2 m links of 4 bytes on the bottom level and m on each level above, which one in m
        # passages reaches; 8 bytes for the offset of the links and 4 for the level.
        links = 4 * (2 * parameters.hnsw_m + parameters.hnsw_m / (parameters.hnsw_m - 1))
        return round(passages * (2 * (dimension + 1) + links + 12 + _COPIES_BYTES))
    if parameters.index == "ivf-pq":
        lists = lists_of(parameters, passages)
        # Per passage a code and its 8-byte id; the centres of the lists and the 256 words of the code book.
        return passages * (pq_bytes_of(parameters, dimension) + 8 + _COPIES_BYTES) + 4 * dimension * (lists + 256)
    return 0
