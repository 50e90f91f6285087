"""The keys by which a corpus, queries or labels come from an existing data set."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import model_validator

from quati_pool.data_sets.base import DataSet
from quati_pool.data_sets.kinds import KINDS, Kind, open_data_set
from quati_pool.files.yaml_file import Model

# What build reads from data sets is kept here, below the workspace.
_FOLDER = "cache/data_sets"


class DataSetName(NamedTuple):
    """The name of an existing data set; a path in it is relative to ``pool.yaml``."""

    kind: Kind
    name: str

    def open(self, folder: Path) -> DataSet:
        """Raises QuatiPoolError where there is none."""
        return open_data_set(self.kind, self.name, folder)

    def file(self, part: str) -> str:
        """The file in the workspace that holds a part of the data set once it was read."""
        name = hashlib.sha256(f"{self.kind}\t{self.name}".encode()).hexdigest()[:8]
        return f"{_FOLDER}/{self.kind}-{name}/{part}"


class OfDataSet(Model):
    """Settings that may name a data set of ir_datasets, or a folder with the layout of BEIR or MTEB."""

    ir_datasets: str | None = None
    beir: str | None = None
    mteb: str | None = None

    @property
    def data_set(self) -> DataSetName | None:
        named = [DataSetName(kind, name) for kind in KINDS if (name := getattr(self, kind)) is not None]
        return named[0] if named else None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        named = [kind for kind in (*KINDS, "path") if getattr(self, kind, None)]
        path = getattr(self, "path", None)
        # The path that load_config sets is that of the data set's own file.
        if len(named) > 1 and not (isinstance(path, str) and path.startswith(_FOLDER)):
            raise ValueError(f"names {' and '.join(named)}; expected one of them")
        return self
