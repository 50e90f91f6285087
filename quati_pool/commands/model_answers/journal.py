"""The journal of a model's answers: one line per finished question, appended and synced.

A process that is killed while it writes leaves an incomplete last line, which the next process drops.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from quati_pool.errors import InputError
from quati_pool.files.artifacts import locked_output, sync
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.text.fencing import sendable

Entry = Mapping[str, Any]


class Journal:
    """A journal that one process has open (``open_journal``). ``entries`` maps each request to its last line."""

    def __init__(self, path: Path) -> None:
        """Raises InputError, with the line, for a complete line that is not a journal entry."""
        self.path = path
        fresh = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fresh:
                sync(path.parent)
            self.entries, self._end = _read(path)
            os.ftruncate(self._file, self._end)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, entries: Sequence[Entry]) -> None:
        """Appends ``entries`` and returns once they are on disk. If that raises OSError, the journal is unchanged."""
        # A server can return half a surrogate pair, which UTF-8 cannot encode.
        data = "".join(sendable(json.dumps(entry, ensure_ascii=False)) + "\n" for entry in entries).encode()
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file, data[written:], self._end + written)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            error.filename = error.filename or str(self.path)
            raise
        self._end += len(data)
        self.entries.update((entry["request"], entry) for entry in entries)

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


@contextmanager
def open_journal(path: Path, listener: Listener) -> Iterator[Journal]:
    """The journal at ``path``, created if missing; waits for another process that has it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_output(path, listener.say, path.name), Journal(path) as journal:
        yield journal


def read_journal(path: Path) -> dict[str, Entry]:
    """The last line of each request in a journal, which is left as it is; empty if there is none."""
    return _read(path)[0] if path.exists() else {}


def _read(path: Path) -> tuple[dict[str, Entry], int]:
    """The last line of each request, and the offset in bytes at which the last complete line ends."""
    entries: dict[str, Entry] = {}
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            entry = _entry(line)
            if entry is None:
                raise InputError(
                    path, number, "is not a line of a journal of answers; delete it, and the question is asked again"
                )
            entries[entry["request"]] = entry
            end += len(line)
    return entries, end


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("request"), str):
        return None
    if entry.get("state") not in State.__members__ or (entry["state"] == State.ok) != ("value" in entry):
        return None
    return entry if isinstance(entry.get("tries", 0), int) else None
