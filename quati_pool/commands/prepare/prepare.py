"""``quati-pool prepare``: prepares a corpus from pages, phase by phase over all shards, on any engine.

The results of tasks are stored under ``cache/preparation``, keyed by the steps and the input: a killed command
continues when it is run again, and after a change of the last steps only these are run.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.commands.prepare.dropped import ListedShard, PhaseOutput, load_drops, save_drops, save_shards
from quati_pool.commands.prepare.pipeline_plan import Link, Phase, former_phases, phases, pipeline, steps_key
from quati_pool.commands.prepare.step_counts import StepCount
from quati_pool.commands.prepare.tasks import (
    DROPPED,
    KEYS,
    META,
    ShardTask,
    WriteTask,
    run_shard,
    tick_file,
    write_rows,
)
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, locked, sidecar
from quati_pool.preparation.base import Drops, GlobalFilter, Shard, Sink, Source, TaskPool
from quati_pool.preparation.config import PrepareConfig, load_prepare_config
from quati_pool.processes.base import Engine
from quati_pool.project.events import Listener, kept_if_stopped
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int
from quati_pool.text.durations import duration

_NOTES = 100
_MB = 1_000_000


@dataclass(frozen=True, eq=False)
class Written:
    """A corpus written by a Sink."""

    label: str
    folder: Path
    files: int
    rows: int


@dataclass(frozen=True, eq=False)
class Funnel:
    """The result of a preparation: the steps (``links``) and their counts, in order; the corpora written; notes for the
    user; the files that record which rows were dropped in favour of another row (``dropped``); the hashes of the input
    files."""

    config: PrepareConfig
    links: Sequence[Link]
    counts: Sequence[StepCount]
    written: Sequence[Written]
    notes: Sequence[str]
    dropped: Sequence[Path]
    inputs: dict[str, str]
    key: str


def prepare(path: Path, opened: Callable[[], Engine], listener: Listener) -> Funnel:
    """Runs a ``prepare.yaml`` and returns its funnel. ``opened`` opens the engine; it is called once the steps and the
    input are known to be valid.

    Raises InputError and ConfigError for invalid input or settings, EngineError if workers keep dying.
    """
    config = load_prepare_config(Path(os.path.abspath(path)))
    with locked(Workspace(config.folder).lock("prepare"), listener.say):
        links = pipeline(config)
        shards = _shards_of(config, links)
        with opened() as engine:
            return _Preparation(config, links, shards, engine, listener).run()


def _shards_of(config: PrepareConfig, links: Sequence[Link]) -> list[Shard]:
    source = links[0].step
    assert isinstance(source, Source)
    shards = source.shards()
    sinks = [link.step.folder for link in links if isinstance(link.step, Sink)]
    ours = {os.path.normpath(config.folder / place) for place in (*sinks, Path("cache"), Path("reports"))}
    for name in {part.path: None for shard in shards for part in shard.parts}:
        if ours.intersection(map(str, Path(os.path.normpath(config.folder / name)).parents)):
            raise InputError(config.path, None, f"read would read {name}, which is written here; narrow its path")
    return shards


class _Preparation:
    def __init__(
        self, config: PrepareConfig, links: Sequence[Link], shards: Sequence[Shard], engine: Engine, listener: Listener
    ) -> None:
        self._config = config
        self._links = links
        self._steps = steps_key(links)
        self._shards = shards
        self._engine = engine
        self._listener = listener
        self._place = config.folder / "cache" / "preparation"
        self._counts: dict[str, StepCount] = {}
        self._notes: dict[str, None] = {}
        self._inputs: dict[str, str] = {}
        self._dropped: list[Path] = []
        self._written: list[Written] = []

    def run(self) -> Funnel:
        shards = self._shards
        for link in self._links:
            for note in link.step.notes():
                self._note(f"{link.label}: {note}")
        keys = [digest([tuple(part) for part in shard.parts])[:24] for shard in shards]
        found = phases(self._links, keys)
        self._place.mkdir(parents=True, exist_ok=True)
        former = former_phases(self._links, keys)
        self._take_over(found, former)
        listed = self._place / f"shards-{digest(keys)[:16]}.json"
        save_shards(
            listed,
            [ListedShard(key, [part.path for part in shard.parts]) for key, shard in zip(keys, shards, strict=True)],
        )
        base = self._place
        before: PhaseOutput | None = None
        for phase, formerly in zip(found, former, strict=True):
            folder = self._place / phase.name
            self._clear(folder)
            base = folder if phase.rewrites else base
            rows = self._pass(phase, shards, keys, folder, before)
            if before is None:
                self._require_pages()
            here = PhaseOutput(folder, base, None, phase.end.label, tuple(phase.end.step.reasons), listed)
            if isinstance(phase.end.step, GlobalFilter):
                drops = self._compare(phase, folder, keys, rows)
                before = here._replace(drops=drops)
            else:
                self._write(phase, formerly, keys, rows, here)
                before = here
        return self._funnel(found[-1].key)

    def _take_over(self, found: Sequence[Phase], former: Sequence[Phase]) -> None:
        """Renames finished work from an earlier release, whose keys contained the module of each step."""
        for phase, before in zip(found, former, strict=True):
            folder = self._place / phase.name
            if not folder.exists() and (self._place / before.name).exists():
                os.rename(self._place / before.name, folder)
                self._listener.say(f"{phase.name}: taken over from {before.name}, which has its former name")

    def _require_pages(self) -> None:
        count = self._counts.get(self._links[0].label, StepCount())
        if not count.rows_out:
            refused = ", ".join(f"{reason}: {dropped:,}" for reason, dropped in count.dropped.items())
            seen = f"no page could be read ({refused})" if refused else "no page could be read: the files are empty"
            raise InputError(self._config.path, None, f"{seen}; check path, format and fields of the step read")

    def _note(self, line: str) -> None:
        if line not in self._notes:
            self._notes[line] = None
            if len(self._notes) <= _NOTES:
                self._listener.say(line)

    def _clear(self, folder: Path) -> None:
        """Removes the unfinished files of killed tasks; safe because the lock is held."""
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in [*folder.glob(".partial-*"), *folder.glob(".tick-*")]:
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)

    def _pass(
        self, phase: Phase, shards: Sequence[Shard], keys: Sequence[str], folder: Path, before: PhaseOutput | None
    ) -> list[int]:
        """Runs a phase over all shards; returns the number of rows left in each."""
        todo = [number for number, key in enumerate(keys) if not (folder / key).exists()]
        label = _label(phase)
        weights = [shard.weight if before is None else 1 for shard in shards]
        finished = sum(weights) - sum(weights[number] for number in todo)
        if len(todo) < len(shards):
            self._listener.say(f"{label}: {len(shards) - len(todo):,} of {_shards(len(shards))} finished before")
        tasks = [
            ShardTask(self._config, self._steps, phase.number, number, shards[number], folder / keys[number], before)
            for number in todo
        ]
        running = set(todo)

        def report() -> None:
            if before is not None:
                self._listener.progress(label, finished, len(shards), unit="shards")
                return
            read = sum(min(_ticked(folder / keys[number]), weights[number]) for number in running)
            # Rounded up, so that the work is finished exactly at its end.
            self._listener.progress(label, -(-(finished + read) // _MB), -(-sum(weights) // _MB), unit="MB")

        started = time.monotonic()

        def kept() -> str:
            there = sum((folder / key).exists() for key in keys)
            return f"{there:,} of {_shards(len(keys))} of the phase {label}" if there else ""

        with self._listener.stage(label), kept_if_stopped(kept):
            report()
            for position, _ in self._engine.run(run_shard, tasks, _task_name, report):
                number = todo[position]
                running.discard(number)
                finished += weights[number]
                report()
            rows = [self._gather(folder / key) for key in keys]
        if todo:
            seconds = time.monotonic() - started
            self._listener.say(
                f"{label}: {_shards(len(todo))} in {duration(seconds)}, {sum(rows):,} {phase.end.unit} left"
            )
        return rows

    def _gather(self, folder: Path) -> int:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        for label, count in meta["counts"].items():
            self._counts.setdefault(label, StepCount()).add(StepCount.of(count))
        for note in meta["notes"]:
            self._note(note)
        self._inputs |= meta["inputs"]
        if (folder / DROPPED).exists():
            self._dropped.append(folder / DROPPED)
        return int(meta["rows"])

    def _compare(self, phase: Phase, folder: Path, keys: Sequence[str], rows: Sequence[int]) -> Path:
        """Runs a phase's global filter; returns the folder of its drops, whose name depends on all shards."""
        step = phase.end.step
        assert isinstance(step, GlobalFilter)
        done = folder / f"drops-{digest(list(keys))[:16]}"
        work = folder / f"work-{digest(list(keys))[:16]}"
        if not done.exists():
            work.mkdir(exist_ok=True)

            def run(function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
                results = [None] * len(arguments)
                label = f"{phase.number + 1}. {phase.end.label}: {function.__name__.strip('_').replace('_', ' ')}"
                found = self._engine.run(function, arguments, lambda argument: label)
                for finished, (position, result) in enumerate(found, 1):
                    results[position] = result
                    self._listener.progress(label, finished, len(arguments), unit="tasks")
                return results

            started = time.monotonic()
            with self._listener.stage(f"{phase.number + 1}. {phase.end.label}: comparing {sum(rows):,} rows"):
                drops = step.decide([folder / key / KEYS for key in keys], rows, TaskPool(work, run))
            _check(phase.end.label, drops, rows)
            save_drops(done, drops)
            seconds = time.monotonic() - started
            self._listener.say(
                f"{phase.end.label}: {sum(rows):,} rows compared in {duration(seconds)}, {len(drops):,} to drop"
            )
        shutil.rmtree(work, ignore_errors=True)
        for note in step.outcome(sum(rows), len(load_drops(done))):
            self._note(f"{phase.end.label}: {note}")
        return done

    def _write(
        self, phase: Phase, formerly: Phase, keys: Sequence[str], rows: Sequence[int], here: PhaseOutput
    ) -> None:
        """Writes the files of a Sink, and removes files of an earlier run that are no longer part of the corpus."""
        step = phase.end.step
        assert isinstance(step, Sink)
        target = self._config.folder / step.folder
        target.mkdir(parents=True, exist_ok=True)
        ends = np.cumsum(rows)
        total = int(ends[-1]) if len(ends) else 0
        if not total:
            self._note(f"{phase.end.label}: nothing is left to write; --explain shows what the steps dropped")
        key, former = (
            {"rows": one.key, "shards": digest(list(keys)), "write": one.end.key} for one in (phase, formerly)
        )
        provenance = {"preparation": self._config.name, "seed": self._config.seed, "inputs": self._input_digest()}
        tasks = []
        for number in range(max(-(-total // step.rows), 1)):
            start, stop = number * step.rows, min((number + 1) * step.rows, total)
            stretches = []
            for shard in range(int(np.searchsorted(ends, start, side="right")), len(keys)):
                first = int(ends[shard]) - rows[shard]
                if first >= stop:
                    break
                low, high = max(start - first, 0), min(stop - first, rows[shard])
                if low < high:
                    stretches.append((here.rows(keys[shard]), low, high))
            path = target / step.name(number)
            tasks.append(
                WriteTask(
                    self._config,
                    self._steps,
                    self._links.index(phase.end),
                    tuple(stretches),
                    path,
                    {**key, "file": number},
                    {**former, "file": number},
                    provenance,
                )
            )
        for done, _ in enumerate(self._engine.run(write_rows, tasks, lambda task: str(task.path)), 1):
            self._listener.progress(f"{phase.number + 1}. writing {phase.end.label}", done, len(tasks), unit="files")
        _remove_others(target, {task.path for task in tasks})
        self._written.append(Written(phase.end.label, step.folder, len(tasks), total))

    def _input_digest(self) -> str:
        return digest(dict(sorted(self._inputs.items())))

    def _funnel(self, key: str) -> Funnel:
        counts = [self._counts.get(link.label, StepCount()) for link in self._links]
        if len(self._notes) > _NOTES:
            self._listener.say(f"{len(self._notes) - _NOTES:,} more such lines are in the report")
        return Funnel(
            self._config,
            self._links,
            counts,
            self._written,
            list(self._notes),
            self._dropped,
            dict(sorted(self._inputs.items())),
            digest([key, self._input_digest()]),
        )


def _remove_others(folder: Path, wanted: Collection[Path]) -> None:
    """Removes the files of ``folder`` that belong to an earlier corpus and are not in ``wanted``. The sidecar is
    removed last, so that it still marks its file if the command is killed in between."""
    for meta in sorted(folder.glob(sidecar(Path("*")).name)):
        path = meta.with_name(meta.name.removesuffix(".meta.json"))
        if path not in wanted and _is_of_a_corpus(meta):
            path.unlink(missing_ok=True)
            meta.unlink()


def _is_of_a_corpus(meta: Path) -> bool:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return "write" in json.loads(meta.read_text(encoding="utf-8"))["key"]
    return False


def _label(phase: Phase) -> str:
    first = phase.links[0].label if phase.links else phase.end.label
    return f"{phase.number + 1}. " + (first if first == phase.end.label else f"{first} to {phase.end.label}")


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count:,} shards"


def _task_name(task: ShardTask) -> str:
    parts = task.shard.parts
    more = f" and {len(parts) - 1:,} more" if len(parts) > 1 else ""
    return f"phase {task.phase + 1} of {parts[0].path}{more}"


def _ticked(folder: Path) -> int:
    with suppress(OSError, ValueError):
        return int(tick_file(folder).read_text())
    return 0


def _check(label: str, drops: Drops, rows: Sequence[int]) -> None:
    """Raises QuatiPoolError for drops that are out of order or refer to rows that do not exist, which a plug-in's step
    may return."""
    ascending = (np.diff(drops.shard) > 0) | ((np.diff(drops.shard) == 0) & (np.diff(drops.row) > 0))
    kept = drops.kept_shard >= 0
    if not (
        ascending.all()
        and _are_rows(drops.shard, drops.row, rows)
        and _are_rows(drops.kept_shard[kept], drops.kept_row[kept], rows)
    ):
        raise QuatiPoolError(
            f"the step {label} returns drops that are out of order or refer to rows that do not exist; fix that step"
        )


def _are_rows(shard: Int, row: Int, rows: Sequence[int]) -> bool:
    if not len(shard):
        return True
    if shard.min() < 0 or shard.max() >= len(rows) or row.min() < 0:
        return False
    return bool((row < np.asarray(rows)[shard]).all())
