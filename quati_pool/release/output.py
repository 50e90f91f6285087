"""Writes the files of a release into its folder, and keeps track of their sizes and numbers of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from quati_pool.files.digests import digest, file_digest
from quati_pool.files.lines import output
from quati_pool.files.readable_json import readable_json

# One encoder for all rows; json.dumps would create one per row.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Output:
    """Writes files into a folder; a file's name is its path relative to the folder, with ``/``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, int] = {}
        """The number of rows by file name, for files that have rows."""
        self._bytes: dict[str, int | None] = {}

    def place(self, name: str) -> Path:
        """The path at which to write the file ``name``; creates its folder."""
        self._bytes[name] = None
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def wrote(self, name: str, rows: int | None = None) -> None:
        """Records that the file ``name`` is complete, and the number of its rows if it has any."""
        self._bytes[name] = (self.folder / name).stat().st_size
        if rows is not None:
            self.rows[name] = rows

    def lost(self) -> str | None:
        """The name of a file that was changed or removed after it was written; None if there is none."""
        for name in dict.fromkeys([*self._bytes, *self.rows]):
            path, size = self.folder / name, self._bytes.get(name)
            if not path.is_file() or (size is not None and path.stat().st_size != size):
                return name
        return None

    def digest(self, *patterns: str) -> str:
        """The SHA-256 of the names and contents of the files whose names match one of ``patterns``, such as
        ``corpus/*.parquet``."""
        names = [name for name in self._bytes if any(fnmatchcase(name, pattern) for pattern in patterns)]
        return digest({name: file_digest(self.folder / name) for name in names})

    def lines(self, name: str, lines: Iterable[str]) -> int:
        """Writes lines in UTF-8, compressed with gzip if ``name`` ends in .gz, and returns their number."""
        count = 0
        with output(self.place(name)) as stream:
            for line in lines:
                stream.write(line.encode() + b"\n")
                count += 1
        self.wrote(name, count)
        return count

    def records(self, name: str, records: Iterable[Mapping[str, Any]]) -> int:
        """Writes records as JSON Lines, like ``lines``, and returns their number."""
        return self.lines(name, map(_encode, records))

    def text(self, name: str, text: str) -> None:
        self.place(name).write_bytes(text.encode())
        self.wrote(name)

    def json(self, name: str, value: Any) -> None:
        self.text(name, readable_json(value))
