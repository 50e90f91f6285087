"""The base of rerankers that read query and passage at once: scores the pairs of a run shard by shard.

If a pair is too long, tokens are cut from the end of its passage, never from its query. Finished shards survive a
killed process. The other pairs in a batch affect only the last digits of a score.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import Counts
from quati_pool.models.batches import Halving, spread, token_batches
from quati_pool.models.errors import ModelError
from quati_pool.models.kind import Kind, require_kind
from quati_pool.models.loading import library_versions, require_neural
from quati_pool.models.location import LocalModel, locate, locate_or_announce, locate_or_download
from quati_pool.models.pair_tokens import Batch, Frame, TextReader, Tokens
from quati_pool.models.parameters import ModelParameters, batch_tokens_of, devices_of
from quati_pool.models.sizes import Shape, shape_of
from quati_pool.records import Query, Run
from quati_pool.retrieval import base, planning
from quati_pool.retrieval.shards import Shards

Scores = npt.NDArray[np.float32]
Scorer = Callable[[Batch], Scores]
"""A function that returns the scores of a batch, shape (pairs,)."""
_TEXTS = 64
_QUERY_TOKENS = 20  # assumed in estimates for a query and the special tokens of a pair
_FEWEST, _MOST = 8, 4096
# Floating point operations per shard: about a minute of work on two cores, or on a GPU.
_SHARD_FLOPS = {"cpu": 6e12, "gpu": 3e15}


class QueryTooLongError(QuatiPoolError):
    """A query that leaves no room for a passage."""


class PairParameters(ModelParameters):
    max_tokens: Annotated[
        int | None,
        Field(ge=1, description="tokens of a pair; the passage is cut to fit; by default all that the model reads"),
    ] = None


@dataclass(frozen=True)
class PairModel:
    """A loaded model: how it reads pairs (at most ``max_tokens`` tokens each), and one scorer per device."""

    reader: TextReader
    frame: Frame
    max_tokens: int
    scorers: Sequence[Scorer]
    devices: Sequence[str] = ("cpu",)
    prompt: str = ""
    """The text before every query."""


class PairReranker(base.Reranker):
    """Scores the passages of another system, each together with its query, with a neural model."""

    kind: ClassVar[Kind]
    name: ClassVar[str]
    parameters: PairParameters

    @classmethod
    def require(cls) -> None:
        require_neural(cls.name)

    def fetch(self, note: Callable[[str], None]) -> None:
        local = locate_or_download(self.environment, self.parameters.model, self.parameters.revision, note)
        self.check(local, note)

    def inspect(self, note: Callable[[str], None]) -> None:
        local = locate_or_announce(self.environment, self.parameters, note)
        if local is not None:
            require_kind(local, self.parameters.model, self.kind, self.name)
            self.chosen(local)

    def search_key(self) -> dict[str, Any]:
        local = self.local()
        chosen = {"max_tokens": self.parameters.max_tokens, "compute": self.parameters.compute}
        return {**local.identity, **chosen, **library_versions(), **self.chosen(local)}

    def local(self) -> LocalModel:
        """The model on this machine; raises QuatiPoolError if it is not on this machine, or of another kind."""
        local = locate(self.environment, self.parameters.model, self.parameters.revision)
        require_kind(local, self.parameters.model, self.kind, self.name)
        return local

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        """Raises QuatiPoolError for a model that cannot be used, before any work; assumptions are reported to
        ``note``."""
        require_kind(local, self.parameters.model, self.kind, self.name)
        devices_of(self.parameters)

    def chosen(self, local: LocalModel) -> dict[str, Any]:
        """The settings, besides those that all pair rerankers share, that change the scores."""
        return {}

    @abstractmethod
    def load(self, local: LocalModel) -> PairModel:
        """Loads the model on its devices."""

    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: base.Context
    ) -> Scores:
        """The scores of the run's pairs, shape (n,).

        Raises QueryTooLongError for a query that leaves no room for a passage, and QuatiPoolError for a score that is
        not finite.
        """
        if not len(run):
            return np.empty(0, dtype=np.float32)
        local = self.local()

        def fill(place: Path) -> Counts:
            shards = Shards(place)
            if shards.passages < len(run):
                context.step("loading the model")
                size = self._shard_pairs(local, model := self.load(local))
                _Scoring(self.parameters, model, corpus, queries, run, context).fill(shards, size)
            return {"pairs": shards.passages}

        # The name "version" dates from the first caches and stays, because computing scores again would take hours.
        key = {"version": self.revision, **self.search_key(), "pairs": pairs_digest(queries, run)}
        scored = context.resumable_folder(corpus, self.name, key, fill, unit="pairs")
        return np.array(Shards(scored).array("score"), dtype=np.float32)

    def estimate(self, work: planning.Workload) -> planning.Estimate:
        """The estimate for one pass of the model per pair, over the passage's tokens and an assumed number of query
        tokens."""
        try:
            shape: Shape | None = shape_of(self.local().folder)
        except QuatiPoolError:  # the model is missing or cannot be used, which fetch reports
            shape = planning.known_shape(self.parameters.model)
        most = self.parameters.max_tokens or (shape.max_tokens if shape else None)
        passage = planning.tokens_of(work.characters, most and max(most - _QUERY_TOKENS, 1))
        held = 4 if self.parameters.compute == "fp32" else 2
        found = planning.estimate_forward(
            self.parameters.model, shape, work.pairs, passage + _QUERY_TOKENS, unit="pairs", weight_bytes=held
        )
        # The activations that a layer holds for the tokens of a batch.
        batch = 0 if shape is None else self.parameters.batch_tokens * held * (8 * shape.hidden + 2 * shape.ffn)
        return replace(
            found,
            disk=4 * work.pairs,
            memory=(found.memory or 0) + planning.LIBRARIES["neural"] + batch,
            seconds=None if found.seconds is None else found.seconds + planning.START["neural"],
        )

    def _shard_pairs(self, local: LocalModel, model: PairModel) -> int:
        """The number of pairs per shard: small enough that a killed process loses little, and the same on every run."""
        try:
            flops = planning.forward_flops(shape_of(local.folder), model.max_tokens)
        except ModelError:
            return _MOST // 8
        return min(max(int(_SHARD_FLOPS["cpu" if model.devices[0] == "cpu" else "gpu"] / flops), _FEWEST), _MOST)


def pairs_digest(queries: Sequence[Query], run: Run) -> str:
    """The SHA-256 of the run's pairs in order, from the texts of queries and the ordinals of passages."""
    hashed = hashlib.sha256()
    asked, position = np.unique(run.query, return_inverse=True)
    for row in asked.tolist():
        text = queries[row].query.encode()
        hashed.update(len(text).to_bytes(8, "little") + text)
    for column in (position, run.doc):
        hashed.update(np.asarray(column).astype("<i8").tobytes())
    return hashed.hexdigest()


class _Scoring:
    """Scores the pairs of one run with a model."""

    def __init__(
        self,
        parameters: PairParameters,
        model: PairModel,
        corpus: CorpusStore,
        queries: Sequence[Query],
        run: Run,
        context: base.Context,
    ) -> None:
        self._parameters = parameters
        self._model = model
        self._corpus = corpus
        self._queries = queries
        self._run = run
        self._context = context
        self._asked = self._read_queries()
        self._halvings = [Halving(context.note) for _ in model.scorers]

    def fill(self, shards: Shards, size: int) -> None:
        """Scores the pairs that are missing from ``shards``, with ``size`` pairs per shard."""
        total = len(self._run)
        budget = batch_tokens_of(self._parameters, self._model.devices)
        for start in range(shards.passages, total, size):
            rows = slice(start, min(start + size, total))
            pairs = self._pairs(rows)
            lengths = np.array([len(query) + len(passage) for query, passage in pairs]) + len(self._model.frame)
            scores = np.empty(len(pairs), dtype=np.float32)
            done = start
            for found, score in self._score(token_batches(lengths, budget), pairs):
                scores[found] = score
                done += len(found)
                self._context.progress(done, total)
            self._require_finite(scores, rows)
            shards.append(len(pairs), score=scores)

    def _read_queries(self) -> dict[int, Tokens]:
        """The tokens of the queries in the run, by position. Raises QueryTooLongError for a query that leaves no room
        for a passage."""
        model, most = self._model, self._model.max_tokens
        positions = np.unique(self._run.query).tolist()
        read = model.reader.whole([model.prompt + self._queries[position].query for position in positions])
        for position, tokens in zip(positions, read, strict=True):
            if len(tokens) + len(model.frame) >= most:
                raise QueryTooLongError(
                    f"query {self._queries[position].query_id!r} has {len(tokens):,} tokens and leaves no room for a "
                    f"passage: {self._parameters.model} reads {most:,} tokens of a pair, {len(model.frame)} of them "
                    f"its own; shorten the query, or raise max_tokens where the model takes more"
                )
        return dict(zip(positions, read, strict=True))

    def _pairs(self, rows: slice) -> list[tuple[Tokens, Tokens]]:
        room = self._model.max_tokens - len(self._model.frame)
        pairs = []
        # A few passages at a time, because a text may be a thousand times longer than what is read of it.
        for start in range(rows.start, rows.stop, _TEXTS):
            some = slice(start, min(start + _TEXTS, rows.stop))
            texts = self._corpus.texts(self._run.doc[some])
            for position, passage in zip(
                self._run.query[some].tolist(), self._model.reader.beginnings(texts), strict=True
            ):
                query = self._asked[position]
                pairs.append((query, passage[: room - len(query)]))
        return pairs

    def _score(
        self, batches: Sequence[npt.NDArray[Any]], pairs: Sequence[tuple[Tokens, Tokens]]
    ) -> Iterator[tuple[list[int], Scores]]:
        """Yields positions in ``pairs`` with their scores as they become ready."""
        frame = self._model.frame

        def work(score: Scorer, rows: list[int]) -> Scores:
            return score(frame.batch([pairs[row] for row in rows]))

        return spread([batch.tolist() for batch in batches], work, self._model.scorers, self._halvings)

    def _require_finite(self, scores: Scores, rows: slice) -> None:
        wrong = np.flatnonzero(~np.isfinite(scores))
        if not len(wrong):
            return
        row = rows.start + int(wrong[0])
        query_id = self._queries[int(self._run.query[row])].query_id
        doc_id = self._corpus.ids.decode(self._run.doc[row : row + 1]).to_pylist()[0]
        advice = "name another model" if self._parameters.compute == "fp32" else "use compute: fp32"
        raise QuatiPoolError(
            f"model {self._parameters.model!r} scores query {query_id!r} and passage {doc_id!r} "
            f"{scores[wrong[0]]}, which is not a number to rank by; {advice}"
        )
