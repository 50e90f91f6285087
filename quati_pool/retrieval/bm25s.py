"""BM25 in memory with the library bm25s (Lù 2024, arXiv 2407.03618): for small corpora, needs no Java."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Query
from quati_pool.retrieval import base
from quati_pool.retrieval.memory_limits import estimated_terms, expected_terms, require_memory
from quati_pool.retrieval.planning import LIBRARIES, Estimate, Part, Workload, human_bytes
from quati_pool.retrieval.top_scores import best
from quati_pool.text.analysis import Language, analysis_versions, analyzer

# Bytes on disk: per posting, a float32 score and an int32 passage number; per term, its text and number in JSON, and
# the offset of its postings.
_POSTING, _TERM = 8, 26
# Seconds per query and passage, since every passage is scored.
_QUERY = 4e-9
# The time of all the work as a multiple of that for finding the terms: 9.4 s against 5.5 s, measured once over 40,000
# passages on a busy machine.
_SCORING = 1.7


def _needed(passages: int, tokens: float, postings: float) -> float:
    """Peak memory in bytes: 8 per token in lists, and each posting as score and coordinates, then once more as CSC."""
    return 120 * passages + 8 * tokens + 36 * postings


class Bm25sParameters(base.Parameters):
    language: Annotated[Language, Field(description="language of stemmer and stop words, ISO 639-1")] = "en"
    stemming: Annotated[bool, Field(description="Snowball stems instead of words")] = True
    stop_words: Annotated[bool, Field(description="drop the language's stop words")] = True
    k1: Annotated[float, Field(ge=0, description="term frequency saturation")] = 0.9
    b: Annotated[float, Field(ge=0, le=1, description="length normalisation")] = 0.4


class Bm25s(base.Retriever):
    """BM25 with Lucene's weighting; a passage that shares no term with the query is not returned."""

    id = "retriever/bm25s"
    summary = "BM25 in memory (bm25s) with Snowball stemming; needs no Java"
    example = "language: pt"
    Parameters = Bm25sParameters
    parameters: Bm25sParameters

    def index_key(self) -> dict[str, Any]:
        return {**self.parameters.model_dump(), **analysis_versions()}

    def _terms(self) -> Any:
        return analyzer(self.parameters.language, self.parameters.stemming, self.parameters.stop_words)

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        import bm25s

        terms = self._terms()
        tokens, postings = estimated_terms(corpus, terms)
        require_memory("bm25s", len(corpus), _needed(len(corpus), tokens, postings))
        vocabulary: dict[str, int] = {}
        passages: list[list[int]] = []
        for batch in corpus.batches():
            for text in batch.column("text").to_pylist():
                passages.append([vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)])
            context.progress(len(passages), len(corpus))
        context.step("scoring all postings")
        if not vocabulary:
            # bm25s cannot index a corpus without a single term; a term that occurs in no query changes no result.
            vocabulary[""] = 0
            passages[0] = [0]
        model = bm25s.BM25(
            k1=self.parameters.k1, b=self.parameters.b, method="lucene", backend="numpy", csc_backend="scipy"
        )
        model.index((passages, vocabulary), create_empty_token=False, show_progress=False)
        model.save(folder, show_progress=False)

    def estimate(self, work: Workload) -> Estimate:
        found = expected_terms(work, self._terms())
        memory = _needed(work.passages, found.tokens, found.postings)
        disk = _POSTING * found.postings + _TERM * found.vocabulary
        return Estimate(disk=0, memory=LIBRARIES["bm25s"], seconds=0).plus(
            index=Part(disk, found.seconds * _SCORING),
            search=Part(0, work.queries * work.passages * _QUERY),
            memory=memory,
            lines=(
                f"bm25s: {found.postings:,.0f} postings × {_POSTING} + {found.vocabulary:,.0f} terms × {_TERM} bytes = "
                f"{human_bytes(disk)}; {work.passages:,} × 120 + {found.tokens:,.0f} tokens × 8 + postings × 36 = "
                f"{human_bytes(memory)}, and libraries {human_bytes(LIBRARIES['bm25s'])}",
            ),
        )

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        import bm25s

        model = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        terms = self._terms()
        rows, docs, scores = [], [], []
        for row, query in enumerate(queries):
            known = [model.vocab_dict[term] for term in terms(query.query) if term in model.vocab_dict]
            if known:
                score = model.get_scores_from_ids(known)
                matching = np.flatnonzero(score > 0)
                found = matching[best(score[matching], depth)]
                rows.append(np.full(len(found), row))
                docs.append(found)
                scores.append(score[found])
            context.progress(row + 1, len(queries))
        if not rows:
            return base.no_hits()
        return base.Hits(np.concatenate(rows), np.concatenate(docs), np.concatenate(scores))
