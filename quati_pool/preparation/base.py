"""What a step of preparation is. Each is one class behind the registry, with parameters and, where it drops
anything, reasons that are counted.

Steps see a shard's rows batch by batch, so memory stays flat. Where batches end depends on nothing but the
input, and no answer may depend on where they end. A ``Source`` gives pages; a ``Filter`` judges each row by
itself; a ``Cutter`` makes passages of pages; a ``GlobalFilter`` needs to know all rows before it drops any; a
``Sink`` writes what is left.
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
    """Where a step stands: the folder of ``prepare.yaml``, to which its paths are relative, and the seed."""

    folder: Path = Path()
    seed: int = 0


class Step(ABC):
    """What all steps share."""

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``preparation/url``, wherever its code lies. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give another outcome, so that finished work is not reused."""

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
        """What changes the outcome besides parameters: the seed where it is used, versions of engines, hashes of
        lists in files."""
        return {}

    @property
    def reasons(self) -> Sequence[str]:
        """What it may drop a row for, in the order of the funnel."""
        return ()

    def notes(self) -> Sequence[str]:
        """What the user should know of how it will work here, such as a rule that is off."""
        return ()


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a step drops: of each row ``KEPT`` or the place, from 1, of its reason in ``Step.reasons``, shape (n,).

    ``detail(row)`` says in a few words what was measured; it is asked of few rows.
    """

    codes: Codes
    detail: Callable[[int], str] = lambda row: ""


class Part(NamedTuple):
    """A stretch of a file: ``path`` relative to the folder of ``prepare.yaml`` (absolute where it was given so),
    from ``start`` to before ``end``, in bytes or row groups as its format has it; ``end`` None is the file's.
    Its first line has the number ``line``. ``modified`` is in nanoseconds."""

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
    """What the reading of a shard tells besides its pages."""

    refuse: Callable[[int, int, int, str], None] = lambda reason, file, line, excerpt: None
    """Takes a page that cannot be one: the place, from 1, of its reason; file and line as in ``Batch``; what it
    looked like."""

    tick: Callable[[int], None] = lambda done: None
    """Takes how many bytes of the shard's weight are read."""

    notes: list[str] = field(default_factory=list)
    """Lines that the user must see, such as a file that is cut off; each names the file and a remedy."""


class Source(Step):
    """Gives pages. There is one in a preparation, and it stands first."""

    @abstractmethod
    def shards(self) -> list[Shard]:
        """The work in pieces, whose order is that of the input; cut by the input alone.

        Raises InputError where there is nothing to read.
        """

    @abstractmethod
    def pages(self, shard: Shard, reading: Reading) -> Iterator[Batch]:
        """The pages of a shard, some hundreds at a time."""


class Filter(Step):
    """Judges each row by itself."""

    @abstractmethod
    def apply(self, batch: Batch) -> Verdicts: ...

    def learned(self, batch: Batch) -> Batch:
        """The same rows with what judging them told, such as their language; called after ``apply``."""
        return batch


class Cutter(Step):
    """Makes passages of pages."""

    @abstractmethod
    def cut(self, batch: Batch) -> tuple[Batch, Verdicts]:
        """The passages, and verdicts on the pages: those that gave none are dropped for a reason."""


Keys = Mapping[str, Array]
"""Arrays by name, each with a row for every row of a shard; memory-mapped."""


@dataclass(frozen=True, eq=False)
class Drops:
    """Rows that a comparison drops, by shard and row, ascending; columns of shape (n,).

    ``reason`` counts from 1 in ``Step.reasons``. ``kept_shard`` and ``kept_row`` say which row stays in its
    place, -1 where none does; ``similarity`` how alike the two are, NaN where that means nothing.
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
    """Where a comparison works: a folder of its own, which outlives a killed command, and ``run``, which calls a
    function of a module with each of many arguments, wherever the engine has a place free, and gives the results
    in order. Both function and arguments travel to other processes: a folder's path, not an array."""

    folder: Path
    run: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


class GlobalFilter(Step):
    """Drops rows by looking at all of them."""

    @abstractmethod
    def keys(self, batch: Batch) -> dict[str, Array]:
        """What must be known of each row, as arrays of n rows; the same names and types for every batch."""

    @abstractmethod
    def decide(self, shards: Sequence[Path], rows: Sequence[int], bench: TaskPool) -> Drops:
        """The rows to drop, of all shards in order. ``read_keys(shards[i])`` are the keys of shard i, ``rows[i]`` its
        number of rows. The answer must not depend on how the input is cut in shards."""

    def outcome(self, rows: int, dropped: int) -> Sequence[str]:
        """What the user should know of an answer that drops ``dropped`` of ``rows`` rows in all."""
        return ()


class Sink(Step):
    """Writes what is left at its place in the list, into files of ``rows`` rows; later steps go on from there."""

    rows: int

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where its files lie, relative to the folder of ``prepare.yaml``."""

    @abstractmethod
    def name(self, number: int) -> str:
        """The name of the file ``number``, from 0."""

    @abstractmethod
    def write(self, path: Path, batches: Iterator[Batch]) -> None:
        """Writes one file, the same bytes however its rows are cut in batches."""
