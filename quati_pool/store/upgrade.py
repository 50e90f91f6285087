"""Upgrades a database to the newest revision, one process at a time; most databases already have it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, select, text
from sqlalchemy.sql import column, table

from quati_pool.store.database_url import DatabaseUrl
from quati_pool.store.engine import migrating
from quati_pool.store.errors import StoreError
from quati_pool.store.schema import HEAD, REVISION_TABLE, metadata

_log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).parent / "migrations"


def ready(engine: Engine, url: DatabaseUrl) -> bool:
    """Whether the database can be used as it is."""
    with engine.connect() as connection:
        return stored_revision(connection) == HEAD and (url.path is None or _journal(connection) == "wal")


def make_ready(
    engine: Engine,
    url: DatabaseUrl,
    lock: AbstractContextManager[None],
    judges_lock: Callable[[str, Callable[[str], None]], AbstractContextManager[None]],
) -> None:
    """Migrates a database to HEAD in one transaction, under ``lock``; creates the tables of a new one.

    First waits for judges that are running under an earlier quati-pool, by taking the locks that ``judges_lock``
    returns by name: a migration may move labels to other versions, and such a process would neither find the existing
    grades nor write its own where they are looked for. Raises StoreError for a database of a newer revision, or of
    another program.
    """
    with engine.connect() as connection:
        judges = _judges(connection)
    for judge in judges:
        with judges_lock(judge, lambda line: _log.warning("%s: %s", url.name, line)):
            pass
    with lock:
        # Before anything is written, so that a refused database stays unchanged.
        with engine.connect() as connection:
            refuse_others(connection, url)
        if url.path is not None:
            _write_ahead(engine)
        migrating_engine = migrating(url)
        try:
            with migrating_engine.begin() as connection:
                if stored_revision(connection) != HEAD:
                    _upgrade(connection, url)
        finally:
            migrating_engine.dispose()


def stored_revision(connection: Connection) -> str | None:
    """The revision recorded in a database; None if there is none."""
    if not connection.dialect.has_table(connection, REVISION_TABLE):
        return None
    revision: str | None = connection.execute(select(column("version_num")).select_from(table(REVISION_TABLE))).scalar()
    return revision


def _judges(connection: Connection) -> list[str]:
    """The names of the locks under which judges write to a database that needs a migration."""
    if stored_revision(connection) in (None, HEAD):
        return []
    labels, batches = (table(name, column("collection"), column("labeler_id")) for name in ("labels", "batches"))
    graded = select(labels.c.collection, labels.c.labeler_id).where(column("kind") == "judge")
    found = graded.union(select(batches.c.collection, batches.c.labeler_id))
    return sorted(judges_lock_name(*row) for row in connection.execute(found))


def judges_lock_name(collection: str, labeler_id: str) -> str:
    """The name of the lock that allows one process at a time per judge; earlier versions use the same name."""
    return f"{collection}.{labeler_id}"


def _journal(connection: Connection) -> str:
    return str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())


def refuse_others(connection: Connection, url: DatabaseUrl) -> None:
    """Raises StoreError for a database without a revision that is another program's, or that cannot hold all texts."""
    if stored_revision(connection) is not None:
        return
    there = set(inspect(connection).get_table_names())
    # A file belongs to one program; a PostgreSQL database may hold other programs' tables under other names.
    strange = sorted(there if url.path is not None else there & set(metadata.tables))
    if strange:
        raise StoreError(
            f"{url.name}: holds a table {strange[0]} that quati-pool did not create; "
            "name a database of its own in pool.yaml under labels: url:"
        )
    if url.path is None and (encoding := connection.execute(text("SHOW server_encoding")).scalar_one()) != "UTF8":
        raise StoreError(f"{url.name}: its encoding is {encoding}; make a database with ENCODING 'UTF8' and name that")


def refuse_newer(revision: str, url: DatabaseUrl) -> None:
    """Raises StoreError for a revision that this version does not know."""
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}
    if revision not in known:
        raise StoreError(
            f"{url.name}: was written by a newer quati-pool (revision {revision}; this one knows up to {HEAD}); "
            "run: pip install --upgrade quati-pool"
        )


def _write_ahead(engine: Engine) -> None:
    connection = engine.raw_connection()  # SQLite changes its journal mode only outside a transaction
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL").close()
    finally:
        connection.close()


def _upgrade(connection: Connection, url: DatabaseUrl) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["say"] = lambda line: _log.warning("%s: %s", url.name, line)
    revision = stored_revision(connection)
    if revision is not None:
        refuse_newer(revision, url)
        _log.warning("%s: upgrading from revision %s to %s", url.name, revision, HEAD)
    command.upgrade(config, "head")
    if url.path is not None and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first()):
        raise StoreError(
            f"{url.name}: a row of {broken[0]} points to one of {broken[2]} that is not there; nothing was changed; "
            "restore the file from a copy"
        )
