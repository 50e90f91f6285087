"""One run of embedding many texts: an event loop in a thread of its own, so that a command, a notebook and the
app can all start it, while the calling thread makes every answer durable.

A worker takes the next batch only once its last one is written, so a process that is killed loses what was in
flight and the one write under way, however many texts there are.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.llm.client import Client
from quati_pool.llm.embeddings import EmbeddingRequest, size, surely_fitted
from quati_pool.llm.faults import CallError, Stopped
from quati_pool.llm.loop import loop_error
from quati_pool.llm.tokens import estimate

# Workers for each call that may be in flight: those beyond wait for a retry, or for a write.
_WORKERS = 2
# Seconds that what is in flight, and paid for, gets to arrive after an interrupt.
_GRACE = 10.0


@dataclass(frozen=True)
class Batch:
    """Texts that are asked about together; ``start`` is the caller's own number for them."""

    start: int
    texts: Sequence[str]


B = TypeVar("B", bound=Batch)


class Embedded(NamedTuple):
    """A batch's vectors, float32 of shape (texts, dimension); tokens as the server counted them, and estimated
    ones where it did not; the places of texts that were cut because the server found them too long."""

    vectors: npt.NDArray[np.float32]
    counted: int
    estimated: int
    cut: tuple[int, ...]


class TextRefused(Exception):  # noqa: N818 - the caller, who knows whose text it is, makes an error of it
    """The server refuses one text of a batch, at ``place`` in it, in its ``words``."""

    def __init__(self, place: int, words: str) -> None:
        self.place = place
        self.words = words
        super().__init__(words)


class BatchFailed(Exception):  # noqa: N818 - as above
    """What ended the run at a batch: a CallError, TextRefused."""

    def __init__(self, batch: Batch, cause: CallError | TextRefused) -> None:
        self.batch = batch
        self.cause = cause
        super().__init__(str(cause))


class Asker:
    """Asks for the embeddings of texts, in as many calls as the server needs to take them."""

    def __init__(self, client: Client, dimensions: int | None, max_tokens: int) -> None:
        self._client = client
        self._dimensions = dimensions
        self._max_tokens = max_tokens
        self._most: int | None = None
        """The most texts of a call that the server has been seen to take, once it refused more."""

    async def ask(self, texts: Sequence[str]) -> Embedded:
        """Raises TextRefused, and what ``Client.embed`` raises."""
        step = self._most or len(texts)
        return _joined([await self._ask(texts, at, at + step) for at in range(0, len(texts), step)])

    async def _ask(self, texts: Sequence[str], start: int, end: int) -> Embedded:
        """Texts ``start`` to ``end``. What the server refuses is asked in halves, as it may be one text
        or their number; a text that it refuses alone is cut to what surely fits, if that is shorter."""
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
                # Nothing was wrong with any of them: they were too many.
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
        made = await self._client.embed(EmbeddingRequest(texts, self._dimensions, tokens))
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


class _Run(Generic[B]):
    """The event loop's side: workers, and the queue to the thread that writes."""

    def __init__(self, client: Client, asker: Asker, batches: Iterator[B]) -> None:
        self.client = client
        self.landed: SimpleQueue[tuple[B, Embedded, asyncio.Future[None]] | None] = SimpleQueue()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.error: BaseException | None = None
        self._asker = asker
        self._batches = batches
        self._main: asyncio.Task[None] | None = None
        self.thread = threading.Thread(target=self._in_thread, name="embeddings", daemon=True)

    def fail(self, error: BaseException) -> None:
        """The run ends with its first error; what is in flight, and paid for, still arrives."""
        self.error = self.error or error
        self.client.stop()

    def cancel(self) -> None:
        """Drops what is in flight."""
        if self.loop is not None and self._main is not None:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._main.cancel)

    def written(self, future: asyncio.Future[None]) -> None:
        assert self.loop is not None
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_resolve, future)

    def _in_thread(self) -> None:
        error = loop_error(self._all)
        self.error = self.error or error
        self.landed.put(None)

    async def _all(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        async with self.client, asyncio.TaskGroup() as group:
            for _ in range(_WORKERS * self.client.limits.concurrency):
                group.create_task(self._work())

    async def _work(self) -> None:
        assert self.loop is not None
        while self.error is None:
            try:
                batch = next(self._batches)
            except StopIteration:
                return
            except Exception as error:
                self.fail(error)
                return
            try:
                made = await self._asker.ask(batch.texts)
            except Stopped:
                return
            except (CallError, TextRefused) as error:
                self.fail(BatchFailed(batch, error))
                return
            except Exception as error:
                self.fail(error)
                return
            future = self.loop.create_future()
            self.landed.put((batch, made, future))
            await future


def embed_all(client: Client, asker: Asker, batches: Iterator[B], land: Callable[[B, Embedded], None]) -> None:
    """Asks about all ``batches``, as many at once as the client's limits allow.

    ``land`` is called in this thread with each answered batch, in the order of the answers, and makes it
    durable. Whatever ends the run, what is in flight still arrives and is given to ``land``, after an interrupt
    within some seconds. Raises what ``batches`` and
    ``land`` raise, FatalError, and BatchFailed where one batch cannot be had.
    """
    run = _Run(client, asker, batches)
    run.thread.start()
    try:
        _land(run, land)
    except KeyboardInterrupt as error:
        run.fail(error)
        grace = threading.Timer(_GRACE, run.cancel)
        grace.start()
        try:
            _land(run, land)
        finally:
            grace.cancel()
    finally:
        # Nothing is left to cancel but where a second interrupt came.
        run.cancel()
        run.thread.join(_GRACE)
    if run.error is not None:
        raise run.error


def _land(run: _Run[B], land: Callable[[B, Embedded], None]) -> None:
    """Writes what arrives until the loop has ended; a batch that cannot be written ends the run, and the others
    that are in flight are written still."""
    while (item := run.landed.get()) is not None:
        batch, made, future = item
        try:
            land(batch, made)
        except Exception as error:
            run.fail(error)
        finally:
            run.written(future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
