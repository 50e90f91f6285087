"""Builds artifacts that are missing or stale, reuses the others, and reports which and why."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from quati_pool.files.artifacts import (
    NOT_THERE,
    Counts,
    Key,
    clear_partials,
    grow_folder,
    locked,
    stale,
    write_file,
    write_folder,
)
from quati_pool.project.events import Listener
from quati_pool.project.progress import Clock
from quati_pool.project.workspace import Workspace
from quati_pool.text.durations import duration


class ArtifactBuilder:
    """Builds the artifacts of a workspace for one command; ``provenance`` goes into the sidecar of each."""

    def __init__(
        self, workspace: Workspace, provenance: dict[str, Any], listener: Listener, clock: Clock = time.monotonic
    ) -> None:
        self.workspace = workspace
        self.provenance = provenance
        self.listener = listener
        self._clock = clock
        self._built: set[Path] = set()
        # Seconds spent so far, while building the current artifact, on other artifacts that it needs.
        self._nested_seconds = 0.0

    def ensure(
        self,
        name: str,
        path: Path,
        key: Key,
        fill: Callable[[Path], Counts],
        *,
        folder: bool = False,
        resumable: bool = False,
        force: bool = False,
        quiet: bool = False,
    ) -> bool:
        """Builds the artifact at ``path`` with ``fill`` unless it is current; returns whether it was built.

        ``resumable``: ``fill`` continues a folder that an interrupted command left. ``quiet``: nothing is reported to
        the listener. One process at a time builds an artifact; others wait and reuse it. The time that is reported,
        and recorded as ``seconds`` in the sidecar of an artifact that was built without interruption, excludes other
        artifacts built meanwhile; ``build --plan`` scales its estimates by it.
        """
        entered, outer = self._clock(), self._nested_seconds
        self._nested_seconds = 0.0
        try:
            with self.listener.stage(name):
                return self._ensure(name, path, key, fill, folder, resumable, force, quiet)
        finally:
            self._nested_seconds = outer + self._clock() - entered

    def _ensure(
        self,
        name: str,
        path: Path,
        key: Key,
        fill: Callable[[Path], Counts],
        folder: bool,
        resumable: bool,
        force: bool,
        quiet: bool,
    ) -> bool:
        lock = self.workspace.lock(name.replace(" ", "-"))
        with ExitStack() as held:
            with self.listener.stage(f"{name}: waiting for the lock"):
                held.enter_context(locked(lock, self.listener.say))
            clear_partials(path)
            reason = stale(path, key)
            if reason is None and force and path not in self._built:
                reason = "--force"
            if reason is None:
                if path not in self._built and not quiet:
                    self.listener.say(f"{name}: reused")
                return False
            started = self._clock()
            if resumable and reason == "--force":
                shutil.rmtree(path)
            write = grow_folder if resumable else write_folder if folder else write_file
            uninterrupted = not (resumable and path.exists())
            provenance = dict(self.provenance)

            def timed(to: Path) -> Counts:
                began = self._clock()
                counts = fill(to)
                if uninterrupted:
                    provenance["seconds"] = round(self._clock() - began - self._nested_seconds, 3)
                return counts

            counts = write(path, key, provenance, timed)
        self._built.add(path)
        if not quiet:
            size = ", ".join(
                f"{value:,} {unit.replace('_', ' ')}" for unit, value in counts.items() if isinstance(value, int)
            )
            why = "" if reason == NOT_THERE else f" ({reason})"
            seconds = self._clock() - started - self._nested_seconds
            self.listener.say(f"{name}: built in {duration(seconds)}{why}{': ' + size if size else ''}")
        return True
