"""A workspace in Python: a collection and what can be done with it."""

from __future__ import annotations

from pathlib import Path

from quati_pool.api.auditing import Auditing
from quati_pool.api.building import Building
from quati_pool.api.estimating import Estimating
from quati_pool.api.measuring import Measuring
from quati_pool.api.reading import Reading


def open(path: str | Path = "pool.yaml", *, progress: bool = True) -> Collection:  # noqa: A001  # qp.open, as gzip.open
    """Opens a workspace.

    Args:
        path: A pool.yaml, or the folder that holds one.
        progress: Whether long work shows what it does: in a notebook in the cell's output, elsewhere on stderr.

    Returns:
        The collection. Nothing of it is kept in memory: every method reads what is on disk then, so a collection may
        be used from several threads, be opened several times, and be worked on by the command line meanwhile.

    Raises:
        QuatiPoolError: If pool.yaml does not exist or is invalid, with the line at fault.

    Example:
        >>> qp.open(folder).name
        'amostra'
    """
    path = Path(path)
    return Collection(path / "pool.yaml" if path.is_dir() else path, progress=progress)


class Collection(Building, Reading, Auditing, Measuring, Estimating):
    """A collection on disk, opened with ``quati_pool.open``.

    Methods have the names, options and defaults of the commands.
    """
