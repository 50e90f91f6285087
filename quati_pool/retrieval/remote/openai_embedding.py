"""Dense retrieval with the embeddings of an OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama and others.

Each passage is sent only once. Its vector is kept in the workspace, even if the process is killed, and so are those of
queries. Scores are inner products. OpenAI's vectors have length 1, also with ``dimensions`` (its guide "Vector
embeddings"), so that these are cosines; for a model that is meant for cosines on a server whose vectors are not of
length 1, there is ``normalize``.

An empty passage is not sent, as OpenAI would refuse it: it gets a zero vector, and so the score 0 for every query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import MissingExtraError
from quati_pool.files.artifacts import digest
from quati_pool.llm.answers import Usage
from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.embeddings import (
    DIMENSIONS,
    MOST_REQUEST_TOKENS,
    MOST_TEXTS,
    MOST_TOKENS,
    fitted,
    size,
)
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.prices import Price, price_of
from quati_pool.llm.retries import Retry
from quati_pool.llm.tokens import BYTES_A_TOKEN, estimate
from quati_pool.records import Query
from quati_pool.retrieval import base
from quati_pool.retrieval.planning import CHARACTERS_A_TOKEN, LIBRARIES, Estimate, Workload, human_bytes, tokens_of
from quati_pool.retrieval.remote.embedding_shards import EmbeddingRun, EmbeddingSettings, Texts, passages_of
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index import vector_search
from quati_pool.retrieval.vector_index.index_plan import plan_index

M = TypeVar("M", Endpoint, Limits)

_NAME = "openai-embedding"
# The parameters, besides base_url and the prefixes, that change the stored vectors; all others affect only how vectors
# are requested and searched.
_OF_VECTORS = {"model", "dimensions", "normalize", "max_tokens", "precision"}


class OpenaiEmbeddingParameters(Endpoint, Limits, vector_search.IndexParameters, base.Parameters):
    concurrency: Annotated[int, Field(ge=1, description="most calls in flight")] = 8
    dimensions: Annotated[
        int | None, Field(ge=1, description="components of a vector; null: as many as the model has")
    ] = None
    normalize: Annotated[
        bool, Field(description="scale vectors to length 1, for cosine similarity if the server does not")
    ] = False
    query_prefix: Annotated[str, Field(description="text before each query, where the model wants one")] = ""
    passage_prefix: Annotated[str, Field(description="text before each passage, where the model wants one")] = ""
    max_tokens: Annotated[int, Field(ge=16, description="tokens the server takes of a text; longer ones are cut")] = (
        MOST_TOKENS
    )
    batch_size: Annotated[int, Field(ge=1, le=MOST_TEXTS, description="texts of one request")] = 256
    precision: Annotated[vector_search.Precision, Field(description="numbers on disk; int8: one scale per vector")] = (
        "fp32"
    )
    prices: Annotated[str | None, Field(description="a YAML of your own prices, relative to pool.yaml")] = None

    @model_validator(mode="after")
    def _can_be_cut(self) -> OpenaiEmbeddingParameters:
        if self.dimensions is not None and "ada-002" in self.model:
            raise ValueError(
                f"{self.model} has {DIMENSIONS['text-embedding-ada-002']} dimensions and no others; drop dimensions:, "
                "or take text-embedding-3-small or text-embedding-3-large"
            )
        most = DIMENSIONS.get(self.model)
        if most is not None and self.dimensions is not None and self.dimensions > most:
            raise ValueError(f"{self.model} has {most} dimensions, not {self.dimensions}; take fewer, or drop them")
        return self


class OpenaiEmbedding(base.Retriever):
    """Searches by inner product. Negative scores are kept; an empty query returns nothing."""

    id = "retriever/openai-embedding"
    summary = "embeddings of OpenAI or any OpenAI-compatible server, searched exactly or by an index (faiss)"
    example = "model: text-embedding-3-small"
    Parameters = OpenaiEmbeddingParameters
    parameters: OpenaiEmbeddingParameters
    retry: ClassVar[Retry] = Retry()

    @classmethod
    def require(cls) -> None:
        # find_spec instead of an import, which takes a second.
        if find_spec("faiss") is None:
            raise MissingExtraError("openai-embedding", "neural", "faiss-cpu")

    def fetch(self, note: Callable[[str], None]) -> None:
        """Checks the prices and the API key, then requests the vector of one word, so that a wrong key, model or server
        is noticed before other systems take hours. Raises QuatiPoolError if any of these fails."""
        price = self._price()
        self.inspect(note)
        word = Texts("word", "words", 1, lambda start: iter(["word"][start:]), lambda _: "'word'")
        bounds = {"attempts": min(6, self.retry.attempts), "seconds": min(30.0, self.retry.seconds), "longest": 3.0}
        with TemporaryDirectory(prefix="quati-pool-") as folder:
            asked = EmbeddingRun(Path(folder), word, self._settings("", "fp32"), base.Context(), price)
            asked.fill(lambda: self._client(note, self.retry.model_copy(update=bounds)))

    def inspect(self, note: Callable[[str], None]) -> None:
        self._price()
        self._endpoint.key()
        self._endpoint.address()

    def index_key(self) -> dict[str, Any] | None:
        key = vector_search.index_key(self.parameters, self.environment.seed)
        return None if key is None else {**self._passage_key(), **key}

    def search_key(self) -> dict[str, Any]:
        key = vector_search.search_key(self.parameters)
        return {**self._passage_key(), "query_prefix": self.parameters.query_prefix, **key}

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(_NAME, self._passage_key())]

    def encoded_as(self) -> Any:
        return [_NAME, self._passage_key()]

    def index(self, corpus: CorpusStore, folder: Path, context: base.Context) -> None:
        vectors = self._passages(corpus, context)
        context.step(f"preparing the index {self.parameters.index}")
        vector_search.build_index(vectors, folder, self.parameters, self.environment.seed, context.progress)

    def search(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: base.Context
    ) -> base.Hits:
        asked = np.array([row for row, query in enumerate(queries) if query.query.strip()], dtype=np.int64)
        if not len(asked) or not len(corpus):
            return base.no_hits()
        rows = self._queries(corpus, [queries[row] for row in asked], context)
        vectors = self._passages(corpus, context)
        if vectors.dimension == 1 != rows.shape[1]:
            # All passages are empty, so the dimension of their vectors was never known.
            return base.no_hits()
        hits = vector_search.search_index(vectors, folder, rows, depth, self.parameters, context.progress)
        return base.Hits(asked[hits.query], hits.doc, hits.score)

    @property
    def _endpoint(self) -> Endpoint:
        return _part(Endpoint, self.parameters)

    def _client(self, note: Callable[[str], None], retry: Retry | None = None) -> Client:
        """A client for the server, which reports long waits to ``note``."""

        def hear(event: Event) -> None:
            if event.kind == "wait":
                note(f"{self.parameters.model}: {event.words}")

        return Client(self._endpoint, None, _part(Limits, self.parameters), retry or self.retry, hear)

    def _price(self) -> Price | None:
        own = self.parameters.prices
        return price_of(self.parameters.model, self.environment.folder / own if own else None)

    def _settings(self, prefix: str, precision: vector_search.Precision) -> EmbeddingSettings:
        parameters = self.parameters
        return EmbeddingSettings(
            prefix=prefix,
            dimensions=parameters.dimensions,
            max_tokens=parameters.max_tokens,
            batch_size=parameters.batch_size,
            normalize=parameters.normalize,
            precision=precision,
        )

    def _passage_key(self) -> dict[str, Any]:
        parameters = self.parameters
        chosen = parameters.model_dump(include=_OF_VECTORS)
        base_url = parameters.base_url.rstrip("/") if parameters.base_url else None
        return {**chosen, "base_url": base_url, "prefix": parameters.passage_prefix}

    def _passages(self, corpus: CorpusStore, context: base.Context) -> vector_search.Vectors:
        parameters = self.parameters
        key = self._passage_key()
        settings = self._settings(parameters.passage_prefix, parameters.precision)

        def fill(folder: Path) -> dict[str, int]:
            run = EmbeddingRun(folder, passages_of(corpus), settings, context, self._price())
            # If the same vectors are already stored as the server returned them, they are not paid for again.
            raw = {**key, "normalize": False, "precision": "fp32"}
            given = context.finished_folder(corpus, _NAME, raw) if key != raw else None
            if given is not None:
                run.take(vector_search.Vectors(Shards(given)))
            return run.fill(lambda: self._client(context.note))

        return vector_search.Vectors(Shards(context.resumable_folder(corpus, _NAME, key, fill, paid=True)))

    def _queries(self, corpus: CorpusStore, queries: Sequence[Query], context: base.Context) -> npt.NDArray[np.float32]:
        prefix = self.parameters.query_prefix
        texts = [query.query for query in queries]
        key = {**self._passage_key(), "precision": "fp32", "prefix": prefix, "queries": digest(texts)}
        given = Texts("query", "queries", len(texts), lambda start: iter(texts[start:]), lambda n: queries[n].query_id)

        def fill(folder: Path) -> dict[str, int]:
            run = EmbeddingRun(folder, given, self._settings(prefix, "fp32"), context, self._price())
            return run.fill(lambda: self._client(context.note))

        folder = context.resumable_folder(corpus, f"{_NAME}-queries", key, fill, unit="queries", paid=True)
        vectors = vector_search.Vectors(Shards(folder))
        return vectors.rows(slice(None))

    def estimate(self, work: Workload) -> Estimate:
        """Estimates tokens from the sizes of texts, and the time from ``rpm`` and ``tpm`` if they are given. Queries, a
        few tokens each, are left out."""
        parameters = self.parameters
        model, passages = parameters.model, work.passages
        tokens_of_one, bytes_of_one, how = self._mean_size(work)
        tokens = math.ceil(passages * tokens_of_one)
        a_request = max(1, min(parameters.batch_size, int(MOST_REQUEST_TOKENS // max(bytes_of_one, 1))))
        requests = math.ceil(passages / a_request)
        arithmetic = [
            f"{model}: {passages:,} passages × {tokens_of_one:,.0f} tokens ({how}) = {tokens:,} tokens, in "
            f"{requests:,} requests of {a_request:,} passages"
        ]
        notes = []
        price = self._price()
        cost = price.cost(Usage(tokens, None, 0, None)) if price else None
        if price is None or cost is None:
            notes.append(f"{model}: its price is unknown; name a file with it under prices:")
        else:
            arithmetic.append(
                f"{model}: {tokens:,} tokens × ${price.input:g} per million ({price.as_of}) = ${cost:,.2f}"
            )
        minutes = []
        if parameters.rpm is not None:
            minutes.append(requests / parameters.rpm)
        if parameters.tpm is not None:
            minutes.append(tokens / parameters.tpm)
        if not minutes:
            notes.append(f"{model}: how long the server takes is not known; rpm: and tpm: would bound it")
        dimension = parameters.dimensions or DIMENSIONS.get(model)
        embedding = Estimate(
            encode=passages,
            seconds=60 * max(minutes) if minutes else None,
            tokens=tokens,
            cost=cost,
        )
        if dimension is None:
            notes.append(f"{model}: the dimension of its vectors is not known; dimensions: would give it")
        else:
            embedding = self._with_vectors(embedding, work, dimension, a_request)
            arithmetic += embedding.arithmetic
        return replace(embedding, arithmetic=tuple(arithmetic), notes=tuple(notes))

    def _mean_size(self, work: Workload) -> tuple[float, float, str]:
        """The mean numbers of tokens and bytes of a passage as it is sent, and how they were determined."""
        parameters = self.parameters
        most = parameters.max_tokens
        if not work.sample:
            tokens = min(tokens_of(work.characters) + estimate(parameters.passage_prefix).tokens, most)
            return tokens, tokens * BYTES_A_TOKEN, f"{work.characters:,.0f} characters ÷ {CHARACTERS_A_TOKEN:g}"
        sent = [fitted(parameters.passage_prefix + text, most) if text.strip() else "" for text in work.sample]
        tokens = sum(estimate(text).tokens for text in sent) / len(sent)
        return tokens, sum(map(size, sent)) / len(sent), f"mean of {len(sent):,} passages at {BYTES_A_TOKEN:g} bytes"

    def _with_vectors(self, embedding: Estimate, work: Workload, dimension: int, a_request: int) -> Estimate:
        """The estimate with disk and memory for vectors and index added, and the lines of arithmetic for them."""
        parameters = self.parameters
        vectors = vector_search.vector_bytes(parameters.precision, work.passages, dimension)
        # An answer is held in memory as base64, as JSON, as numbers, and as these are stored.
        memory = 2 * parameters.concurrency * a_request * dimension * 4 * 5 + LIBRARIES["faiss"]
        line = f"vectors: {work.passages:,} passages × {dimension:,} × {parameters.precision} = {human_bytes(vectors)}"
        index = plan_index(parameters, work, dimension, parameters.precision)
        kept = replace(embedding, disk=vectors, memory=memory, arithmetic=(line,))
        return kept.plus(index=index.built, search=index.search, memory=index.memory, lines=index.lines)


def _part(model: type[M], parameters: OpenaiEmbeddingParameters) -> M:
    """The part of the parameters that belongs to ``model``, one of the classes that they inherit from."""
    fields: Mapping[str, Any] = {name: getattr(parameters, name) for name in model.model_fields}
    return model(**fields)
