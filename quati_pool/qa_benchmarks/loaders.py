"""Tasks over what a loader reads from a benchmark's released files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from quati_pool.qa_benchmarks.base import Case, Task


class CaseLoader(Protocol):
    """What knows the cases of a folder, and what its benchmark calls its parts."""

    @property
    def settings(self) -> Mapping[str, str]:
        """What the settings of its cases mean, in words."""

    def cases(self, data: Path) -> list[Case]:
        """The cases that can be measured; raises MissingDataError where there are none."""

    def files(self, data: Path, case: Case) -> Sequence[Path]:
        """The files that a case is read from."""


L = TypeVar("L", bound=CaseLoader)


class LoaderTask(Task, Generic[L]):
    """A task whose cases and settings are those of ``loader``."""

    def __init__(self, loader: L) -> None:
        self._loader = loader

    def settings(self) -> Mapping[str, str]:
        """Those of the loader."""
        return self._loader.settings

    def cases(self, data: Path) -> list[Case]:
        """Those of the loader."""
        return self._loader.cases(data)

    def files(self, data: Path, case: Case) -> Sequence[Path]:
        """Those of the loader."""
        return self._loader.files(data, case)
