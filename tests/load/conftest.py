"""Tests that take ``made_url`` run on SQLite and on PostgreSQL; those that take ``browser`` in Chromium."""

from __future__ import annotations

from tests.browser.conftest import browser
from tests.store.conftest import cluster, engine, made_postgresql, made_sqlite, made_url

__all__ = ["browser", "cluster", "engine", "made_postgresql", "made_sqlite", "made_url"]
