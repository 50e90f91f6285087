"""SPLADE: sparse vectors over a vocabulary from a masked language model, searched as impacts.

A term's weight is log(1 + ReLU(logit)), pooled over the tokens of a text (Formal et al. 2021, arXiv 2107.05720,
2109.10086). Uses models of sentence-transformers' SparseEncoder, including those without inference for queries (Geng et
al. 2024, arXiv 2411.04403).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import MissingExtraError, QuatiPoolError
from quati_pool.models.loading import load_model
from quati_pool.models.parameters import batch_tokens_of, devices_of
from quati_pool.records import Query
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders.corpus_encoding import CorpusEncoding
from quati_pool.retrieval.encoders.encoding import Encoded
from quati_pool.retrieval.encoders.model_inputs import limit_tokens
from quati_pool.retrieval.lucene import Lucene, anserini_jar, missing_package
from quati_pool.retrieval.planning import Estimate, Workload
from quati_pool.retrieval.sparse.impact_encoder import ImpactEncoder
from quati_pool.retrieval.sparse.impact_search import invert, search_inverted, search_lucene
from quati_pool.retrieval.sparse.impacts import stored
from quati_pool.retrieval.sparse.splade_parameters import SpladeParameters
from quati_pool.retrieval.sparse.splade_plan import estimate_splade


class Splade(CorpusEncoding[ImpactEncoder], base.Retriever):
    """Scores are integers, and the same for both ways of searching; a passage with the score 0 is not returned."""

    id = "retriever/splade"
    summary = "SPLADE and other sparse models of sentence-transformers, searched as impacts (inverted lists or Lucene)"
    example = "model: models/splade-pt"
    name = encodes = "splade"
    kind = "sparse"
    encoded_by = ("max_tokens", "passage_terms", "quantization", "compute")
    most = 1024
    Parameters = SpladeParameters
    parameters: SpladeParameters

    def fetch(self, note: Callable[[str], None]) -> None:
        self._require_lucene()
        super().fetch(note)

    def inspect(self, note: Callable[[str], None]) -> None:
        self._require_lucene()
        super().inspect(note)

    def _require_lucene(self) -> None:
        if self.parameters.search == "lucene" and (package := missing_package()):
            raise MissingExtraError("splade with search: lucene", "lucene", package)

    def index_key(self) -> dict[str, Any]:
        key = {**self.encoding_key(), "search": self.parameters.search}
        if self.parameters.search == "lucene":
            jar = anserini_jar()
            key["anserini"] = jar.name.split("-")[1] if jar else None
        return key

    def search_key(self) -> dict[str, Any]:
        return {"query_terms": self.parameters.query_terms}

    def chosen(self, folder: Path) -> dict[str, Any]:
        return self.parameters.model_dump(include={"max_tokens", "passage_terms", "quantization", "compute"})

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(self.name, self.encoding_key())]

    def load(self, folder: Path, note: Callable[[str], None]) -> ImpactEncoder:
        parameters = self.parameters
        model = load_model("SparseEncoder", folder, parameters)
        if model.similarity_fn_name not in ("dot", "cosine"):
            raise QuatiPoolError(
                f"model {parameters.model!r} compares vectors by {model.similarity_fn_name} distance, which impacts "
                "cannot; use one that compares by dot product or cosine"
            )
        limit_tokens(model, parameters.model, parameters.max_tokens)
        devices = devices_of(parameters)
        return ImpactEncoder(model, devices, batch_tokens_of(parameters, devices), note)

    def encode(
        self,
        encoder: ImpactEncoder,
        texts: list[str],
        doc_id: Callable[[int], str],
        progress: Callable[[int], None],
    ) -> Encoded:
        quantization, keep = self.parameters.quantization, self.parameters.passage_terms
        found = encoder.impacts(texts, "document", lambda row: f"passage {doc_id(row)!r}", quantization, keep, progress)
        return Encoded({"terms": found.terms, "weights": found.weights}, np.diff(found.ends, prepend=0))

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        shards = self.encoded(corpus, context)
        if self.parameters.search == "lucene":
            context.engine(Lucene).index_impacts(shards.folder, folder, context.progress)
        else:
            invert(stored(shards), folder, context.progress)

    def estimate(self, work: Workload) -> Estimate:
        return estimate_splade(self.parameters, work, self.folder_if_here())

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked):
            return base.no_hits()
        context.step("encoding queries")
        vectors = self.load(self.folder(), context.note).impacts(
            [queries[row].query for row in asked],
            "query",
            lambda position: f"query {queries[asked[position]].query_id!r}",
            self.parameters.quantization,
            self.parameters.query_terms,
        )
        if self.parameters.search == "lucene":
            passages = stored(self.encoded(corpus, context))
            hits = search_lucene(context.engine(Lucene), folder, passages, vectors, depth, context.progress)
        else:
            hits = search_inverted(folder, vectors, depth, context.progress)
        return hits._replace(query=asked[hits.query])
