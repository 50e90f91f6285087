"""What a question-answering benchmark is: released files, and tasks that each give cases to measure.

A retrieval task gives for each case a collection, which ``build``, ``judge``, ``annotate`` and ``evaluate``
take like any other. An answering task gives an exam: its questions, what programs answer, what a language
model is asked, and how answers are measured. Neither runs a system or a model itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import BaseModel

from quati_pool.errors import QuatiPoolError

if TYPE_CHECKING:
    from quati_pool.qa_benchmarks.asking import Asked

SPLITS = ("train", "validation", "test")


class MissingDataError(QuatiPoolError):
    """A released file that the folder does not hold; the message says where it is released."""


class Case(NamedTuple):
    """What one row is about; ``setting`` is empty where a task has only one."""

    split: str
    language: str
    setting: str = ""


class Topic(NamedTuple):
    """A query of a collection; ``cluster_id`` names the related questions it belongs to, where there are."""

    query_id: str
    query: str
    cluster_id: str = ""


@dataclass(frozen=True, eq=False)
class Collection:
    """A retrieval task's corpus (doc_id, text), queries and qrels (query_id, doc_id, relevance).

    ``language`` is that in which the default systems read it. ``units`` gives each passage the id of the text
    it was cut from: figures are then given for both.
    """

    passages: Sequence[tuple[str, str]]
    queries: Sequence[Topic]
    qrels: Sequence[tuple[str, str, int]]
    language: str
    units: Mapping[str, str] | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """One system on one case: ``measures`` over the ``n`` questions it answered.

    An undefined measure is None, with its reason in ``undefined``. ``bounds`` holds, where questions are
    unanswered, what a measure would be with all of these wrong and all of them right. ``extra`` holds
    further keys of the row's JSON.
    """

    system: str
    case: Case
    n: int
    measures: Mapping[str, float | None]
    undefined: Mapping[str, str] = field(default_factory=dict)
    unanswered: int = 0
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class AnswerTaskRun(ABC):
    """The questions of one case; an answer is whatever its own ``rows`` can measure."""

    case: Case
    ids: Sequence[str]
    """Every question, by a unique id."""
    dropped: Sequence[str] | AbstractSet[str] = ()
    """Ids of released questions that have nothing to be measured by; predictions for them are left out."""
    for_models: bool = True
    """Whether a model is asked; False where it would be asked the same as in another case."""
    notes: Sequence[str] = ()
    EMPTY: ClassVar[Any] = ""
    """The answer that a question without a prediction counts as having."""

    @abstractmethod
    def programs(self) -> Mapping[str, Mapping[str, Any]]:
        """What systems without a model answer: for each its answers by id. An absent id is unanswered."""

    @abstractmethod
    def asked(self, question_id: str) -> Asked:
        """What a language model is asked."""

    @abstractmethod
    def prediction(self, question_id: str, value: Any) -> Any:
        """A value of a predictions file as an answer; raises ValueError (what is wrong; what was expected)."""

    @abstractmethod
    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """Measures over the questions that are answered."""

    def extra_rows(self) -> list[Row]:
        """Rows of no answerer, such as statistics of how the questions were made."""
        return []

    def files(self) -> Mapping[str, bytes]:
        """Further files worth keeping, by name."""
        return {}


class Task(ABC):
    """One task of a benchmark."""

    name: ClassVar[str]
    summary: ClassVar[str]

    def settings(self) -> Mapping[str, str]:
        """What the settings of its cases mean, in words."""
        return {}

    @abstractmethod
    def cases(self, data: Path) -> list[Case]:
        """What the folder holds, in the order of the rows; raises MissingDataError where that is nothing."""

    def files(self, data: Path, case: Case) -> Sequence[Path]:
        """The files in the folder that a case is read from, for the record of what figures come from."""
        return ()


class RetrievalTask(Task):
    """A task whose systems are retrievers."""

    measures: ClassVar[tuple[str, ...]] = ("nDCG@10",)
    curve: ClassVar[bool] = False
    """Whether success@k is drawn for k = 1…100, beside that of a random order."""

    @abstractmethod
    def collection(self, data: Path, case: Case) -> Collection:
        """The case's corpus, queries and qrels."""


class ReadingTask(RetrievalTask):
    """A retrieval task whose queries a model answers over what a system finds."""

    readers: ClassVar[tuple[int, ...]]
    """How many of the best passages are read, one exam for each."""

    @abstractmethod
    def reading(self, data: Path, case: Case, k: int, passages: Mapping[str, Sequence[str]]) -> AnswerTaskRun:
        """The exam of answering each query over the texts of its ``k`` best passages."""


class AnswerTask(Task):
    """A task whose systems answer questions."""

    @abstractmethod
    def exam(self, data: Path, case: Case, seed: int) -> AnswerTaskRun:
        """The case's questions."""


class Parameters(BaseModel):
    """A benchmark takes none; the registry asks every component for this model."""


class Benchmark:
    """Released files, their licence and source, and the tasks over them."""

    id: ClassVar[str]
    revision: ClassVar[int] = 1
    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    license: ClassVar[str]
    citation: ClassVar[str]
    source: ClassVar[str]
    Parameters: ClassVar[type[BaseModel]] = Parameters
    tasks: ClassVar[Mapping[str, Task]]
