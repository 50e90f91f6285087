"""The kinds of steps of a preparation. A step is one class in the registry, with parameters and, where it drops rows,
reasons that are counted.

Steps see a shard's rows batch by batch, so memory stays flat. Where batches end depends only on the input, and no
result may depend on where they end. A ``Source`` reads pages; a ``Filter`` keeps or drops each row by itself; a
``Cutter`` cuts pages into passages; a ``GlobalFilter`` needs to see all rows before it drops any; a ``Sink`` writes
the rows that are left.
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
    """What a user may set of a step; every field has a description, shown by the listing."""


@dataclass(frozen=True)
class ComponentEnvironment:
    """What surrounds a step: the folder of ``prepare.yaml``, to which its paths are relative, and the seed."""

    folder: Path = Path()
    seed: int = 0


class Step(ABC):
    """What all steps share."""

    id: ClassVar[str]
    """Its name in everything stored, such as ``preparation/url``, wherever its code is. A plug-in without an id is
    named by its kind and its entry point."""

    revision: ClassVar[int] = 1
    """Raised by hand when the same parameters give another outcome than before, so that finished work is not reused."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]

    def __init__(self, parameters: Any, environment: ComponentEnvironment | None = None) -> None:
        self.parameters = parameters
        self.environment = environment or ComponentEnvironment()

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where a package this step needs is not installed."""

    def check(self) -> None:
        """Raises ConfigError for parameters that cannot be carried out; called before any work."""

    def key(self) -> dict[str, Any]:
        """What changes the outcome apart from the parameters: the seed where it is used, versions of libraries, hashes
        of lists in files."""
        return {}

    @property
    def reasons(self) -> Sequence[str]:
        """The reasons for which it may drop a row, in the order of the funnel."""
        return ()

    def notes(self) -> Sequence[str]:
        """Lines on how it will work that the user should know, such as a rule that is off."""
        return ()


@dataclass(frozen=True, eq=False)
class DropReasons:
    """Why each row of a batch is dropped: ``codes``, shape (n,), holds ``KEPT`` or the position, from 1, of the reason
    in ``Step.reasons``.

    ``detail(row)`` says in a few words what was measured; it is called for few rows only.
    """

    codes: Codes
    detail: Callable[[int], str] = lambda row: ""


class Part(NamedTuple):
    """A range of a file: ``path`` is relative to the folder of ``prepare.yaml`` (absolute where it was given so);
    ``start`` to before ``end`` counts bytes or row groups, depending on the format; None is the end of the file.
    ``line`` is the number of its first line, ``size`` and ``modified`` (nanoseconds) are those of the file."""

    path: str
    start: int
    end: int | None
    size: int
    modified: int
    line: int = 1


class Shard(NamedTuple):
    """What one task reads: parts of files, in the order of the input. ``weight`` is in bytes as on disk."""

    parts: tuple[Part, ...]
    weight: int


@dataclass
class Reading:
    """What reading a shard reports apart from its pages."""

    refuse: Callable[[int, int, int, str], None] = lambda reason, file, line, excerpt: None
    """Called for something that cannot be a page: the position of the reason, from 1; file and line as in ``Batch``;
    an excerpt."""

    tick: Callable[[int], None] = lambda done: None
    """Called with the number of bytes read, of the shard's weight."""

    notes: list[str] = field(default_factory=list)
    """Lines that the user must see, such as a file that is cut off; each names the file and a remedy."""


class Source(Step):
    """Reads pages. A preparation has one, as its first step."""

    @abstractmethod
    def shards(self) -> list[Shard]:
        """The input in shards, in the order of the input; where they are cut depends only on the input.

        Raises InputError where there is nothing to read.
        """

    @abstractmethod
    def pages(self, shard: Shard, reading: Reading) -> Iterator[Batch]:
        """The pages of a shard, in batches of some hundreds."""


class Filter(Step):
    """Keeps or drops each row by itself."""

    @abstractmethod
    def apply(self, batch: Batch) -> DropReasons:
        """Which rows of the batch to drop, and why."""

    def enriched(self, batch: Batch) -> Batch:
        """The same rows with what the filter has found out, such as their language; called after ``apply``."""
        return batch


class Cutter(Step):
    """Cuts pages into passages."""

    @abstractmethod
    def cut(self, batch: Batch) -> tuple[Batch, DropReasons]:
        """The passages, and why pages are dropped, which are those that gave no passage."""


Keys = Mapping[str, Array]
"""Arrays by name, each with one row per row of a shard; memory-mapped."""


@dataclass(frozen=True, eq=False)
class Drops:
    """Rows that a global filter drops, by shard and row, ascending; columns of shape (n,).

    ``reason`` counts from 1 in ``Step.reasons``. ``kept_shard`` and ``kept_row`` say which row is kept instead, -1
    where none is; ``similarity`` says how alike the two are, NaN where that means nothing.
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
        """Drops in any order, all for one reason."""
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
    """Where a global filter works: ``folder`` outlives a killed command; ``run`` calls a module's function with each of
    many arguments, on the workers of the engine, and returns the results in order. Function and arguments are pickled:
    pass the path of a folder, not an array."""

    folder: Path
    run: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


class GlobalFilter(Step):
    """Drops rows by looking at all of them."""

    @abstractmethod
    def keys(self, batch: Batch) -> dict[str, Array]:
        """What must be known of each row, as arrays of n rows; every batch has the same names and types."""

    @abstractmethod
    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """The rows to drop, of all shards in order. ``read_keys(shards[i])`` gives the keys of shard i, ``rows[i]`` its
        number of rows. The answer must not depend on how the input is cut into shards."""

    def outcome(self, rows: int, dropped: int) -> Sequence[str]:
        """Lines that the user should see where ``dropped`` of ``rows`` rows in all are dropped."""
        return ()


class Sink(Step):
    """Writes the rows that reach it into files of ``rows`` rows; later steps continue with the same rows."""

    rows: int

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of its files, relative to that of ``prepare.yaml``."""

    @abstractmethod
    def name(self, number: int) -> str:
        """The name of the file ``number``, from 0."""

    @abstractmethod
    def write(self, path: Path, batches: Iterator[Batch]) -> None:
        """Writes one file; its bytes do not depend on how the rows are cut into batches."""
