"""ColBERT: late interaction (Khattab and Zaharia 2020, arXiv 2004.12832) with sentence-transformers'
MultiVectorEncoder, which reads its own checkpoints and those of PyLate and Stanford's ColBERT.

The token vectors of the corpus are encoded once and kept, for both the retriever and the reranker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.models.errors import ModelError
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel
from quati_pool.models.parameters import batch_tokens_of, devices_of
from quati_pool.models.sizes import shape_of, token_counter
from quati_pool.records import Query, Run
from quati_pool.retrieval import base, planning
from quati_pool.retrieval.encoders.corpus_encoding import CorpusEncoding
from quati_pool.retrieval.encoders.encoding import Encoded
from quati_pool.retrieval.encoders.model_inputs import limit_tokens
from quati_pool.retrieval.late_interaction import maxsim, token_index
from quati_pool.retrieval.late_interaction.colbert_parameters import ColbertParameters, ColbertRerankerParameters
from quati_pool.retrieval.late_interaction.maxsim import hits_of, joined, maxsim_search, pair_scores
from quati_pool.retrieval.late_interaction.token_encoder import TokenEncoder, require_dimension
from quati_pool.retrieval.late_interaction.token_index import TokenIndex
from quati_pool.retrieval.late_interaction.token_vectors import TokenVectors
from quati_pool.retrieval.vector_index.vector_search import store_arrays, vector_bytes

_QUERY_TOKENS = 32  # ColBERT's default, assumed in plans
_DIMENSION = 128


class _LateInteraction(CorpusEncoding[TokenEncoder]):
    """The part that the retriever and the reranker share: the model, and the token vectors of the corpus."""

    name = encodes = "colbert"
    index_identity = "index/colbert@1"
    kind = "multi-vector"
    encoded_by = ("dimension", "precision", "max_tokens", "compute")
    # On a GPU. With 512 tokens of 128 numbers per passage, a shard is half a gigabyte.
    most = 2048
    parameters: ColbertRerankerParameters

    def search_key(self) -> dict[str, Any]:
        return self.encoding_key()

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        super().check(local, note)
        try:
            most = shape_of(local.folder).dimension
        except ModelError:
            return  # checked when the model is loaded
        require_dimension(self.parameters.model, self.parameters.dimension, most)

    def chosen(self, folder: Path) -> dict[str, Any]:
        return self.parameters.model_dump(include={"dimension", "precision", "max_tokens", "compute"})

    def load(self, folder: Path, note: Callable[[str], None]) -> TokenEncoder:
        parameters, devices = self.parameters, devices_of(self.parameters)
        model = load_model("MultiVectorEncoder", folder, parameters)
        limit_tokens(model, parameters.model, parameters.max_tokens, ["document"])
        return TokenEncoder(
            model, parameters.model, devices, batch_tokens_of(parameters, devices), parameters.dimension, note
        )

    def encode(
        self, encoder: TokenEncoder, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        found = encoder.passages(texts, doc_id, progress)
        return Encoded(store_arrays(found.vectors, self.parameters.precision), found.counts)

    def _encoding(self, work: planning.Workload, passages: int) -> tuple[planning.Estimate, float, int]:
        """The estimate for encoding ``passages`` passages, about how many token vectors they have, and the dimension of
        these."""
        chosen = self.parameters
        folder = self.folder_if_here()
        shape = planning.known_shape(chosen.model) if folder is None else shape_of(folder)
        most = chosen.max_tokens or (shape.max_tokens if shape else None)
        count = None if folder is None else token_counter(folder)
        tokens = planning.tokens_of(work.characters, most, work.sample, count)
        dimension = chosen.dimension or (shape.dimension if shape else _DIMENSION)
        weight_bytes = 4 if chosen.compute == "fp32" else 2
        encoding = planning.estimate_forward(chosen.model, shape, passages, tokens, weight_bytes=weight_bytes)
        vectors = passages * tokens
        disk = vector_bytes(chosen.precision, round(vectors), dimension) + 8 * passages
        line = (
            f"token vectors: {passages:,} passages × {tokens:,.0f} tokens × {dimension} × {chosen.precision} "
            f"= {planning.human_bytes(disk)}"
        )
        # A shard while it is encoded: float32 vectors as the model returns them and as they are kept.
        shard = min(passages, self.most) * round(tokens) * dimension * 4 * 2
        kept = replace(
            encoding,
            disk=disk,
            memory=(encoding.memory or 0) + planning.LIBRARIES["neural"] + shard,
            seconds=None if encoding.seconds is None else encoding.seconds + planning.START["neural"],
            arithmetic=(*encoding.arithmetic, line),
        )
        return kept, vectors, dimension


class Colbert(_LateInteraction, base.Retriever):
    """Exact MaxSim over all passages, or over the candidates from an inverted file.

    With fp32 vectors, scores are within 1e-4 of those of ``MultiVectorEncoder.similarity``. A passage without tokens
    (an empty one, or one whose tokens the model leaves out) is never returned.
    """

    id = "retriever/colbert"
    summary = "late interaction (ColBERT): MaxSim over token vectors, exact or by an inverted file"
    example = "model: models/colbert-pt"
    Parameters = ColbertParameters
    parameters: ColbertParameters

    def index_key(self) -> dict[str, Any] | None:
        own = token_index.index_key(self.parameters, self.environment.seed)
        return None if own is None else {**self.encoding_key(), **own}

    def search_key(self) -> dict[str, Any]:
        own = token_index.search_key(self.parameters)
        return own if self.parameters.index == "ivf" else {**self.encoding_key(), **own}

    def estimate(self, work: planning.Workload) -> planning.Estimate:
        encoding, vectors, dimension = self._encoding(work, work.passages)
        exact = self.parameters.index == "exact"
        compared = work.passages if exact else min(work.passages, self._wanted(work.depth))
        flops = 2.0 * vectors / max(work.passages, 1) * compared * dimension * work.queries * _QUERY_TOKENS
        searching = planning.START["neural"] + flops / planning.calibrated_flops()
        lines = [
            f"MaxSim: {work.queries:,} queries × {_QUERY_TOKENS} tokens × {compared:,} passages "
            f"= {planning.human_seconds(searching)}"
        ]
        index, held = planning.Part(), 16 * work.passages + maxsim.HELD
        if not exact:
            size, sample, assigning = token_index.index_size(self.parameters, round(vectors), dimension)
            index = planning.Part(size, assigning / planning.calibrated_flops())
            held += sample
            lines.append(
                f"inverted file: {planning.human_bytes(size)}, {assigning:.2e} FLOP to find the lists and fill them"
            )
        return encoding.plus(index=index, search=planning.Part(0, searching), memory=held, lines=lines)

    def _wanted(self, depth: int) -> int:
        return max(self.parameters.candidates, 4 * depth)

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(self.name, self.encoding_key())]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        tokens = TokenVectors(self.encoded(corpus, context))
        context.step("clustering the token vectors")
        token_index.build_index(tokens, folder, self.parameters, self.environment.seed, context.progress)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        if not len(corpus):
            return base.no_hits()
        tokens = TokenVectors(self.encoded(corpus, context))
        context.step("encoding queries")
        encoder = self.load(self.folder(), context.note)
        asked = encoder.queries(queries)
        if self.parameters.index == "exact":
            return maxsim_search(tokens, asked, depth, context.progress, encoder.mean)
        index = TokenIndex(folder, len(tokens))
        found = []
        for row, query in enumerate(asked):
            if len(query):
                ordinals = index.candidates(query, self._wanted(depth), self.parameters.probes, depth)
                found.append(hits_of(tokens, asked, row, ordinals, depth, encoder.mean))
            context.progress(row + 1, len(asked))
        return joined(found)


class ColbertReranker(_LateInteraction, base.Reranker):
    """Scores the passages of another system by MaxSim. A passage without tokens gets the lowest score that vectors of
    length 1 can give: minus the number of the query's tokens (−1 if the model divides by that number)."""

    id = "reranker/colbert"
    summary = "late interaction (ColBERT): MaxSim of the query's and the passage's token vectors"
    example = "model: models/colbert-pt"
    Parameters = ColbertRerankerParameters

    def estimate(self, work: planning.Workload) -> planning.Estimate:
        encoding, _, _ = self._encoding(work, min(work.passages, work.pairs))
        return encoding.plus(search=planning.Part(0, planning.START["neural"]), memory=maxsim.HELD)

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> npt.NDArray[np.float32]:
        if not len(run):
            return np.empty(0, dtype=np.float32)
        shards, rows = self.of_run(corpus, run.doc, context)
        context.step("encoding queries")
        encoder = self.load(self.folder(), context.note)
        asked, query_rows = np.unique(run.query, return_inverse=True)
        vectors = encoder.queries([queries[row] for row in asked])
        return pair_scores(TokenVectors(shards), vectors, query_rows, rows, context.progress, encoder.mean)
