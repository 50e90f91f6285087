"""The base classes of question-answering benchmarks: released files, and tasks with cases to measure.

A retrieval task provides for each case a collection that ``build``, ``judge``, ``annotate`` and ``evaluate`` can
use. An answering task provides an ``AnswerTaskRun``: the questions, the answers of programs, the requests to a
language model, and the measures of answers. Neither runs a system or a model itself.
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
    from quati_pool.llm.answer_prompts import AnswerRequest
    from quati_pool.models.readers.base import ReaderAnswer, ReaderQuestion

SPLITS = ("train", "validation", "test")


class MissingDataError(QuatiPoolError):
    """A released file is missing in the folder; the message says where to find it."""


class Case(NamedTuple):
    """A combination of split, language and setting that a task is measured on; ``setting`` is empty where the task has
    only one."""

    split: str
    language: str
    setting: str = ""


class Topic(NamedTuple):
    """A query of a collection; ``cluster_id`` names its group of related questions, ``drafted_by`` the program that
    drafted it; empty if there is none."""

    query_id: str
    query: str
    cluster_id: str = ""
    drafted_by: str = ""


@dataclass(frozen=True, eq=False)
class Collection:
    """A retrieval task's corpus (doc_id, text), queries and qrels (query_id, doc_id, relevance).

    ``language`` is the language that the default systems analyse texts in. ``units`` maps each passage to the id of
    the text it was cut from; measures are then computed for both.
    """

    passages: Sequence[tuple[str, str]]
    queries: Sequence[Topic]
    qrels: Sequence[tuple[str, str, int]]
    language: str
    units: Mapping[str, str] | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """The results of one system on one case: ``measures`` over the ``n`` questions it answered.

    An undefined measure is None, with its reason in ``undefined``. Where questions are unanswered, ``bounds``
    holds a measure's value if all of these were wrong and if all were right. ``extra`` holds further keys of
    the row's JSON.
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
    """The questions of one case, and how answers to them are obtained and measured; an answer is any value that
    ``rows`` can measure."""

    case: Case
    ids: Sequence[str]
    """The unique id of every question."""
    dropped: Sequence[str] | AbstractSet[str] = ()
    """Ids of released questions without a right answer; predictions for them are ignored."""
    for_models: bool = True
    """Whether a model is asked; False where its requests would be the same as in another case."""
    for_readers: bool = True
    """Whether readers answer; False where their questions would be the same as in another case."""
    notes: Sequence[str] = ()
    EMPTY: ClassVar[Any] = ""
    """The answer that counts for a question without a prediction."""

    @property
    def label(self) -> str:
        """The case in words."""
        return " ".join(filter(None, self.case))

    @abstractmethod
    def programs(self) -> Mapping[str, Mapping[str, Any]]:
        """The answers of programs that need no model, by program and question id; a missing id is unanswered."""

    @abstractmethod
    def request(self, question_id: str) -> AnswerRequest:
        """The request to a language model."""

    @abstractmethod
    def prediction(self, question_id: str, value: Any) -> Any:
        """The answer in a value of a predictions file; raises ValueError, with the fault and what was expected."""

    def reader_question(self, question_id: str) -> ReaderQuestion:
        """The question to a reader. Raises QuatiPoolError where readers cannot answer this task."""
        raise QuatiPoolError(f"no reader answers questions of this form ({question_id}); drop --reader")

    def from_reader(self, question_id: str, answer: ReaderAnswer) -> Any:
        """The answer in a reader's answer; raises ValueError, in a clause, for one of another form."""
        raise ValueError("cannot be measured here")

    @abstractmethod
    def rows(self, system: str, answers: Mapping[str, Any]) -> list[Row]:
        """The measures of a system's ``answers`` by question id, over the questions that it answered."""

    def extra_rows(self) -> list[Row]:
        """Rows that belong to no system, such as statistics on how the questions were built."""
        return []

    def files(self) -> Mapping[str, bytes]:
        """The contents of further files to keep, by name."""
        return {}


class Task(ABC):
    """One task of a benchmark."""

    name: str
    summary: ClassVar[str]

    def settings(self) -> Mapping[str, str]:
        """A description of each setting of its cases."""
        return {}

    @abstractmethod
    def cases(self, data: Path) -> list[Case]:
        """The cases that the folder has files for, in the order of the rows; raises MissingDataError if it has none."""

    def files(self, data: Path, case: Case) -> Sequence[Path]:
        """The files in the folder that a case is read from, whose hashes are recorded with the results."""
        return ()


class RetrievalTask(Task):
    """A task whose systems are retrievers."""

    measures: ClassVar[tuple[str, ...]] = ("nDCG@10",)
    curve: ClassVar[bool] = False
    """Whether success@k is plotted for k = 1…100, together with that of a random order."""
    cuts: ClassVar[tuple[str, ...]] = ()
    """The ways in which its texts can be cut into passages, if there is a choice."""

    @abstractmethod
    def collection(self, data: Path, case: Case) -> Collection:
        """The case's corpus, queries and qrels."""

    def cut_as(self, way: str) -> RetrievalTask:
        """The same task over passages that are cut in this one of its ``cuts``, under a name of its own."""
        raise NotImplementedError


class ReadingTask(RetrievalTask):
    """A retrieval task whose queries a model can answer from the passages that a system finds."""

    readers: ClassVar[tuple[int, ...]]
    """The numbers of best passages to read: the questions are asked once for each."""

    @abstractmethod
    def reading(self, data: Path, case: Case, k: int, passages: Mapping[str, Sequence[str]]) -> AnswerTaskRun:
        """The run in which each query is answered from the texts of its ``k`` best passages."""


class AnswerTask(Task):
    """A task whose systems answer questions."""

    @abstractmethod
    def task_run(self, data: Path, case: Case, seed: int) -> AnswerTaskRun:
        """The questions of a case; ``seed`` determines all random draws."""


class Parameters(BaseModel):
    """Empty, as benchmarks have no parameters; the registry expects this model of every component."""


class Benchmark:
    """A benchmark: its license, citation and source, and its tasks."""

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
