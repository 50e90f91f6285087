"""Encodes a corpus in the workers of an engine: each task encodes one shard and writes it to a file, and the driver
appends the files to the shards in order.

Shards and batches are the same as when encoding in one process, so that the same kind of device and number of threads
give the same bytes. A file waits until all files before it are appended, and is removed once it is appended itself:
files and arrays together never take more space than the finished arrays and one shard.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock, Timeout

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import ConfigError
from quati_pool.files.artifacts import put_file, sync
from quati_pool.models.loading import library_versions
from quati_pool.models.parameters import ModelParameters, devices_of
from quati_pool.processes.base import Engine
from quati_pool.processes.local import usable_cores
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders.encoding import Encoded, pieces
from quati_pool.retrieval.encoders.passage_encoding import PassageEncoding
from quati_pool.retrieval.shards import Shards

_PARTS = "parts"
_COUNTS, _ARRAY = "counts", "array."


@dataclass(frozen=True)
class Job:
    """The data that all tasks of one encoding share.

    ``model`` and ``corpus`` are folders, and ``parts`` is the folder for the shards' files. ``versions`` are those of
    the libraries on which the results depend. ``threads`` is the number of threads per worker; None if the user set it
    with OMP_NUM_THREADS, which workers inherit."""

    kind: type[PassageEncoding[Any]]
    parameters: ModelParameters
    model: Path
    corpus: Path
    parts: Path
    versions: Mapping[str, str]
    threads: int | None


class Task(NamedTuple):
    """A shard to encode: the range of its passages among those to encode, and the ordinals of the passages in it that
    do not repeat an earlier text."""

    job: Job
    start: int
    end: int
    ordinals: Int


def task_name(task: Task) -> str:
    """The description of a task in error messages."""
    return f"encoding passages {task.start + 1:,} to {task.end:,} with {task.job.parameters.model}"


def encoded_by_workers(
    component: PassageEncoding[Any],
    corpus: CorpusStore,
    shards: Shards,
    ordinals: Int,
    first: Int,
    engine: Engine,
    context: base.Context,
) -> Generator[tuple[Int, Encoded | None]]:
    """Encodes the next shards of the passages ``ordinals`` and yields two things for each, in order: its part of
    ``first`` (for each passage, the position of the first passage with the same text), and the encoded passages that
    are themselves the first (None if none are).

    A shard's file is removed when the next shard is requested; the caller must have stored it by then.
    """
    parts = shards.folder.absolute() / _PARTS
    parts.mkdir(parents=True, exist_ok=True)
    threads = None if "OMP_NUM_THREADS" in os.environ else max(usable_cores() // engine.workers, 1)
    model, store = component.folder().absolute(), corpus.folder.absolute()
    job = Job(type(component), component.parameters.for_passages(), model, store, parts, library_versions(), threads)
    context.step("loading the model")
    [(_, size)] = engine.run(shard_size, [job], lambda job: f"loading {job.parameters.model}")
    tasks = list(_tasks(job, corpus, ordinals, first, shards.passages, size))
    ready = _left_before(parts, tasks)
    turn = 0
    with closing(_results(tasks, ready, len(ordinals), engine, context)) as finished:
        for _ in finished:
            while turn in ready:
                task = tasks[turn]
                yield first[task.start : task.end], _read(_file(task)) if len(task.ordinals) else None
                _file(task).unlink(missing_ok=True)
                turn += 1


def _results(
    tasks: Sequence[Task], ready: set[int], passages: int, engine: Engine, context: base.Context
) -> Generator[None]:
    """Runs all tasks that are not in ``ready``, adding each when it is done; yields before the first and after each."""
    todo = [place for place, task in enumerate(tasks) if place not in ready]
    done = passages - sum(tasks[place].end - tasks[place].start for place in todo)

    def report() -> None:
        context.progress(done, passages)

    report()
    yield
    said: set[str] = set()
    for position, notes in engine.run(encode_shard, [tasks[place] for place in todo], task_name, report):
        task = tasks[todo[position]]
        ready.add(todo[position])
        done += task.end - task.start
        # Every worker sends the same notes, which the user should see only once.
        for line in notes:
            if line not in said:
                context.note(line)
        said.update(notes)
        report()
        yield


def _tasks(job: Job, corpus: CorpusStore, ordinals: Int, first: Int, start: int, size: int) -> Iterator[Task]:
    for some, _ in pieces(corpus, ordinals, start, size):
        end = start + len(some)
        fresh = np.flatnonzero(first[start:end] == np.arange(start, end))
        yield Task(job, start, end, some if len(fresh) == len(some) else some[fresh])
        start = end


def _left_before(parts: Path, tasks: Sequence[Task]) -> set[int]:
    """The positions of the tasks that need not be run, because a killed command left their files or because they have
    no passage to encode. Removes all other files."""
    wanted = {_file(task).name: place for place, task in enumerate(tasks) if len(task.ordinals)}
    ready = {place for place, task in enumerate(tasks) if not len(task.ordinals)}
    for file in list(parts.iterdir()):
        place = wanted.get(file.name)
        if place is not None and _whole(file):
            ready.add(place)
        else:
            file.unlink(missing_ok=True)
    return ready


def clear(folder: Path) -> None:
    """Removes the shards' files that a killed command may have left in the folder of an encoding."""
    shutil.rmtree(folder / _PARTS, ignore_errors=True)


def _file(task: Task) -> Path:
    return task.job.parts / f"{task.start}-{task.end}.npz"


def _write(file: Path, encoded: Encoded) -> None:
    arrays, counts = encoded
    named = {_ARRAY + name: array for name, array in arrays.items()} | ({} if counts is None else {_COUNTS: counts})
    # A worker that was believed dead may still work on the same shard, so each process writes to its own file.
    own = file.with_name(f"{socket.gethostname()}-{os.getpid()}.npz")
    put_file(own, lambda partial: np.savez(partial, **named))  # type: ignore[arg-type]
    os.replace(own, file)
    sync(file.parent)


def _read(file: Path) -> Encoded:
    with np.load(file, allow_pickle=False) as found:
        arrays = {name.removeprefix(_ARRAY): found[name] for name in found.files if name.startswith(_ARRAY)}
        return Encoded(arrays, found[_COUNTS] if _COUNTS in found.files else None)


def _whole(file: Path) -> bool:
    """Whether a shard's file is undamaged."""
    try:
        with zipfile.ZipFile(file) as found:
            return found.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


# The code below runs in the workers.


@dataclass
class _LoadedJob:
    """The model and the corpus of a job, kept from one task to the next."""

    job: Job
    component: PassageEncoding[Any]
    corpus: CorpusStore
    notes: list[str] = field(default_factory=list)
    encoder: Any = None


_opened: list[_LoadedJob] = []
_claims: dict[str, FileLock] = {}
"""Locks on the devices that this worker has taken; the operating system releases them when the worker ends."""


def shard_size(job: Job) -> int:
    """The maximum number of passages per shard on a device like this worker's."""
    return _open(job).component.shard_size(_open(job).encoder)


def encode_shard(task: Task) -> list[str]:
    """Encodes a shard, writes its file, and returns notes for the user.

    Raises the same QuatiPoolErrors as encoding in one process, with the model and the doc_id.
    """
    here = _open(task.job)
    texts = here.corpus.texts(task.ordinals)
    encoded = here.component.encode_passages(here.encoder, here.corpus, task.ordinals, texts, lambda done: None)
    _write(_file(task), encoded)
    notes, here.notes[:] = list(here.notes), []
    return notes


def _open(job: Job) -> _LoadedJob:
    if _opened and _opened[0].job == job:
        return _opened[0]
    # Frees the memory of the previous model before another one is loaded.
    _opened.clear()
    for what, place in (("model", job.model), ("corpus", job.corpus), ("folder", job.parts)):
        if not place.is_dir():
            raise ConfigError(
                f"the {what} {place} is not there on {socket.gethostname()}: all machines of a cluster need the "
                "workspace and the models under the same path; put both on a file system that they share"
            )
    if job.versions != library_versions():
        theirs, ours = (
            ", ".join(f"{name} {version}" for name, version in found.items())
            for found in (library_versions(), job.versions)
        )
        raise ConfigError(f"{socket.gethostname()} has {theirs}, and not {ours}; install the same versions everywhere")
    if job.threads is not None:
        import torch

        # Overrides OMP_NUM_THREADS, which Ray sets to 1.
        torch.set_num_threads(job.threads)
    parameters = job.parameters.model_copy(update={"device": _device(job.parameters)})
    component = job.kind(parameters)
    component.model_folder = job.model
    opened = _LoadedJob(job, component, CorpusStore(job.corpus))
    opened.encoder = component.load(job.model, opened.notes.append)
    _opened.append(opened)
    return opened


def _device(parameters: ModelParameters) -> str:
    """The device taken by the fewest workers, among those that the user names or all GPUs of this machine."""
    import torch

    devices = devices_of(parameters)
    if devices == ["cuda"]:
        devices = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if len(devices) == 1:
        return devices[0]
    user = os.getuid() if hasattr(os, "getuid") else 0
    for round_ in itertools.count():
        for device in devices:
            if device in _claims:
                return device
            claim = FileLock(Path(tempfile.gettempdir(), f"quati-pool-{user}-{device.replace(':', '-')}-{round_}.lock"))
            with suppress(Timeout):
                claim.acquire(timeout=0)
                _claims[device] = claim
                return device
    raise AssertionError("a count has no end")
