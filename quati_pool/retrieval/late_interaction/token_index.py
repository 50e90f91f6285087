"""Candidates for MaxSim: an inverted file over token vectors, whose lists hold passages.

ColBERT finds candidates with an inverted file (IVF) over all token vectors (Khattab and Zaharia 2020, section 3.6).
Since passages are wanted, a list here holds, once each, the passages with a token that is nearest to the list's
centroid; all tokens in a list are represented by its centroid (Santhanam et al. 2022, PLAID, section 4). For every
query token, the lists of the most similar centroids are read. The approximate score of a passage is a sum over the
query tokens of the similarity of the best centroid read whose list holds the passage. If none of a token's lists holds
it, the similarity of the least similar centroid read is used, as the missing similarity is hardly higher (Lee et al.
2023, XTR, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from quati_pool.files.artifacts import sync
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.late_interaction.token_vectors import TokenVectors
from quati_pool.retrieval.top_scores import best
from quati_pool.retrieval.vector_index.faiss_library import faiss_version, load_faiss
from quati_pool.retrieval.vector_index.vector_search import Matrix

_BLOCK = 1 << 16  # tokens that are assigned to lists at a time
_ITERATIONS = 10
_A_LIST = 32  # tokens of the sample per list
_SAMPLE = 1 << 20  # the maximum for all lists together, to bound the memory it takes
_PAIR = np.dtype([("list", np.uint32), ("passage", np.uint32)])


class TokenIndexParameters(BaseModel):
    """The fields that a retriever has to find candidates by token vectors."""

    index: Annotated[
        Literal["exact", "ivf"],
        Field(description="exact: every passage is scored; ivf: those that an inverted file finds"),
    ] = "exact"
    lists: Annotated[
        int | None, Field(ge=1, description="of the inverted file; by default 4 · √tokens of the corpus")
    ] = None
    train_sample: Annotated[
        int | None,
        Field(
            ge=1, description="token vectors to find lists' centroids from; by default 32 per list, at most 1,048,576"
        ),
    ] = None
    probes: Annotated[int, Field(ge=1, description="lists read for each query token")] = 32
    candidates: Annotated[
        int, Field(ge=1, description="passages per query that are scored exactly; never fewer than 4 · depth")
    ] = 2048


def default_lists(tokens: int) -> int:
    """The default number of lists, 4 · √tokens. In ColBERTv2 it is also proportional to that root (Santhanam et al.
    2022, arXiv 2112.01488)."""
    return max(1, round(4 * math.sqrt(tokens)))


def index_size(parameters: TokenIndexParameters, tokens: int, dimension: int) -> tuple[int, int, float]:
    """The maximum size on disk of an inverted file over ``tokens`` tokens in bytes, and the bytes of memory and the
    floating point operations that building it takes."""
    lists = parameters.lists or default_lists(tokens)
    sample = _sample(parameters, lists, tokens)
    disk = 4 * tokens + lists * (4 * dimension + 8)
    flops = 2.0 * lists * dimension * (_ITERATIONS * sample + tokens)
    return disk, 4 * dimension * (sample + lists), flops


def index_key(parameters: TokenIndexParameters, seed: int) -> dict[str, Any] | None:
    """Everything besides the vectors that changes the inverted file; None if there is none."""
    if parameters.index == "exact":
        return None
    return {
        "index": parameters.index, "lists": parameters.lists, "train_sample": parameters.train_sample,
        "seed": seed, "faiss": faiss_version(),
    }  # fmt: skip


def search_key(parameters: TokenIndexParameters) -> dict[str, Any]:
    """Everything that changes the hits found with the same inverted file."""
    if parameters.index == "exact":
        return {"index": "exact"}
    return {"index": parameters.index, "probes": parameters.probes, "candidates": parameters.candidates}


def build_index(
    tokens: TokenVectors, folder: Path, parameters: TokenIndexParameters, seed: int, progress: base.Progress
) -> None:
    """Writes the inverted file of ``tokens`` into ``folder``; memory holds the sample and one block."""
    centroids = _centroids(tokens, parameters, seed)
    sizes = np.zeros(len(centroids), dtype=np.int64)
    pairs_file = folder / "pairs.tmp"
    with pairs_file.open("wb") as file:
        for pairs in _assigned(tokens, centroids, progress):
            sizes += np.bincount(pairs["list"], minlength=len(centroids))
            pairs.tofile(file)
    ends = np.cumsum(sizes)
    total = int(sizes.sum())
    passages = _reserved(folder / "passages.npy", total)
    next_place = ends - sizes
    with pairs_file.open("rb") as file:
        while len(pairs := np.fromfile(file, dtype=_PAIR, count=_BLOCK)):
            _scatter(pairs, next_place, passages)
    passages.flush()
    pairs_file.unlink()
    np.save(folder / "centroids.npy", centroids)
    np.save(folder / "ends.npy", ends)


def _reserved(path: Path, rows: int) -> np.memmap[Any, np.dtype[np.uint32]]:
    """A new memory-mapped array on disk, shape (rows,), whose space is allocated in advance: if the disk became full
    while a mapped file is written, the process would be killed without a message."""
    header = {"descr": np.dtype(np.uint32).str, "fortran_order": False, "shape": (rows,)}
    zeros = np.zeros(_BLOCK, dtype=np.uint32)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, rows, _BLOCK):
            zeros[: rows - start].tofile(file)
    sync(path)
    mapped: np.memmap[Any, np.dtype[np.uint32]] = np.load(path, mmap_mode="r+")
    return mapped


class TokenIndex:
    """An inverted file in ``folder``, memory-mapped for search."""

    def __init__(self, folder: Path, passages: int) -> None:
        self._centroids: Matrix = np.load(folder / "centroids.npy", mmap_mode="r")
        self._ends: Int = np.load(folder / "ends.npy")
        self._starts: Int = np.concatenate([np.zeros(min(1, len(self._ends)), dtype=np.int64), self._ends[:-1]])
        # A plain array over the mapped file, because slicing a numpy.memmap is slower.
        self._passages: npt.NDArray[np.uint32] = np.asarray(np.load(folder / "passages.npy", mmap_mode="r"))
        self._score = np.zeros(passages, dtype=np.float32)
        self._best = np.zeros(passages, dtype=np.float32)

    def candidates(self, query: Matrix, wanted: int, probes: int, depth: int) -> Int:
        """The ordinals, ascending, of the ``wanted`` passages with the highest approximate scores, ties included.

        ``probes`` is the number of lists read per query token; if they hold fewer than ``depth`` passages, more lists
        are read, up to all.
        """
        similar = query @ self._centroids.T
        lists = similar.shape[1]
        while True:
            probes = min(probes, lists)
            found = self._read(similar, probes)
            if len(found) >= depth or probes == lists:
                break
            probes *= 4
        return found[best(self._score[found], wanted)]

    def _read(self, similar: Matrix, probes: int) -> Int:
        """The ordinals, ascending, of the passages in the best lists; leaves their scores in ``_score``."""
        lists = similar.shape[1]
        seen = np.zeros(len(self._score), dtype=bool)
        self._score[:] = 0
        for row in similar:
            nearest = np.argpartition(row, lists - probes)[lists - probes :] if probes < lists else np.arange(lists)
            # From the least to the most similar list, so that the last value written for a passage is its best.
            nearest = nearest[np.argsort(row[nearest], kind="stable")]
            passages = np.concatenate([self._passages[self._starts[one] : self._ends[one]] for one in nearest])
            gain = row[nearest] - row[nearest[0]]
            self._best[passages] = np.repeat(gain, self._ends[nearest] - self._starts[nearest])
            # A passage in several lists is assigned several times, always the same sum.
            self._score[passages] = self._score[passages] + self._best[passages]
            seen[passages] = True
        return np.flatnonzero(seen)


def _sample(parameters: TokenIndexParameters, lists: int, tokens: int) -> int:
    return min(max(parameters.train_sample or min(_A_LIST * lists, _SAMPLE), lists), tokens)


def _centroids(tokens: TokenVectors, parameters: TokenIndexParameters, seed: int) -> Matrix:
    """The centroids of the lists, shape (lists, dimension), by k-means on a seeded sample of the token vectors."""
    faiss = load_faiss()
    if tokens.tokens == 0:
        return np.zeros((1, tokens.dimension), dtype=np.float32)
    lists = min(parameters.lists or default_lists(tokens.tokens), tokens.tokens)
    size = _sample(parameters, lists, tokens.tokens)
    chance = np.random.default_rng(seed % 2**64)
    rows = np.sort(chance.choice(tokens.tokens, size, replace=False, shuffle=False))
    sample = np.ascontiguousarray(tokens.rows(rows))
    settings = faiss.ClusteringParameters()
    settings.niter = _ITERATIONS
    settings.seed = seed % 2**31
    settings.min_points_per_centroid = 1  # otherwise faiss warns on stderr
    settings.max_points_per_centroid = size
    clustering = faiss.Clustering(tokens.dimension, lists, settings)
    clustering.train(sample, faiss.IndexFlatL2(tokens.dimension))
    centroids: Matrix = faiss.vector_to_array(clustering.centroids).reshape(lists, tokens.dimension)
    return centroids


def _assigned(tokens: TokenVectors, centroids: Matrix, progress: Callable[[int, int], None]) -> Any:
    """Yields the distinct pairs of list and passage, sorted, for a block of passages at a time."""
    quantizer = load_faiss().IndexFlatL2(tokens.dimension)
    quantizer.add(centroids)
    start = 0
    while start < len(tokens):
        first = int(tokens.starts[start])
        end = max(start + 1, int(np.searchsorted(tokens.ends, first + _BLOCK, side="right")))
        rows = tokens.rows(slice(first, int(tokens.ends[end - 1])))
        if len(rows):
            _, nearest = quantizer.search(np.ascontiguousarray(rows), 1)
            ordinals = np.arange(start, end)
            owner = np.repeat(ordinals, tokens.counts(ordinals))
            both = np.unique(nearest[:, 0].astype(np.int64) << 32 | owner)
            pairs = np.empty(len(both), dtype=_PAIR)
            pairs["list"], pairs["passage"] = both >> 32, both & 0xFFFFFFFF
            yield pairs
        start = end
        progress(start, len(tokens))


def _scatter(pairs: npt.NDArray[Any], next_place: Int, passages: npt.NDArray[np.uint32]) -> None:
    """Writes each pair's passage at the next place of its list."""
    order = np.argsort(pairs["list"], kind="stable")
    lists, counts = np.unique(pairs["list"], return_counts=True)
    within = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    passages[np.repeat(next_place[lists], counts) + within] = pairs["passage"][order]
    next_place[lists] += counts
