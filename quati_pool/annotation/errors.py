"""What cannot be assigned to people as asked."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class DesignError(QuatiPoolError):
    """A sample or an allocation that cannot be made as asked."""
