"""Calls for the embeddings of batches of texts, split into as many requests as the server requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.llm.client import Client
from quati_pool.llm.embeddings import EmbeddingRequest, size, surely_fitted
from quati_pool.llm.faults import CallError, Stopped
from quati_pool.llm.tokens import estimate


@dataclass(frozen=True)
class Batch:
    """Texts that are embedded together."""

    texts: Sequence[str]


class Embedded(NamedTuple):
    """A batch's vectors, float32 of shape (texts, dimension); tokens as counted by the server, and estimated tokens
    where it gave no count; the positions of texts that were cut because the server found them too long."""

    vectors: npt.NDArray[np.float32]
    counted: int
    estimated: int
    cut: tuple[int, ...]


class TextRefused(Exception):  # noqa: N818 - the caller, which knows whose text it is, turns it into an error
    """The server refuses the text at position ``place`` of a batch; ``words`` is its message."""

    def __init__(self, place: int, words: str) -> None:
        self.place = place
        self.words = words
        super().__init__(words)


class BatchFailed(Exception):  # noqa: N818 - as above
    """A batch cannot be embedded; ``cause`` is the reason."""

    def __init__(self, batch: Batch, cause: CallError | TextRefused) -> None:
        self.batch = batch
        self.cause = cause
        super().__init__(str(cause))


class EmbeddingCaller:
    """The state that all calls of one run share: the client, and how many texts per call the server accepts."""

    error = None
    exhausted = False

    def __init__(self, client: Client, dimensions: int | None, max_tokens: int) -> None:
        self.client = client
        self._dimensions = dimensions
        self._max_tokens = max_tokens
        self._most: int | None = None
        """The most texts per call that the server was seen to accept; None until it has refused more."""

    async def ask(self, batch: Batch) -> list[Embedded]:
        """The vectors of a batch; empty if the client was stopped. Raises BatchFailed or FatalError."""
        texts = batch.texts
        step = self._most or len(texts)
        try:
            return [_joined([await self._ask(texts, at, at + step) for at in range(0, len(texts), step)])]
        except Stopped:
            return []
        except (CallError, TextRefused) as error:
            raise BatchFailed(batch, error) from None

    async def _ask(self, texts: Sequence[str], start: int, end: int) -> Embedded:
        """Embeds the texts from ``start`` to ``end``. A refused request is sent again in halves, since the cause may be
        one text or the number of texts; a text that is refused alone is cut with ``surely_fitted`` if that shortens
        it."""
        some = texts[start:end]
        try:
            return await self._call(some)
        except CallError as error:
            if error.kind not in ("rejected", "content_filter"):
                raise
            if len(some) == 1:
                return await self._cut(some[0], start, error)
            middle = start + len(some) // 2
            halves = [await self._ask(texts, start, middle), await self._ask(texts, middle, min(end, len(texts)))]
            if not any(half.cut for half in halves):
                # No text was at fault: there were too many.
                self._most = min(self._most or len(some), len(some) - len(some) // 2)
            return _joined(halves)

    async def _cut(self, text: str, place: int, refusal: CallError) -> Embedded:
        if size(text) <= self._max_tokens:
            raise TextRefused(place, refusal.words)
        try:
            made = await self._call([surely_fitted(text, self._max_tokens)])
        except CallError as error:
            if error.kind not in ("rejected", "content_filter"):
                raise
            raise TextRefused(place, error.words) from None
        return made._replace(cut=(place,))

    async def _call(self, texts: Sequence[str]) -> Embedded:
        tokens = sum(estimate(text).tokens for text in texts)
        made = await self.client.embed(EmbeddingRequest(texts, self._dimensions, tokens))
        counted = made.usage.input if made.usage else None
        return Embedded(made.vectors, counted or 0, tokens if counted is None else 0, ())


def _joined(parts: Sequence[Embedded]) -> Embedded:
    if len(parts) == 1:
        return parts[0]
    sizes = {part.vectors.shape[1] for part in parts}
    if len(sizes) > 1:
        raise CallError("its answers hold vectors of different dimensions", "protocol")
    return Embedded(
        np.concatenate([part.vectors for part in parts]),
        sum(part.counted for part in parts),
        sum(part.estimated for part in parts),
        tuple(place for part in parts for place in part.cut),
    )
