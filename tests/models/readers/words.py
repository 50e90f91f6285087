"""Texts for tiny readers, and what opens these."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.files.artifacts import file_digest
from quati_pool.models.location import locate
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader
from quati_pool.models.readers.opening import open_reader


class Here(NamedTuple):
    """An environment whose workspace is a folder."""

    folder: Path

    @property
    def digest(self) -> Any:
        return file_digest


def opened(folder: Path, **parameters: Any) -> Reader:
    """The reader in a folder, on the CPU."""
    return open_reader(
        ModelParameters(model=str(folder), device="cpu", **parameters), Here(folder.parent), lambda line: None
    )


def located(folder: Path) -> Any:
    return locate(Here(folder.parent), str(folder), None)
