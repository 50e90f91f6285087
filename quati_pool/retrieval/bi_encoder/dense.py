"""Dense retrieval: one vector a text from a sentence-transformers model, inner products through FAISS.

Vectors of passages lie in shards that an interrupted encoding continues; every kind of index, and the
reranker, use the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.records import Int, Query, Run
from quati_pool.retrieval import base
from quati_pool.retrieval.bi_encoder.dense_plan import estimate_dense
from quati_pool.retrieval.bi_encoder.dense_settings import EncodingParameters, Settings, e5_prompts, settings_of
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.encoders.encoding import Encoder, Matrix, pieces, require_finite
from quati_pool.retrieval.planning import Estimate, Work
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index import vector_search
from quati_pool.retrieval.vector_index.vector_search import IndexParameters, Vectors

_SHARD_PASSAGES = 4096
# Multiplications and additions of a shard on a CPU: about two minutes of two slow cores.
_SHARD_FLOPS = 1.2e13
_SHARD_TOKENS = 256


class DenseParameters(EncodingParameters, IndexParameters):
    pass


class _Encoding(base.Component):
    """What retriever and reranker share: the model, its settings, and the passages' vectors."""

    parameters: EncodingParameters
    _component = "dense"

    @classmethod
    def require(cls) -> None:
        models.require_neural(cls._component)

    def fetch(self, note: Callable[[str], None]) -> None:
        parameters = self.parameters
        local = models.fetch(self.site, parameters.model, parameters.revision, note)
        models.require_kind(local, parameters.model, "dense", self._component)
        settings_of(parameters, local.folder)
        models.devices_of(parameters)
        if models.kind_of(local.folder) == "encoder":
            note(f"{parameters.model} has no sentence-transformers files: the mean of its tokens is the vector")
        if e5_prompts(parameters, local.folder) is not None:
            note(f"{parameters.model}: 'query: ' and 'passage: ' stand before the texts, as E5 was trained")

    def estimate(self, work: Work) -> Estimate:
        try:
            local = models.locate(self.site, self.parameters.model, self.parameters.revision)
            models.require_kind(local, self.parameters.model, "dense", self._component)
        except models.ModelMissingError:
            return estimate_dense(self.parameters, work)
        return estimate_dense(self.parameters, work, local.folder, settings_of(self.parameters, local.folder))

    def encoding_key(self) -> dict[str, Any]:
        """What changes the vectors of passages. Raises as ``models.locate``."""
        local = models.locate(self.site, self.parameters.model, self.parameters.revision)
        settings = settings_of(self.parameters, local.folder)._asdict()
        del settings["query_prompt"]
        engines = {name: version(name) for name in ("sentence-transformers", "transformers")}
        return {"model": local.identity, **settings, "precision": self.parameters.precision, **engines}

    def query_key(self) -> dict[str, Any]:
        """What besides changes the vectors of queries."""
        local = models.locate(self.site, self.parameters.model, self.parameters.revision)
        return {"query_prompt": settings_of(self.parameters, local.folder).query_prompt}

    def passage_vectors(self, corpus: CorpusStore, context: base.Context, ordinals: Int | None = None) -> Vectors:
        """Vectors of all passages, or of ``ordinals`` alone; encoded where they are not yet."""
        key = self.encoding_key()
        if ordinals is None:
            wanted = np.arange(len(corpus))
        else:
            wanted = ordinals
            key["passages"] = hashlib.sha256(np.ascontiguousarray(ordinals, dtype="<i8").tobytes()).hexdigest()

        def fill(folder: Path) -> Mapping[str, int]:
            return self._encode(corpus, wanted, folder, context)

        return Vectors(Shards(context.grow(corpus, "dense", key, fill)))

    def query_vectors(self, queries: Sequence[Query], context: base.Context) -> tuple[Int, Matrix]:
        """Positions of the queries that are not blank, and their vectors, shape (n, dimension)."""
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked):
            return asked, np.empty((0, 0), dtype=np.float32)
        encoder, settings = self._encoder(context)
        vectors = encoder.encode(
            [queries[row].query for row in asked],
            settings.query_prompt,
            "query",
            settings.truncate_dim,
            settings.normalize,
        )
        ids = [queries[row].query_id for row in asked]
        require_finite(vectors, ids, self.parameters.model, "query")
        return asked, vectors

    def _encode(self, corpus: CorpusStore, ordinals: Int, folder: Path, context: base.Context) -> dict[str, int]:
        shards = Shards(folder)
        if shards.passages >= len(ordinals):
            return {"passages": shards.passages}
        encoder, settings = self._encoder(context)
        for some, texts in pieces(corpus, ordinals, shards.passages, _shard_size(encoder)):
            before = shards.passages
            context.progress(before, len(ordinals))

            def progress(done: int, before: int = before) -> None:
                context.progress(before + done, len(ordinals))

            vectors = encoder.encode(
                texts, settings.passage_prompt, "document", settings.truncate_dim, settings.normalize, progress
            )

            def doc_id(row: int, some: Int = some) -> str:
                return str(corpus.ids.decode(some[[row]])[0].as_py())

            require_finite(vectors, doc_id, self.parameters.model)
            shards.append(len(some), **vector_search.store_arrays(vectors, self.parameters.precision))
        return {"passages": shards.passages}

    def _encoder(self, context: base.Context) -> tuple[Encoder, Settings]:
        parameters = self.parameters
        local = models.locate(self.site, parameters.model, parameters.revision)
        models.require_kind(local, parameters.model, "dense", self._component)
        settings = settings_of(parameters, local.folder)
        computing = parameters.model_copy(update={"compute": settings.compute})
        model = models.load("SentenceTransformer", local, computing)
        _limit_tokens(model, parameters)
        devices = models.devices_of(parameters)
        encoder = Encoder(model, devices, models.batch_tokens_of(parameters, devices), context.note)
        if settings.truncate_dim and encoder.dimension and settings.truncate_dim > encoder.dimension:
            raise ConfigError(
                f"model {parameters.model!r} has {encoder.dimension} dimensions, fewer than "
                f"truncate_dim: {settings.truncate_dim}; lower it, or drop it"
            )
        return encoder, settings


class Dense(_Encoding, base.Retriever):
    """Every query that is not blank finds passages; negative scores stay. ``flat`` compares all vectors,
    ``hnsw`` and ``ivf-pq`` candidates of a FAISS index, then these exactly."""

    summary = "dense vectors of a sentence-transformers model, searched with FAISS"
    Parameters = DenseParameters
    parameters: DenseParameters

    def index_key(self) -> dict[str, Any] | None:
        index = vector_search.index_key(self.parameters, self.site.seed)
        return None if index is None else {**self.encoding_key(), **index}

    def search_key(self) -> dict[str, Any]:
        search = {**self.query_key(), **vector_search.search_key(self.parameters)}
        return {**self.encoding_key(), **search} if self.index_key() is None else search

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [("dense", self.encoding_key())]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        vectors = self.passage_vectors(corpus, context)
        vector_search.build_index(vectors, folder, self.parameters, self.site.seed, context.progress)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        vectors = self.passage_vectors(corpus, context)
        asked, query_vectors = self.query_vectors(queries, context)
        if not len(asked):
            return base.no_hits()
        if self.parameters.index == "flat":
            hits = vector_search.flat_search(vectors, query_vectors, depth, context.progress)
        else:
            hits = vector_search.search_index(vectors, folder, query_vectors, depth, self.parameters, context.progress)
        return hits._replace(query=asked[hits.query])


class DenseReranker(_Encoding, base.Reranker):
    """The retriever's score for given pairs. The vectors of a whole corpus are used where they are there;
    else only the run's passages are encoded."""

    summary = "inner product of a sentence-transformers model's vectors of query and passage"
    Parameters = EncodingParameters
    _component = "the reranker dense"

    def search_key(self) -> dict[str, Any]:
        return {**self.encoding_key(), **self.query_key()}

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> npt.NDArray[np.float32]:
        scores = np.zeros(len(run), dtype=np.float32)
        if not len(run):
            return scores
        places: Int
        if context.grown(corpus, "dense", self.encoding_key()) is not None:
            vectors, places = self.passage_vectors(corpus, context), run.doc
        else:
            ordinals, places = np.unique(run.doc, return_inverse=True)
            vectors = self.passage_vectors(corpus, context, None if len(ordinals) == len(corpus) else ordinals)
        asked, query_vectors = self.query_vectors(queries, context)
        row_of = np.full(len(queries), -1, dtype=np.int64)
        row_of[asked] = np.arange(len(asked))
        # A blank query has no vector: what another system returned for it scores 0.
        scored = np.flatnonzero(row_of[run.query] >= 0)
        scores[scored] = vector_search.pair_scores(
            vectors, query_vectors, row_of[run.query[scored]], places[scored], context.progress
        )
        return scores


def _limit_tokens(model: Any, parameters: EncodingParameters) -> None:
    """Sets how many tokens a model reads. Raises ConfigError for more than it has positions."""
    wanted, positions = parameters.max_tokens, _positions(model)
    if wanted is not None:
        if model.transformers_model is None:
            raise ConfigError(f"model {parameters.model!r} reads texts of any length whole; drop max_tokens")
        if positions is not None and wanted > positions:
            raise ConfigError(f"model {parameters.model!r} reads at most {positions:,} tokens; lower max_tokens")
        model.max_seq_length = wanted
    elif positions is not None and (model.max_seq_length or positions + 1) > positions:
        model.max_seq_length = positions


def _positions(model: Any) -> int | None:
    """How many tokens a model has positions for; None where there is no such limit."""
    import torch

    transformer = model.transformers_model
    if transformer is None:
        return None
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and its kin count positions from behind the padding's.
            return int(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    limit = getattr(transformer.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def _shard_size(encoder: Encoder) -> int:
    """Passages of a shard: fewer the larger the model, on a CPU, so that an interruption loses minutes."""
    if encoder.model.device.type != "cpu":
        return _SHARD_PASSAGES
    flops = 2 * _SHARD_TOKENS * encoder.layer_weights
    return int(np.clip(_SHARD_FLOPS / max(flops, 1), 64, _SHARD_PASSAGES))
