"""Tasks whose cases are read by a loader of a benchmark's released files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from quati_pool.qa_benchmarks.base import Case, Task


class CaseLoader(Protocol):
    """Finds the cases in a folder, and describes the settings of its benchmark."""

    @property
    def settings(self) -> Mapping[str, str]:
        """A description of each setting of its cases."""

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
        """The loader's settings."""
        return self._loader.settings

    def cases(self, data: Path) -> list[Case]:
        """The loader's cases."""
        return self._loader.cases(data)

    def files(self, data: Path, case: Case) -> Sequence[Path]:
        """The loader's files."""
        return self._loader.files(data, case)
