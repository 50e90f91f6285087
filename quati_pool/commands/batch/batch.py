"""``quati-pool batch``: submits a judge's requests as files, and collects the answers up to a day later.

A batch's key is stored with all its requests before anything is sent, and is part of the batch's metadata. After a
crash at any point the provider is asked whether it has the batch, so that none is lost and none is created twice. Pairs
in an open batch are not asked about elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from quati_pool.commands.batch.batch_answers import BatchAnswers
from quati_pool.commands.batch.batch_files import batch_files
from quati_pool.commands.judge.chosen_judge import DEFAULT, ChosenJudge, JudgeOptions, chosen_judge
from quati_pool.commands.judge.judging_queue import JudgingQueue
from quati_pool.commands.llm_runs import heard
from quati_pool.errors import ConfigError
from quati_pool.judging.served_model import ServedModel
from quati_pool.labels import failures
from quati_pool.labels.coverage import example_order
from quati_pool.llm.batches import Batches, BatchState
from quati_pool.llm.faults import CallError, FatalError
from quati_pool.llm.secrets import variables
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import FAILURES, State
from quati_pool.store.failed_answers import FailedAnswer, failed_answer
from quati_pool.store.records import Batch, Entry

T = TypeVar("T")


@dataclass(frozen=True)
class BatchRow:
    """A batch and its state at the provider; ``provider`` is None if the provider was not asked or does not know it."""

    batch: Batch
    provider: BatchState | None


@dataclass(frozen=True)
class Collected:
    """The result of collecting: verdicts by state and by grade; ``cost`` in US dollars, None unless the cost of all
    answers is known; ``example`` is one of the answers without a grade."""

    judge: str
    rows: list[BatchRow]
    states: Counter[State]
    grades: Counter[int]
    cost: float | None
    example: FailedAnswer | None = None


class JudgeBatches:
    """A judge's batches at its provider; requires that no other process works for this judge."""

    def __init__(self, chosen: ChosenJudge, model: ServedModel, listener: Listener) -> None:
        self.grading = chosen.grading
        self.store = chosen.grading.store
        self.name = chosen.name
        self.model = model
        self.version = chosen.version
        self.listener = listener
        self._heard = heard(self.name, listener.say)
        self.folder = Workspace(self.grading.config.folder).batches / self.name

    async def submit(self, queue: Callable[[], JudgingQueue], limit: int | None) -> list[Batch]:
        """Submits the pairs that have no grade and are in no open batch."""
        held = variables(self.model.options.extra_body)
        if held:
            raise ConfigError(
                f"extra_body holds ${{{held[0]}}}, and a batch's file is kept here and at the provider with its value; "
                f"drop it, or run: quati-pool judge {self.name}"
            )
        async with self.model.client(self._heard) as client:
            api = Batches(client)
            # Batches left by an earlier crash must be known before the queue is read.
            await self._resume(api)
            await client.prepare(self.model.prompt.schema())
            submitted = []
            for file in batch_files(queue(), self.model, api, self.folder, client.output, limit):
                self.store.prepare_batch(file.batch, file.requests)
                submitted.append(await self._send(api, file.batch))
                self.listener.say(f"batch {file.batch.key[:8]}: submitting {len(file.requests):,} requests")
            return submitted

    async def _send(self, api: Batches, batch: Batch) -> Batch:
        """Uploads a stored batch and creates it at the provider, unless this was done before."""
        path = self.folder / f"{batch.key}.jsonl"
        try:
            file_id = batch.file_id or await api.find_file(path.name) or await api.upload(path, path.name)
            self.store.update_batch(batch.key, file_id=file_id)
            state = await api.create(file_id, batch.key)
        except CallError as error:
            if error.kind == "rejected":
                self._abandon(batch, f"{self.model.endpoint.name} does not take it ({error.words})")
            raise
        return self._submitted(batch, state)

    def _abandon(self, batch: Batch, why: str) -> None:
        """Gives a batch up, so that its pairs can be asked about again."""
        self.store.update_batch(batch.key, status="abandoned")
        (self.folder / f"{batch.key}.jsonl").unlink(missing_ok=True)
        self.listener.say(f"batch {batch.key[:8]} is abandoned: {why}; its pairs are free to be asked again")

    async def _state(self, api: Batches, batch: Batch) -> BatchState | None:
        """The state of a submitted batch. None if the provider does not know it, in which case it is given up, or if it
        was submitted to an endpoint other than the judge's current one."""
        assert batch.batch_id is not None
        here = self.model.endpoint.name
        if batch.endpoint != here:
            self.listener.say(
                f"batch {batch.key[:8]} was submitted to {batch.endpoint}, not to {here}; set base_url to collect it"
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
        """Completes batches that a crash left between being stored and being known by the provider's id."""
        for batch in self._open():
            if batch.status != "prepared" or batch.endpoint != self.model.endpoint.name:
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
        """Stores the verdicts of all finished batches."""
        states: Counter[State] = Counter()
        grades: Counter[int] = Counter()
        costs: list[float | None] = []
        example: FailedAnswer | None = None
        seen: dict[str, BatchState | None] = {}
        async with self.model.client(self._heard) as client:
            api = Batches(client)
            await self._resume(api)
            for batch in self._open():
                seen[batch.key] = state = await self._state(api, batch) if batch.batch_id else None
                if state is None or not state.over:
                    continue
                async for entry in self._collected(api, batch, state):
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
        example = example and failures.without_thoughts(example, self.model.reading.thoughts)
        return Collected(self.name, rows, states, grades, cost, example)

    async def _collected(self, api: Batches, batch: Batch, state: BatchState) -> AsyncIterator[Entry]:
        """The answers of a finished batch; each entry is committed before it is yielded."""
        answers = BatchAnswers(self.store, batch, state, self.model, self.version)
        name = f"batch {batch.key[:8]}"
        self.listener.progress(f"{name}: fetching answers", 0, 0)
        stored = 0
        async for entry in answers.entries(api):
            stored += 1
            self.listener.progress(f"{name}: storing answers", stored, batch.requests, unit="answers")
            yield entry
        self.store.update_batch(batch.key, status="collected")
        if answers.strangers:
            self.listener.say(f"{name}: {answers.strangers:,} lines answer none of its requests; not read")
        if answers.waiting:
            why = f": {state.problem}" if state.problem else ""
            self.listener.say(
                f"{name} is {state.status}{why}; {len(answers.waiting):,} of its requests have no answer, "
                f"and are asked with the next  quati-pool batch submit {self.name}"
            )

    async def rows(self) -> list[BatchRow]:
        """All batches of the judge; the open ones as the provider sees them."""
        seen: dict[str, BatchState | None] = {}
        if self._open():
            async with self.model.client(self._heard) as client:
                api = Batches(client)
                await self._resume(api)
                for batch in self._open():
                    seen[batch.key] = await self._state(api, batch) if batch.batch_id else None
        stored = self.store.batches(self.grading.config.name, self.name)
        return [BatchRow(batch, seen.get(batch.key)) for batch in stored]

    def abandon(self, beginning: str) -> Batch:
        """Gives up the open batch whose key begins with ``beginning``; its answers will not be read.

        Raises ConfigError unless exactly one open batch matches.
        """
        found = [batch for batch in self._open() if batch.key.startswith(beginning)]
        if len(found) != 1:
            there = ", ".join(batch.key[:8] for batch in self._open()) or "none"
            raise ConfigError(f"{len(found)} open batches of {self.name} begin with {beginning!r}; there are: {there}")
        self._abandon(found[0], "at your request")
        return found[0]


@contextmanager
def _batches(
    config_path: Path, name: str | None, listener: Listener, options: JudgeOptions = DEFAULT
) -> Iterator[tuple[JudgeBatches, Callable[[], JudgingQueue]]]:
    """A judge's batches, and a function that reads its queue."""
    with chosen_judge(config_path, name, options) as chosen:
        model = chosen.judge.model
        if not isinstance(model, ServedModel):
            asks = "no model" if model is None else "no server"
            raise ConfigError(f"{chosen.name} asks {asks}; run: quati-pool judge {chosen.name}")
        with chosen.alone(listener.say):

            def queue() -> JudgingQueue:
                chosen.read_again(listener)
                return chosen.pending(listener.say)

            yield JudgeBatches(chosen, model, listener), queue


def submit(config_path: Path, name: str | None, listener: Listener, options: JudgeOptions = DEFAULT) -> list[Batch]:
    """Submits the pairs that have no grade by a judge yet, at most ``options.limit``."""
    with _batches(config_path, name, listener, options) as (batches, queue):
        return in_own_thread(lambda: batches.submit(queue, options.limit))


def status(config_path: Path, name: str | None, listener: Listener) -> list[BatchRow]:
    """All batches of a judge, with the state of the open ones."""
    with _batches(config_path, name, listener) as (batches, _):
        return in_own_thread(batches.rows)


def abandon(config_path: Path, name: str | None, key: str, listener: Listener) -> Batch:
    """Gives up an open batch whose key begins with ``key``; the provider is not notified, and may charge for it."""
    with _batches(config_path, name, listener) as (batches, _):
        return batches.abandon(key)


def collect(config_path: Path, name: str | None, listener: Listener) -> Collected:
    """Stores the answers of the finished batches, each of which is collected only once."""
    with _batches(config_path, name, listener) as (batches, _):
        return in_own_thread(batches.collect)


def in_own_thread(work: Callable[[], Awaitable[T]]) -> T:
    """Runs ``work`` in an event loop in another thread, since a notebook already runs one in its own; returns its
    result.

    Raises the errors of ``work``, but FatalError for a call that failed for good.
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
