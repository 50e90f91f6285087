"""The kinds of data sets, by the key that names one in ``pool.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from quati_pool.data_sets.base import DataSet

Kind = Literal["ir_datasets", "beir", "mteb"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def open_data_set(kind: Kind, name: str, folder: Path) -> DataSet:
    """The data set ``name``, a path of which is relative to ``folder``; raises QuatiPoolError where there is none."""
    if kind == "ir_datasets":
        from quati_pool.data_sets.ir_dataset import IrDataset

        return IrDataset(name, folder)
    from quati_pool.data_sets.folders import DataSetFolder

    return DataSetFolder(name, folder)
