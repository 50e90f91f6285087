"""Writes the arrays that tasks of a global filter leave on disk, atomically, so that a killed command can continue."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np

from quati_pool.files.artifacts import sync
from quati_pool.preparation.base import Array


def save(path: Path, array: Array) -> None:
    """Writes an array under a temporary name and renames it; two tasks that write the same array do not collide."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        sync(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
