"""Every test that takes ``made_url`` runs on SQLite and on PostgreSQL, as those of the store do."""

from __future__ import annotations

from tests.store.conftest import cluster, engine, made_postgresql, made_sqlite, made_url

__all__ = ["cluster", "engine", "made_postgresql", "made_sqlite", "made_url"]
