"""Dense retrieval: one vector per text from a sentence-transformers model, compared by inner product with FAISS.

The vectors of passages are kept in shards, so that an interrupted encoding can be continued. All kinds of index, and
the reranker, use the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.models.kind import kind_of
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import batch_tokens_of, devices_of
from quati_pool.records import Int, Query, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.bi_encoder.dense_parameters import EncodingParameters, e5_prompts, settings_of
from quati_pool.retrieval.bi_encoder.dense_plan import estimate_dense
from quati_pool.retrieval.encoders.corpus_encoding import CorpusEncoding
from quati_pool.retrieval.encoders.encoding import Encoded, Encoder, Matrix, require_finite
from quati_pool.retrieval.encoders.model_inputs import limit_tokens
from quati_pool.retrieval.planning import Estimate, Workload
from quati_pool.retrieval.vector_index import vector_search
from quati_pool.retrieval.vector_index.vector_search import IndexParameters, Vectors


class DenseParameters(EncodingParameters, IndexParameters):
    pass


class _BiEncoder(CorpusEncoding[Encoder]):
    """The part that the retriever and the reranker share: the model, its settings, and the vectors of passages and
    queries."""

    name = encodes = "dense"
    index_identity = "index/dense@1"
    kind = "dense"
    encoded_by = (
        "passage_prompt", "passage_prompt_name", "truncate_dim", "normalize", "max_tokens", "precision", "compute",
    )  # fmt: skip
    most = 4096
    parameters: EncodingParameters

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        super().check(local, note)
        model = self.parameters.model
        settings_of(self.parameters, local.folder)
        if kind_of(local.folder) == "encoder":
            note(f"{model} has no sentence-transformers files: the mean of its tokens is the vector")
        if e5_prompts(self.parameters, local.folder) is not None:
            note(f"{model}: 'query: ' and 'passage: ' are put before the texts, as E5 was trained")

    def estimate(self, work: Workload) -> Estimate:
        folder = self.folder_if_here()
        if folder is None:
            return estimate_dense(self.parameters, work)
        return estimate_dense(self.parameters, work, folder, settings_of(self.parameters, folder))

    def chosen(self, folder: Path) -> dict[str, Any]:
        settings = settings_of(self.parameters, folder)._asdict()
        del settings["query_prompt"]
        return {**settings, "precision": self.parameters.precision}

    def query_key(self) -> dict[str, Any]:
        """The settings that change the vectors of queries but not those of passages."""
        return {"query_prompt": settings_of(self.parameters, self.folder()).query_prompt}

    def load(self, folder: Path, note: Callable[[str], None]) -> Encoder:
        parameters, settings = self.parameters, settings_of(self.parameters, folder)
        computing = parameters.model_copy(update={"compute": settings.compute})
        model = load_model("SentenceTransformer", folder, computing)
        limit_tokens(model, parameters.model, parameters.max_tokens)
        devices = devices_of(parameters)
        encoder = Encoder(model, devices, batch_tokens_of(parameters, devices), note)
        if settings.truncate_dim and encoder.dimension and settings.truncate_dim > encoder.dimension:
            raise ConfigError(
                f"model {parameters.model!r} has {encoder.dimension} dimensions, fewer than "
                f"truncate_dim: {settings.truncate_dim}; lower it, or drop it"
            )
        return encoder

    def encode(
        self, encoder: Encoder, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        settings = settings_of(self.parameters, self.folder())
        vectors = encoder.encode(
            texts, settings.passage_prompt, "document", settings.truncate_dim, settings.normalize, progress
        )
        require_finite(vectors, doc_id, self.parameters.model)
        return Encoded(vector_search.store_arrays(vectors, self.parameters.precision))

    def query_vectors(self, queries: Sequence[Query], context: base.Context) -> tuple[Int, Matrix]:
        """The positions of the queries that are not blank, and their vectors, shape (n, dimension)."""
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked):
            return asked, np.empty((0, 0), dtype=np.float32)
        folder = self.folder()
        settings = settings_of(self.parameters, folder)
        context.step("encoding queries")
        vectors = self.load(folder, context.note).encode(
            [queries[row].query for row in asked],
            settings.query_prompt,
            "query",
            settings.truncate_dim,
            settings.normalize,
        )
        ids = [queries[row].query_id for row in asked]
        require_finite(vectors, ids, self.parameters.model, "query")
        return asked, vectors


class Dense(_BiEncoder, base.Retriever):
    """Searches by inner product: ``flat`` compares all vectors, ``hnsw`` and ``ivf-pq`` score the candidates of a FAISS
    index exactly. Negative scores are kept, so that every query that is not blank finds passages."""

    id = "retriever/dense"
    summary = "dense vectors of a sentence-transformers model, searched with FAISS"
    example = "model: intfloat/multilingual-e5-large"
    Parameters = DenseParameters
    parameters: DenseParameters

    def index_key(self) -> dict[str, Any] | None:
        index = vector_search.index_key(self.parameters, self.environment.seed)
        return None if index is None else {**self.encoding_key(), **index}

    def search_key(self) -> dict[str, Any]:
        search = {**self.query_key(), **vector_search.search_key(self.parameters)}
        return {**self.encoding_key(), **search} if self.index_key() is None else search

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(self.name, self.encoding_key())]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        if not len(corpus):
            return
        vectors = Vectors(self.encoded(corpus, context))
        context.step(f"preparing the index {self.parameters.index}")
        vector_search.build_index(vectors, folder, self.parameters, self.environment.seed, context.progress)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        asked, query_vectors = self.query_vectors(queries, context)
        if not len(asked) or not len(corpus):
            return base.no_hits()
        vectors = Vectors(self.encoded(corpus, context))
        if self.parameters.index == "flat":
            hits = vector_search.flat_search(vectors, query_vectors, depth, context.progress)
        else:
            hits = vector_search.search_index(vectors, folder, query_vectors, depth, self.parameters, context.progress)
        return hits._replace(query=asked[hits.query])


class DenseReranker(_BiEncoder, base.Reranker):
    """Scores given pairs as the retriever does. Uses the vectors of the whole corpus if they exist; otherwise only the
    passages of the run are encoded."""

    id = "reranker/dense"
    summary = "inner product of a sentence-transformers model's vectors of query and passage"
    example = "model: intfloat/multilingual-e5-large"
    Parameters = EncodingParameters

    def search_key(self) -> dict[str, Any]:
        return {**self.encoding_key(), **self.query_key()}

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> npt.NDArray[np.float32]:
        scores = np.zeros(len(run), dtype=np.float32)
        if not len(run):
            return scores
        shards, places = self.of_run(corpus, run.doc, context)
        asked, query_vectors = self.query_vectors(queries, context)
        row_of = np.full(len(queries), -1, dtype=np.int64)
        row_of[asked] = np.arange(len(asked))
        # A blank query has no vector, so passages that another system returned for it score 0.
        scored = np.flatnonzero(row_of[run.query] >= 0)
        scores[scored] = vector_search.pair_scores(
            Vectors(shards), query_vectors, row_of[run.query[scored]], places[scored], context.progress
        )
        return scores
