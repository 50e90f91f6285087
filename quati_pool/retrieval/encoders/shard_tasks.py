"""Encoding a corpus by the workers of an engine: each task encodes one shard and leaves it as a file, and the
driver appends the files to the shards in order.

Shards and batches are those of encoding in one process, so with the same kind of device and as many threads the
bytes are the same. A file waits until all before it are appended, and is removed once it is appended itself: files
and arrays together never take more than the finished arrays and one shard.
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
from quati_pool.processes.base import Engine
from quati_pool.processes.local import usable_cores
from quati_pool.records import Int
from quati_pool.retrieval import base
from quati_pool.retrieval.encoders.encoding import Encoded, pieces
from quati_pool.retrieval.encoders.passage_encoding import PassageEncoding
from quati_pool.retrieval.models.loading import library_versions
from quati_pool.retrieval.models.parameters import ModelParameters, devices_of
from quati_pool.retrieval.shards import Shards

_PARTS = "parts"
_COUNTS, _ARRAY = "counts", "array."


@dataclass(frozen=True)
class Job:
    """What all tasks of one encoding share. ``model`` and ``corpus`` are folders, ``parts`` is the folder for the files
    of shards; ``versions`` are those of the libraries that the numbers depend on. ``threads`` is the number per worker;
    None where the user set it by OMP_NUM_THREADS, which workers inherit."""

    kind: type[PassageEncoding[Any]]
    parameters: ModelParameters
    model: Path
    corpus: Path
    parts: Path
    versions: Mapping[str, str]
    threads: int | None


class Task(NamedTuple):
    """A shard: the range of its passages among those to encode, and the ordinals of those that repeat no earlier
    text."""

    job: Job
    start: int
    end: int
    ordinals: Int


def task_name(task: Task) -> str:
    """A task's name, for errors."""
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
    """The next shards of the passages ``ordinals``, in order, each as its part of ``first``, the position of the first
    passage with the same text, and the encoded passages that are such a first; None where none is.

    A shard's file is removed when the next shard is asked for, so the caller must have stored it by then.
    """
    parts = shards.folder.absolute() / _PARTS
    parts.mkdir(parents=True, exist_ok=True)
    threads = None if "OMP_NUM_THREADS" in os.environ else max(usable_cores() // engine.workers, 1)
    model, store = component.folder().absolute(), corpus.folder.absolute()
    job = Job(type(component), component.parameters, model, store, parts, library_versions(), threads)
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
    """Runs all tasks that are not ``ready``, and adds each to it; yields before the first and after each."""
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
        # Every worker notes what one process would note once.
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
    """The positions of the tasks that need not be done: a killed command left their files, or they have no passage
    to encode. Removes all other files."""
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
    """Removes the files of shards from the folder of an encoding, where a killed command left some."""
    shutil.rmtree(folder / _PARTS, ignore_errors=True)


def _file(task: Task) -> Path:
    return task.job.parts / f"{task.start}-{task.end}.npz"


def _write(file: Path, encoded: Encoded) -> None:
    arrays, counts = encoded
    named = {_ARRAY + name: array for name, array in arrays.items()} | ({} if counts is None else {_COUNTS: counts})
    # A worker that was believed dead may be at the same shard: no two write to one file.
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


# The rest runs in the workers.


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
"""Locks on the devices that this worker has taken, held until it ends, however it ends."""


def shard_size(job: Job) -> int:
    """Passages of a shard, at most, on a device like this worker's."""
    return _open(job).component.shard_size(_open(job).encoder)


def encode_shard(task: Task) -> list[str]:
    """Writes a shard's file, and returns notes for the user.

    Raises QuatiPoolError as encoding in one process does, with the model and the doc_id.
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
    # Before another model comes in, this one goes.
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

        # Whatever OMP_NUM_THREADS is here: Ray sets it to 1.
        torch.set_num_threads(job.threads)
    parameters = job.parameters.model_copy(update={"device": _device(job.parameters)})
    component = job.kind(parameters)
    component.model_folder = job.model
    opened = _LoadedJob(job, component, CorpusStore(job.corpus))
    opened.encoder = component.load(job.model, opened.notes.append)
    _opened.append(opened)
    return opened


def _device(parameters: ModelParameters) -> str:
    """The device that the fewest workers have taken, of those the user names or of all GPUs of this machine."""
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
