"""The folder that ``quati-pool questions constraints`` writes: clusters of constraints, and the texts of their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.artifacts import NOT_THERE, sidecar, unfinished
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import RowError
from quati_pool.files.tables import json_object
from quati_pool.files.triples import EntityText, read_texts

CLUSTERS, ENTITIES = "clusters.jsonl.gz", "entities.jsonl.gz"
"""A line per cluster, and a line per id that has a text; the second is missing if none has."""

COMMAND = "quati-pool questions constraints"


def read_clusters(folder: Path) -> Iterator[Mapping[str, Any]]:
    """The clusters of a folder, one after another, as of ``annotation.authoring.cluster_records``.

    Raises QuatiPoolError for a folder that is missing, unfinished or changed since it was written, with the remedy.
    """
    _check(folder)
    return _clusters(folder / CLUSTERS)


def read_names(folder: Path, wanted: Collection[str]) -> dict[str, EntityText]:
    """The texts of the wanted ids that have some. Raises as ``read_clusters``."""
    _check(folder)
    path = folder / ENTITIES
    return read_texts([path], wanted) if path.exists() else {}


def _check(folder: Path) -> None:
    if folder.exists() and not (folder / CLUSTERS).is_file():
        raise QuatiPoolError(f"{folder} holds no {CLUSTERS}; name a folder that {COMMAND} wrote")
    why = unfinished(folder)
    if why == NOT_THERE:
        raise QuatiPoolError(f"{folder}: there is no such folder; write it with {COMMAND} TRIPLES -o {folder}")
    if why is None:
        return
    if not sidecar(folder).exists():
        raise QuatiPoolError(
            f"{folder} {why}, or was moved without {sidecar(folder).name}; put that next to it, or write the folder "
            f"again with {COMMAND} TRIPLES -o {folder}"
        )
    # The command refuses a folder that somebody changed.
    raise QuatiPoolError(
        f"{folder} {why}; put it back as it was, or move it away and write it again with {COMMAND} TRIPLES -o {folder}"
    )


def _clusters(path: Path) -> Iterator[Mapping[str, Any]]:
    for line, text in read_lines(path):
        try:
            yield json_object(text)
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None
