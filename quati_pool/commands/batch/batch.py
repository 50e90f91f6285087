"""``quati-pool batch``: a judge's questions handed in as files, and their answers collected a day later.

A batch's key is stored with all it asks before anything is sent, and travels with it as metadata: after a
crash at any point the provider is asked whether it has the batch, so that none is lost and none is made
twice. Pairs in an open batch are asked nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from quati_pool.commands.judge.judge import DEFAULT, ChosenJudge, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judging_queue import JudgingQueue, attempt_of, label_extra
from quati_pool.commands.llm_runs import heard
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import sync
from quati_pool.judging.llm import LlmJudge, Try, details_of, failed, tries_of
from quati_pool.judging.prompts import reading_of
from quati_pool.judging.verdict import Reading
from quati_pool.labels import failures
from quati_pool.labels.coverage import example_order
from quati_pool.llm.answers import Completion, Usage
from quati_pool.llm.batches import Batches, BatchState
from quati_pool.llm.budgeted_calls import plausible, written
from quati_pool.llm.faults import CallError, FatalError
from quati_pool.llm.secrets import variables
from quati_pool.llm.tokens import counting
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import FAILURES, State
from quati_pool.store.failed_answers import FailedAnswer, failed_answer
from quati_pool.store.records import Batch, BatchRequest, Entry, Label

# OpenAI takes 50,000 requests and 200 MB a file.
_REQUESTS = 50_000
_BYTES = 190_000_000
# Answers that are committed together.
_COMMIT = 500

T = TypeVar("T")


@dataclass(frozen=True)
class BatchRow:
    """A batch and how far it is; ``provider`` is None where the provider was not asked."""

    batch: Batch
    provider: BatchState | None


@dataclass(frozen=True)
class Collected:
    """What was collected: verdicts by state and by grade, in US dollars where all prices are known; ``example`` is
    one of those that are no grade."""

    judge: str
    rows: list[BatchRow]
    states: Counter[State]
    grades: Counter[int]
    cost: float | None
    example: FailedAnswer | None = None


class Desk:
    """A judge's batches at its provider, while no other process works for this judge."""

    def __init__(self, chosen: ChosenJudge, judge: LlmJudge, listener: Listener) -> None:
        self.grading = chosen.grading
        self.store = chosen.grading.store
        self.name = chosen.name
        self.judge = judge
        self.version = chosen.version
        self.listener = listener
        self._heard = heard(self.name, listener.say)
        self.folder = Workspace(self.grading.config.folder).batches / self.name

    async def submit(self, make: Callable[[], JudgingQueue], limit: int | None) -> list[Batch]:
        """Hands in what has no grade and is in no open batch."""
        held = variables(self.judge.options.extra_body)
        if held:
            raise ConfigError(
                f"extra_body holds ${{{held[0]}}}, and a batch's file is kept here and at the provider with its value; "
                f"drop it, or run: quati-pool judge {self.name}"
            )
        async with self.judge.client(self._heard) as client:
            api = Batches(client)
            # What an earlier crash left must be known before what is pending is.
            await self._resume(api)
            await client.prepare(self.judge.prompt.schema())
            made = []
            for draft in self._drafts(make(), api, limit, client.output):
                self.store.prepare_batch(draft.batch, draft.requests)
                made.append(await self._send(api, draft.batch))
                self.listener.say(f"batch {draft.batch.key[:8]}: {len(draft.requests):,} requests are handed in")
            return made

    def _drafts(self, pending: JudgingQueue, api: Batches, limit: int | None, output: str) -> Iterator[_Draft]:
        """Files of requests, each as large as the provider takes it."""
        left = limit
        draft: _Draft | None = None
        for tasks in pending.tasks():
            for task in tasks if left is None else tasks[:left]:
                content, cut = pending.shown(task)
                extra = {"shown_characters": cut, "twins": pending.twins(task)}
                for sample in task.samples:
                    draft = draft or self._draft(pending.version, output)
                    custom_id = f"{len(draft.requests):06d}"
                    draft.write(
                        api.line(custom_id, self.judge.request(task.pair, sample)),
                        BatchRequest(
                            custom_id=custom_id,
                            query_id=task.pair.query_id,
                            doc_id=task.pair.doc_id,
                            content_sha=content,
                            sample=sample,
                            extra=extra,
                        ),
                    )
                    if draft.full:
                        yield draft.finished()
                        draft = None
            left = None if left is None else max(0, left - len(tasks))
            if left == 0:
                break
        if draft is not None:
            yield draft.finished()

    def _draft(self, version: str, output: str) -> _Draft:
        key = uuid.uuid4().hex
        endpoint = self.judge.endpoint.name
        batch = Batch(
            key=key,
            collection=self.grading.config.name,
            labeler_id=self.name,
            version=version,
            endpoint=endpoint,
            extra={"output": output, "aliases": self.judge.prompt.answer.aliases},
            created_at=datetime.now(UTC),
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        return _Draft(batch, self.folder / f"{key}.jsonl")

    async def _send(self, api: Batches, batch: Batch) -> Batch:
        """Uploads a stored batch and makes it, or finds out that this was done before."""
        path = self.folder / f"{batch.key}.jsonl"
        try:
            file_id = batch.file_id or await api.find_file(path.name) or await api.upload(path, path.name)
            self.store.update_batch(batch.key, file_id=file_id)
            state = await api.create(file_id, batch.key)
        except CallError as error:
            if error.kind == "rejected":
                self._abandon(batch, f"{self.judge.endpoint.name} does not take it ({error.words})")
            raise
        return self._submitted(batch, state)

    def _abandon(self, batch: Batch, why: str) -> None:
        """Gives a batch up, so that its pairs may be asked elsewhere."""
        self.store.update_batch(batch.key, status="abandoned")
        (self.folder / f"{batch.key}.jsonl").unlink(missing_ok=True)
        self.listener.say(f"batch {batch.key[:8]} is given up: {why}; its pairs are free to be asked again")

    async def _state(self, api: Batches, batch: Batch) -> BatchState | None:
        """How far a submitted batch is; None where the provider does not know it, which gives it up, or
        where it lies at another address than the judge has now."""
        assert batch.batch_id is not None
        here = self.judge.endpoint.name
        if batch.endpoint != here:
            self.listener.say(
                f"batch {batch.key[:8]} lies at {batch.endpoint}, not at {here}; set base_url to collect it"
            )
            return None
        try:
            return await api.retrieve(batch.batch_id)
        except CallError as error:
            if error.status != 404:
                raise
            self._abandon(batch, f"{here} does not know it ({error.words})")
            return None

    def _submitted(self, batch: Batch, state: BatchState) -> Batch:
        self.store.update_batch(batch.key, batch_id=state.batch_id, status="submitted")
        (self.folder / f"{batch.key}.jsonl").unlink(missing_ok=True)
        return replace(batch, batch_id=state.batch_id, status="submitted")

    async def _resume(self, api: Batches) -> None:
        """Finishes what a crash left between storing a batch and knowing the provider's id of it."""
        for batch in self._open():
            if batch.status != "prepared" or batch.endpoint != self.judge.endpoint.name:
                continue
            found = await api.find(batch.key)
            if found is not None:
                self._submitted(batch, found)
            elif batch.file_id or (self.folder / f"{batch.key}.jsonl").exists():
                await self._send(api, batch)
            else:
                self._abandon(batch, "it was never sent, and its file is gone")
        known = {batch.key for batch in self._open() if batch.status == "prepared"}
        for stray in self.folder.glob("*.jsonl"):
            if stray.stem not in known:
                stray.unlink(missing_ok=True)

    def _open(self) -> list[Batch]:
        return self.store.batches(self.grading.config.name, self.name, open_only=True)

    async def collect(self) -> Collected:
        """Stores the verdicts of all batches that are over."""
        states: Counter[State] = Counter()
        grades: Counter[int] = Counter()
        costs: list[float | None] = []
        example: FailedAnswer | None = None
        seen: dict[str, BatchState | None] = {}
        async with self.judge.client(self._heard) as client:
            api = Batches(client)
            await self._resume(api)
            for batch in self._open():
                seen[batch.key] = state = await self._state(api, batch) if batch.batch_id else None
                if state is None or not state.over:
                    continue
                async for entry in self._answers(api, batch, state):
                    label = entry.label
                    states[label.status] += 1
                    if label.status in FAILURES:
                        ids = (label.query_id, label.doc_id)
                        this = failed_answer(*ids, label.status, label.rationale, entry.attempts[-1])
                        example = min(example or this, this, key=example_order)
                    if label.relevance is not None:
                        grades[label.relevance] += 1
                    costs += [attempt.cost for attempt in entry.attempts]
        known = [cost for cost in costs if cost is not None]
        cost = sum(known) if len(known) == len(costs) else None
        stored = self.store.batches(self.grading.config.name, self.name)
        rows = [BatchRow(batch, seen[batch.key]) for batch in stored if batch.key in seen]
        example = example and failures.without_thoughts(example, self.judge.reading.thoughts)
        return Collected(self.name, rows, states, grades, cost, example)

    async def _answers(self, api: Batches, batch: Batch, state: BatchState) -> AsyncIterator[Entry]:
        """The entries of a batch that is over, each committed before it is given out."""
        requests = self.store.batch_requests(batch.key)
        waiting = {request.custom_id: request for request in requests if not request.collected}
        collected = {request.custom_id for request in requests if request.collected}
        strangers = 0
        definition = self.store.definition(batch.version) or {}
        price = self.judge.price(definition.get("model"))
        output = str(batch.extra.get("output", "text"))
        reading = self._reading(batch, definition)
        empty = self._without_text(batch, waiting.values())
        entries: list[Entry] = []
        marks: list[tuple[str, str]] = []
        count = counting(self.judge.parameters.model)
        for file_id in filter(None, (state.output_file_id, state.error_file_id)):
            async for custom_id, result in api.results(file_id, output):
                request = waiting.pop(custom_id, None) if custom_id is not None else None
                if request is None or custom_id is None:
                    strangers += custom_id not in collected
                    continue
                if isinstance(result, Completion):
                    answered = Usage(None, None, written(result.choices, count), None)
                    usage, notes = plausible(result.usage, answered) if result.usage else (None, ())
                    paid = price.cost(usage, batch=True) if price and usage else None
                    made = tries_of(result, paid, reading, notes)[0]
                else:
                    made = failed(result)
                entry = _entry(batch, request, made, reading)
                entries.append(_graded_nothing(entry) if (request.query_id, request.content_sha) in empty else entry)
                marks.append((batch.key, custom_id))
                if len(entries) == _COMMIT:
                    self.store.append(entries, marks)
                    for entry in entries:
                        yield entry
                    entries, marks = [], []
        self.store.append(entries, marks)
        for entry in entries:
            yield entry
        self.store.update_batch(batch.key, status="collected")
        if strangers:
            self.listener.say(f"batch {batch.key[:8]}: lines that answer none of its requests, not read: {strangers:,}")
        if waiting:
            why = f": {state.problem}" if state.problem else ""
            self.listener.say(
                f"batch {batch.key[:8]} is {state.status}{why}; {len(waiting):,} of its requests have no answer, "
                f"and are asked with the next  quati-pool batch submit {self.name}"
            )

    def _without_text(self, batch: Batch, requests: Iterable[BatchRequest]) -> set[tuple[str, str]]:
        """Query_id and content_sha of requests about passages without text, as an earlier quati-pool sent them, whose
        pairs are known as that by now."""
        query_ids = sorted({request.query_id for request in requests})
        known = self.store.current(batch.collection, batch.labeler_id, batch.version, query_ids)
        return {(label.query_id, label.content_sha) for label in known if label.status is State.no_text}

    def _reading(self, batch: Batch, definition: Mapping[str, Any]) -> Reading:
        """How the answers to a batch are read: as the judge reads now, or as it did where it has another prompt."""
        if batch.version == self.version:
            return self.judge.reading
        return reading_of(definition["prompt"], batch.extra.get("aliases", ()), self.judge.reading.thoughts)

    async def rows(self) -> list[BatchRow]:
        """All batches of the judge; the open ones as the provider sees them."""
        seen: dict[str, BatchState | None] = {}
        if self._open():
            async with self.judge.client(self._heard) as client:
                api = Batches(client)
                await self._resume(api)
                for batch in self._open():
                    seen[batch.key] = await self._state(api, batch) if batch.batch_id else None
        stored = self.store.batches(self.grading.config.name, self.name)
        return [BatchRow(batch, seen.get(batch.key)) for batch in stored]

    def abandon(self, beginning: str) -> Batch:
        """Gives the open batch up whose key begins so; what it still answers is never read.

        Raises ConfigError where not one open batch begins so.
        """
        found = [batch for batch in self._open() if batch.key.startswith(beginning)]
        if len(found) != 1:
            there = ", ".join(batch.key[:8] for batch in self._open()) or "none"
            raise ConfigError(f"{len(found)} open batches of {self.name} begin with {beginning!r}; there are: {there}")
        self._abandon(found[0], "as told")
        return found[0]


class _Draft:
    """A batch's file while it is written."""

    def __init__(self, batch: Batch, path: Path) -> None:
        self.batch = batch
        self.requests: list[BatchRequest] = []
        self._path = path
        self._partial = path.with_name(f".partial-{path.name}")
        self._file = self._partial.open("wb")
        self._size = 0

    def write(self, line: bytes, request: BatchRequest) -> None:
        self._file.write(line)
        self._size += len(line)
        self.requests.append(request)

    @property
    def full(self) -> bool:
        return len(self.requests) >= _REQUESTS or self._size >= _BYTES

    def finished(self) -> _Draft:
        self._file.close()
        sync(self._partial)
        os.replace(self._partial, self._path)
        sync(self._path.parent)
        return self


def _entry(batch: Batch, request: BatchRequest, made: Try, reading: Reading) -> Entry:
    verdict = made.verdict
    extra = label_extra(request.extra.get("shown_characters"), details_of(made, reading))
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
    twins = [replace(label, doc_id=doc_id, rationale=None) for doc_id in request.extra.get("twins", ())]
    # How long an answer took is not told, and would be no latency.
    attempt = attempt_of(1, made, batch.endpoint)
    attempt = replace(attempt, seconds=None, extra={**attempt.extra, "batch": batch.batch_id})
    return Entry(label=label, attempts=(attempt,), sharers=tuple(twins))


def _graded_nothing(entry: Entry) -> Entry:
    """An answer about a passage without text is paid and kept, and gives no grade."""

    def without_grade(label: Label) -> Label:
        return replace(label, status=State.no_text, relevance=None, rationale=None, extra={}, reading=None)

    sharers = tuple(map(without_grade, entry.sharers))
    return replace(entry, label=without_grade(entry.label), sharers=sharers)


@contextmanager
def _desk(
    config_path: Path, name: str | None, listener: Listener, options: JudgeOptions
) -> Iterator[tuple[Desk, Callable[[], JudgingQueue]]]:
    with chosen_judge(config_path, name, options) as chosen:
        if not isinstance(chosen.judge, LlmJudge):
            raise ConfigError(f"{chosen.name} asks no model; run: quati-pool judge {chosen.name}")
        with chosen.alone(listener.say):

            def pending() -> JudgingQueue:
                chosen.read_again(listener)
                return chosen.pending(listener.say)

            yield Desk(chosen, chosen.judge, listener), pending


def submit(config_path: Path, name: str | None, listener: Listener, options: JudgeOptions = DEFAULT) -> list[Batch]:
    """Hands in the pairs that have no grade by a judge yet, ``options.limit`` at most."""
    with _desk(config_path, name, listener, options) as (desk, pending):
        return in_own_thread(lambda: desk.submit(pending, options.limit))


def status(config_path: Path, name: str | None, listener: Listener) -> list[BatchRow]:
    """All batches of a judge, and how far the open ones are."""
    with _desk(config_path, name, listener, DEFAULT) as (desk, _):
        return in_own_thread(desk.rows)


def abandon(config_path: Path, name: str | None, key: str, listener: Listener) -> Batch:
    """Gives up an open batch whose key begins with ``key``; the provider is not told, and may charge it."""
    with _desk(config_path, name, listener, DEFAULT) as (desk, _):
        return desk.abandon(key)


def collect(config_path: Path, name: str | None, listener: Listener) -> Collected:
    """Stores what the batches that are over have answered; running it again finds nothing more."""
    with _desk(config_path, name, listener, DEFAULT) as (desk, _):
        return in_own_thread(desk.collect)


def in_own_thread(work: Callable[[], Awaitable[T]]) -> T:
    """What ``work`` returns, from an event loop of its own, so that a notebook's is not in the way.

    Raises what it raises; a call that failed for good as FatalError.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    async def run() -> None:
        results.append(await work())

    def target() -> None:
        try:
            asyncio.run(run())
        except CallError as error:
            errors.append(FatalError(f"the provider's Batch API: {error.words}; run the same command again later"))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target, name="batch", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if errors:
        raise errors[0]
    return results[0]
