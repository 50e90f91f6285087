"""Writes MANIFEST.json, which lists every file of a release with size, SHA-256 and rows; checks a folder against it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError
from quati_pool.files.artifacts import file_digest
from quati_pool.files.problems import quoted
from quati_pool.release.errors import ReleaseError
from quati_pool.release.output import Output
from quati_pool.release.state import Release

MANIFEST = "MANIFEST.json"
MANIFEST_VERSION = 1

# Files and folders that Git and the Hugging Face Hub add to a folder when transferring it.
TRANSFER_FILES = {".git", ".gitattributes", ".cache"}


def write_manifest(form: str, release: Release, output: Output, counts: Mapping[str, Any]) -> tuple[int, int]:
    """Writes the manifest of all files in the folder; returns their number and total size in bytes.

    Raises ReleaseError if a file has been changed or removed since it was written.
    """
    lost = output.lost()
    if lost is not None:
        raise ReleaseError(
            f"{release.name}: {_shown(lost)} was changed or removed while the export was being written; export again, "
            "and let nothing else write into that folder"
        )
    files: dict[str, dict[str, Any]] = {}
    for name in sorted(_files(output.folder)):
        path = output.folder / name
        files[name] = {"bytes": path.stat().st_size, "sha256": file_digest(path)}
        if name in output.rows:
            files[name]["rows"] = output.rows[name]
    manifest = {
        "manifest": MANIFEST_VERSION,
        "format": form,
        "name": release.name,
        "provenance": dict(release.provenance),
        "labelers": [
            {
                "labeler": labelled.labeler,
                "kind": labelled.kind,
                "version": labelled.version,
                "pairs": len(labelled.qrels),
                "outside_pool": labelled.outside,
                "left_out": dict(labelled.left_out),
            }
            for labelled in release.labelers
        ],
        "counts": dict(counts),
        "files": files,
    }
    output.json(MANIFEST, manifest)
    return len(files), sum(file["bytes"] for file in files.values())


def verify(folder: Path) -> list[str]:
    """The problems of a released folder, one line per file that is missing, changed, or not in the manifest.

    Files of Git and the Hub (.git, .gitattributes, .cache) are ignored. Raises InputError if the folder or its
    manifest is missing or cannot be read.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError(folder, None, "is not a folder; name the folder of a release")
    listed = _read(path)
    present = dict.fromkeys(_files(folder))
    problems = []
    for name in sorted(listed.keys() | present.keys()):
        if name not in present:
            problems.append(f"{_shown(name)}: is missing")
        elif name not in listed:
            problems.append(f"{_shown(name)}: is not in the manifest")
        else:
            problem = _difference(folder / name, listed[name])
            if problem:
                problems.append(f"{_shown(name)}: {problem}")
    return problems


def _difference(path: Path, entry: Mapping[str, Any]) -> str | None:
    if path.is_symlink() or not path.is_file():
        return "is a link or not a regular file"
    size = path.stat().st_size
    if size != entry["bytes"]:
        return f"was changed: it has {size:,} bytes, not {entry['bytes']:,}"
    return None if file_digest(path) == entry["sha256"] else "was changed: its SHA-256 is another"


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    again = "copy the release again"
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(path, None, f"there is no such file; {again}, with its manifest") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(path, None, f"cannot be read; {again}") from None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not all(
        isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and isinstance(entry.get("sha256"), str)
        for entry in files.values()
    ):
        raise InputError(path, None, f"is not the manifest of a release; {again}")
    return files


def _files(folder: Path) -> Iterator[str]:
    """All files except the manifest and ``TRANSFER_FILES``, as paths relative to the folder; links count as files."""
    for root, folders, names in os.walk(folder):
        here = Path(root)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links]
        if here == folder:
            folders[:] = [name for name in folders if name not in TRANSFER_FILES]
            names = [name for name in names if name not in {MANIFEST, *TRANSFER_FILES}]
        for name in (*names, *links):
            yield (here / name).relative_to(folder).as_posix()


def _shown(name: str) -> str:
    return name if name.isprintable() else quoted(name)
