"""ColBERT: late interaction (Khattab and Zaharia 2020, arXiv 2004.12832) by sentence-transformers'
MultiVectorEncoder, which reads checkpoints of its own, of PyLate and of Stanford's ColBERT.

The token vectors of the corpus are encoded once, for the retriever and the reranker, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artefacts import digest
from quati_pool.records import Int, Query, Run
from quati_pool.retrieval import base, planning
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.encoders.encoding import pieces
from quati_pool.retrieval.encoders.models import ModelParameters
from quati_pool.retrieval.late_interaction import maxsim, token_index
from quati_pool.retrieval.late_interaction.maxsim import hits_of, joined, maxsim_search, pair_scores
from quati_pool.retrieval.late_interaction.token_encoder import TokenEncoder, require_dimension
from quati_pool.retrieval.late_interaction.token_index import TokenIndex, TokenIndexParameters
from quati_pool.retrieval.late_interaction.token_vectors import TokenVectors, equal_before, token_arrays
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import Precision, vector_bytes

_SHARD = {False: 512, True: 8192}
"""Passages of a shard, by whether a GPU encodes them: a minute or two of work."""
_QUERY_TOKENS = 32  # ColBERT's, where a plan must guess
_DIMENSION = 128


class ColbertRerankerParameters(ModelParameters):
    dimension: Annotated[
        int | None,
        Field(
            ge=1, description="leading numbers kept of each token vector, at length 1; by default all of the model's"
        ),
    ] = None
    precision: Annotated[Precision, Field(description="of the token vectors on disk")] = "fp32"
    max_tokens: Annotated[
        int | None, Field(ge=4, description="tokens read of a passage; by default as many as the model says")
    ] = None


class ColbertParameters(ColbertRerankerParameters, TokenIndexParameters):
    pass


class _LateInteraction(base.Component):
    """What retriever and reranker share: the model, and the token vectors of the corpus."""

    parameters: ColbertRerankerParameters

    @classmethod
    def require(cls) -> None:
        models.require_neural("colbert")

    def fetch(self, note: Callable[[str], None]) -> None:
        local = models.fetch(self.site, self.parameters.model, self.parameters.revision, note)
        self._check(local)

    def search_key(self) -> dict[str, Any]:
        return self._encoding_key()

    def _encoding_key(self) -> dict[str, Any]:
        told = self.parameters.model_dump(include={"dimension", "precision", "max_tokens", "compute"})
        engines = {name: version(name) for name in ("sentence-transformers", "transformers")}
        return {"component": ["colbert", self.version], "model": self._local().identity, **told, **engines}

    def _local(self) -> models.Local:
        return models.locate(self.site, self.parameters.model, self.parameters.revision)

    def _check(self, local: models.Local) -> None:
        models.require_kind(local, self.parameters.model, "multi-vector", "colbert")
        try:
            most = models.shape_of(local.folder).dimension
        except models.ModelError:
            return  # the loaded model tells
        require_dimension(self.parameters.model, self.parameters.dimension, most)

    def _encoder(self, context: base.Context) -> TokenEncoder:
        local = self._local()
        self._check(local)
        chosen = self.parameters
        return TokenEncoder(local, chosen, chosen.dimension, chosen.max_tokens, context.note)

    def _encoded(self, corpus: CorpusStore, context: base.Context) -> TokenVectors:
        """Token vectors of the whole corpus; what is missing is encoded."""
        ordinals = np.arange(len(corpus))
        key = self._encoding_key()
        folder = context.grow(corpus, "colbert", key, lambda folder: self._fill(folder, corpus, ordinals, context))
        return TokenVectors(Shards(folder))

    def _encoded_some(self, corpus: CorpusStore, ordinals: Int, context: base.Context) -> TokenVectors:
        """Token vectors of some passages, in the order of ``ordinals``."""
        key = {**self._encoding_key(), "ordinals": digest(ordinals.tolist())}
        folder = context.grow(corpus, "colbert", key, lambda folder: self._fill(folder, corpus, ordinals, context))
        return TokenVectors(Shards(folder))

    def _fill(self, folder: Path, corpus: CorpusStore, ordinals: Int, context: base.Context) -> dict[str, int]:
        """Goes on encoding the passages ``ordinals`` into the shards of ``folder``.

        A text that occurs again is not encoded again: the same vectors give it the same scores.
        """
        shards = Shards(folder)
        if shards.passages == len(ordinals):
            return {"passages": len(ordinals)}
        encoder = self._encoder(context)
        first = equal_before(corpus, ordinals)
        for some, texts in pieces(corpus, ordinals, shards.passages, _SHARD[encoder.on_gpu]):
            start = shards.passages
            sources = first[start : start + len(some)]
            fresh = np.flatnonzero(sources == np.arange(start, start + len(some)))

            def report(done: int, before: int = start) -> None:
                context.progress(before + done, len(ordinals))

            report(0)
            encoded = encoder.passages(
                [texts[row] for row in fresh],
                lambda row, places=some[fresh]: corpus.ids.decode(places[row : row + 1])[0].as_py(),  # type: ignore[misc]
                report,
            )
            shards.append(len(some), **token_arrays(shards, encoded, sources, self.parameters.precision))
        context.progress(shards.passages, len(ordinals))
        return {"passages": shards.passages, "tokens": len(shards.array("vectors"))}

    def _encoding(self, work: planning.Work, passages: int) -> tuple[planning.Estimate, float, int]:
        """What encoding so many passages takes, about how many token vectors come out, and their dimension."""
        chosen = self.parameters
        try:
            shape: planning.Shape | None = models.shape_of(self._local().folder)
        except QuatiPoolError:
            shape = planning.known_shape(chosen.model)
        most = chosen.max_tokens or (shape.max_tokens if shape else None)
        tokens = planning.tokens_of(work.characters, most)
        dimension = chosen.dimension or (shape.dimension if shape else _DIMENSION)
        weight_bytes = 4 if chosen.compute == "fp32" else 2
        made = planning.model_work(chosen.model, shape, passages, tokens, weight_bytes=weight_bytes)
        vectors = passages * tokens
        disk = vector_bytes(chosen.precision, round(vectors), dimension) + 8 * passages
        line = (
            f"token vectors: {passages:,} passages × {tokens:,.0f} tokens × {dimension} × {chosen.precision} "
            f"= {planning.human_bytes(disk)}"
        )
        return replace(made, disk=disk, arithmetic=(*made.arithmetic, line)), vectors, dimension


class Colbert(_LateInteraction, base.Retriever):
    """Exact MaxSim over all passages, or over the candidates of an inverted file.

    Scores are those of ``MultiVectorEncoder.similarity``, within 1e-4 of them for vectors in fp32. A passage
    without a token (an empty one, or one whose tokens the model leaves out) is never returned.
    """

    summary = "late interaction (ColBERT): MaxSim over token vectors, exact or by an inverted file"
    Parameters = ColbertParameters
    parameters: ColbertParameters

    def index_key(self) -> dict[str, Any] | None:
        own = token_index.index_key(self.parameters, self.site.seed)
        return None if own is None else {**self._encoding_key(), **own}

    def search_key(self) -> dict[str, Any]:
        own = token_index.search_key(self.parameters)
        return own if self.parameters.index == "ivf" else {**self._encoding_key(), **own}

    def estimate(self, work: planning.Work) -> planning.Estimate:
        made, vectors, dimension = self._encoding(work, work.passages)
        exact = self.parameters.index == "exact"
        compared = work.passages if exact else min(work.passages, self._wanted(work.depth))
        flops = 2.0 * vectors / max(work.passages, 1) * compared * dimension * work.queries * _QUERY_TOKENS
        lines = [
            f"MaxSim: {work.queries:,} queries × {_QUERY_TOKENS} tokens × {compared:,} passages "
            f"= {planning.human_seconds(flops / planning.calibrated_flops())}"
        ]
        disk, held, seconds = made.disk or 0, 16 * work.passages + maxsim.HELD, flops / planning.calibrated_flops()
        if not exact:
            size, sample, assigning = token_index.index_size(self.parameters, round(vectors), dimension)
            disk, held, seconds = disk + size, held + sample, seconds + assigning / planning.calibrated_flops()
            lines.append(
                f"inverted file: {planning.human_bytes(size)}, {assigning:.2e} FLOP to find the lists and fill them"
            )
        known = made.seconds is not None
        return replace(
            made, disk=disk, memory=(made.memory or 0) + held, arithmetic=(*made.arithmetic, *lines),
            seconds=(made.seconds or 0) + seconds if known else None,
        )  # fmt: skip

    def _wanted(self, depth: int) -> int:
        return max(self.parameters.candidates, 4 * depth)

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [("colbert", self._encoding_key())]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        tokens = self._encoded(corpus, context)
        token_index.build_index(tokens, folder, self.parameters, self.site.seed, context.progress)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        if not len(corpus):
            return base.no_hits()
        tokens = self._encoded(corpus, context)
        encoder = self._encoder(context)
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
    """MaxSim of query and passage. A passage without a token gets the least that vectors of length 1 can give:
    minus the number of the query's tokens (−1 where the model divides by it)."""

    summary = "late interaction (ColBERT): MaxSim of the query's and the passage's token vectors"
    Parameters = ColbertRerankerParameters

    def estimate(self, work: planning.Work) -> planning.Estimate:
        made, _, _ = self._encoding(work, min(work.passages, work.pairs))
        return replace(made, memory=(made.memory or 0) + maxsim.HELD)

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> npt.NDArray[np.float32]:
        if not len(run):
            return np.empty(0, dtype=np.float32)
        whole = context.grown(corpus, "colbert", self._encoding_key())
        if whole is None:
            ordinals, rows = np.unique(run.doc, return_inverse=True)
            tokens = self._encoded_some(corpus, ordinals, context)
        else:
            tokens, rows = TokenVectors(Shards(whole)), run.doc
        encoder = self._encoder(context)
        asked, query_rows = np.unique(run.query, return_inverse=True)
        vectors = encoder.queries([queries[row] for row in asked])
        return pair_scores(tokens, vectors, query_rows, rows, context.progress, encoder.mean)
