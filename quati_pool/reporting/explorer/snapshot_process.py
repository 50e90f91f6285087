"""Writes the explorers of the annotator app, in a process of their own."""

from __future__ import annotations

import os
import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from quati_pool.commands.evaluate import Settings
from quati_pool.commands.report import opened
from quati_pool.files.artifacts import digest, sidecar
from quati_pool.processes.messages import outcome_of, requests, send
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.explorer.data import ExplorerData
from quati_pool.reporting.explorer.snapshot import KEPT, Snapshot
from quati_pool.reporting.explorer.writing import explorer_key, save_explorer

_DRAWS = 500
_NAME = re.compile(r"[0-9a-f]{16}")
_PEOPLE = ("person", "decisions")
# Lower priority, so that people's requests go first if there are more processes than cores.
_NICE = 5


def serve(messages: BinaryIO, answers: BinaryIO) -> None:
    """Writes an explorer for each request, the arguments of ``compute``, until ``messages`` ends."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    for request in requests(messages):
        send(answers, outcome_of(lambda opened_with: compute(*opened_with), request))


def compute(config_path: Path, database: str | None = None) -> Snapshot:
    """Writes the explorer of the present state into the workspace's cache, unless it is there, and removes older
    ones."""
    began, computed_at = time.perf_counter(), datetime.now(UTC)
    with opened(config_path, Settings(draws=_DRAWS), database=database) as state:
        data = ExplorerData(state, texts=True, report=False)
        parent = Workspace(state.config.folder).explorers
        folder = parent / digest({**explorer_key(data), "database": database})[:16]
        save_explorer(data, folder, Listener())
        kinds = [labeler["kind"] for labeler in data.labelers]
        pool = state.pool.pool
        ids = zip(
            pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist(), strict=True
        )  # fmt: skip
        pairs = {pair: number for number, pair in enumerate(ids)}
    _remove_older(parent, folder)
    judges = frozenset(number for number, kind in enumerate(kinds) if kind not in _PEOPLE)
    return Snapshot(
        folder, computed_at, time.perf_counter() - began, tuple(data.query_ids), pairs, judges
    )  # fmt: skip


def _remove_older(parent: Path, newest: Path) -> None:
    found = [path for path in parent.iterdir() if _NAME.fullmatch(path.name) and path != newest]
    found.sort(key=lambda path: path.stat().st_mtime)
    for path in found[: 1 - KEPT]:
        sidecar(path).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
