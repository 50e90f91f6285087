"""Dense retrieval: one vector per text from a sentence-transformers model, compared by inner product with FAISS.

Queries and passages are encoded by one model, or by one each, as in DPR. The vectors of passages are kept in shards, so
that an interrupted encoding can be continued. All kinds of index, and the reranker, use the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.models.dpr import Role, dpr_role, load_dpr
from quati_pool.models.errors import ModelMissingError
from quati_pool.models.kind import kind_of, require_kind
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel, locate, locate_or_announce, locate_or_download
from quati_pool.models.parameters import batch_tokens_of, devices_of
from quati_pool.records import Int, Query, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.bi_encoder.dense_parameters import (
    EncodingParameters,
    e5_prompts,
    says_no_similarity,
    settings_of,
)
from quati_pool.retrieval.bi_encoder.dense_plan import estimate_dense, with_query_model
from quati_pool.retrieval.bi_encoder.two_encoders import require_comparable, require_dimensions
from quati_pool.retrieval.encoders.corpus_encoding import CorpusEncoding
from quati_pool.retrieval.encoders.encoding import Encoded, Encoder, Matrix, require_finite
from quati_pool.retrieval.encoders.model_inputs import limit_tokens
from quati_pool.retrieval.planning import Estimate, Workload
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index import vector_search
from quati_pool.retrieval.vector_index.vector_search import IndexParameters, Vectors

_READS: dict[Role, str] = {"query": "queries", "passage": "passages"}


def _require_role(role: Role | None, wanted: Role, parameters: EncodingParameters) -> None:
    """Raises ConfigError for the DPR encoder of the other side."""
    if role not in (None, wanted):
        raise ConfigError(
            f"{wanted}_model: {parameters.model!r} is DPR's encoder of {_READS[role]}; name it as {role}_model:"
        )


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

    def fetch(self, note: Callable[[str], None]) -> None:
        super().fetch(note)
        if self.parameters.has_two:
            queries = self.parameters.for_queries()
            local = locate_or_download(self.environment, queries.model, queries.revision, note)
            self._check_queries(local, self.folder(), note)

    def inspect(self, note: Callable[[str], None]) -> None:
        super().inspect(note)
        if self.parameters.has_two:
            local = locate_or_announce(self.environment, self.parameters.for_queries(), note)
            if local is not None:
                self._check_queries(local, self.folder_if_here(), lambda line: None)

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        super().check(local, note)
        parameters = self.parameters.for_passages()
        role = dpr_role(local.folder)
        if role is not None and not self.parameters.has_two:
            raise ConfigError(
                f"model {parameters.model!r} is one of the two of DPR, that of {_READS[role]}; "
                "name both, as query_model: and passage_model:"
            )
        _require_role(role, "passage", parameters)
        self._check_settings(parameters, local.folder, note)

    def _check_queries(self, local: LocalModel, passage_folder: Path | None, note: Callable[[str], None]) -> None:
        """As ``check``, for the model of queries; also raises ConfigError if its vectors cannot be compared with those
        of the model in ``passage_folder`` (None if that is not on this machine)."""
        parameters = self.parameters.for_queries()
        require_kind(local, parameters.model, self.kind, self.name)
        _require_role(dpr_role(local.folder), "query", parameters)
        passages = self.parameters.for_passages()
        if (parameters.model, parameters.revision) != (passages.model, passages.revision):
            self._check_settings(parameters, local.folder, note)
        if passage_folder is not None:
            require_comparable(self.parameters, local.folder, passage_folder)

    def _check_settings(self, parameters: EncodingParameters, folder: Path, note: Callable[[str], None]) -> None:
        model, two = parameters.model, self.parameters.has_two
        settings_of(parameters, folder)
        if kind_of(folder) == "encoder" and dpr_role(folder) is None:
            note(f"{model} has no sentence-transformers files: the mean of its tokens is the vector")
        if e5_prompts(parameters, folder) is not None:
            note(f"{model}: 'query: ' and 'passage: ' are put before the texts, as E5 was trained")
        if two and says_no_similarity(parameters, folder):
            note(f"{model} does not say how its vectors are compared, so by cosine; normalize: false is inner product")

    def estimate(self, work: Workload) -> Estimate:
        passages, folder = self.parameters.for_passages(), self.folder_if_here()
        settings = None if folder is None else settings_of(passages, folder)
        found = estimate_dense(passages, work, folder, settings)
        if not self.parameters.has_two:
            return found
        queries = self.parameters.for_queries()
        return with_query_model(found, queries, work, self._query_folder_if_here())

    def _query_folder_if_here(self) -> Path | None:
        try:
            return self.folder_of(self.parameters.for_queries())
        except (ConfigError, ModelMissingError):
            return None

    def chosen(self, folder: Path) -> dict[str, Any]:
        settings = settings_of(self.parameters.for_passages(), folder)._asdict()
        del settings["query_prompt"]
        return {**settings, "precision": self.parameters.precision}

    def query_key(self) -> dict[str, Any]:
        """What changes the vectors of queries but not those of passages."""
        queries = self.parameters.for_queries()
        if not self.parameters.has_two:
            return {"query_prompt": settings_of(queries, self.folder()).query_prompt}
        local = locate(self.environment, queries.model, queries.revision)
        return {"query_prompt": settings_of(queries, local.folder).query_prompt, "query_model": local.identity}

    def load(self, folder: Path, note: Callable[[str], None]) -> Encoder:
        return self._load(self.parameters.for_passages(), folder, note)

    def _load(self, parameters: EncodingParameters, folder: Path, note: Callable[[str], None]) -> Encoder:
        settings = settings_of(parameters, folder)
        computing = parameters.model_copy(update={"compute": settings.compute})
        if dpr_role(folder) is None:
            model = load_model("SentenceTransformer", folder, computing)
        else:
            model = load_dpr(folder, computing)
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
        parameters = self.parameters.for_passages()
        settings = settings_of(parameters, self.folder())
        vectors = encoder.encode(
            texts, settings.passage_prompt, "document", settings.truncate_dim, settings.normalize, progress
        )
        require_finite(vectors, doc_id, parameters.model)
        return Encoded(vector_search.store_arrays(vectors, self.parameters.precision))

    def query_vectors(self, queries: Sequence[Query], context: base.Context) -> tuple[Int, Matrix]:
        """The positions of the queries that are not blank, and their vectors, shape (n, dimension)."""
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked):
            return asked, np.empty((0, 0), dtype=np.float32)
        parameters = self.parameters.for_queries()
        folder = self.folder_of(parameters)
        settings = settings_of(parameters, folder)
        context.step("encoding queries")
        vectors = self._load(parameters, folder, context.note).encode(
            [queries[row].query for row in asked],
            settings.query_prompt,
            "query",
            settings.truncate_dim,
            settings.normalize,
        )
        ids = [queries[row].query_id for row in asked]
        require_finite(vectors, ids, parameters.model, "query")
        return asked, vectors

    def _comparable(self, shards: Shards, query_vectors: Matrix) -> Vectors:
        """The vectors of passages; raises ConfigError if those of queries have another dimension, which not all models'
        files say."""
        vectors = Vectors(shards)
        if self.parameters.has_two:
            require_dimensions(self.parameters, query_vectors.shape[1], vectors.dimension)
        return vectors


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
        vectors = self._comparable(self.encoded(corpus, context), query_vectors)
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
        if not len(scored):
            return scores
        scores[scored] = vector_search.pair_scores(
            self._comparable(shards, query_vectors),
            query_vectors,
            row_of[run.query[scored]],
            places[scored],
            context.progress,
        )
        return scores
