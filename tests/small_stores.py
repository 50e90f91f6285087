"""Corpus stores and searches for tests, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Query
from quati_pool.retrieval.base import Context, Hits, Retriever


def store(folder: Path, texts: Sequence[str], doc_ids: Sequence[str] | None = None) -> CorpusStore:
    """A store of ``texts``, named d0, d1, … unless ids are given."""
    folder.mkdir(parents=True, exist_ok=True)
    CorpusStore.write(folder, [(doc_ids or [f"d{i}" for i in range(len(texts))], texts)])
    return CorpusStore(folder)


def indexed(component: Any, corpus: CorpusStore, folder: Path) -> Path:
    folder.mkdir(parents=True)
    component.index(corpus, folder, Context())
    return folder


def search(
    retriever: Retriever, corpus: CorpusStore, folder: Path, texts: Sequence[str], depth: int = 10
) -> list[dict[int, float]]:
    """Scores by ordinal for each query text."""
    queries = [Query(f"q{i}", text) for i, text in enumerate(texts)]
    hits = retriever.search(corpus, folder, queries, depth, Context())
    return by_query(hits, len(texts))


def by_query(hits: Hits, queries: int) -> list[dict[int, float]]:
    found: list[dict[int, float]] = [{} for _ in range(queries)]
    for query, doc, score in zip(*(np.asarray(column).tolist() for column in hits), strict=True):
        assert doc not in found[query]
        found[query][doc] = score
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def row(scores: dict[int, float], length: int) -> npt.NDArray[np.float64]:
    """Scores in ordinal order; every ordinal must be there."""
    assert sorted(scores) == list(range(length))
    return np.array([scores[ordinal] for ordinal in range(length)])
