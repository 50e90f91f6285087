"""The base of components with a neural model: locating the model, checking it, and encoding passages with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.models.errors import ModelMissingError
from quati_pool.models.kind import Kind, require_kind
from quati_pool.models.loading import require_neural
from quati_pool.models.location import LocalModel, locate, locate_or_announce, locate_or_download
from quati_pool.models.parameters import ModelParameters, devices_of
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder

E = TypeVar("E", bound=TextEncoder)

# Floating point operations per shard on a CPU: about two minutes on two slow cores.
_SHARD_FLOPS = 1.2e13
_SHARD_TOKENS = 256


class PassageEncoding(base.Component, Generic[E]):
    """A component with a model that encodes passages, in this process or in workers."""

    name: ClassVar[str]
    """The name of the component, and of the folders that hold its encoded passages."""
    kind: ClassVar[Kind]
    most: ClassVar[int]
    """The maximum number of passages per shard."""
    parameters: ModelParameters
    model_folder: Path | None = None
    """The model's folder; set in workers, so that they need not search for it."""

    @classmethod
    def require(cls) -> None:
        require_neural(cls.name)

    def fetch(self, note: Callable[[str], None]) -> None:
        chosen = self.parameters.for_passages()
        local = locate_or_download(self.environment, chosen.model, chosen.revision, note)
        self.check(local, note)
        devices_of(self.parameters)

    def inspect(self, note: Callable[[str], None]) -> None:
        local = locate_or_announce(self.environment, self.parameters.for_passages(), note)
        if local is not None:
            self.check(local, lambda line: None)

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        """Raises ModelError or ConfigError for a model that cannot be used, as far as its files show; assumptions are
        reported to ``note``."""
        require_kind(local, self.parameters.for_passages().model, self.kind, self.name)

    def folder(self) -> Path:
        """The folder of the model that encodes passages; its weights are not read. Raises the errors of ``locate``, and
        ModelError for a model of another kind."""
        if self.model_folder is not None:
            return self.model_folder
        return self.folder_of(self.parameters.for_passages())

    def folder_of(self, chosen: ModelParameters) -> Path:
        """The folder of the model of ``chosen``, as ``folder``."""
        unread = replace(self.environment, digest=lambda path: "")
        local = locate(unread, chosen.model, chosen.revision)
        require_kind(local, chosen.model, self.kind, self.name)
        return local.folder

    def folder_if_here(self) -> Path | None:
        """The model's folder; None if the model is not on this machine or not chosen yet."""
        try:
            return self.folder()
        except (ConfigError, ModelMissingError):
            return None

    @abstractmethod
    def load(self, folder: Path, note: Callable[[str], None]) -> E:
        """Loads the model in ``folder``, which is of the right kind."""

    @abstractmethod
    def encode(
        self, encoder: E, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        """Encodes the texts of passages, at least one. ``doc_id`` returns the id of the passage at a position;
        ``progress`` is called with the number of passages done."""

    def shard_size(self, encoder: E) -> int:
        """The maximum number of passages per shard on the encoder's device."""
        return shard_passages(encoder, self.most)

    def encode_passages(
        self, encoder: E, corpus: CorpusStore, ordinals: Int, texts: list[str], progress: Callable[[int], None]
    ) -> Encoded:
        """Encodes the passages ``ordinals``, at least one, with these ``texts``; raises the errors of ``encode``."""
        return self.encode(encoder, texts, lambda row: str(corpus.ids.decode(ordinals[[row]])[0].as_py()), progress)


def shard_passages(encoder: TextEncoder, most: int) -> int:
    """The number of passages per shard, at most ``most``. On a CPU, larger models get smaller shards, so that an
    interruption loses only minutes of work."""
    if encoder.on_gpu:
        return most
    flops = 2 * _SHARD_TOKENS * encoder.layer_weights
    return int(np.clip(_SHARD_FLOPS / max(flops, 1), 64, most))
