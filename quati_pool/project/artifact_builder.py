"""Makes artefacts that are missing or stale, reuses the others, and says which and why."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quati_pool.files.artifacts import (
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
from quati_pool.project.workspace import Workspace


class ArtifactBuilder:
    """One command's view of the artefacts of a workspace."""

    def __init__(self, workspace: Workspace, provenance: dict[str, Any], listener: Listener) -> None:
        self.workspace = workspace
        self.provenance = provenance
        self.listener = listener
        self._made: set[Path] = set()
        # What was spent within the artefact that is being made on others that it is made from.
        self._within = 0.0

    def ensure(
        self,
        what: str,
        path: Path,
        key: Key,
        fill: Callable[[Path], Counts],
        *,
        folder: bool = False,
        growing: bool = False,
        force: bool = False,
        quiet: bool = False,
    ) -> bool:
        """Leaves a current artefact at ``path``, made through ``fill`` where there is none; whether it
        was made. ``growing``: ``fill`` goes on with a folder that an interrupted command left. ``quiet``
        leaves it to the caller to say so.

        One process at a time makes an artefact; the second finds it made. The sidecar of one that was made in one
        go says in how many ``seconds``, those of artefacts made on the way not counted: plans learn from it.
        """
        entered, outer = time.monotonic(), self._within
        self._within = 0.0
        try:
            return self._ensure(what, path, key, fill, folder, growing, force, quiet)
        finally:
            self._within = outer + time.monotonic() - entered

    def _ensure(
        self,
        what: str,
        path: Path,
        key: Key,
        fill: Callable[[Path], Counts],
        folder: bool,
        growing: bool,
        force: bool,
        quiet: bool,
    ) -> bool:
        lock = self.workspace.lock(what.replace(" ", "-"))
        with locked(lock, self.listener.say):
            clear_partials(path)
            reason = stale(path, key)
            if reason is None and force and path not in self._made:
                reason = "--force"
            if reason is None:
                if path not in self._made and not quiet:
                    self.listener.say(f"{what}: reused")
                return False
            started = time.monotonic()
            if growing and reason == "--force":
                shutil.rmtree(path)
            write = grow_folder if growing else write_folder if folder else write_file
            whole = not (growing and path.exists())
            provenance = dict(self.provenance)

            def timed(to: Path) -> Counts:
                began = time.monotonic()
                counts = fill(to)
                if whole:
                    provenance["seconds"] = round(time.monotonic() - began - self._within, 3)
                return counts

            counts = write(path, key, provenance, timed)
        self._made.add(path)
        if not quiet:
            size = ", ".join(f"{value:,} {name}" for name, value in counts.items() if isinstance(value, int))
            seconds = time.monotonic() - started
            self.listener.say(f"{what}: made in {seconds:.1f} s ({reason}){': ' + size if size else ''}")
        return True
