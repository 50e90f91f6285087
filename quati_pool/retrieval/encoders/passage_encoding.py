"""Components with a neural model: where the model is, whether it can be used, and how it encodes passages."""

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
from quati_pool.retrieval.encoders.encoding import Encoded, TextEncoder
from quati_pool.retrieval.models.errors import ModelMissingError
from quati_pool.retrieval.models.kind import Kind, require_kind
from quati_pool.retrieval.models.loading import require_neural
from quati_pool.retrieval.models.location import LocalModel, locate, locate_or_announce, locate_or_download
from quati_pool.retrieval.models.parameters import ModelParameters, devices_of

E = TypeVar("E", bound=TextEncoder)

# Multiplications and additions of a shard on a CPU: about two minutes of two slow cores.
_SHARD_FLOPS = 1.2e13
_SHARD_TOKENS = 256


class PassageEncoding(base.Component, Generic[E]):
    """A component with a model that this process, or workers, load and run on passages."""

    name: ClassVar[str]
    """The name of the component, and of the folders that hold its encoded passages."""
    kind: ClassVar[Kind]
    most: ClassVar[int]
    """The most passages of a shard."""
    parameters: ModelParameters
    model_folder: Path | None = None
    """The model's folder, set in workers, which need not look for it."""

    @classmethod
    def require(cls) -> None:
        require_neural(cls.name)

    def fetch(self, note: Callable[[str], None]) -> None:
        local = locate_or_download(self.environment, self.parameters.model, self.parameters.revision, note)
        self.check(local, note)
        devices_of(self.parameters)

    def inspect(self, note: Callable[[str], None]) -> None:
        local = locate_or_announce(self.environment, self.parameters, note)
        if local is not None:
            self.check(local, lambda line: None)

    def check(self, local: LocalModel, note: Callable[[str], None]) -> None:
        """Refuses a model that cannot be used, as far as its files show; ``note`` takes a line about what is assumed.

        Raises ModelError and ConfigError."""
        require_kind(local, self.parameters.model, self.kind, self.name)

    def folder(self) -> Path:
        """The model's folder; its weights are not read. Raises as ``locate``, and ModelError for a model of another
        kind."""
        if self.model_folder is not None:
            return self.model_folder
        unread = replace(self.environment, digest=lambda path: "")
        local = locate(unread, self.parameters.model, self.parameters.revision)
        require_kind(local, self.parameters.model, self.kind, self.name)
        return local.folder

    def folder_if_here(self) -> Path | None:
        """The model's folder; None where the model is not on this machine, or still to be named."""
        try:
            return self.folder()
        except (ConfigError, ModelMissingError):
            return None

    @abstractmethod
    def load(self, folder: Path, note: Callable[[str], None]) -> E:
        """The model in ``folder``, which is of the right kind, ready to compute."""

    @abstractmethod
    def encode(
        self, encoder: E, texts: list[str], doc_id: Callable[[int], str], progress: Callable[[int], None]
    ) -> Encoded:
        """The encoded passages, of at least one text. ``doc_id`` gives the id of the passage at a position;
        ``progress`` is called with how many are done."""

    def shard_size(self, encoder: E) -> int:
        """The most passages of a shard, on the encoder's device."""
        return shard_passages(encoder, self.most)

    def encode_passages(
        self, encoder: E, corpus: CorpusStore, ordinals: Int, texts: list[str], progress: Callable[[int], None]
    ) -> Encoded:
        """Encodes the passages ``ordinals``, at least one, whose texts are ``texts``. Raises as ``encode``."""
        return self.encode(encoder, texts, lambda row: str(corpus.ids.decode(ordinals[[row]])[0].as_py()), progress)


def shard_passages(encoder: TextEncoder, most: int) -> int:
    """Passages of a shard: fewer the larger the model, on a CPU, so that an interruption loses minutes."""
    if encoder.on_gpu:
        return most
    flops = 2 * _SHARD_TOKENS * encoder.layer_weights
    return int(np.clip(_SHARD_FLOPS / max(flops, 1), 64, most))
