"""A folder being filled: every file by its name within it, and how many rows it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from quati_pool.files.lines import output

# One encoder for all rows: json.dumps would make one for each.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Output:
    """Files are named by their path within the folder, with ``/`` between its parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, int] = {}
        """Rows by file, for those that have rows."""

    def place(self, name: str) -> Path:
        """Where the file ``name`` is to be written; its folder is there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def lines(self, name: str, lines: Iterable[str]) -> int:
        """Writes lines (UTF-8, packed if ``name`` ends in .gz) and returns how many there were."""
        count = 0
        with output(self.place(name)) as stream:
            for line in lines:
                stream.write(line.encode() + b"\n")
                count += 1
        self.rows[name] = count
        return count

    def records(self, name: str, records: Iterable[Mapping[str, Any]]) -> int:
        """Writes JSON lines, as ``lines``."""
        return self.lines(name, map(_encode, records))

    def text(self, name: str, text: str) -> None:
        self.place(name).write_bytes(text.encode())

    def json(self, name: str, value: Any) -> None:
        self.text(name, json_text(value))


def json_text(value: Any) -> str:
    """JSON to read by eye; in ASCII where it holds half a surrogate pair, which UTF-8 cannot hold."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, allow_nan=False)
    return text + "\n"
