"""Reads the answers of a finished batch and stores them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

from quati_pool.commands.judge.stored_answers import attempt_of, label_extra
from quati_pool.judging.prompted_model import PromptedModel, Try, details_of, failed_try, tries_of
from quati_pool.judging.prompts import reading_of
from quati_pool.judging.verdict import Reading
from quati_pool.llm.answers import Completion, Usage
from quati_pool.llm.batches import Batches, BatchState
from quati_pool.llm.budgeted_calls import plausible, written
from quati_pool.llm.faults import CallError
from quati_pool.llm.tokens import counting
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.store.records import Batch, BatchRequest, Entry, Label

# The number of answers that are committed together.
_COMMIT = 500


class BatchAnswers:
    """Reads a batch's answers and stores them. ``waiting`` are the requests without an answer, by custom_id;
    ``strangers`` counts lines that answer no request."""

    def __init__(self, store: Store, batch: Batch, state: BatchState, model: PromptedModel, version: str) -> None:
        """``version`` is the judge's current one; the batch may be of an earlier one with another model and prompt."""
        requests = store.batch_requests(batch.key)
        self.waiting = {request.custom_id: request for request in requests if not request.collected}
        self.strangers = 0
        self._collected = {request.custom_id for request in requests if request.collected}
        self._store = store
        self._batch = batch
        self._state = state
        definition = store.definition(batch.version) or {}
        self._price = model.price(definition.get("model"))
        self._reading = model.reading
        if batch.version != version:
            self._reading = reading_of(definition["prompt"], batch.extra.get("aliases", ()), model.reading.thoughts)
        self._without_text = self._known_without_text(self.waiting.values())
        self._count = counting(model.name)

    async def entries(self, api: Batches) -> AsyncIterator[Entry]:
        """The answers as store entries; each is committed before it is yielded."""
        arrived: list[tuple[BatchRequest, Completion | CallError]] = []
        async for answer in self._answers(api):
            arrived.append(answer)
            if len(arrived) == _COMMIT:
                for entry in self._committed(arrived):
                    yield entry
                arrived = []
        for entry in self._committed(arrived):
            yield entry

    async def _answers(self, api: Batches) -> AsyncIterator[tuple[BatchRequest, Completion | CallError]]:
        output = str(self._batch.extra.get("output", "text"))
        for file_id in filter(None, (self._state.output_file_id, self._state.error_file_id)):
            async for custom_id, result in api.results(file_id, output):
                request = None if custom_id is None else self.waiting.pop(custom_id, None)
                if request is None:
                    self.strangers += custom_id not in self._collected
                else:
                    yield request, result

    def _committed(self, arrived: Sequence[tuple[BatchRequest, Completion | CallError]]) -> list[Entry]:
        entries = [self._entry(request, result) for request, result in arrived]
        self._store.append(entries, [(self._batch.key, request.custom_id) for request, _ in arrived])
        return entries

    def _entry(self, request: BatchRequest, result: Completion | CallError) -> Entry:
        entry = _entry(self._batch, request, self._try(result), self._reading)
        without_text = (request.query_id, request.content_sha) in self._without_text
        return _without_grade(entry) if without_text else entry

    def _try(self, result: Completion | CallError) -> Try:
        if isinstance(result, CallError):
            return failed_try(result)
        ours = Usage(None, None, written(result.choices, self._count), None)
        usage, notes = plausible(result.usage, ours) if result.usage else (None, ())
        cost = self._price.cost(usage, batch=True) if self._price and usage else None
        return tries_of(result, cost, self._reading, notes)[0]

    def _known_without_text(self, requests: Iterable[BatchRequest]) -> set[tuple[str, str]]:
        """The query_id and content_sha of requests about passages without text, which earlier versions of quati-pool
        sent. Their pairs now have the label ``no_text``."""
        query_ids = sorted({request.query_id for request in requests})
        batch = self._batch
        labels = self._store.current(batch.collection, batch.labeler_id, batch.version, query_ids)
        return {(label.query_id, label.content_sha) for label in labels if label.status is State.no_text}


def _entry(batch: Batch, request: BatchRequest, answered: Try, reading: Reading) -> Entry:
    verdict = answered.verdict
    extra = label_extra(request.extra.get("shown_characters"), details_of(answered, reading))
    label = Label(
        collection=batch.collection,
        labeler_id=batch.labeler_id,
        kind="judge",
        version=batch.version,
        query_id=request.query_id,
        doc_id=request.doc_id,
        content_sha=request.content_sha,
        sample=request.sample,
        status=verdict.status,
        relevance=verdict.relevance,
        rationale=verdict.rationale or verdict.problem,
        extra=extra,
        reading=reading.version,
    )
    sharers = [replace(label, doc_id=doc_id, rationale=None) for doc_id in request.extra.get("twins", ())]
    # The provider does not report the time of an answer, which would not be a latency anyway.
    attempt = attempt_of(1, answered, batch.endpoint)
    attempt = replace(attempt, seconds=None, extra={**attempt.extra, "batch": batch.batch_id})
    return Entry(label=label, attempts=(attempt,), sharers=tuple(sharers))


def _without_grade(entry: Entry) -> Entry:
    """The entry of an answer about a passage without text: it was paid for and is kept, but gives no grade."""

    def no_text(label: Label) -> Label:
        return replace(label, status=State.no_text, relevance=None, rationale=None, extra={}, reading=None)

    return replace(entry, label=no_text(entry.label), sharers=tuple(map(no_text, entry.sharers)))
