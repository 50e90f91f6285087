"""BM25 with Lucene through Anserini: the same documents and scores as Pyserini's LuceneSearcher."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.records import Query
from quati_pool.retrieval import base
from quati_pool.retrieval.lucene import Lucene, anserini_jar, missing_package
from quati_pool.retrieval.memory_limits import expected_terms
from quati_pool.retrieval.planning import LIBRARIES, START, Estimate, Part, Workload, human_bytes
from quati_pool.text.analysis import analyzer

LANGUAGES = (
    *("ar", "bn", "da", "de", "en", "es", "fa", "fi", "fr", "hi", "hu", "id", "it"),
    *("ja", "ko", "nl", "no", "pl", "pt", "ru", "sv", "te", "th", "tr", "uk", "zh"),
)
"""The languages in Anserini's AnalyzerMap, and English, whose analyzer is the default one (Porter's stemmer)."""

_HITS_AT_ONCE = 100_000

# For estimates, measured (tests/benchmarks/bench_plan.py): bytes in a Lucene index per posting (a distinct term of a
# passage), per term, and per passage (its id and length).
_POSTING, _TERM, _PASSAGE = 1.4, 13, 13
# How many times faster a thread of Lucene indexes than our own analyzer finds terms: not measured directly, but derived
# from a million passages (46 s) and our analyzer's speed over 40,000. Seconds per query and per hit: the line through
# 113 queries per second at depth 10 and 22 at depth 1,000.
_FASTER, _QUERY, _HIT = 2.5, 0.008, 4e-5
# Java's memory while it indexes, as a multiple of the size of the texts: 2.4 GB for a million passages of 500
# characters.
_HELD = 4


class Parameters(base.Parameters):
    language: str = Field(
        default="en", description="ISO 639-1 code of the language that texts and queries are analysed in."
    )
    k1: float = Field(
        default=0.9,
        ge=0,
        allow_inf_nan=False,
        description="How slowly repeated terms stop adding to a score.",
    )
    b: float = Field(default=0.4, ge=0, le=1, description="How much long documents are penalised, from 0 to 1.")
    threads: int | None = Field(
        default=None, ge=1, description="Threads that index; all cores where left out. Changes no result."
    )

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in LANGUAGES:
            raise ValueError(f"Lucene has no analyzer for {language!r}: use one of {', '.join(LANGUAGES)}")
        return language


class Bm25(base.Retriever):
    """Returns at most ``depth`` documents per query: Lucene's own order breaks a tie at the cut-off."""

    id = "retriever/bm25"
    summary = "BM25 by Lucene (Pyserini, Anserini), with an analyzer for each of 26 languages"
    example = "language: pt, k1: 0.9, b: 0.4"
    Parameters: ClassVar[type[base.Parameters]] = Parameters

    @classmethod
    def require(cls) -> None:
        package = missing_package()
        if package is not None:
            raise MissingExtraError("bm25", "lucene", package)

    def index_key(self) -> dict[str, Any]:
        jar = anserini_jar()
        return {
            "language": self.parameters.language,
            "anserini": jar.name.split("-")[1] if jar else None,
            "pyserini": version("pyserini"),
        }

    def search_key(self) -> dict[str, Any]:
        return {"k1": self.parameters.k1, "b": self.parameters.b}

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        threads = self.parameters.threads or os.cpu_count() or 1
        lucene = context.engine(Lucene)
        lucene.index(corpus.folder, folder, self.parameters.language, threads, context.progress)

    def estimate(self, work: Workload) -> Estimate:
        # Lucene's analyzers would need Java, so the speed of this machine is measured with one of ours.
        found = expected_terms(work, analyzer("en", True, True))
        threads = self.parameters.threads or os.cpu_count() or 1
        disk = _POSTING * found.postings + _TERM * found.vocabulary + _PASSAGE * work.passages
        heap = min(_heap(), _HELD * work.passages * work.characters)
        return Estimate(disk=0, memory=LIBRARIES["java"], seconds=0).plus(
            index=Part(disk, START["java"] + found.seconds / _FASTER / threads),
            search=Part(0, START["java"] + work.queries * (_QUERY + _HIT * work.depth)),
            memory=heap,
            lines=(
                f"bm25: {found.postings:,.0f} postings × {_POSTING} + {found.vocabulary:,.0f} terms × {_TERM} + "
                f"{work.passages:,} passages × {_PASSAGE} bytes = {human_bytes(disk)}; Java holds "
                f"{human_bytes(LIBRARIES['java'])} and {_HELD} × the texts, {human_bytes(heap)} (at most "
                f"{human_bytes(_heap())})",
            ),
        )

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        lucene = context.engine(Lucene)
        setting = (self.parameters.language, self.parameters.k1, self.parameters.b)
        query, doc, score = [], [], []
        at_once = min(max(_HITS_AT_ONCE // depth, 4), 256)
        for start in range(0, len(queries), at_once):
            texts = [query.query for query in queries[start : start + at_once]]
            hits = lucene.search(folder, *setting, texts, depth)
            query.append(hits.query + start)
            doc.append(corpus.ids.encode(hits.doc_ids))
            score.append(_untied(hits.query, hits.score))
            context.progress(start + len(texts), len(queries))
        if not query:
            return base.no_hits()
        found = base.Hits(np.concatenate(query), np.concatenate(doc), np.concatenate(score))
        if len(found.doc) and found.doc.min() < 0:
            raise QuatiPoolError(f"{folder} is the index of another corpus: delete it and run the command again")
        return found


def _heap() -> int:
    """Bytes of heap that the worker gives Java: a quarter of the machine's memory, within bounds."""
    import psutil

    return min(max(int(psutil.virtual_memory().total) // 4, 512 * 2**20), 4 * 2**30)


def _untied(query: npt.NDArray[np.int64], score: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The scores of hits in Lucene's order, made strictly decreasing within each query.

    Anserini lowers tied scores by millionths, which float32 cannot represent from 16 upwards. There the next lower
    float32 is used instead, so that Lucene's order survives trec_eval's tie-breaking at any depth.
    """
    bits = score.view(np.int32).astype(np.int64)
    # Maps consecutive float32 values, including negative ones, to consecutive integers.
    level = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    # Adding the position turns "strictly below the one before" into a running minimum; the levels of each query are
    # shifted below those of all queries before it.
    shift = np.arange(len(score)) - (query << 33)
    level = np.minimum.accumulate(level + shift) - shift
    bits = np.where(level < 0, -level | -0x80000000, level)
    return bits.astype(np.int32).view(np.float32)
