"""What a retriever and a reranker are: a parameter model, an index in a folder, and a search.

A component never decides where its index lies or whether it is current; the build step gives it a
folder, keyed by ``index_key`` and the corpus, and calls ``search`` with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from quati_pool.corpus.store import CorpusStore
from quati_pool.records import Query, Run

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


@dataclass
class Context:
    """What components of one build share: the workspace's folder, to which their paths are relative;
    the seed; where progress and notes go; and engines, started once."""

    folder: Path = Path()
    seed: int = 0
    progress: Progress = lambda done, total: None
    note: Callable[[str], None] = lambda line: None
    _engines: dict[type, Any] = field(default_factory=dict)
    _exit: ExitStack = field(default_factory=ExitStack)

    def engine(self, kind: type[E]) -> E:
        """The build's one engine of this kind (a Lucene process, say), started on first use."""
        if kind not in self._engines:
            self._engines[kind] = self._exit.enter_context(kind())
        engine: E = self._engines[kind]
        return engine

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.__exit__(kind, error, trace)
        self._engines.clear()


class Component(ABC):
    """What retrievers and rerankers have in common; most keep an index of the corpus."""

    version: ClassVar[int] = 1
    """Raised when the same parameters come to give other results, so that caches are not reused."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where a package this component needs is not installed."""

    def inputs(self) -> list[str]:
        """Files the component reads besides the corpus, relative to the workspace."""
        return []

    def index_key(self, seed: int) -> dict[str, Any] | None:
        """Everything besides the corpus that changes the index: parameters, seed, engine versions.

        None where the component keeps no index. Components of one module share an index where their
        keys agree.
        """
        return None

    def search_key(self) -> dict[str, Any]:
        """Parameters that change the scores over the same index."""
        return {}

    def index(self, corpus: CorpusStore, folder: Path, context: Context) -> None:
        """Writes the index of ``corpus`` into the empty ``folder``."""


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
