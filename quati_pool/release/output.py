"""The folder of a release while it is written: its files and their numbers of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from quati_pool.files.lines import output
from quati_pool.files.readable_json import readable_json

# One encoder for all rows: json.dumps would create one for each.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Output:
    """Writes files into a folder; they are named by their path within it, with ``/``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, int] = {}
        """The number of rows by file, for files with rows."""
        self._bytes: dict[str, int | None] = {}

    def place(self, name: str) -> Path:
        """The path to write the file ``name`` to; its folder is created."""
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
        """A file that was changed or removed after it was written; None without one."""
        for name in dict.fromkeys([*self._bytes, *self.rows]):
            path, size = self.folder / name, self._bytes.get(name)
            if not path.is_file() or (size is not None and path.stat().st_size != size):
                return name
        return None

    def lines(self, name: str, lines: Iterable[str]) -> int:
        """Writes lines (UTF-8, by gzip if ``name`` ends in .gz) and returns their number."""
        count = 0
        with output(self.place(name)) as stream:
            for line in lines:
                stream.write(line.encode() + b"\n")
                count += 1
        self.wrote(name, count)
        return count

    def records(self, name: str, records: Iterable[Mapping[str, Any]]) -> int:
        """Writes JSON lines, as ``lines``."""
        return self.lines(name, map(_encode, records))

    def text(self, name: str, text: str) -> None:
        self.place(name).write_bytes(text.encode())
        self.wrote(name)

    def json(self, name: str, value: Any) -> None:
        self.text(name, readable_json(value))
