"""Fills shards with the embeddings of many texts. Each is requested only once, even if the process is interrupted."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import QuatiPoolError
from quati_pool.llm.answers import Usage
from quati_pool.llm.client import Client
from quati_pool.llm.embedding_calls import Batch, BatchFailed, Embedded, EmbeddingCaller, TextRefused
from quati_pool.llm.embeddings import MOST_REQUEST_TOKENS, fitted, size
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.retrieval.base import Context
from quati_pool.retrieval.remote.reorder_buffer import ReorderBuffer
from quati_pool.retrieval.vector_index.vector_search import Precision, Vectors, store_arrays

# Maximum number of texts per batch, including empty ones, which are not sent.
_MOST_PASSAGES = 4096
# Workers per call that may be in flight; each holds the vectors of a batch.
_WORKERS = 2
# Seconds to wait after an interrupt for answers that are in flight, and paid for.
_GRACE = 10.0
# How far a vector's length may be from 1 before the user is told that vectors are not of unit length; servers that
# compute in 16 bits round.
_UNIT = 0.01


@dataclass(frozen=True)
class Texts:
    """Texts in order. ``after(n)`` iterates over those from position n on, and ``name(n)`` is the id of the text at
    position n. ``one`` and ``unit`` are the words for a single text and for several."""

    one: str
    unit: str
    total: int
    after: Callable[[int], Iterator[str]]
    name: Callable[[int], str]


def passages_of(corpus: CorpusStore) -> Texts:
    """The passages of a corpus."""

    def after(start: int) -> Iterator[str]:
        end = 0
        for batch in corpus.batches():
            end += len(batch)
            if end > start:
                yield from batch.column("text").slice(max(0, start - end + len(batch))).to_pylist()

    return Texts("passage", "passages", len(corpus), after, lambda n: str(corpus.ids.decode(np.array([n]))[0].as_py()))


@dataclass(frozen=True)
class EmbeddingSettings:
    """How texts are embedded: the prefix of each text, the number of components requested (None: the model's own), the
    maximum number of tokens per text and of texts per request, whether vectors are scaled to length 1, and the
    precision in which they are stored."""

    prefix: str
    dimensions: int | None
    max_tokens: int
    batch_size: int
    normalize: bool
    precision: Precision


@dataclass(frozen=True)
class _Span(Batch):
    """A batch for the texts from ``start`` up to ``end``; those that are sent are at ``places``, counted from
    ``start``."""

    start: int
    end: int
    places: Sequence[int]
    cut: frozenset[int]
    """The positions of the texts in the batch that were cut."""


class EmbeddingRun:
    """Embeds the texts whose vectors are not yet in the shards of a folder."""

    def __init__(
        self, folder: Path, texts: Texts, settings: EmbeddingSettings, context: Context, price: Price | None
    ) -> None:
        self.buffer = ReorderBuffer(folder)
        self.texts = texts
        self.settings = settings
        self._context = context
        self._price = price
        self._blank: deque[tuple[int, int]] = deque()
        self._asked = 0
        self._spent = np.zeros(3, dtype=np.int64)
        self._off_unit = False
        self._client: Client | None = None
        shape = self.buffer.row_shape("vectors")
        self._dimension = shape[0] if shape else None

    def take(self, given: Vectors) -> None:
        """Copies vectors of the same texts, in order and as the server returned them, that are stored elsewhere. Does
        nothing if their number differs, or if vectors that arrived out of order are waiting."""
        if len(given) != self.texts.total or len(self.buffer.spans) > 1:
            return
        nothing = np.zeros(3, dtype=np.int64)
        self._dimension = given.dimension
        for start in range(self.buffer.passages, self.texts.total, _MOST_PASSAGES):
            end = min(start + _MOST_PASSAGES, self.texts.total)
            self._keep(start, end, self._scaled(given.rows(slice(start, end))), nothing)
            self._context.progress(end, self.texts.total)
        self._context.note(f"the vectors of {self.texts.total:,} {self.texts.unit} are here already: nothing is asked")

    def _scaled(self, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The vectors, scaled to length 1 if the settings say so; a vector of zeros is kept."""
        if not self.settings.normalize:
            return vectors
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        scaled: npt.NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return scaled

    def fill(self, connect: Callable[[], Client]) -> dict[str, int]:
        """Embeds the texts that have no vector yet, and returns the number of those that have one.

        ``connect`` opens the client; it is not called if nothing has to be sent. However the run ends, answers in
        flight are still received and kept; after an interrupt that takes at most some seconds.

        Raises QuatiPoolError if the server returns no vector for a text, or one that is not finite.
        """
        self._context.progress(self.buffer.passages, self.texts.total)

        @asynccontextmanager
        async def caller() -> AsyncIterator[EmbeddingCaller]:
            async with connect() as self._client:
                yield EmbeddingCaller(self._client, self.settings.dimensions, self.settings.max_tokens)

        runner = Runner(([span] for span in self._spans()), caller, self._land, workers=_WORKERS, together=False)

        def interrupted() -> None:
            runner.error = runner.error or KeyboardInterrupt()

        runner.run(interrupted=interrupted, grace=_GRACE)
        try:
            if isinstance(runner.error, BatchFailed):
                raise self._explained(runner.error)
            if runner.error is not None:
                raise runner.error
            self._fill_blank()
        finally:
            self._note_cost()
        # If all texts are empty, the dimension is unknown, and one component is sufficient for zero vectors.
        self._dimension = self._dimension or 1
        self._fill_blank()
        self.buffer.close()
        return {self.texts.unit: self.buffer.passages}

    def _spans(self) -> Iterator[_Span]:
        """Yields batches of the texts that have no vector yet; ranges of only empty texts go to ``_blank``."""
        (_, begin), *ahead = self.buffer.spans
        covered = deque(ahead)
        sent: list[str] = []
        places: list[int] = []
        cut: set[int] = set()
        start, count, taken = begin, 0, 0

        def close() -> Iterator[_Span]:
            if places:
                yield _Span(tuple(sent), start, start + count, tuple(places), frozenset(cut))
            elif count:
                self._blank.append((start, start + count))

        for place, text in enumerate(self.texts.after(begin), begin):
            while covered and covered[0][1] <= place:
                covered.popleft()
            if covered and covered[0][0] <= place:
                continue
            whole = self.settings.prefix + text if text.strip() else ""
            short = fitted(whole, self.settings.max_tokens)
            bytes_of = size(short)
            full = short and (len(sent) >= self.settings.batch_size or taken + bytes_of > MOST_REQUEST_TOKENS)
            if full or place != start + count or count >= _MOST_PASSAGES:
                yield from close()
                sent, places, cut, start, count, taken = [], [], set(), place, 0, 0
            if short:
                if short != whole:
                    cut.add(len(sent))
                sent.append(short)
                places.append(count)
                taken += bytes_of
            count += 1
        yield from close()

    def _land(self, landed: Sequence[tuple[_Span, Sequence[Embedded]]]) -> None:
        """Checks and stores the vectors of one batch."""
        ((span, (embedded,)),) = landed
        vectors = embedded.vectors
        spent = np.array([embedded.counted, embedded.estimated, len(span.cut.union(embedded.cut))], dtype=np.int64)
        self._spent += spent
        if self._dimension is None:
            self._refuse_dimension(vectors.shape[1])
            self._dimension = vectors.shape[1]
        elif vectors.shape[1] != self._dimension:
            raise QuatiPoolError(
                f"the server gives vectors of {vectors.shape[1]} components, and those in "
                f"{self.buffer.shards.folder} have {self._dimension}: it serves another model than before; "
                "restore that model, or delete the folder"
            )
        self._refuse_nan(span, vectors)
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        self._off_unit |= bool(np.any(np.abs(lengths - 1) > _UNIT))
        rows = np.zeros((span.end - span.start, self._dimension), dtype=np.float32)
        rows[list(span.places)] = self._scaled(vectors)
        self._asked += len(span.texts)
        self._keep(span.start, span.end, rows, spent)
        self._fill_blank()
        self._context.progress(self.buffer.passages, self.texts.total)

    def _fill_blank(self) -> None:
        """Stores zero vectors for ranges of empty texts, once the dimension is known."""
        while self._blank and self._dimension is not None:
            start, end = self._blank.popleft()
            zeros = np.zeros((end - start, self._dimension), dtype=np.float32)
            self._keep(start, end, zeros, np.zeros(3, dtype=np.int64))

    def _keep(self, start: int, end: int, rows: npt.NDArray[np.float32], spent: npt.NDArray[np.int64]) -> None:
        arrays: Mapping[str, npt.NDArray[np.generic]] = store_arrays(rows, self.settings.precision)
        self.buffer.add(start, end, {**arrays, "spent": spent[None, :]})

    def _refuse_dimension(self, found: int) -> None:
        wanted = self.settings.dimensions
        if wanted is not None and found != wanted:
            raise QuatiPoolError(
                f"the server gives vectors of {found} components where dimensions: {wanted} are asked for; drop "
                "dimensions:, or take a model that has them"
            )

    def _refuse_nan(self, span: _Span, vectors: npt.NDArray[np.float32]) -> None:
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            raise QuatiPoolError(
                f"the server gives NaN or infinite numbers for {self._named(span, int(wrong[0]))}; "
                "correct that text, or check the model"
            )

    def _named(self, span: Batch, place: int) -> str:
        assert isinstance(span, _Span)
        return f"the {self.texts.one} {self.texts.name(span.start + span.places[place])}"

    def _explained(self, failed: BatchFailed) -> QuatiPoolError:
        assert self._client is not None
        server = self._client.endpoint_name
        span, cause = failed.batch, failed.cause
        if isinstance(cause, TextRefused):
            return QuatiPoolError(
                f"{server} refuses {self._named(span, cause.place)} ({cause.words}); correct it, or the parameters"
            )
        if cause.kind == "rejected":
            return QuatiPoolError(f"{self._named(span, 0)} and those after it cannot be asked about: {cause.words}")
        tried = f" after {cause.retries + 1} attempts" if cause.retries else ""
        return QuatiPoolError(
            f"{server} gives no embeddings{tried} ({cause.words}); check the server and run the same "
            "command again: what was answered is kept"
        )

    def _note_cost(self) -> None:
        """Notes in one line what this run requested and what it cost; nothing if nothing was answered."""
        client = self._client
        if client is None:
            return
        unit = self.texts.unit
        lost = sum(client.counters.ends[end] for end in ("timeout", "protocol"))
        if not self._spent.any() and not lost:
            return
        counted, guessed, cut = (int(count) for count in self._spent)
        attempts = client.counters.attempts
        line = (
            f"{client.endpoint.model} at {client.endpoint_name}: {self._asked:,} {unit} in {attempts:,} "
            f"request{'s' * (attempts != 1)}, {self._cost(counted, guessed)}"
        )
        if lost:
            line += f"; what {lost:,} attempts without a whole answer cost is not known"
        shards = self.buffer.shards
        if shards.passages == self.texts.total:
            everything = [int(count) for count in np.sum(shards.array("spent"), axis=0)]
            if everything[:2] != [counted, guessed]:
                line += f"; all {shards.passages:,} together {self._cost(everything[0], everything[1])}"
        if cut:
            line += f"; {cut:,} {unit} were longer than max_tokens: {self.settings.max_tokens} allows, and were cut"
        if self._off_unit and not self.settings.normalize:
            line += "; vectors are not of length 1 and are compared by inner product (cosine: normalize: true)"
        self._context.note(line)

    def _cost(self, counted: int, guessed: int) -> str:
        tokens = f"{counted + guessed:,} tokens"
        if guessed:
            which = "all" if not counted else f"{guessed:,} of them"
            tokens += f" ({which} estimated, as the server did not count them)"
        if self._price is None:
            return f"{tokens}, at an unknown price (name a file with it under prices:)"
        dollars = self._price.cost(Usage(counted + guessed, None, 0, None)) or 0.0
        shown = f"${dollars:,.4f}" if dollars >= 0.00005 or not dollars else "less than $0.0001"
        return f"{tokens}, {shown} (prices of {self._price.as_of})"
