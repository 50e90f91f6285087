"""Components with a model of their own: where it lies, whether it can be used, and what it makes of passages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder

E = TypeVar("E", bound=TextEncoder)

# Multiplications and additions of a shard on a CPU: about two minutes of two slow cores.
_SHARD_FLOPS = 1.2e13
_SHARD_TOKENS = 256


class PassageEncoding(base.Component, Generic[E]):
    """A component with a model, which workers can load and run on passages too."""

    name: ClassVar[str]
    """Of the component, and of the folders of what is encoded."""
    kind: ClassVar[models.Kind]
    most: ClassVar[int]
    """Passages of a shard, at most."""
    parameters: models.ModelParameters
    placed: Path | None = None
    """Where the model lies, for a worker that need not look for it."""

    @classmethod
    def require(cls) -> None:
        models.require_neural(cls.name)

    def fetch(self, note: Callable[[str], None]) -> None:
        local = models.fetch(self.environment, self.parameters.model, self.parameters.revision, note)
        self.check(local, note)
        models.devices_of(self.parameters)

    def inspect(self, note: Callable[[str], None]) -> None:
        local = models.look(self.environment, self.parameters, note)
        if local is not None:
            self.check(local, lambda line: None)

    def check(self, local: models.Local, note: Callable[[str], None]) -> None:
        """Refuses a model that cannot be used, as far as its files tell; ``note`` takes a line on what is assumed."""
        models.require_kind(local, self.parameters.model, self.kind, self.name)

    def folder(self) -> Path:
        """Where the model lies; its weights are not read. Raises as ``models.locate``, and ModelError for a model
        of another kind."""
        if self.placed is not None:
            return self.placed
        unread = replace(self.environment, digest=lambda path: "")
        local = models.locate(unread, self.parameters.model, self.parameters.revision)
        models.require_kind(local, self.parameters.model, self.kind, self.name)
        return local.folder

    def folder_if_here(self) -> Path | None:
        """The same; None where the model is not on this machine, or still to be named."""
        try:
            return self.folder()
        except (ConfigError, models.ModelMissingError):
            return None

    @abstractmethod
    def load(self, folder: Path, note: Callable[[str], None]) -> E:
        """The model in ``folder``, which is of the right kind, ready to compute."""

    @abstractmethod
    def encode(
        self, encoder: E, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        """What is kept of passages, at least one. ``doc_id`` names the one at a position; ``progress`` is called
        with how many of them are done."""

    def shard_size(self, encoder: E) -> int:
        """Passages of a shard, at most, on the encoder's device."""
        return shard_passages(encoder, self.most)

    def made_of(
        self, encoder: E, corpus: CorpusStore, ordinals: Int, texts: list[str], progress: Callable[[int], None]
    ) -> Encoded:
        """What is made of the passages ``ordinals``, at least one, which are ``texts``. Raises as ``encode``."""
        return self.encode(encoder, texts, lambda row: str(corpus.ids.decode(ordinals[[row]])[0].as_py()), progress)


def shard_passages(encoder: TextEncoder, most: int) -> int:
    """Passages of a shard: fewer the larger the model, on a CPU, so that an interruption loses minutes."""
    if encoder.on_gpu:
        return most
    flops = 2 * _SHARD_TOKENS * encoder.layer_weights
    return int(np.clip(_SHARD_FLOPS / max(flops, 1), 64, most))
