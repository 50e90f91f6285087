"""What a retriever and a reranker are: a parameter model, an index in a folder, and a search.

A component never decides where its index lies or whether it is current; the build step gives it a
folder, keyed by ``index_key`` and the corpus, and calls ``search`` with it. Work that takes hours, and is
done in shards, lies in folders of ``Context.grow``.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from quati_pool.corpus.store import CorpusStore
from quati_pool.files.artifacts import Counts, digest, file_digest
from quati_pool.processes.base import Engine
from quati_pool.records import Query, Run
from quati_pool.retrieval.planning import Estimate, Work

Progress = Callable[[int, int], None]
"""Called with (done, total) as work goes on, from the calling thread."""


class Parameters(BaseModel):
    """What a user may set of a component; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Hits(NamedTuple):
    """Scored pairs in any order: positions in the queries asked, corpus ordinals, scores; shape (n,)."""

    query: npt.NDArray[np.int64]
    doc: npt.NDArray[np.int64]
    score: npt.NDArray[np.floating[Any]]


def no_hits() -> Hits:
    """Hits of queries that match nothing."""
    return Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


E = TypeVar("E", bound=AbstractContextManager[Any])


@dataclass(frozen=True)
class ComponentEnvironment:
    """Where a component stands: the workspace's folder, to which its paths are relative; the seed; and the
    SHA-256 of a file, which the workspace remembers."""

    folder: Path = Path()
    seed: int = 0
    digest: Callable[[Path], str] = file_digest


@dataclass
class Context:
    """What components of one build share: where progress and notes go, engines that are started once, folders
    for long work, which the build keeps in the workspace and which here last as long as the context, and what
    opens an engine whose workers encode a corpus; None where this process does."""

    progress: Progress = lambda done, total: None
    note: Callable[[str], None] = lambda line: None
    workers: Callable[[], Engine] | None = None
    _engines: dict[type, Any] = field(default_factory=dict)
    _exit: ExitStack = field(default_factory=ExitStack)
    _place: Path | None = None
    _finished: set[Path] = field(default_factory=set)

    def resumable_folder(
        self,
        corpus: CorpusStore,
        name: str,
        key: Mapping[str, Any],
        fill: Callable[[Path], Counts],
        *,
        unit: str = "passages",
        paid: bool = False,
    ) -> Path:
        """A folder of finished work: the same for the same corpus, ``name`` and ``key``.

        Where the work is not finished, ``fill(folder)`` goes on with what lies there, which may be what a
        killed command left, and returns its counts, such as ``{"passages": 1000}``; ``unit`` is what it
        counts by ``progress``. One process at a time works on it. ``paid`` work is kept even where the user
        asks for everything anew.
        """
        folder = self._folder(corpus, name, key)
        if folder not in self._finished:
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder)
            self._finished.add(folder)
        return folder

    def finished_folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path | None:
        """The same folder where its work is finished already, else None."""
        folder = self._folder(corpus, name, key)
        return folder if folder in self._finished else None

    def _folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path:
        if self._place is None:
            self._place = Path(tempfile.mkdtemp(prefix="quati-pool-"))
            weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        return self._place / f"{name}-{digest([str(corpus.folder.absolute()), dict(key)])[:16]}"

    def engine(self, kind: type[E]) -> E:
        """The build's one engine of this kind (a Lucene process, say), started on first use."""
        if kind not in self._engines:
            self._engines[kind] = self._exit.enter_context(kind())
        engine: E = self._engines[kind]
        return engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.__exit__(kind, error, trace)
        self._engines.clear()


class Component(ABC):
    """What retrievers and rerankers have in common; most keep an index of the corpus."""

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``retriever/bm25``, wherever its code lies. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give other results, so that caches are not reused."""

    index_identity: ClassVar[str | None] = None
    """What an index that several components share is called, with a revision of its own, such as ``index/lsa@1``;
    None where the index is the component's alone."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]

    encodes: ClassVar[str | None] = None
    """The name of the ``Context.grow`` folders of a component that has a model make something of texts or pairs."""

    def __init__(self, parameters: Any, environment: ComponentEnvironment | None = None) -> None:
        self.parameters = parameters
        self.environment = environment or ComponentEnvironment()

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where a package this component needs is not installed."""

    def inputs(self) -> list[str]:
        """Files the component reads besides the corpus, relative to the workspace."""
        return []

    def fetch(self, note: Callable[[str], None]) -> None:
        """Gets what the component needs from elsewhere, such as a model that ``pool.yaml`` names; ``note``
        takes a line on it. Called before any work.

        Raises QuatiPoolError for what cannot be: a model that there is not, a key that is missing.
        """

    def inspect(self, note: Callable[[str], None]) -> None:
        """Refuses what ``fetch`` would refuse, as far as that is known at once: without the network, without reading
        a model's weights, and without writing anything; ``note`` takes a line on what would be downloaded.

        Raises QuatiPoolError.
        """

    def index_key(self) -> dict[str, Any] | None:
        """Everything besides the corpus that changes the index: parameters, seed, engine versions.

        None where the component keeps no index. Components of one ``index_identity`` share an index where
        their keys agree. Raises QuatiPoolError where it cannot be known before ``fetch``.
        """
        return None

    def search_key(self) -> dict[str, Any]:
        """What changes the scores over the same index, without one all that changes them."""
        return {}

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Name and key of each ``Context.grow`` folder that holds something of every passage of a corpus, so
        that a plan can tell how far it has come."""
        return []

    def encoded_as(self) -> Any:
        """What tells what is encoded of a corpus from what others encode, even where the model is not here: equal
        for components that share it. None where nothing is shared. For plans."""
        return None

    def index(self, corpus: CorpusStore, folder: Path, context: Context) -> None:
        """Writes the index of ``corpus`` into the empty ``folder``."""

    def estimate(self, work: Work) -> Estimate:
        """What the work would take, offline and within some two seconds; an empty estimate says nothing."""
        return Estimate()


class Retriever(Component):
    """Finds documents of a corpus for queries."""

    @abstractmethod
    def search(self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: Context) -> Hits:
        """At least ``depth`` hits a query where there are as many, ties at the cut-off included."""


class Reranker(Component):
    """Scores given documents for queries anew."""

    @abstractmethod
    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: Context
    ) -> npt.NDArray[np.floating[Any]]:
        """A new score for every row of ``run``, shape (n,); ``run.query`` is the position in ``queries``."""
