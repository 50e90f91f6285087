"""Writes the files of batches: a judge's open requests, split by the provider's limits on a file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from quati_pool.commands.judge.judging_queue import JudgingQueue
from quati_pool.files.artifacts import sync
from quati_pool.judging.prompted_model import Task
from quati_pool.judging.served_model import ServedModel
from quati_pool.llm.batches import Batches
from quati_pool.store.records import Batch, BatchRequest

# OpenAI accepts 50,000 requests and 200 MB per file.
_REQUESTS = 50_000
_BYTES = 190_000_000


class BatchFile:
    """A batch's file of requests; it gets its final name once it is ``finished``."""

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

    def finished(self) -> BatchFile:
        self._file.close()
        sync(self._partial)
        os.replace(self._partial, self._path)
        sync(self._path.parent)
        return self


def batch_files(
    queue: JudgingQueue, model: ServedModel, api: Batches, folder: Path, output: str, limit: int | None
) -> Iterator[BatchFile]:
    """Writes files of requests for at most ``limit`` pairs of the queue, and yields each once it is finished."""
    file: BatchFile | None = None
    for task in _first(queue.tasks(), limit):
        content, cut = queue.shown(task)
        extra = {"shown_characters": cut, "twins": queue.sharers(task)}
        for sample in task.samples:
            file = file or _new_file(queue, model, folder, output)
            custom_id = f"{len(file.requests):06d}"
            file.write(
                api.line(custom_id, model.request(task.pair, sample)),
                BatchRequest(
                    custom_id=custom_id,
                    query_id=task.pair.query_id,
                    doc_id=task.pair.doc_id,
                    content_sha=content,
                    sample=sample,
                    extra=extra,
                ),
            )
            if file.full:
                yield file.finished()
                file = None
    if file is not None:
        yield file.finished()


def _first(chunks: Iterator[list[Task]], limit: int | None) -> Iterator[Task]:
    """At most ``limit`` tasks, one by one; no further chunk is read."""
    left = limit
    for tasks in chunks:
        yield from tasks[:left]
        left = None if left is None else max(0, left - len(tasks))
        if left == 0:
            return


def _new_file(queue: JudgingQueue, model: ServedModel, folder: Path, output: str) -> BatchFile:
    key = uuid.uuid4().hex
    batch = Batch(
        key=key,
        collection=queue.grading.config.name,
        labeler_id=queue.name,
        version=queue.version,
        endpoint=model.endpoint.name,
        extra={"output": output, "aliases": model.prompt.answer.aliases},
        created_at=datetime.now(UTC),
    )
    folder.mkdir(parents=True, exist_ok=True)
    return BatchFile(batch, folder / f"{key}.jsonl")
