"""Alembic runs this for every migration; ``quati_pool.store.upgrade`` passes the connection."""

from __future__ import annotations

from alembic import context

from quati_pool.store.schema import REVISION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=REVISION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
