"""The interfaces of retrievers, rerankers and run files: a parameter model, an index in a folder, and a search.

A component does not decide where its index is kept or whether it is up to date: the command ``build`` gives it a
folder, keyed by ``index_key`` and the corpus, and passes that folder to ``search``. Work that takes hours is done in
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
from quati_pool.errors import ScoreError
from quati_pool.files.artifacts import Counts, digest, file_digest
from quati_pool.files.runs import RankContradictions
from quati_pool.processes.base import Engine
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.planning import Estimate, Workload

Progress = Callable[[int, int], None]
"""Called with (done, total) as work progresses, from the calling thread."""

Step = Callable[[str], None]
"""Called with a few words on what is done next, if nothing in it can be counted, such as ``loading the model``."""


class Parameters(BaseModel):
    """The parameters of a component that users may set; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Hits(NamedTuple):
    """Scored pairs in any order: positions in the list of queries, corpus ordinals and scores, shape (n,) each."""

    query: npt.NDArray[np.int64]
    doc: npt.NDArray[np.int64]
    score: npt.NDArray[np.floating[Any]]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, float]]) -> Hits:
        """Hits from rows of position of the query, corpus ordinal and score."""
        return cls(*map(np.array, zip(*rows, strict=True))) if rows else no_hits()


def checked_hits(run_tag: str, hits: Any, queries: int, passages: int) -> Hits:
    """Hits from code that is not ours, as arrays.

    Raises ScoreError unless they are three columns of one length, with known positions and no pair twice.
    """
    try:
        query, doc, score = map(np.asarray, hits)
    except (TypeError, ValueError):
        raise ScoreError(f"{run_tag}: its search returned {type(hits).__name__}; return Hits.of(rows)") from None
    if not (_ordinals(query, queries) and _ordinals(doc, passages) and query.shape == doc.shape == score.shape):
        raise ScoreError(
            f"{run_tag}: its search returned other than one query (0 to {queries - 1}), one passage (0 to "
            f"{passages - 1}) and one score per hit; fix it"
        )
    if score.dtype.kind not in "iuf" and score.size:
        raise ScoreError(f"{run_tag}: its search returned scores that are not numbers; fix it")
    if len(np.unique(query.astype(np.int64) * passages + doc)) < len(query):
        raise ScoreError(f"{run_tag}: its search returned a passage twice for a query; return each once")
    return Hits(query, doc, score)


def _ordinals(codes: npt.NDArray[Any], count: int) -> bool:
    whole = codes.dtype.kind in "iu" or not codes.size
    return codes.ndim == 1 and whole and bool(((codes >= 0) & (codes < count)).all())


def one_each(run: Run, values: Any, what: str) -> npt.NDArray[Any]:
    """``values`` as an array; raises ScoreError unless there is one for each row of ``run``."""
    array = np.asarray(values)
    if array.shape != (len(run),):
        raise ScoreError(f"{what} of shape {array.shape} for {len(run):,} documents; return one number for each")
    if array.dtype.kind not in "iuf" and array.size:
        raise ScoreError(f"{what} that are not numbers; return one number for each document")
    return array


def no_hits() -> Hits:
    """Empty hits."""
    return Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


E = TypeVar("E", bound=AbstractContextManager[Any])


@dataclass(frozen=True)
class ComponentEnvironment:
    """The environment of a component: the workspace's folder, to which paths are relative, the seed, and a function
    that returns the SHA-256 of a file, which the workspace caches."""

    folder: Path = Path()
    seed: int = 0
    digest: Callable[[Path], str] = file_digest


@dataclass
class Context:
    """What the components of one build share: callbacks for progress, steps and notes, services that are started once
    (``engine``), folders for long-running work, and ``workers``, which opens an engine whose workers encode a corpus
    (None: this process encodes it).

    In this class the folders last as long as the context; a build keeps them in the workspace."""

    progress: Progress = lambda done, total: None
    step: Step = lambda what: None
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
        """The folder of a piece of work, finished: the same folder for the same corpus, ``name`` and ``key``.

        If the work is not finished, ``fill(folder)`` continues from the content of the folder, possibly left by a
        killed command, and returns its counts, such as ``{"passages": 1000}``; ``unit`` is what ``progress`` counts.
        Only one process at a time works on a folder. ``paid`` work is kept even if the user asks for everything to be
        rebuilt.
        """
        folder = self._folder(corpus, name, key)
        if folder not in self._finished:
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder)
            self._finished.add(folder)
        return folder

    def finished_folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path | None:
        """The folder that ``resumable_folder`` would return if its work is already finished, else None."""
        folder = self._folder(corpus, name, key)
        return folder if folder in self._finished else None

    def _folder(self, corpus: CorpusStore, name: str, key: Mapping[str, Any]) -> Path:
        if self._place is None:
            self._place = Path(tempfile.mkdtemp(prefix="quati-pool-"))
            weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        return self._place / f"{name}-{digest([str(corpus.folder.absolute()), dict(key)])[:16]}"

    def engine(self, kind: type[E]) -> E:
        """The build's single service of this kind, such as a Lucene process, started on first use."""
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
    """The common base of retrievers and rerankers; most keep an index of the corpus."""

    id: ClassVar[str]
    """The component's name in all stored keys, such as ``retriever/bm25``, independent of its module. A plug-in without
    an id is named after its kind and its entry point, a class in a user's file after that file and itself."""

    revision: ClassVar[int] = 1
    """Incremented by hand when the same parameters start to give different results, so that caches are not reused."""

    index_identity: ClassVar[str | None] = None
    """The name and revision of an index that several components share, such as ``index/lsa@1``; None for an index that
    belongs to one component."""

    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    """Parameters as a pool.yaml could have them, such as ``k1: 0.9, b: 0.4``."""
    Parameters: ClassVar[type[BaseModel]] = Parameters

    encodes: ClassVar[str | None] = None
    """The ``name`` of the resumable folders in which a component keeps what its model computes from texts or pairs;
    None if it keeps nothing."""

    def __init__(self, parameters: Any, environment: ComponentEnvironment | None = None) -> None:
        self.parameters = parameters
        self.environment = environment or ComponentEnvironment()

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a package that this component needs is not installed."""

    def inputs(self) -> list[str]:
        """Files the component reads besides the corpus, relative to the workspace."""
        return []

    def fetch(self, note: Callable[[str], None]) -> None:
        """Fetches what the component needs from elsewhere, such as a model named in ``pool.yaml``, and reports it in
        lines to ``note``. Called before any work.

        Raises QuatiPoolError for what cannot be obtained: a model that does not exist, a missing API key.
        """

    def inspect(self, note: Callable[[str], None]) -> None:
        """Raises the QuatiPoolError that ``fetch`` would raise, as far as that can be known without using the network,
        reading a model's weights or writing anything; reports to ``note`` what would be downloaded."""

    def index_key(self) -> dict[str, Any] | None:
        """Everything except the corpus that changes the index: parameters, seed, library versions.

        None if the component keeps no index. Components with the same ``index_identity`` share an index if their keys
        are equal. Raises QuatiPoolError if the key is not known before ``fetch``.
        """
        return None

    def search_key(self) -> dict[str, Any]:
        """Everything that changes the scores computed with the same index or, without an index, everything that
        changes the scores."""
        return {}

    def encodings(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The name and key of each resumable folder that holds something for every passage of a corpus, from which a
        plan can tell how much is already done."""
        return []

    def encoded_as(self) -> Any:
        """A value that is equal for components that share the encoded corpus, even if the model is not on this machine;
        None if nothing is shared. Used by plans."""
        return None

    def index(self, corpus: CorpusStore, folder: Path, context: Context) -> None:
        """Writes the index of ``corpus`` into the empty ``folder``."""

    def estimate(self, work: Workload) -> Estimate:
        """An estimate of what the work takes, computed offline and within about two seconds; an empty estimate means
        that nothing is known."""
        return Estimate()


class Retriever(Component):
    """Finds documents of a corpus for queries."""

    @abstractmethod
    def search(self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], depth: int, context: Context) -> Hits:
        """The ``depth`` best hits per query and all that tie with the last of them; fewer if fewer documents match.

        Hits may be in any order, and there may be more of them."""


class RunSource(Component):
    """Provides the run of a system that ran elsewhere; its documents need not be in the corpus."""

    @abstractmethod
    def run(self, run_tag: str, queries: Ids, depth: int, context: Context) -> tuple[Run, RankContradictions]:
        """The run down to ``depth`` for those of ``queries`` that it has, over any vocabulary of documents; and where
        the ranks that it came with do not follow its scores."""


class Reranker(Component):
    """Computes new scores for the documents of a run."""

    @abstractmethod
    def rescore(
        self, corpus: CorpusStore, folder: Path, queries: Sequence[Query], run: Run, context: Context
    ) -> npt.NDArray[np.floating[Any]]:
        """A new score for every row of ``run``, shape (n,); ``run.query`` is the position in ``queries``."""
