"""New SQLite databases without a migration each: it takes most of the time of a small test. The first of a process is
migrated, and the others are made by the statements that make it again."""

from __future__ import annotations

from sqlalchemy import Connection

from quati_pool.store import upgrade
from quati_pool.store.database_url import DatabaseUrl

migrated = upgrade._upgrade
_statements: list[str] = []


def copied(connection: Connection, url: DatabaseUrl) -> None:
    """Replaces ``migrated``."""
    if url.path is None or upgrade.stored_revision(connection) is not None:
        migrated(connection, url)
    elif _statements:
        for statement in _statements:
            connection.exec_driver_sql(statement)
    else:
        migrated(connection, url)
        [_, *statements, _] = connection.connection.driver_connection.iterdump()  # but for BEGIN and COMMIT
        _statements.extend(statements)
