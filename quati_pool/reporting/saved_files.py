"""Saves the tables and figures of a command under ``reports/`` or in the requested folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import clear_partials, file_digest, locked_output, stale, write_file
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace


def report_folder(config: PoolConfig | None, output: Path | None) -> Path | None:
    """The folder for reports: ``output``, or that of the workspace; None if there is neither.

    Raises QuatiPoolError if ``output`` exists but is not a folder.
    """
    if output is not None and output.exists() and not output.is_dir():
        raise QuatiPoolError(f"{output} is not a folder; name one with -o")
    return output or (Workspace(config.folder).report("") if config else None)


def save(
    config: PoolConfig | None, folder: Path, files: Mapping[str, str | bytes], settings: Mapping[str, Any],
    listener: Listener, what: str,
) -> None:  # fmt: skip
    """Writes ``files``, given by name, each completely or not at all; an existing file with the same content and
    ``settings`` is left as it is."""
    provenance = {"collection": config.name, "config": file_digest(config.path)} if config else {}
    # A command on another workspace, or without one, may write into the same folder.
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with locked_output(folder / "reports", listener.say, str(folder)):
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            key = {"settings": settings, "content": hashlib.sha256(data).hexdigest()}
            clear_partials(folder / name)
            if stale(folder / name, key) is not None:
                write_file(folder / name, key, provenance, _filler(data))
                written.append(name)
    shown = ", ".join(written[:4]) + (f" and {len(written) - 4} more" if len(written) > 4 else "")
    listener.say(f"{what}: wrote {shown} to {folder}" if written else f"{what}: {folder} is up to date")


def _filler(data: bytes) -> Callable[[Path], dict[str, Any]]:
    def fill(path: Path) -> dict[str, Any]:
        path.write_bytes(data)
        return {}

    return fill
