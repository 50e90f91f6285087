"""What a retriever and a reranker are: a parameter model, an index in a folder, and a search.

A component never decides where its index is kept or whether it is current: the command ``build`` gives it a
folder, keyed by ``index_key`` and the corpus, and calls ``search`` with it. Work that takes hours is done in
shards, in folders from ``Context.resumable_folder``.
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
from quati_pool.retrieval.planning import Estimate, Workload

Progress = Callable[[int, int], None]
"""Called with (done, total) as work goes on, from the calling thread."""


class Parameters(BaseModel):
    """What a user may set of a component; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Hits(NamedTuple):
    """Scored pairs in any order: positions in the list of queries, corpus ordinals, scores; shape (n,)."""

    query: npt.NDArray[np.int64]
    doc: npt.NDArray[np.int64]
    score: npt.NDArray[np.floating[Any]]


def no_hits() -> Hits:
    """No hits at all."""
    return Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


E = TypeVar("E", bound=AbstractContextManager[Any])


@dataclass(frozen=True)
class ComponentEnvironment:
    """What surrounds a component: the workspace's folder, to which its paths are relative; the seed; and a function
    that gives the SHA-256 of a file, which the workspace caches."""

    folder: Path = Path()
    seed: int = 0
    digest: Callable[[Path], str] = file_digest


@dataclass
class Context:
    """What components of one build share: where progress and notes go, services that are started once (``engine``),
    folders for long work, and ``workers``, which opens an engine whose workers encode a corpus (None: this process
    encodes).

    Here the folders last as long as the context; a build keeps them in the workspace."""

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

        Where the work is not finished, ``fill(folder)`` continues from what the folder holds, which may be what a
        killed command left, and returns its counts, such as ``{"passages": 1000}``; ``unit`` is what ``progress``
        counts. One process at a time works on it. ``paid`` work is kept even where the user asks for everything
        to be built again.
        """
        folder = self._folder(corpus, name, key)
        if folder not in self._finished:
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder)
            self._finished.add(folder)
        return folder

    def finished_folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path | None:
        """That folder if its work is finished, else None."""
        folder = self._folder(corpus, name, key)
        return folder if folder in self._finished else None

    def _folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path:
        if self._place is None:
            self._place = Path(tempfile.mkdtemp(prefix="quati-pool-"))
            weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        return self._place / f"{name}-{digest([str(corpus.folder.absolute()), dict(key)])[:16]}"

    def engine(self, kind: type[E]) -> E:
        """The build's one service of this kind (a Lucene process, say), started on first use."""
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
    """Its name in everything stored, such as ``retriever/bm25``, wherever its code is. A plug-in without an id is
    named by its kind and its entry point."""

    revision: ClassVar[int] = 1
    """Raised by hand when the same parameters give other results than before, so that caches are not reused."""

    index_identity: ClassVar[str | None] = None
    """The name and revision of an index that several components share, such as ``index/lsa@1``; None where the
    index is the component's alone."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]

    encodes: ClassVar[str | None] = None
    """The ``name`` of the resumable folders in which a component keeps what its model computes of texts or pairs;
    None where it computes nothing to keep."""

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
        takes a line about it. Called before any work.

        Raises QuatiPoolError for what cannot be had: a model that does not exist, a missing API key.
        """

    def inspect(self, note: Callable[[str], None]) -> None:
        """Refuses what ``fetch`` would refuse, as far as that can be known without the network, without reading
        a model's weights, and without writing anything; ``note`` takes a line about what would be downloaded.

        Raises QuatiPoolError.
        """

    def index_key(self) -> dict[str, Any] | None:
        """Everything except the corpus that changes the index: parameters, seed, library versions.

        None where the component keeps no index. Components of one ``index_identity`` share an index where
        their keys agree. Raises QuatiPoolError where the key is not known before ``fetch``.
        """
        return None

    def search_key(self) -> dict[str, Any]:
        """What changes the scores over the same index; without an index, everything that changes them."""
        return {}

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Name and key of each resumable folder that holds something for every passage of a corpus, so that a plan
        can say how much of it is done."""
        return []

    def encoded_as(self) -> Any:
        """Equal for components that share what they encode of a corpus, even where the model is not on this machine;
        None where nothing is shared. For plans."""
        return None

    def index(self, corpus: CorpusStore, folder: Path, context: Context) -> None:
        """Writes the index of ``corpus`` into the empty ``folder``."""

    def estimate(self, work: Workload) -> Estimate:
        """What the work would take, found offline and within about two seconds; an empty estimate says nothing."""
        return Estimate()


class Retriever(Component):
    """Finds documents of a corpus for queries."""

    @abstractmethod
    def search(self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: Context) -> Hits:
        """The ``depth`` best hits per query, and all that tie with the last; fewer where fewer documents match.

        More may be returned, in any order."""


class Reranker(Component):
    """Gives the documents of a run new scores."""

    @abstractmethod
    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: Context
    ) -> npt.NDArray[np.floating[Any]]:
        """A new score for every row of ``run``, shape (n,); ``run.query`` is the position in ``queries``."""
