"""Estimates what building and searching an index over vectors takes: disk, memory and time."""

from __future__ import annotations

import math
from typing import NamedTuple

from quati_pool.retrieval import planning
from quati_pool.retrieval.planning import Part, Workload
from quati_pool.retrieval.vector_index.index_parameters import (
    IndexParameters,
    index_bytes,
    lists_of,
    overfetch_of,
    probes_of,
    sample_of,
)
from quati_pool.retrieval.vector_index.vectors import Precision

# Bytes per passage to find equal vectors: hashes, their order, and the first equal passage (see ``duplicate_vectors``).
_COPIES_HELD = 56
# Arrays that grow as vectors are added hold the old and the new copy while moving: at most twice their final size.
_GROWN = 1.5
# Iterations of k-means for the lists (faiss's default) and for each code book of ``ivf-pq``, and faiss's limits on the
# words and the training vectors of a code book.
_LISTS_ITERATIONS, _BOOK_ITERATIONS, _WORDS, _BOOK_SAMPLE = 10, 25, 256, 65_536
# Seconds, and seconds per dimension, to insert a passage into a graph, per candidate looked at and per doubling of the
# number of passages. Measured with 20,000 vectors of 33 and 30,000 of 385 dimensions (tests/benchmarks/RESULTS.md).
_PLACE, _PLACE_DIMENSION = 6e-8, 2.6e-9
# Maximum bytes that a search holds: for decoded blocks of vectors, for candidates found, and per candidate.
_DECODED, _FOUND, _A_CANDIDATE = 128 * 2**20, 256 * 2**20, 24


class PlannedIndex(NamedTuple):
    """The estimates for the index (``built``) and the search in it, the peak memory of either, and the arithmetic."""

    built: Part
    search: Part
    memory: int
    lines: tuple[str, ...]


def plan_index(parameters: IndexParameters, work: Workload, dimension: int, precision: Precision) -> PlannedIndex:
    """The estimate for indexing the workload's passages and for searching them. Vectors that are only memory-mapped do
    not count as memory, as the system may drop them."""
    passages = work.passages
    decoded = 0 if precision == "fp32" else min(_DECODED, 4 * dimension * passages)
    candidates = min(_FOUND, _A_CANDIDATE * work.queries * work.depth * overfetch_of(parameters))
    if parameters.index == "flat":
        flops = 2.0 * passages * dimension * work.queries
        search = Part(0, flops / planning.core_flops() + passages * dimension * 4 / planning.READ)
        line = (
            f"exact search: {work.queries:,} queries × {passages:,} vectors = {planning.human_seconds(search.seconds)}"
        )
        return PlannedIndex(Part(), search, decoded + candidates, (line,))
    size = index_bytes(parameters, passages, dimension)
    if parameters.index == "hnsw":
        doublings = math.log2(max(passages, 2))
        seconds = passages * doublings * parameters.ef_construction * (_PLACE + _PLACE_DIMENSION * dimension)
        held = _GROWN * size
        asked = max(parameters.ef_search, work.depth * overfetch_of(parameters))
        searching = work.queries * doublings * asked * (_PLACE + _PLACE_DIMENSION * dimension)
        how = f"graph of {passages:,} vectors × {size / max(passages, 1):,.0f} bytes"
    else:
        lists, sample = lists_of(parameters, passages), sample_of(parameters, passages)
        book = min(sample, _BOOK_SAMPLE)
        flops = (
            2.0
            * dimension
            * (lists * (_LISTS_ITERATIONS * sample + passages) + _WORDS * (_BOOK_ITERATIONS * book + passages))
        )
        seconds = flops / planning.core_flops()
        held = _GROWN * size + 4 * dimension * (sample + book)
        share = probes_of(parameters, lists) / lists
        searching = work.queries * share * passages * dimension / 4 / planning.READ
        how = f"{lists:,} lists of codes, learnt from {sample:,} vectors"
    memory = round(held + _COPIES_HELD * passages)
    line = (
        f"index {parameters.index}: {how} = {planning.human_bytes(size)}; building it holds "
        f"{planning.human_bytes(memory)} and takes {planning.human_seconds(seconds)} of one core"
    )
    return PlannedIndex(Part(size, seconds), Part(0, searching), max(memory, candidates), (line,))
