"""Components that encode a corpus by a model of their own, and keep what comes out: dense, splade, colbert."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.encoders.encoding import TextEncoder, pieces
from quati_pool.retrieval.encoders.repeats import equal_before, with_repeats
from quati_pool.retrieval.shards import Shards

E = TypeVar("E", bound=TextEncoder)

# Multiplications and additions of a shard on a CPU: about two minutes of two slow cores.
_SHARD_FLOPS = 1.2e13
_SHARD_TOKENS = 256


class Encoded(NamedTuple):
    """What a model makes of texts: arrays with a row a text, or, with ``counts``, so many rows each."""

    arrays: Mapping[str, npt.NDArray[Any]]
    counts: Int | None = None


class CorpusEncoding(base.Component, Generic[E]):
    """A component with a model, and what that makes of the passages of a corpus, in shards that an interrupted
    encoding continues. A text that occurs again is not encoded again."""

    name: ClassVar[str]
    """Of the component, and of the folders of what is encoded."""
    kind: ClassVar[models.Kind]
    most: ClassVar[int]
    """Passages of a shard, at most."""
    parameters: models.ModelParameters

    @classmethod
    def require(cls) -> None:
        models.require_neural(cls.name)

    def fetch(self, note: Callable[[str], None]) -> None:
        local = models.fetch(self.site, self.parameters.model, self.parameters.revision, note)
        self.check(local, note)
        models.devices_of(self.parameters)

    def check(self, local: models.Local, note: Callable[[str], None]) -> None:
        """Refuses a model that cannot be used, as far as its files tell; ``note`` takes a line on what is assumed."""
        models.require_kind(local, self.parameters.model, self.kind, self.name)

    def folder(self) -> Path:
        """Where the model lies; its weights are not read. Raises as ``models.locate``, and ModelError for a model
        of another kind."""
        unread = replace(self.site, digest=lambda path: "")
        local = models.locate(unread, self.parameters.model, self.parameters.revision)
        models.require_kind(local, self.parameters.model, self.kind, self.name)
        return local.folder

    def folder_if_here(self) -> Path | None:
        """The same; None where the model is not on this machine, or still to be named."""
        try:
            return self.folder()
        except (ConfigError, models.ModelMissingError):
            return None

    def encoding_key(self) -> dict[str, Any]:
        """What changes what is made of a passage. Raises as ``models.locate``."""
        local = models.locate(self.site, self.parameters.model, self.parameters.revision)
        return {"version": self.version, "model": local.identity, **self.chosen(local.folder), **models.engines()}

    @abstractmethod
    def chosen(self, folder: Path) -> dict[str, Any]:
        """What the parameters come to that change what is made of a passage, for the model in ``folder``."""

    @abstractmethod
    def load(self, folder: Path, note: Callable[[str], None]) -> E:
        """The model in ``folder``, which is of the right kind, ready to compute."""

    @abstractmethod
    def encode(
        self, encoder: E, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        """What is kept of passages, at least one. ``doc_id`` names the one at a position; ``progress`` is called
        with how many of them are done."""

    def encoded(self, corpus: CorpusStore, context: base.Context, ordinals: Int | None = None) -> Shards:
        """What is made of all passages, or of ``ordinals`` alone, in their order; encoded where it is not yet."""
        key = self.encoding_key()
        if ordinals is not None:
            key["ordinals"] = hashlib.sha256(np.ascontiguousarray(ordinals, dtype="<i8").tobytes()).hexdigest()
        wanted = np.arange(len(corpus)) if ordinals is None else ordinals
        return Shards(context.grow(corpus, self.name, key, lambda folder: self._fill(folder, corpus, wanted, context)))

    def of_run(self, corpus: CorpusStore, docs: Int, context: base.Context) -> tuple[Shards, Int]:
        """What is made of the passages ``docs`` and maybe of others, and the place of each in it, shape (n,): the
        whole corpus where that is encoded, else these passages alone."""
        if context.grown(corpus, self.name, self.encoding_key()) is not None:
            return self.encoded(corpus, context), docs
        ordinals, places = np.unique(docs, return_inverse=True)
        return self.encoded(corpus, context, None if len(ordinals) == len(corpus) else ordinals), places

    def _fill(self, folder: Path, corpus: CorpusStore, ordinals: Int, context: base.Context) -> dict[str, int]:
        """Goes on encoding the passages ``ordinals`` into the shards of ``folder``."""
        shards = Shards(folder)
        if shards.passages >= len(ordinals):
            return {"passages": shards.passages}
        encoder = self.load(self.folder(), context.note)
        first = equal_before(corpus, ordinals)
        for some, texts in pieces(corpus, ordinals, shards.passages, shard_passages(encoder, self.most)):
            start = shards.passages
            context.progress(start, len(ordinals))
            sources = first[start : start + len(some)]
            fresh = np.flatnonzero(sources == start + np.arange(len(some)))
            if len(fresh):
                made = self.encode(
                    encoder,
                    [texts[row] for row in fresh],
                    _namer(corpus, some[fresh]),
                    lambda done, start=start: context.progress(start + done, len(ordinals)),  # type: ignore[misc]
                )
            else:
                made = _nothing(shards)
            shards.append(len(some), **with_repeats(shards, *made, sources))
        context.progress(shards.passages, len(ordinals))
        return {"passages": shards.passages}


def shard_passages(encoder: TextEncoder, most: int) -> int:
    """Passages of a shard: fewer the larger the model, on a CPU, so that an interruption loses minutes."""
    if encoder.on_gpu:
        return most
    flops = 2 * _SHARD_TOKENS * encoder.layer_weights
    return int(np.clip(_SHARD_FLOPS / max(flops, 1), 64, most))


def _nothing(shards: Shards) -> Encoded:
    """What is made of no text, as what the shards hold."""
    arrays = {name: shards.array(name)[:0] for name in shards.names if name != "ends"}
    return Encoded(arrays, np.empty(0, dtype=np.int64) if "ends" in shards.names else None)


def _namer(corpus: CorpusStore, ordinals: Int) -> Callable[[int], str]:
    return lambda row: str(corpus.ids.decode(ordinals[[row]])[0].as_py())
