"""Arrays that tasks of a comparison leave on disk: whole or not there at all, so that a killed one goes on."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np

from quati_pool.files.artifacts import sync
from quati_pool.preparation.base import Array


def save(path: Path, array: Array) -> None:
    """Writes an array beside its place and renames it; two tasks that make the same one do not meet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        sync(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
