"""The error for a release that cannot be written."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class ReleaseError(QuatiPoolError):
    """A release that contradicts itself, or that a format cannot express."""
