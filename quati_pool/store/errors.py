"""The errors of the label database."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class StoreError(QuatiPoolError):
    """A database that cannot be opened or written, or that refuses what it was given."""


class ConflictError(StoreError):
    """What a caller saw is no longer so, and nothing was written.

    ``reason`` is ``done`` (graded already), ``taken`` (no longer this person's), ``withdrawn`` (by a lead),
    ``gone`` (there is none), or ``changed`` (something newer came between).
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)
