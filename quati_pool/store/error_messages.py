"""One-line messages for database errors that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from quati_pool.store.database_url import DatabaseUrl
from quati_pool.store.errors import StoreError

_AGAIN = "run the same command again: what is committed is kept"

# By SQLite's primary result code.
_SQLITE = {
    3: "it may not be opened; check the file's permissions",
    5: f"another process has been writing to it for a minute; wait until it is done and {_AGAIN}",
    6: f"another process has been writing to it for a minute; wait until it is done and {_AGAIN}",
    8: "it is read-only; check the permissions of the file and its folder",
    10: f"the disk refused to be read or written; free some space, check the disk and {_AGAIN}",
    11: "the file is damaged; put a copy in its place, or save what is left with sqlite3's .recover",
    13: f"the disk is full; free some space and {_AGAIN}",
    14: "it cannot be opened; check that the path is a file in a folder you may write to",
    26: "this file is not a SQLite database; name another one in pool.yaml under labels: url:",
}
# By SQLSTATE, or its class (two characters).
_POSTGRESQL = {
    "25006": "it is read-only; name a server that takes writes in pool.yaml under labels: url:",
    "42501": "its user lacks the rights; have them granted, or name another user in pool.yaml under labels: url:",
    "53100": f"the server's disk is full; free some space and {_AGAIN}",
    "53": f"the server is short of memory or connections; {_AGAIN}",
    "55": f"another process holds what is needed; wait until it is done and {_AGAIN}",
    "57014": f"the server cancelled a statement that took too long; {_AGAIN}",
    "57": f"the server is going down or coming up; once it is back, {_AGAIN}",
    "40": f"another process wrote the same thing at once; {_AGAIN}",
}


@contextmanager
def explained(url: DatabaseUrl) -> Iterator[None]:
    """Turns any error of SQLAlchemy, the driver or the file system in its block into a StoreError."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, OverflowError, UnicodeEncodeError) as error:
        raise StoreError(url.hide(f"{url.name}: {_reason(error)}")) from error


def _reason(error: Exception) -> str:
    driver = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = " ".join(str(driver).split())
    code = getattr(driver, "sqlite_errorcode", None)
    if isinstance(code, int) and (known := _SQLITE.get(code & 0xFF)):
        return known
    state = getattr(driver, "sqlstate", None)
    if isinstance(state, str) and (known := _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])):
        return known
    if isinstance(error, DBAPIError) and not isinstance(driver, sqlite3.Error):
        # Without a statement, it was connecting that failed.
        if error.statement is None and not error.connection_invalidated:
            return f"no connection ({said}); check that the server runs, and pool.yaml under labels: url:"
        if error.connection_invalidated:
            return f"the connection is gone ({said}); once the server is back, {_AGAIN}"
    if isinstance(error, OSError):
        return f"{error.strerror or said}; check that its folder is there and that you may write to it"
    return f"{said}; {_AGAIN}, and report it where it stays"
