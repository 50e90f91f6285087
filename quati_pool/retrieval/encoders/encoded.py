"""Components that encode a corpus and keep what comes out: dense, splade, colbert."""

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
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders import models, shard_tasks
from quati_pool.retrieval.encoders.duplicate_texts import equal_before, with_repeats
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder, pieces
from quati_pool.retrieval.encoders.passage_encoding import PassageEncoding
from quati_pool.retrieval.shards import Shards

E = TypeVar("E", bound=TextEncoder)


class CorpusEncoding(PassageEncoding[E]):
    """What a component's model makes of the passages of a corpus, in shards that an interrupted encoding continues.
    A text that occurs again is not encoded again."""

    encoding_revision: ClassVar[int] = 1
    """Raised when the same parameters come to give something else of a passage; components of one ``name`` share it."""
    encoded_by: ClassVar[tuple[str, ...]]
    """Parameters besides the model that may change what is encoded."""

    def encoding_key(self) -> dict[str, Any]:
        """What changes what is made of a passage. Raises as ``models.locate``."""
        local = models.locate(self.environment, self.parameters.model, self.parameters.revision)
        # "version" is what the first caches call it: encoded passages cost hours, and keep their key.
        made = {"version": self.encoding_revision, "model": local.identity}
        return {**made, **self.chosen(local.folder), **models.engines()}

    def encoded_as(self) -> Any:
        named = self.parameters.model_dump(include={"model", "revision", *self.encoded_by})
        with suppress(QuatiPoolError):
            named["model"] = str(self.folder())
        return [self.name, named]

    @abstractmethod
    def chosen(self, folder: Path) -> dict[str, Any]:
        """What the parameters come to that change what is made of a passage, for the model in ``folder``."""

    def encoded(self, corpus: CorpusStore, context: base.Context, ordinals: Int | None = None) -> Shards:
        """What is made of all passages, or of ``ordinals`` alone, in their order; encoded where it is not yet."""
        key = self.encoding_key()
        if ordinals is not None:
            key["ordinals"] = hashlib.sha256(np.ascontiguousarray(ordinals, dtype="<i8").tobytes()).hexdigest()
        wanted = np.arange(len(corpus)) if ordinals is None else ordinals
        return Shards(
            context.resumable_folder(corpus, self.name, key, lambda folder: self._fill(folder, corpus, wanted, context))
        )

    def of_run(self, corpus: CorpusStore, docs: Int, context: base.Context) -> tuple[Shards, Int]:
        """What is made of the passages ``docs`` and maybe of others, and the place of each in it, shape (n,): the
        whole corpus where that is encoded, else these passages alone."""
        if context.finished_folder(corpus, self.name, self.encoding_key()) is not None:
            return self.encoded(corpus, context), docs
        ordinals, places = np.unique(docs, return_inverse=True)
        return self.encoded(corpus, context, None if len(ordinals) == len(corpus) else ordinals), places

    def _fill(self, folder: Path, corpus: CorpusStore, ordinals: Int, context: base.Context) -> dict[str, int]:
        """Goes on encoding the passages ``ordinals`` into the shards of ``folder``."""
        shards = Shards(folder)
        if shards.passages < len(ordinals):
            encoding = self._here if context.workers is None else self._by_workers
            with closing(encoding(shards, corpus, ordinals, context)) as finished:
                for sources, made in finished:
                    shards.append(len(sources), **with_repeats(shards, *(made or _nothing(shards)), sources))
            context.progress(shards.passages, len(ordinals))
        shard_tasks.clear(folder)
        return {"passages": shards.passages}

    def _here(
        self, shards: Shards, corpus: CorpusStore, ordinals: Int, context: base.Context
    ) -> Generator[tuple[Int, Encoded | None]]:
        """The next shards: for each of its passages the first with the same text, and what is made of those that
        are the first; None where none is."""
        shard_tasks.clear(shards.folder)
        encoder = self.load(self.folder(), context.note)
        first = equal_before(corpus, ordinals)
        start = shards.passages
        for some, texts in pieces(corpus, ordinals, start, self.shard_size(encoder)):
            context.progress(start, len(ordinals))
            sources = first[start : start + len(some)]
            fresh = np.flatnonzero(sources == start + np.arange(len(some)))
            made = None
            if len(fresh):
                made = self.made_of(
                    encoder,
                    corpus,
                    some[fresh],
                    [texts[row] for row in fresh],
                    lambda done, start=start: context.progress(start + done, len(ordinals)),  # type: ignore[misc]
                )
            yield sources, made
            start += len(some)

    def _by_workers(
        self, shards: Shards, corpus: CorpusStore, ordinals: Int, context: base.Context
    ) -> Generator[tuple[Int, Encoded | None]]:
        """The same, made by the workers of an engine, which end with it: each holds a model."""
        assert context.workers is not None
        with context.workers() as engine:
            first = equal_before(corpus, ordinals)
            yield from shard_tasks.encoded_by_workers(self, corpus, shards, ordinals, first, engine, context)


def _nothing(shards: Shards) -> Encoded:
    """What is made of no text, as what the shards hold."""
    arrays = {name: shards.array(name)[:0] for name in shards.names if name != "ends"}
    return Encoded(arrays, np.empty(0, dtype=np.int64) if "ends" in shards.names else None)
