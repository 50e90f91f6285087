"""SPLADE: sparse vectors over a vocabulary from a masked language model, searched as impacts.

Formal et al. 2021 (arXiv 2107.05720, 2109.10086): a term's weight is log(1 + ReLU(logit)), pooled over a
text's tokens. Models are those of sentence-transformers' SparseEncoder, ones without inference on the side
of the query (Geng et al. 2024, arXiv 2411.04403) among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.records import Int, Query
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders.encoding import pieces
from quati_pool.retrieval.encoders.models import (
    ModelMissingError,
    ModelParameters,
    devices_of,
    fetch,
    load,
    locate,
    require_kind,
    require_neural,
)
from quati_pool.retrieval.lucene import Lucene, anserini_jar, missing_package
from quati_pool.retrieval.planning import Estimate, Work
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse.impact_encoder import ImpactEncoder
from quati_pool.retrieval.sparse.impact_search import invert, search_inverted, search_lucene
from quati_pool.retrieval.sparse.impacts import append, stored
from quati_pool.retrieval.sparse.splade_plan import estimate_splade

_SHARD_PASSAGES = 1024


class SpladeParameters(ModelParameters):
    batch_tokens: Annotated[
        int, Field(ge=1, description="tokens of one batch, padding included; each takes 8 bytes a vocabulary entry")
    ] = 4096
    max_tokens: Annotated[
        int | None, Field(ge=1, description="tokens read of a text; by default as many as the model can")
    ] = None
    passage_terms: Annotated[
        int | None, Field(ge=1, description="heaviest terms kept of a passage; all that the model gives by default")
    ] = None
    query_terms: Annotated[
        int | None, Field(ge=1, description="heaviest terms kept of a query; all that the model gives by default")
    ] = None
    quantization: Annotated[
        int, Field(ge=1, le=10_000, description="weights times this, rounded, are what is searched")
    ] = 100
    search: Annotated[
        Literal["csr", "lucene"], Field(description="inverted lists on disk, or a Lucene impact index (needs Java)")
    ] = "csr"


class Splade(base.Retriever):
    """Scores are whole numbers, the same by both ways of searching; one of 0 is none."""

    summary = "SPLADE and other sparse models of sentence-transformers, searched as impacts (inverted lists or Lucene)"
    Parameters = SpladeParameters
    parameters: SpladeParameters

    @classmethod
    def require(cls) -> None:
        require_neural("splade")

    def fetch(self, note: Callable[[str], None]) -> None:
        if self.parameters.search == "lucene" and (package := missing_package()):
            raise MissingExtraError("splade with search: lucene", "lucene", package)
        local = fetch(self.site, self.parameters.model, self.parameters.revision, note)
        require_kind(local, self.parameters.model, "sparse", "splade")
        devices_of(self.parameters)

    def index_key(self) -> dict[str, Any]:
        key = {**self._encoding_key(), "search": self.parameters.search}
        if self.parameters.search == "lucene":
            jar = anserini_jar()
            key["anserini"] = jar.name.split("-")[1] if jar else None
        return key

    def search_key(self) -> dict[str, Any]:
        return {"query_terms": self.parameters.query_terms}

    def _encoding_key(self) -> dict[str, Any]:
        told = self.parameters.model_dump(include={"max_tokens", "passage_terms", "quantization", "compute"})
        local = locate(self.site, self.parameters.model, self.parameters.revision)
        engines = {name: version(name) for name in ("sentence-transformers", "transformers")}
        return {"model": local.identity, **told, **engines}

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [("splade", self._encoding_key())]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        shards = self._passages(corpus, context)
        if self.parameters.search == "lucene":
            context.engine(Lucene).index_impacts(shards, folder, context.progress)
        else:
            invert(stored(Shards(shards)), folder, context.progress)

    def estimate(self, work: Work) -> Estimate:
        # What a model's files hold is of no matter here, and large ones take long to read.
        unread = replace(self.site, digest=lambda path: "")
        try:
            local = locate(unread, self.parameters.model, self.parameters.revision)
        except (ConfigError, ModelMissingError):
            return estimate_splade(self.parameters, work, None)
        require_kind(local, self.parameters.model, "sparse", "splade")
        return estimate_splade(self.parameters, work, local.folder)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked):
            return base.no_hits()
        vectors = self._encoder(context).impacts(
            [queries[row].query for row in asked],
            "query",
            lambda position: f"query {queries[asked[position]].query_id!r}",
            self.parameters.quantization,
            self.parameters.query_terms,
        )
        if self.parameters.search == "lucene":
            passages = stored(Shards(self._passages(corpus, context)))
            hits = search_lucene(context.engine(Lucene), folder, passages, vectors, depth, context.progress)
        else:
            hits = search_inverted(folder, vectors, depth, context.progress)
        return hits._replace(query=asked[hits.query])

    def _passages(self, corpus: CorpusStore, context: base.Context) -> Path:
        """The folder of the passages' impacts, encoded where that is not done yet."""
        return context.grow(
            corpus, "splade", self._encoding_key(), lambda folder: self._encode(corpus, folder, context)
        )

    def _encode(self, corpus: CorpusStore, folder: Path, context: base.Context) -> dict[str, int]:
        shards = Shards(folder)
        if shards.passages < len(corpus):
            encoder = self._encoder(context)
            for ordinals, texts in pieces(corpus, np.arange(len(corpus)), shards.passages, _SHARD_PASSAGES):
                done = shards.passages

                def name(position: int, ordinals: Int = ordinals) -> str:
                    return f"passage {corpus.ids.decode(ordinals[[position]])[0].as_py()!r}"

                def progress(some: int, done: int = done) -> None:
                    context.progress(done + some, len(corpus))

                quantization, keep = self.parameters.quantization, self.parameters.passage_terms
                append(shards, encoder.impacts(texts, "document", name, quantization, keep, progress))
        return {"passages": shards.passages}

    def _encoder(self, context: base.Context) -> ImpactEncoder:
        told = self.parameters
        local = locate(self.site, told.model, told.revision)
        require_kind(local, told.model, "sparse", "splade")
        model = load("SparseEncoder", local, told)
        return ImpactEncoder(model, told.model, devices_of(told), told.batch_tokens, told.max_tokens, context.note)
