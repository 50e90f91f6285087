"""Named locks among all processes that share a database."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, text

from quati_pool.files.artifacts import locked, waiting
from quati_pool.store.database_url import DatabaseUrl
from quati_pool.store.error_messages import explained

_POLL = 0.2  # seconds

_TRY = text("SELECT pg_try_advisory_lock(:number)")
_HOLDER = text(
    """
    SELECT a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND d.datname = current_database()
      AND ((l.classid::bigint << 32) | l.objid::bigint) = :number
    """
)


@contextmanager
def held(engine: Engine, url: DatabaseUrl, name: str, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock ``name``; if another process holds it, reports so in one line and waits.

    SQLite: a hidden file next to the database, removed afterwards. PostgreSQL: an advisory lock on a separate
    connection. Either way a process that dies releases it.
    """
    if url.path is None:
        with explained(url):
            connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with connection:
            with explained(url):
                connection.detach()
                _wait(connection, name, say)
            yield
        return
    lock = _file(url.path, name)
    with ExitStack() as stack:
        with explained(url):
            stack.enter_context(locked(lock, say, name, leave=False))
        yield


def _file(database: Path, name: str) -> Path:
    """The lock file of this name, next to the database; a name may have any characters and length."""
    stem = quote(name, safe=" ")
    if len(stem) > 100:
        stem = hashlib.sha256(name.encode()).hexdigest()
    place = database.resolve()
    return place.with_name(f".{place.name}.{stem}.lock")


def _wait(connection: Connection, name: str, say: Callable[[str], None]) -> None:
    number = int.from_bytes(hashlib.sha256(f"quati-pool {name}".encode()).digest()[:8], signed=True)
    said = False
    # Not pg_advisory_lock, which waits: the server may limit how long a statement takes.
    while not connection.execute(_TRY, {"number": number}).scalar_one():
        if not said:
            holder = connection.execute(_HOLDER, {"number": number}).first()
            who = f"{holder[0]} (since {holder[1]} UTC)" if holder and holder[0] else "another process"
            say(waiting(name, who))
            said = True
        time.sleep(_POLL)
