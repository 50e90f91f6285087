"""Components that encode a corpus and keep the result: dense, splade, colbert."""

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
from quati_pool.retrieval.encoders import shard_tasks
from quati_pool.retrieval.encoders.duplicate_texts import first_equal_text, with_duplicates
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder, pieces
from quati_pool.retrieval.encoders.passage_encoding import PassageEncoding
from quati_pool.retrieval.models.loading import library_versions
from quati_pool.retrieval.models.location import locate
from quati_pool.retrieval.shards import Shards

E = TypeVar("E", bound=TextEncoder)


class CorpusEncoding(PassageEncoding[E]):
    """A component whose model encodes the passages of a corpus into shards, with which an interrupted encoding
    continues. A text that occurs again is not encoded again."""

    encoding_revision: ClassVar[int] = 1
    """Raised by hand when the same parameters encode a passage differently than before; components of one ``name``
    share it."""
    encoded_by: ClassVar[tuple[str, ...]]
    """Parameters besides the model that may change what is encoded."""

    def encoding_key(self) -> dict[str, Any]:
        """Everything that changes how a passage is encoded. Raises as ``locate``."""
        local = locate(self.environment, self.parameters.model, self.parameters.revision)
        # "version" is what the first caches call it: encoded passages cost hours, and keep their key.
        identity = {"version": self.encoding_revision, "model": local.identity}
        return {**identity, **self.chosen(local.folder), **library_versions()}

    def encoded_as(self) -> Any:
        named = self.parameters.model_dump(include={"model", "revision", *self.encoded_by})
        with suppress(QuatiPoolError):
            named["model"] = str(self.folder())
        return [self.name, named]

    @abstractmethod
    def chosen(self, folder: Path) -> dict[str, Any]:
        """The settings that change how a passage is encoded, resolved for the model in ``folder``."""

    def encoded(self, corpus: CorpusStore, context: base.Context, ordinals: Int | None = None) -> Shards:
        """The encoded passages: all, or those of ``ordinals`` in their order; encodes what is not encoded yet."""
        key = self.encoding_key()
        if ordinals is not None:
            key["ordinals"] = hashlib.sha256(np.ascontiguousarray(ordinals, dtype="<i8").tobytes()).hexdigest()
        wanted = np.arange(len(corpus)) if ordinals is None else ordinals
        return Shards(
            context.resumable_folder(corpus, self.name, key, lambda folder: self._fill(folder, corpus, wanted, context))
        )

    def of_run(self, corpus: CorpusStore, docs: Int, context: base.Context) -> tuple[Shards, Int]:
        """Shards that hold the encoded passages ``docs``, and the row of each in them, shape (n,): those of the whole
        corpus where that is encoded, else of these passages alone."""
        if context.finished_folder(corpus, self.name, self.encoding_key()) is not None:
            return self.encoded(corpus, context), docs
        ordinals, places = np.unique(docs, return_inverse=True)
        return self.encoded(corpus, context, None if len(ordinals) == len(corpus) else ordinals), places

    def _fill(self, folder: Path, corpus: CorpusStore, ordinals: Int, context: base.Context) -> dict[str, int]:
        """Encodes the rest of the passages ``ordinals`` into the shards of ``folder``."""
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
        """The next shards, each as the position of the first passage with the same text, for each of its passages, and
        the encoded passages that are such a first; None where none is."""
        shard_tasks.clear(shards.folder)
        encoder = self.load(self.folder(), context.note)
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
        """The same, by the workers of an engine, each of which holds a model; they end with the encoding."""
        assert context.workers is not None
        with context.workers() as engine:
            first = first_equal_text(corpus, ordinals)
            yield from shard_tasks.encoded_by_workers(self, corpus, shards, ordinals, first, engine, context)


def _nothing(shards: Shards) -> Encoded:
    """No encoded passages, with the arrays of the shards."""
    arrays = {name: shards.array(name)[:0] for name in shards.names if name != "ends"}
    return Encoded(arrays, np.empty(0, dtype=np.int64) if "ends" in shards.names else None)
