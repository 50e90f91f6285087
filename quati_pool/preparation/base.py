"""The base classes for the steps of a preparation. A step is one registered class with parameters and, if it drops
rows, the reasons under which drops are counted.

Steps see a shard's rows batch by batch, so memory use stays constant. Batch boundaries depend only on the input, and
no result may depend on them. A ``Source`` reads pages; a ``Filter`` keeps or drops each row independently; a
``Cutter`` cuts pages into passages; a ``GlobalFilter`` needs to see all rows before it drops any; a ``Sink`` writes
the remaining rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quati_pool.files.yaml_file import Model
from quati_pool.preparation.batch import Batch
from quati_pool.records import Int

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int16]
KEPT = 0
T = TypeVar("T")


class Parameters(Model):
    """The parameters of a step that a user can set; every field has a description, which the listing shows."""


@dataclass(frozen=True)
class ComponentEnvironment:
    """The context of a step: the folder of ``prepare.yaml``, to which its paths are relative, and the seed."""

    folder: Path = Path()
    seed: int = 0


class Step(ABC):
    """The base class of all steps."""

    id: ClassVar[str]
    """The step's name in stored data, such as ``preparation/url``, independent of where its code is. A plug-in without
    an id is named by its kind and its entry point."""

    revision: ClassVar[int] = 1
    """Incremented by hand when the same parameters give a different outcome than before, so that finished work is not
    reused."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]

    def __init__(self, parameters: Any, environment: ComponentEnvironment | None = None) -> None:
        self.parameters = parameters
        self.environment = environment or ComponentEnvironment()

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a package that this step needs is not installed."""

    def check(self) -> None:
        """Raises ConfigError for parameters that cannot work; called before any work is done."""

    def key(self) -> dict[str, Any]:
        """Everything apart from the parameters that changes the outcome: the seed if it is used, versions of libraries,
        hashes of list files."""
        return {}

    @property
    def reasons(self) -> Sequence[str]:
        """The reasons for which the step may drop a row, in the order of the funnel."""
        return ()

    def notes(self) -> Sequence[str]:
        """Notes for the user on how the step will work, such as that a rule is off."""
        return ()


@dataclass(frozen=True, eq=False)
class DropReasons:
    """Why each row of a batch is dropped: ``codes``, shape (n,), holds ``KEPT`` or the position, from 1, of the reason
    in ``Step.reasons``.

    ``detail(row)`` describes briefly what was measured; it is called for a few rows only.
    """

    codes: Codes
    detail: Callable[[int], str] = lambda row: ""


class Part(NamedTuple):
    """A range of a file. ``path`` is relative to the folder of ``prepare.yaml``, or absolute if it was given so.
    ``start`` (inclusive) and ``end`` (exclusive; None for the end of the file) count bytes or row groups, depending
    on the format. ``line`` is the number of the first line of the range; ``size`` and ``modified`` (nanoseconds) are
    those of the file."""

    path: str
    start: int
    end: int | None
    size: int
    modified: int
    line: int = 1


class Shard(NamedTuple):
    """The input of one task: parts of files, in input order. ``weight`` is their size on disk in bytes."""

    parts: tuple[Part, ...]
    weight: int


@dataclass
class Reading:
    """Receives what the reading of a shard reports apart from its pages."""

    refuse: Callable[[int, int, int, str], None] = lambda reason, file, line, excerpt: None
    """Called for input that cannot become a page, with the position of the reason in ``Step.reasons``, from 1; the
    file and line as in ``Batch``; and an excerpt."""

    tick: Callable[[int], None] = lambda done: None
    """Called with the number of bytes read so far, out of the shard's weight."""

    notes: list[str] = field(default_factory=list)
    """Notes for the user, such as that a file is cut off; each names the file and a remedy."""


class Source(Step):
    """Reads pages. A preparation has exactly one source, as its first step."""

    @abstractmethod
    def shards(self) -> list[Shard]:
        """The shards of the input, in input order; their boundaries depend only on the input.

        Raises InputError if there is nothing to read.
        """

    @abstractmethod
    def pages(self, shard: Shard, reading: Reading) -> Iterator[Batch]:
        """The pages of a shard, in batches of a few hundred."""


class Filter(Step):
    """Keeps or drops each row independently of the others."""

    @abstractmethod
    def apply(self, batch: Batch) -> DropReasons:
        """Which rows of the batch to drop, and why."""

    def enriched(self, batch: Batch) -> Batch:
        """The same rows with what the filter has determined, such as their language; called after ``apply``."""
        return batch


class Cutter(Step):
    """Cuts pages into passages."""

    @abstractmethod
    def cut(self, batch: Batch) -> tuple[Batch, DropReasons]:
        """The passages, and the drop reasons of the pages that gave no passage."""


Keys = Mapping[str, Array]
"""Memory-mapped arrays by name, each with one row per row of a shard."""


@dataclass(frozen=True, eq=False)
class Drops:
    """The rows that a global filter drops, sorted by shard and row; columns of shape (n,).

    ``reason`` is a position in ``Step.reasons``, from 1. ``kept_shard`` and ``kept_row`` identify the row that is kept
    instead, -1 if there is none; ``similarity`` is the similarity of the two, NaN where it does not apply.
    """

    shard: Int
    row: Int
    reason: Codes
    kept_shard: Int
    kept_row: Int
    similarity: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.row)

    @staticmethod
    def of(
        shard: Int,
        row: Int,
        reason: int = 1,
        kept_shard: Int | None = None,
        kept_row: Int | None = None,
        similarity: npt.NDArray[Any] | None = None,
    ) -> Drops:
        """``Drops`` of rows given in any order, all with the same reason."""
        order = np.lexsort((row, shard))
        none = np.full(len(row), -1, dtype=np.int64)
        alike = np.full(len(row), np.nan, dtype=np.float32)
        return Drops(
            np.asarray(shard, dtype=np.int64)[order],
            np.asarray(row, dtype=np.int64)[order],
            np.full(len(row), reason, dtype=np.int16),
            (none if kept_shard is None else np.asarray(kept_shard, dtype=np.int64))[order],
            (none if kept_row is None else np.asarray(kept_row, dtype=np.int64))[order],
            (alike if similarity is None else np.asarray(similarity, dtype=np.float32))[order],
        )


@dataclass(frozen=True)
class TaskPool:
    """The working folder and the workers of a global filter. ``folder`` survives a killed command; ``run`` calls a
    module-level function with each of many arguments on the workers of the engine, and returns the results in order.
    Function and arguments are pickled, so pass the path of a folder rather than an array."""

    folder: Path
    run: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


class GlobalFilter(Step):
    """Drops rows after seeing all of them."""

    @abstractmethod
    def keys(self, batch: Batch) -> dict[str, Array]:
        """The keys that ``decide`` needs of each row, as arrays of n rows; names and types are the same for every
        batch."""

    @abstractmethod
    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """The rows to drop, over all shards in order. ``read_keys(shards[i])`` returns the keys of shard i, and
        ``rows[i]`` is its number of rows. The result must not depend on how the input is cut into shards."""

    def outcome(self, rows: int, dropped: int) -> Sequence[str]:
        """Notes for the user after ``dropped`` of ``rows`` rows in total have been dropped."""
        return ()


class Sink(Step):
    """Writes the rows that reach it into files of ``rows`` rows each; later steps continue with the same rows."""

    rows: int

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of the files, relative to that of ``prepare.yaml``."""

    @abstractmethod
    def name(self, number: int) -> str:
        """The name of file ``number``, counted from 0."""

    @abstractmethod
    def write(self, path: Path, batches: Iterator[Batch]) -> None:
        """Writes one file; its bytes must not depend on how the rows are cut into batches."""
