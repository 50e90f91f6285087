"""Approximate nearest neighbours with faiss, which select the passages that are then scored exactly.

The indexes are HNSW (Malkov and Yashunin 2018, arXiv 1603.09320) and inverted lists with product quantisation (Jégou,
Douze and Schmid 2011, IEEE TPAMI 33(1)). They are built on one thread, so that the same vectors and seed give the same
index, and over distinct vectors (see ``duplicate_vectors``).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.records import Int
from quati_pool.retrieval.base import Progress
from quati_pool.retrieval.vector_index.duplicate_vectors import DuplicateVectors
from quati_pool.retrieval.vector_index.faiss_library import load_faiss
from quati_pool.retrieval.vector_index.index_parameters import (
    IndexParameters,
    lists_of,
    overfetch_of,
    pq_bytes_of,
    probes_of,
    sample_of,
)
from quati_pool.retrieval.vector_index.vectors import Matrix, VectorError, Vectors

_FILE = "index.faiss"
_ADDED = 4096
_KINDS = {"hnsw": "IndexHNSWSQ", "ivf-pq": "IndexIVFPQ"}
AT_ONCE = 16
"""The number of queries searched together: few enough that faiss does not use a matrix product, whose last bits would
depend on the threads."""


def build(vectors: Vectors, folder: Path, parameters: IndexParameters, seed: int, progress: Progress) -> None:
    """Writes the index into ``folder``; ``progress`` counts passages. Raises OSError if the disk is full."""
    from threadpoolctl import threadpool_limits

    faiss = load_faiss()
    make = _hnsw if parameters.index == "hnsw" else _ivf_pq
    copies = DuplicateVectors.of(vectors)
    distinct = copies.distinct
    # faiss accepts only 31-bit seeds.
    with threadpool_limits(1):
        index = make(faiss, vectors, distinct, parameters, seed % 2**31)
        for start in range(0, len(distinct), _ADDED):
            block = vectors.rows(distinct[start : start + _ADDED])
            index.add(_placed(block, vectors.longest) if parameters.index == "hnsw" else block)
            progress(int(copies.ends[start + len(block) - 1]), len(vectors))
        if parameters.index == "ivf-pq":
            _probe_by_product(faiss, index)
    try:
        faiss.write_index(index, str(folder / _FILE))
    except RuntimeError as error:  # faiss gives no reason; the folder is ours, so it cannot be a permission error
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / _FILE)) from error
    copies.write(folder)


def _hnsw(faiss: Any, vectors: Vectors, distinct: Int, parameters: IndexParameters, seed: int) -> Any:
    index = faiss.IndexHNSWSQ(vectors.dimension + 1, faiss.ScalarQuantizer.QT_fp16, parameters.hnsw_m)
    index.hnsw.efConstruction = parameters.ef_construction
    index.hnsw.rng = faiss.RandomGenerator(seed)
    index.is_trained = True  # half precision needs no training
    return index


def _placed(block: Matrix, longest: float) -> Matrix:
    """The vectors with one more component, which gives all of them the same length. The nearest to a query, in which
    this component is 0, are then those with the highest inner product (Bachrach et al. 2014, RecSys, section 3). A
    graph built on inner products directly would be misleading if lengths differ."""
    lengths = np.einsum("ij,ij->i", block, block, dtype=np.float64)
    more = np.sqrt(np.maximum(longest**2 - lengths, 0))
    return np.column_stack([block, more.astype(np.float32)])


def _ivf_pq(faiss: Any, vectors: Vectors, distinct: Int, parameters: IndexParameters, seed: int) -> Any:
    lists = lists_of(parameters, len(distinct))
    sample = sample_of(parameters, len(distinct))
    words = min(8, max(1, sample.bit_length() - 1))
    centres = faiss.IndexFlatL2(vectors.dimension)
    index = faiss.IndexIVFPQ(
        centres, vectors.dimension, lists, pq_bytes_of(parameters, vectors.dimension), words,
        faiss.METRIC_INNER_PRODUCT,
    )  # fmt: skip
    index.referenced_objects = [centres]
    for settings in (index.cp, index.pq.cp):
        settings.seed = seed
        settings.min_points_per_centroid = 1  # otherwise faiss warns on stderr
    index.cp.max_points_per_centroid = sample  # for the lists, the sample drawn here; code books use at most 65,536
    drawn = distinct[np.sort(np.random.default_rng(seed).choice(len(distinct), sample, replace=False))]
    # A code book has at least two words, each of which needs a passage.
    index.train(vectors.rows(drawn if sample > 1 else np.repeat(drawn, 2)))
    return index


def _probe_by_product(faiss: Any, index: Any) -> None:
    """Makes a query search the lists whose centres have the highest inner product with it; passages were assigned to
    the list of the nearest centre."""
    centres = faiss.IndexFlatIP(index.d)
    centres.add(index.quantizer.reconstruct_n(0, index.nlist))
    index.quantizer = centres
    index.referenced_objects = [centres]


class Index:
    """The index in ``folder`` over ``vectors``, memory-mapped for search.

    Raises VectorError if it is damaged or belongs to other vectors.
    """

    def __init__(self, vectors: Vectors, folder: Path, parameters: IndexParameters) -> None:
        faiss = load_faiss()
        path = folder / _FILE
        self._index = _read(faiss, path, parameters)
        self._overfetch = overfetch_of(parameters)
        self._parameters = parameters
        # The vectors of a graph have one more component, see _placed.
        dimension = self._index.d - (parameters.index == "hnsw")
        if dimension != vectors.dimension:
            raise VectorError(
                f"the index {path} is of {dimension} dimensions and the passages' vectors of "
                f"{vectors.dimension}: delete the folder {folder} and run the command again"
            )
        try:
            self._duplicates = DuplicateVectors.read(folder)
        except (OSError, ValueError):
            raise _damaged(path) from None
        passages = int(self._duplicates.ends[-1])
        if passages != len(vectors) or self._index.ntotal != len(self._duplicates.ends):
            raise VectorError(
                f"the index {path} is of {passages:,} passages, but there are {len(vectors):,}: "
                f"delete the folder {folder} and run the command again"
            )

    def candidates(self, queries: Matrix, depth: int) -> tuple[Int, Int]:
        """The pairs to score exactly, for at most ``AT_ONCE`` queries: rows of ``queries``, ascending, and ordinals of
        passages, shape (pairs,) each."""
        faiss = load_faiss()
        least = depth * self._overfetch
        wanted = min(least, self._index.ntotal)
        if self._parameters.index == "hnsw":
            how = faiss.SearchParametersHNSW()
            how.efSearch = max(self._parameters.ef_search, wanted)
            queries = np.pad(queries, ((0, 0), (0, 1)))
        else:
            how = faiss.SearchParametersIVF()
            how.nprobe = probes_of(self._parameters, self._index.nlist)
        _, found = self._index.search(queries, wanted, params=how)
        return self._duplicates.expand(found, least)


def _read(faiss: Any, path: Path, parameters: IndexParameters) -> Any:
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        if type(index).__name__ != _KINDS[parameters.index]:
            raise RuntimeError
        return index
    except RuntimeError:
        raise _damaged(path) from None


def _damaged(path: Path) -> VectorError:
    return VectorError(f"the index {path} is damaged: delete the folder {path.parent} and run the command again")
