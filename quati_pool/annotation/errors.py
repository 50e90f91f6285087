"""The error of designs that are not possible as asked."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class DesignError(QuatiPoolError):
    """A sample or an allocation that is not possible as asked."""
