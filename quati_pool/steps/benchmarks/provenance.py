"""What figures come from: the hashes of the files that were read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from quati_pool.files.artefacts import digest, file_digest

MOST = 20
"""Of a folder with more files than this, all have one hash together."""


class Inputs:
    """The files of a folder that are read, each hashed once."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._hashes: dict[Path, str] = {}

    def add(self, files: Iterable[Path]) -> None:
        """Raises OSError where one cannot be read."""
        for path in files:
            if path not in self._hashes:
                self._hashes[path] = file_digest(path)

    def named(self) -> dict[str, str]:
        """The SHA-256 of each file by its path in the folder, in order; of a folder with many, as of RACE's, that
        of their names and hashes, by the folder's path and a slash."""
        folders: dict[Path, dict[str, str]] = {}
        for path, sha256 in self._hashes.items():
            folders.setdefault(path.parent, {})[path.name] = sha256
        found = {}
        for folder, hashes in folders.items():
            place = folder.relative_to(self._data)
            if len(hashes) > MOST:
                found[f"{place.as_posix()}/"] = digest(hashes)
            else:
                found.update({(place / name).as_posix(): sha256 for name, sha256 in hashes.items()})
        return dict(sorted(found.items()))
