"""Strict parsing of a label database's URL, and the parts of it that messages may show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.store.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import URL

DEFAULT = "sqlite:///labels.db"
_EXAMPLES = "write sqlite:///labels.db or postgresql://user:password@host/database"


@dataclass(frozen=True)
class DatabaseUrl:
    """A database's parsed ``url``, its ``name`` in messages, and the ``path`` of its file (None on PostgreSQL)."""

    url: URL
    name: str
    path: Path | None

    def hide(self, text: str) -> str:
        """The text with the password masked, in case a driver has quoted it."""
        for secret in (self.url.password, self.url.query.get("password")):
            for one in [secret] if isinstance(secret, str) else secret or ():
                text = re.sub(rf"(?<!\w){re.escape(str(one))}(?!\w)", "***", text) if one else text
        return text


def parse_database_url(url: str | None, folder: Path) -> DatabaseUrl:
    """The database of a URL; a relative SQLite path is relative to ``folder``.

    Raises StoreError for anything but sqlite:///path, postgresql:// and postgres://, never quoting
    the URL: it may hold a password.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url or DEFAULT)
        # In a URL whose password contains an @, the rest of the password was parsed as host and database.
        if "@" in f"{parsed.host}{parsed.database}" and parsed.password:
            raise ValueError
    except (ArgumentError, ValueError):
        hint = "in a password write @ : / # as %40 %3A %2F %23"
        raise StoreError(f"labels: url: is not a valid database URL; {_EXAMPLES}; {hint}") from None
    engine, _, driver = parsed.drivername.partition("+")
    if engine == "sqlite" and driver in ("", "pysqlite"):
        if parsed.host or parsed.query or parsed.database in (None, "", ":memory:"):
            raise StoreError("labels: url: names no SQLite file; write sqlite:///labels.db, with three slashes")
        path = folder / str(parsed.database)
        return DatabaseUrl(parsed.set(drivername="sqlite", database=str(path)), str(path), path)
    if engine in ("postgresql", "postgres") and driver in ("", "psycopg"):
        name = f"PostgreSQL database {parsed.database or 'of the user'} on {parsed.host or 'this machine'}"
        return DatabaseUrl(parsed.set(drivername="postgresql+psycopg"), name, None)
    raise StoreError(f"labels: url: {parsed.drivername} is not supported; {_EXAMPLES}")
