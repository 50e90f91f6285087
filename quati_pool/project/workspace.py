"""The paths of a workspace, each defined once, and what is cached of its input files."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from quati_pool.errors import InputError
from quati_pool.files.artifacts import file_digest, write_private
from quati_pool.files.runs import run_queries
from quati_pool.processes.threads import in_threads

A = TypeVar("A")

# Caches from which one might guess who is behind an anonymous run; only their owner may read them.
_PRIVATE = ("submissions",)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class Workspace:
    """The folder of a ``pool.yaml``, which also holds everything that the tool writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._memories: dict[Path, tuple[int | None, dict[str, Any]]] = {}

    def is_output(self, path: Path) -> bool:
        """Whether the tool writes this path; patterns for input files leave such paths out."""
        parts = Path(os.path.relpath(path, self.folder)).parts
        return parts[0] in ("runs", "qrels", "reports", "exports", "audits", "drafts", "cache") or parts == (
            self.pool.name,
        )

    def run(self, run_tag: str) -> Path:
        return self.folder / "runs" / f"{run_tag}.trec.gz"

    @property
    def pool(self) -> Path:
        return self.folder / "pool.jsonl.gz"

    def qrels(self, labeler: str) -> Path:
        return self.folder / "qrels" / f"{labeler}.qrels"

    def report(self, name: str) -> Path:
        return self.folder / "reports" / name

    def audit(self, judge: str, probe: str) -> Path:
        """The pairs that a judge is asked about in an audit, as a probe changed them."""
        return self.folder / "audits" / judge / f"{probe}.jsonl.gz"

    def near_duplicates(self, judge: str) -> Path:
        """The near-duplicates that a judge graded apart, as an audit lists them."""
        return self.folder / "audits" / judge / "near-duplicates.tsv"

    def export(self, format_name: str) -> Path:
        return self.folder / "exports" / format_name

    def corpus(self, fingerprint: str) -> Path:
        return self.folder / "cache" / "corpus" / fingerprint[:16]

    def index(self, engine: str, fingerprint: str) -> Path:
        return self.folder / "cache" / "indexes" / f"{engine}-{fingerprint[:16]}"

    def encodings(self, engine: str, fingerprint: str) -> Path:
        """The folder of a corpus's vectors, or of other long-running work that an interrupted build resumes."""
        return self.folder / "cache" / "encodings" / f"{engine}-{fingerprint[:16]}"

    def candidates(self, run_tag: str) -> Path:
        """A run deeper than ``run_depth``, which a reranker or a fusion reads."""
        return self.folder / "cache" / "candidates" / f"{run_tag}.trec.gz"

    def content_hashes(self, fingerprint: str) -> Path:
        """The file with the hash of what a judge is shown, for each pair of a pool."""
        return self.folder / "cache" / "shown" / f"{fingerprint[:16]}.arrow"

    def pool_view(self, fingerprint: str) -> Path:
        """The file with the pairs of a pool as annotators see them."""
        return self.folder / "cache" / "frames" / f"{fingerprint[:16]}.arrow"

    @property
    def explorers(self) -> Path:
        """The folder of the explorers that the annotator app shows to leads, by what they depend on."""
        return self.folder / "cache" / "explorers"

    @property
    def batches(self) -> Path:
        """The folder of batch files that are still to be sent."""
        return self.folder / "cache" / "batches"

    def drafts(self, name: str) -> Path:
        """What became of the drafts that a model was asked for, by the model's and their sources' name."""
        return self.folder / "drafts" / f"{name}.jsonl"

    def drafting(self, name: str) -> Path:
        """What a model wrote when it was asked for drafts, and what it was asked for; not to be paid for again."""
        return self.folder / "cache" / "drafts" / name

    def lock(self, name: str) -> Path:
        return self.folder / "cache" / "locks" / f"{name}.lock"

    def input_digest(self, path: Path) -> str:
        """The SHA-256 of an input file, cached by the file's size and modification time; raises InputError where
        ``path`` is not a file."""
        (digest,) = self.cached("hashes", {path: _stamp(path)}, self._hash)
        return digest

    def hash_inputs(self, paths: Iterable[Path]) -> None:
        """Caches the SHA-256 of many input files at once; those that do not exist are left out."""
        for _ in self.cached("hashes", {path: _stamp(path) for path in paths if path.is_file()}, self._hash):
            pass

    def run_queries(self, paths: Iterable[Path]) -> dict[Path, dict[str, list[str]]]:
        """For each run file, the run tags in it with their query_ids as ``files.runs.run_queries`` returns them, cached
        like ``input_digest``."""
        stamps = {path: _stamp(path) for path in paths}
        return dict(zip(stamps, self.cached("runs", stamps, run_queries), strict=True))

    def cached(self, kind: str, stamps: Mapping[Path, list[Any] | None], compute: Callable[[Path], A]) -> Iterator[A]:
        """Yields what ``compute`` returns for each file, data for JSON: from ``cache/<kind>.json`` where the file's
        stamp is as it was then, else computed in threads. What has no stamp is not cached, nor is anything where
        nothing may be written."""
        memory = self.folder / "cache" / f"{kind}.json"
        cached = self._memory(memory)
        names = {path: os.path.relpath(path, self.folder) for path in stamps}
        known = {
            path: entry[-1]
            for path, stamp in stamps.items()
            if stamp is not None and isinstance(entry := cached.get(names[path]), list) and entry[:-1] == stamp
        }
        computed = in_threads(compute, [path for path in stamps if path not in known])
        new: dict[str, list[Any]] = {}
        try:
            for path, stamp in stamps.items():
                value = known[path] if path in known else next(computed)
                if path not in known and stamp is not None:
                    new[names[path]] = [*stamp, value]
                yield value
        finally:
            if new:
                self._remember(memory, new)

    def _memory(self, path: Path) -> dict[str, Any]:
        """The cache in a file, read again only when the file has changed."""
        changed = path.stat().st_mtime_ns if path.exists() else None
        if path not in self._memories or self._memories[path][0] != changed:
            self._memories[path] = changed, _read(path)
        return self._memories[path][1]

    def _hash(self, path: Path) -> str:
        return file_digest(path)

    def _remember(self, memory: Path, entries: Mapping[str, list[Any]]) -> None:
        lock, partial = self.lock(memory.stem), memory.with_name(f".partial-{memory.name}")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(lock):
                text = json.dumps({**_read(memory), **entries}, indent=1)
                if memory.stem in _PRIVATE:
                    write_private(partial, text)
                else:
                    partial.write_text(text, encoding="utf-8")
                os.replace(partial, memory)
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in _READ_ONLY:
                return
            partial.unlink(missing_ok=True)
            raise


def _stamp(path: Path) -> list[Any] | None:
    """The size of a file and its modification time in nanoseconds; None for a file modified within the last two
    seconds, as it could change again without a new modification time."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError(path, None, "there is no such file; check the path") from None
    if path.is_dir():
        raise InputError(path, None, "is a folder; expected a file, or a glob such as folder/*.jsonl")
    settled = time.time_ns() - status.st_mtime_ns > 2_000_000_000
    return [status.st_size, status.st_mtime_ns] if settled else None


def _read(memory: Path) -> dict[str, Any]:
    """What is cached; empty where their file is missing or damaged."""
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
