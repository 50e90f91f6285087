"""The provenance of results: hashes of the files that were read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from quati_pool.files.artifacts import digest, file_digest

MOST = 20
"""A folder with more files than this gets one hash for all of them."""


class Inputs:
    """The files of the folder ``data`` that were read, each hashed once."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._hashes: dict[Path, str] = {}

    def add(self, files: Iterable[Path]) -> dict[str, str]:
        """Hashes ``files`` and returns their hashes as ``named`` does. Raises OSError where one cannot be read."""
        added = list(files)
        for path in added:
            if path not in self._hashes:
                self._hashes[path] = file_digest(path)
        return self._named(added)

    def named(self) -> dict[str, str]:
        """The SHA-256 of each file by its path relative to ``data``, sorted. A folder of more than ``MOST`` files, such
        as RACE's, has a single hash, that of its files' names and hashes, under its path with a slash at the end."""
        return self._named(self._hashes)

    def _named(self, files: Iterable[Path]) -> dict[str, str]:
        folders: dict[Path, dict[str, str]] = {}
        for path in files:
            folders.setdefault(path.parent, {})[path.name] = self._hashes[path]
        found = {}
        for folder, hashes in folders.items():
            place = folder.relative_to(self.data)
            if len(hashes) > MOST:
                found[f"{place.as_posix()}/"] = digest(hashes)
            else:
                found.update({(place / name).as_posix(): sha256 for name, sha256 in hashes.items()})
        return dict(sorted(found.items()))
