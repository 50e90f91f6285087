"""Latent semantic analysis (Deerwester et al. 1990): TF-IDF, truncated SVD, exact cosine search.

A dense retriever that needs no model: its vectors are computed from the corpus itself. It uses one thread throughout,
so that the same corpus and seed give the same scores. A score depends on its query and passage only, so that equal
passages always get equal scores.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Int, Query, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.memory_limits import estimated_terms, expected_terms, require_memory
from quati_pool.retrieval.planning import LIBRARIES, Estimate, Part, Workload, core_flops, human_bytes
from quati_pool.retrieval.top_scores import best
from quati_pool.text.analysis import Language, analysis_versions, analyzer

Matrix = npt.NDArray[np.float32]
_BLOCK = 65536
_QUERIES = 128
_ITERATIONS = 7
# Bytes per term in vocabulary.json.
_TERM = 18


class LsaParameters(base.Parameters):
    language: Annotated[Language, Field(description="language of stemmer and stop words, ISO 639-1")] = "en"
    stemming: Annotated[bool, Field(description="Snowball stems instead of words")] = True
    stop_words: Annotated[bool, Field(description="drop the language's stop words")] = True
    dimensions: Annotated[int, Field(ge=1, description="of the vectors; fewer where the corpus has fewer")] = 128


class _Vectors:
    """The part that the retriever and the reranker share: the index, and the vectors of queries."""

    index_identity: ClassVar[str | None] = "index/lsa@1"
    parameters: LsaParameters
    environment: base.ComponentEnvironment

    def index_key(self) -> dict[str, Any]:
        import sklearn

        versions = {**analysis_versions(), "scikit-learn": sklearn.__version__}
        return {**self.parameters.model_dump(), "seed": self.environment.seed, **versions}

    def _terms(self) -> Any:
        return analyzer(self.parameters.language, self.parameters.stemming, self.parameters.stop_words)

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.utils.extmath import randomized_svd
        from threadpoolctl import threadpool_limits

        terms = self._terms()
        _, postings = estimated_terms(corpus, terms)
        dense = self._dense(len(corpus))
        require_memory("lsa", len(corpus), 32 * postings + dense * len(corpus))

        counter = CountVectorizer(analyzer=terms, dtype=np.float32)
        try:
            counts = counter.fit_transform(_texts(corpus, context)).tocsr()
            vocabulary = {term: int(column) for term, column in counter.vocabulary_.items()}
        except ValueError:  # no passage holds a term
            vocabulary = {}
        if not vocabulary:
            np.save(folder / "passages.npy", np.zeros((len(corpus), 1), dtype=np.float32))
            np.save(folder / "terms.npy", np.zeros((0, 1), dtype=np.float32))
            (folder / "vocabulary.json").write_text("{}", encoding="utf-8")
            return
        # Checked again, because the number of terms is known only now.
        require_memory("lsa", len(corpus), dense * (len(corpus) + len(vocabulary)))
        frequency = np.bincount(counts.indices, minlength=len(vocabulary))
        # Smoothed as in scikit-learn's TfidfTransformer, so that no weight is 0.
        idf = (np.log((1 + len(corpus)) / (1 + frequency)) + 1).astype(np.float32)
        weights = _weighted(counts, idf)
        rank = min(self.parameters.dimensions, *weights.shape)
        context.step(f"computing {rank:,} dimensions")
        with threadpool_limits(1):
            # scikit-learn accepts only 32-bit seeds.
            _, _, directions = randomized_svd(
                weights, rank, n_iter=_ITERATIONS, random_state=self.environment.seed % 2**32
            )
            directions = np.ascontiguousarray(directions, dtype=np.float32)
            passages = _unit(weights @ directions.T)
        np.save(folder / "passages.npy", passages)
        np.save(folder / "terms.npy", idf[:, None] * directions.T)
        (folder / "vocabulary.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")

    def _dense(self, passages: int) -> int:
        """Bytes of memory per passage and per term: besides the weights, the SVD holds a few dense matrices of shape
        (passages or terms, dimensions)."""
        return 4 * 4 * (min(self.parameters.dimensions, passages) + 10)

    def estimate(self, work: Workload) -> Estimate:
        found = expected_terms(work, self._terms())
        dimensions = min(self.parameters.dimensions, work.passages)
        memory = 32 * found.postings + self._dense(work.passages) * (work.passages + found.vocabulary)
        disk = 4 * dimensions * (work.passages + found.vocabulary) + _TERM * found.vocabulary
        # Every iteration multiplies by the weights and by their transpose, and so do the first and the last step.
        flops = 2 * (2 * _ITERATIONS + 2) * found.postings * (dimensions + 10)
        compared = work.pairs or work.queries * work.passages
        return Estimate(disk=0, memory=LIBRARIES["scikit-learn"], seconds=0).plus(
            index=Part(disk, found.seconds + flops / _sparse_flops()),
            search=Part(0, 2 * compared * dimensions / core_flops()),
            memory=memory,
            lines=(
                f"lsa: ({work.passages:,} passages + {found.vocabulary:,.0f} terms) × {dimensions} × 4 bytes + terms × "
                f"{_TERM} = {human_bytes(disk)}; {found.postings:,.0f} postings × 32 + (passages + terms) × "
                f"{self._dense(work.passages)} = {human_bytes(memory)}, and libraries "
                f"{human_bytes(LIBRARIES['scikit-learn'])}",
            ),
        )

    def _query_vectors(self, folder: Path, queries: Sequence[Query]) -> Matrix:
        """Unit vectors of the queries; a query without a known term has the zero vector."""
        from threadpoolctl import threadpool_limits

        vocabulary = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        projection: Matrix = np.load(folder / "terms.npy", mmap_mode="r")
        terms = self._terms()
        vectors = np.zeros((len(queries), projection.shape[1]), dtype=np.float32)
        with threadpool_limits(1):
            for row, query in enumerate(queries):
                columns = [vocabulary[term] for term in terms(query.query) if term in vocabulary]
                known, counts = np.unique(np.array(columns, dtype=np.int64), return_counts=True)
                vectors[row] = (1 + np.log(counts)).astype(np.float32) @ projection[known]
        return _unit(vectors)


class Lsa(_Vectors, base.Retriever):
    """Exact cosine search. Negative scores are kept; a query without a known term returns nothing."""

    id = "retriever/lsa"
    summary = "TF-IDF + truncated SVD, exact cosine search (scikit-learn): dense, without a model"
    example = "language: pt, dimensions: 128"
    Parameters = LsaParameters

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        from threadpoolctl import threadpool_limits

        passages: Matrix = np.load(folder / "passages.npy", mmap_mode="r")
        vectors = self._query_vectors(folder, queries)
        asked = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
        hits = []
        with threadpool_limits(1):
            for start in range(0, len(asked), _QUERIES):
                some = asked[start : start + _QUERIES]
                hits.append(_nearest(passages, vectors, some, depth))
                context.progress(min(start + _QUERIES, len(asked)), len(asked))
        if not hits:
            return base.no_hits()
        return base.Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))


class LsaReranker(_Vectors, base.Reranker):
    """Scores the passages of another system by the cosine of query and passage."""

    id = "reranker/lsa"
    summary = "cosine of the vectors of the retriever lsa"
    Parameters = LsaParameters

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> npt.NDArray[np.float32]:
        passages: Matrix = np.load(folder / "passages.npy", mmap_mode="r")
        vectors = self._query_vectors(folder, queries)
        return _pair_scores(passages, vectors, run.doc, run.query, context.progress)


@cache
def _sparse_flops() -> float:
    """FLOP/s of multiplying a sparse by a dense matrix on this machine, in one thread; measured once per process."""
    from scipy.sparse import random_array

    generator = np.random.default_rng(0)
    sparse = random_array((4000, 4000), density=0.02, format="csr", dtype=np.float32, rng=generator)
    dense = generator.random((4000, 64), dtype=np.float32)
    sparse @ dense
    started = time.perf_counter()
    sparse @ dense
    return float(2 * sparse.nnz * 64 / (time.perf_counter() - started))


def _texts(corpus: CorpusStore, context: base.Context) -> Any:
    done = 0
    for batch in corpus.batches():
        yield from batch.column("text").to_pylist()
        done += len(batch)
        context.progress(done, len(corpus))


def _weighted(counts: Any, idf: Matrix) -> Any:
    """The weights (1 + log tf) · idf, with each passage's row scaled to length 1; changes ``counts`` in place."""
    from sklearn.preprocessing import normalize

    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    return normalize(counts, copy=False)


def _unit(vectors: Any) -> Matrix:
    """Rows scaled to length 1; rows too short to have a meaningful direction become 0."""
    vectors = np.asarray(vectors, dtype=np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Matrix = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-6)
    return unit


def _pair_scores(
    passages: Matrix, vectors: Matrix, docs: Int, rows: Int, progress: base.Progress = lambda done, total: None
) -> Matrix:
    """The cosine of the passage ``docs[i]`` and the query ``rows[i]``, shape (pairs,). It does not depend on the other
    pairs: einsum sums each dot product separately, which a matrix product does not."""
    scores = np.empty(len(docs), dtype=np.float32)
    for start in range(0, len(docs), _BLOCK):
        some = slice(start, start + _BLOCK)
        scores[some] = np.einsum("ij,ij->i", passages[docs[some]], vectors[rows[some]])
        progress(min(start + _BLOCK, len(docs)), len(docs))
    return scores


def _nearest(passages: Matrix, vectors: Matrix, asked: Int, depth: int) -> base.Hits:
    """The best passages for the queries ``asked``, found block by block, so that memory holds one block of scores.

    The last bits of a matrix product depend on the position of a vector in the matrix, so the product only selects
    candidates, which are then scored pair by pair. Candidates are all passages that reach the ``depth``-th score minus
    the possible rounding error: at most about d · 2⁻²⁴ for the dot product of two unit vectors of dimension d (Higham
    2002, Accuracy and Stability, section 3.1), counted for both passages compared, in the matrix and by the pair.
    """
    slack = 4 * passages.shape[1] * 2.0**-24
    docs = [np.empty(0, dtype=np.int64) for _ in asked]
    scores = [np.empty(0, dtype=np.float32) for _ in asked]
    for start in range(0, len(passages), _BLOCK):
        block = vectors[asked] @ passages[start : start + _BLOCK].T
        for row, score in enumerate(block):
            found = best(score, depth, slack)
            all_scores = np.concatenate([scores[row], score[found]])
            kept = best(all_scores, depth, slack)
            docs[row] = np.concatenate([docs[row], found + start])[kept]
            scores[row] = all_scores[kept]
    for row, query in enumerate(asked):
        exact = _pair_scores(passages, vectors, docs[row], np.full(len(docs[row]), query))
        kept = best(exact, depth)
        docs[row], scores[row] = docs[row][kept], exact[kept]
    rows = np.repeat(asked, [len(found) for found in docs])
    return base.Hits(rows, np.concatenate(docs), np.concatenate(scores))
