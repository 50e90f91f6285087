"""The base of components that encode a corpus and keep the result: dense, splade, colbert."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.models.loading import library_versions
from quati_pool.models.location import locate
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders import shard_tasks
from quati_pool.retrieval.encoders.duplicate_texts import first_equal_text, with_duplicates
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder, pieces
from quati_pool.retrieval.encoders.passage_encoding import PassageEncoding
from quati_pool.retrieval.shards import Shards

E = TypeVar("E", bound=TextEncoder)


class CorpusEncoding(PassageEncoding[E]):
    """A component whose model encodes the passages of a corpus into shards, so that an interrupted encoding can be
    continued. Each distinct text is encoded only once."""

    encoding_revision: ClassVar[int] = 1
    """Incremented by hand when the same parameters start to encode a passage differently; components of the same
    ``name`` share it."""
    encoded_by: ClassVar[tuple[str, ...]]
    """The parameters besides the model that may change how a passage is encoded."""

    def encoding_key(self) -> dict[str, Any]:
        """Everything that changes how a passage is encoded. Raises the errors of ``locate``."""
        chosen = self.parameters.for_passages()
        local = locate(self.environment, chosen.model, chosen.revision)
        # The name "version" dates from the first caches and stays, because re-encoding passages would take hours.
        identity = {"version": self.encoding_revision, "model": local.identity}
        return {**identity, **self.chosen(local.folder), **library_versions()}

    def encoded_as(self) -> Any:
        named = self.parameters.for_passages().model_dump(include={"model", "revision", *self.encoded_by})
        with suppress(QuatiPoolError):
            named["model"] = str(self.folder())
        return [self.name, named]

    @abstractmethod
    def chosen(self, folder: Path) -> dict[str, Any]:
        """The settings that change how a passage is encoded, resolved for the model in ``folder``."""

    def encoded(self, corpus: CorpusStore, context: base.Context, ordinals: Int | None = None) -> Shards:
        """The encoded passages: all of them, or those at ``ordinals`` in the given order. Encodes those that are not
        encoded yet."""
        key = self.encoding_key()
        if ordinals is not None:
            key["ordinals"] = hashlib.sha256(np.ascontiguousarray(ordinals, dtype="<i8").tobytes()).hexdigest()
        wanted = np.arange(len(corpus)) if ordinals is None else ordinals
        return Shards(
            context.resumable_folder(corpus, self.name, key, lambda folder: self._fill(folder, corpus, wanted, context))
        )

    def of_run(self, corpus: CorpusStore, docs: Int, context: base.Context) -> tuple[Shards, Int]:
        """Shards with the encoded passages ``docs``, and the position of each passage in them, shape (n,). They are the
        shards of the whole corpus if that is encoded, else of these passages only."""
        if context.finished_folder(corpus, self.name, self.encoding_key()) is not None:
            return self.encoded(corpus, context), docs
        ordinals, places = np.unique(docs, return_inverse=True)
        return self.encoded(corpus, context, None if len(ordinals) == len(corpus) else ordinals), places

    def _fill(self, folder: Path, corpus: CorpusStore, ordinals: Int, context: base.Context) -> dict[str, int]:
        """Encodes the passages ``ordinals`` that are missing from the shards in ``folder``; returns the counts."""
        shards = Shards(folder)
        if shards.passages < len(ordinals):
            encoding = self._here if context.workers is None else self._by_workers
            with closing(encoding(shards, corpus, ordinals, context)) as finished:
                for sources, encoded in finished:
                    shards.append(len(sources), **with_duplicates(shards, *(encoded or _nothing(shards)), sources))
            context.progress(shards.passages, len(ordinals))
        shard_tasks.clear(folder)
        return {"passages": shards.passages}

    def _here(
        self, shards: Shards, corpus: CorpusStore, ordinals: Int, context: base.Context
    ) -> Generator[tuple[Int, Encoded | None]]:
        """Encodes the next shards in this process, and yields two things for each: for every passage the position of
        the first passage with the same text, and the encoded passages that are themselves the first (None if none
        are)."""
        shard_tasks.clear(shards.folder)
        context.step("loading the model")
        encoder = self.load(self.folder(), context.note)
        context.step("looking for equal texts")
        first = first_equal_text(corpus, ordinals)
        start = shards.passages
        for some, texts in pieces(corpus, ordinals, start, self.shard_size(encoder)):
            context.progress(start, len(ordinals))
            sources = first[start : start + len(some)]
            fresh = np.flatnonzero(sources == start + np.arange(len(some)))
            encoded = None
            if len(fresh):
                encoded = self.encode_passages(
                    encoder,
                    corpus,
                    some[fresh],
                    [texts[row] for row in fresh],
                    lambda done, start=start: context.progress(start + done, len(ordinals)),  # type: ignore[misc]
                )
            yield sources, encoded
            start += len(some)

    def _by_workers(
        self, shards: Shards, corpus: CorpusStore, ordinals: Int, context: base.Context
    ) -> Generator[tuple[Int, Encoded | None]]:
        """Like ``_here``, but encodes in the workers of an engine, each with its own model; they end with the
        encoding."""
        assert context.workers is not None
        with context.workers() as engine:
            context.step("looking for equal texts")
            first = first_equal_text(corpus, ordinals)
            yield from shard_tasks.encoded_by_workers(self, corpus, shards, ordinals, first, engine, context)


def _nothing(shards: Shards) -> Encoded:
    """An empty ``Encoded`` with the same arrays as the shards."""
    arrays = {name: shards.array(name)[:0] for name in shards.names if name != "ends"}
    return Encoded(arrays, np.empty(0, dtype=np.int64) if "ends" in shards.names else None)
