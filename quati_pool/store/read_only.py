"""Reads a label database without writing anything: no file is created, nothing is upgraded, no lock file is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from quati_pool.store import engine as engines
from quati_pool.store.database import Store
from quati_pool.store.database_url import DatabaseUrl, parse_database_url
from quati_pool.store.errors import FormerRevisionError, StoreError
from quati_pool.store.schema import HEAD
from quati_pool.store.upgrade import refuse_newer, refuse_others, stored_revision

T = TypeVar("T")


def read_only(url: str | None, folder: Path, read: Callable[[Store], T]) -> T | None:
    """The result of ``read``, which sees one state of the database of ``url`` (see ``parse_database_url``), whatever
    others write meanwhile; None where there is no database yet. ``read`` may be called twice.

    Raises StoreError, FormerRevisionError for a database that has to be upgraded first, and MissingExtraError for
    PostgreSQL without psycopg.
    """
    parsed = parse_database_url(url, folder)
    if parsed.path is None:
        return _read(parsed, read, alone=False)
    before = _state(parsed.path)
    if before is None:
        return None
    if not _in_use(parsed.path):
        try:
            found = _read(parsed, read, alone=True)
        except StoreError:
            if not _in_use(parsed.path) and _state(parsed.path) == before:
                raise
        else:
            if not _in_use(parsed.path) and _state(parsed.path) == before:
                return found
    # A process has begun to write, and what was read may be of several states.
    return _read(parsed, read, alone=False)


def _read(url: DatabaseUrl, read: Callable[[Store], T], *, alone: bool) -> T | None:
    with Store(engines.read_only(url, alone=alone), url) as store:
        with store.reading() as connection:
            revision = stored_revision(connection)
            if revision is None:
                refuse_others(connection, url)
                return None
            if revision != HEAD:
                refuse_newer(revision, url)
                raise FormerRevisionError(
                    f"{url.name}: is of an earlier quati-pool (revision {revision}), and is upgraded to {HEAD} by the "
                    "next command that opens it, such as  quati-pool labels"
                )
        with store.snapshot():
            return read(store)


def _state(path: Path) -> tuple[int, int] | None:
    """Size and modification time in nanoseconds; None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _in_use(path: Path) -> bool:
    """Whether a process has a SQLite database open, or left it without closing it."""
    return any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal"))
