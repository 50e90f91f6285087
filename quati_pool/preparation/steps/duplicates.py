"""The step ``duplicates``: drops texts that equal an earlier text except for differences that do not count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import xxhash
from pydantic import Field

from quati_pool.preparation.base import Array, ComponentEnvironment, Drops, GlobalFilter, TaskPool
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.deduplication import normalising
from quati_pool.preparation.deduplication.first_of_equals import equal_rows
from quati_pool.preparation.deduplication.normalising import Normalise

Scope = Annotated[
    Literal["all", "page"],
    Field(description="all: the same text on any page; page: only within one page."),
]


class Duplicates(GlobalFilter):
    """Keeps the first of equal rows in input order; rows without text after normalisation equal none.

    A text is identified by its 128-bit XXH3 hash: among 20 million texts, the probability that any two different ones
    are taken for equal is about 6e-25. The keys take 16 bytes per row: 0.3 GB for 20 million.
    """

    id = "preparation/duplicates"
    summary = "drops texts that an earlier row has, but for case and white space"

    class Parameters(BaseParameters):
        normalise: Normalise = normalising.DEFAULT
        scope: Scope = "all"

    def __init__(self, parameters: Parameters, environment: ComponentEnvironment | None = None) -> None:
        super().__init__(parameters, environment)
        self._normalised = normalising.normaliser(parameters.normalise)

    @property
    def reasons(self) -> Sequence[str]:
        return ("duplicate",)

    def key(self) -> dict[str, Any]:
        return normalising.versions()

    def keys(self, batch: Batch) -> dict[str, Array]:
        """The hash of each text as two columns ``hi`` and ``lo`` of uint64; both are 0 for a row without text."""
        normalised = [self._normalised(text) for text in batch.text]
        texts = map(normalising.encoded, normalised)
        if self.parameters.scope == "page":
            hashes = [
                xxhash.xxh3_128_digest(text, xxhash.xxh3_64_intdigest(normalising.encoded(doc_id)))
                for text, doc_id in zip(texts, batch.doc_id, strict=True)
            ]
        else:
            hashes = list(map(xxhash.xxh3_128_digest, texts))
        halves = np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64).reshape(-1, 2)
        halves[[not text or text.isspace() for text in normalised]] = 0
        return {"hi": halves[:, 0], "lo": halves[:, 1]}

    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """Takes a few bytes of memory per dropped row, and in each task the memory stated in ``first_of_equals``."""
        found = equal_rows(shards, rows, task_pool)
        return Drops.of(found.shard, found.row, 1, found.kept_shard, found.kept_row)
