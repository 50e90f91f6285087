"""The tasks of a worker: one phase of one shard, or one output file. The result of a task is a folder or file that is
renamed into place; a task does nothing if its result already exists."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quati_pool.commands.prepare.dropped import PhaseOutput, ShardDrops
from quati_pool.commands.prepare.pipeline_plan import Link, Phase, phases, pipeline, steps_key
from quati_pool.commands.prepare.rows import Rows, RowWriter, save_left
from quati_pool.commands.prepare.step_counts import Example, StepCount, count_drops, example_order
from quati_pool.errors import InputError
from quati_pool.files.artifacts import file_digest, naming, stale, sync, write_file
from quati_pool.preparation.base import KEPT, Cutter, Filter, GlobalFilter, Reading, Shard, Sink, Source
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.config import PrepareConfig
from quati_pool.preparation.deduplication.comparison_arrays import KeyFiles
from quati_pool.records import Int

META = "meta.json"
DROPPED = "dropped.jsonl"
KEYS = "keys"
_TICK_SECONDS = 0.5


class ShardTask(NamedTuple):
    """The task of running phase ``phase`` on shard ``number``, with the result in ``folder``. ``before`` is the output
    of the previous phase, None for the first phase; ``steps`` is the key of all steps."""

    config: PrepareConfig
    steps: str
    phase: int
    number: int
    shard: Shard
    folder: Path
    before: PhaseOutput | None


class WriteTask(NamedTuple):
    """The task of writing one output file. ``stretches`` gives, per shard, the range of the rows left that go into the
    file. A file with the key ``former`` has the same content."""

    config: PrepareConfig
    steps: str
    place: int
    stretches: tuple[tuple[Rows, int, int], ...]
    path: Path
    key: dict[str, Any]
    former: dict[str, Any]
    provenance: dict[str, Any]


_links_built: dict[tuple[Path, str], list[Link]] = {}


def _links(config: PrepareConfig, steps: str) -> list[Link]:
    """The steps, built once per process, since some load models. Raises InputError if their key is not ``steps``."""
    known = config.path, steps
    if known not in _links_built:
        _links_built.clear()
        links = pipeline(config)
        if steps_key(links) != steps:
            raise InputError(config.path, None, "a list that it names was changed meanwhile; run the command again")
        _links_built[known] = links
    return _links_built[known]


def run_shard(task: ShardTask) -> None:
    """Writes the folder of one phase of one shard. Raises QuatiPoolError as the steps do."""
    if task.folder.exists():
        return
    links = _links(task.config, task.steps)
    phase = phases(links, [])[task.phase]
    partial = task.folder.with_name(f".partial-{task.folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with naming(task.folder):
            _ShardRun(task, phase, links[0], partial).run()
            for file in sorted(partial.rglob("*")):
                sync(file)
            sync(partial)
        try:
            os.rename(partial, task.folder)
        except OSError:
            # Another worker may have finished the same result first.
            if not task.folder.exists():
                raise
        sync(task.folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        tick_file(task.folder).unlink(missing_ok=True)


def tick_file(folder: Path) -> Path:
    """The file in which a running task reports how many bytes it has read."""
    return folder.with_name(f".tick-{folder.name}")


class _ShardRun:
    def __init__(self, task: ShardTask, phase: Phase, source: Link, folder: Path) -> None:
        self._task = task
        self._phase = phase
        self._source = source
        self._folder = folder
        self._counts: dict[str, StepCount] = {}
        self._notes: list[str] = []
        self._ticked = 0.0

    def run(self) -> None:
        end = self._phase.end
        links = [link for link in self._phase.links if not isinstance(link.step, Source)]
        left: list[Int] = []
        rows = 0
        with ExitStack() as stack:
            writer = stack.enter_context(RowWriter(self._folder)) if self._phase.rewrites else None
            keys = stack.enter_context(KeyFiles(self._folder / KEYS)) if isinstance(end.step, GlobalFilter) else None
            for start, positions in self._incoming():
                batch, positions = self._through(links, start, positions)
                if not len(batch):
                    continue
                rows += len(batch)
                if writer:
                    writer.append(batch)
                else:
                    left.append(positions)
                if isinstance(end.step, GlobalFilter) and keys:
                    keys.append(self._timed(end, lambda step=end.step, batch=batch: step.keys(batch)))
                else:
                    count = self._count(end)
                    count.enter(batch)
                    count.leave(batch)
        if not self._phase.rewrites:
            save_left(self._folder, left)
        meta = {
            "rows": rows,
            "inputs": self._inputs(),
            "notes": self._notes,
            "counts": {label: count.data() for label, count in self._counts.items()},
        }
        (self._folder / META).write_text(json.dumps(meta, ensure_ascii=False), encoding="utf-8")

    def _count(self, link: Link | PhaseOutput) -> StepCount:
        return self._counts.setdefault(link.label, StepCount())

    def _timed(self, link: Link, work: Any) -> Any:
        start = time.perf_counter()
        result = work()
        self._count(link).seconds += time.perf_counter() - start
        return result

    def _place(self, batch: Batch, row: int) -> str:
        return f"{self._task.shard.parts[int(batch.file[row])].path}:{int(batch.line[row])}"

    def _incoming(self) -> Iterator[tuple[Batch, Int]]:
        """The rows, with their numbers in the folder where they are stored: pages as they are read, or the rows that
        the previous phase left, without those that its global filter drops."""
        if self._task.before is None:
            yield from self._read()
        else:
            yield from self._stored(self._task.before)

    def _read(self) -> Iterator[tuple[Batch, Int]]:
        step = self._source.step
        assert isinstance(step, Source)
        count = self._count(self._source)
        parts = self._task.shard.parts

        def refuse(reason: int, file: int, line: int, excerpt: str) -> None:
            count.rows_in += 1
            count.pages_in += 1
            place = f"{parts[file].path}:{line}"
            count.drop(step.reasons[reason - 1], Example(example_order(place), "", "", place, "", excerpt[:1000]))

        reading = Reading(refuse, self._tick, self._notes)
        rows = 0
        pages = step.pages(self._task.shard, reading)
        while True:
            batch = self._timed(self._source, lambda: next(pages, None))
            if batch is None:
                return
            count.enter(batch)
            count.leave(batch)
            yield batch, np.arange(rows, rows + len(batch))
            rows += len(batch)

    def _stored(self, before: PhaseOutput) -> Iterator[tuple[Batch, Int]]:
        rows = before.rows(self._task.folder.name)
        stored = rows.positions()
        drops = ShardDrops(before, before.drops, self._task.number) if before.drops else None
        done = 0
        with ExitStack() as stack:
            record = (
                stack.enter_context((self._folder / DROPPED).open("w", encoding="utf-8"))
                if drops is not None and drops.compared
                else None
            )
            for batch in rows.batches():
                here = np.arange(done, done + len(batch))
                positions = here if stored is None else np.asarray(stored[done : done + len(batch)])
                done += len(batch)
                if drops is not None:
                    batch, positions = self._dropped(before, drops, batch, positions, here, record)
                yield batch, positions

    def _dropped(
        self, before: PhaseOutput, drops: ShardDrops, batch: Batch, positions: Int, numbers: Int, record: Any
    ) -> tuple[Batch, Int]:
        """The rows that the previous phase's global filter keeps, counted for that step."""
        count = self._count(before)
        count.enter(batch)
        codes = drops.codes(numbers)
        start = int(numbers[0]) if len(numbers) else 0
        count_drops(
            count,
            batch,
            codes,
            before.reasons,
            lambda row: self._place(batch, row),
            lambda row: drops.detail(start + row),
        )
        if record is not None:
            for row in np.flatnonzero(codes).tolist():
                place = {"step": before.label, "doc_id": batch.ids[row], "place": self._place(batch, row)}
                line = {**place, "reason": before.reasons[codes[row] - 1], **drops.kept(start + row)}
                record.write(json.dumps(line, ensure_ascii=False) + "\n")
        kept = codes == 0
        if not kept.all():
            batch, positions = batch.take(kept), positions[kept]
        count.leave(batch)
        return batch, positions

    def _through(self, links: Sequence[Link], batch: Batch, positions: Int) -> tuple[Batch, Int]:
        for link in links:
            step = link.step
            count = self._count(link)
            count.enter(batch)
            came = batch
            if isinstance(step, Cutter):
                batch, dropped = self._timed(link, lambda step=step, batch=batch: step.cut(batch))
                positions = np.arange(len(batch))
            elif isinstance(step, Filter):
                dropped = self._timed(link, lambda step=step, batch=batch: step.apply(batch))
                batch = step.enriched(batch)
                kept = dropped.codes == KEPT
                if not kept.all():
                    batch, positions = batch.take(kept), positions[kept]
            else:
                raise AssertionError(f"{link.label} neither filters nor cuts")
            count_drops(
                count,
                came,
                dropped.codes,
                step.reasons,
                lambda row, came=came: self._place(came, row),
                dropped.detail,
            )
            count.leave(batch)
        return batch, positions

    def _inputs(self) -> dict[str, str]:
        """The hashes of the files whose first part is in this shard."""
        if self._task.before is not None:
            return {}
        folder = self._task.config.folder
        return {part.path: file_digest(folder / part.path) for part in self._task.shard.parts if not part.start}

    def _tick(self, done: int) -> None:
        now = time.monotonic()
        if now - self._ticked >= _TICK_SECONDS:
            self._ticked = now
            tick_file(self._task.folder).write_text(str(done))


def write_rows(task: WriteTask) -> None:
    """Writes one file of a Sink with its sidecar, unless it exists and is up to date."""
    link = _links(task.config, task.steps)[task.place]
    step = link.step
    assert isinstance(step, Sink)

    def batches() -> Iterator[Batch]:
        for rows, start, stop in task.stretches:
            yield from rows.batches(start, stop)

    def fill(path: Path) -> dict[str, int]:
        step.write(path, batches())
        return {"rows": sum(stop - start for _, start, stop in task.stretches)}

    if stale(task.path, task.key) is not None and stale(task.path, task.former) is not None:
        write_file(task.path, task.key, task.provenance, fill)
