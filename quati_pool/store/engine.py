"""SQLAlchemy engines: SQLite configured for durability, PostgreSQL through psycopg 3."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Table, create_engine, event

from quati_pool.errors import MissingExtraError
from quati_pool.store.columns import json_text
from quati_pool.store.database_url import DatabaseUrl

_WAIT = 60  # seconds for another writer
_WRITES = "quati_pool_writes"
# A web server has some forty threads, each of which may need a connection; they are opened on first use.
_POOL = {"pool_size": 20, "max_overflow": 30}


def reading(url: DatabaseUrl) -> Engine:
    """An engine with a pool of connections to a database, none of them open yet.

    Raises MissingExtraError for PostgreSQL without psycopg.
    """
    settings: dict[str, Any] = {"json_serializer": json_text, "hide_parameters": True, **_POOL}
    if url.path is None:
        try:
            return create_engine(url.url, connect_args=_postgresql(url), pool_pre_ping=True, **settings)
        except ImportError:
            raise MissingExtraError("a PostgreSQL store", "postgres", "psycopg") from None
    # Without an isolation level the driver starts no transactions itself: _begin does.
    connect = {"timeout": _WAIT, "isolation_level": None}
    engine = create_engine(url.url, connect_args=connect, **settings)
    event.listen(engine, "connect", _sqlite)
    event.listen(engine, "begin", _begin)
    return engine


def read_only(url: DatabaseUrl, *, alone: bool = False) -> Engine:
    """An engine that cannot write. With ``alone``, for a SQLite file that no process has open, not even the files next
    to it that readers share with a writer are created."""
    if url.path is None:
        return reading(url).execution_options(postgresql_readonly=True)
    mode = {"immutable": "1"} if alone else {"mode": "ro"}
    file = url.url.set(database=f"file:{quote(str(url.path))}", query={"uri": "true", **mode})
    return reading(replace(url, url=file))


def writing(engine: Engine) -> Engine:
    """The same pool of connections, for write transactions."""
    return engine.execution_options(**{_WRITES: True})


def migrating(url: DatabaseUrl) -> Engine:
    """An engine with a separate pool for migrations, without foreign keys on SQLite: there a table is changed by
    copying it to a new one, which would violate the foreign keys that refer to its rows."""
    engine = reading(url)
    if url.path is not None:
        event.listen(engine, "connect", _without_foreign_keys)
    return writing(engine)


@contextmanager
def one_state(engine: Engine) -> Iterator[Connection]:
    """A connection whose reads all see the state that its first read saw."""
    # In WAL mode every SQLite read transaction does so anyway.
    apart = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect() as connection:
        yield connection.execution_options(**apart)


def insert_where_new(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Inserts the rows whose primary keys do not exist yet; safe when two processes do it at once."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        connection.execute(postgresql.insert(table).on_conflict_do_nothing(), rows)
    else:
        from sqlalchemy.dialects import sqlite

        connection.execute(sqlite.insert(table).on_conflict_do_nothing(), rows)


def _postgresql(url: DatabaseUrl) -> dict[str, Any]:
    who = f"quati-pool process {os.getpid()} on {socket.gethostname()}"
    ours = {"connect_timeout": 10, "application_name": who[:63], "client_encoding": "utf8"}
    return {name: value for name, value in ours.items() if name not in url.url.query}


def _sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _without_foreign_keys(connection: Any, _: object) -> None:
    connection.execute("PRAGMA foreign_keys = OFF").close()


def _begin(connection: Connection) -> None:
    # IMMEDIATE, because a transaction that reads first and writes later cannot wait for another writer.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
