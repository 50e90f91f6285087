"""The one error of the label database."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class StoreError(QuatiPoolError):
    """A database that cannot be opened or written, or that refuses what it was given."""
