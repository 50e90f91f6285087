"""Exact search of 100k × 384 vectors, 200 queries, depth 1000, from shards on disk, beside faiss called directly.

The peer is an IndexFlatIP that lies in memory, with the same BLAS threshold. It does not mind ties and gives
equal vectors scores that may differ in the last bit.

Run from the checkout: python -m tests.benchmarks.bench_flat_search
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.faiss_library import load_faiss
from quati_pool.retrieval.vector_index.vector_search import Vectors, flat_search, store_arrays

PASSAGES, DIMENSION, QUERIES, DEPTH = 100_000, 384, 200, 1000
SHARD = 8192
REPEAT = 15


def unit(rows: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def silent(done: int, total: int) -> None:
    pass


def seconds(function, *given) -> float:
    started = time.perf_counter()
    function(*given)
    return time.perf_counter() - started


def main() -> None:
    faiss = load_faiss()
    passages, queries = unit(PASSAGES, 0), unit(QUERIES, 1)
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(passages)
    for precision in ("fp32", "fp16", "int8"):
        with tempfile.TemporaryDirectory() as folder:
            shards = Shards(Path(folder))
            for start in range(0, PASSAGES, SHARD):
                part = passages[start : start + SHARD]
                shards.append(len(part), **store_arrays(part, precision))
            vectors = Vectors(Shards(Path(folder)))
            mine, theirs = [], []
            for _ in range(REPEAT):
                mine.append(seconds(flat_search, vectors, queries, DEPTH, silent))
                theirs.append(seconds(index.search, queries, DEPTH))
        ours, peer = 1000 * statistics.median(mine), 1000 * statistics.median(theirs)
        print(f"| flat search, {precision} on disk | {ours:.0f} ms | {peer:.0f} ms | {ours / peer:.2f} × |")


if __name__ == "__main__":
    main()
