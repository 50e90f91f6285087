"""The errors of the label database."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class StoreError(QuatiPoolError):
    """The database cannot be opened or written, or refuses its input."""


class ConflictError(StoreError):
    """The state that the caller saw has changed since, and nothing was written.

    ``reason`` is ``done`` (already graded or written), ``taken`` (no longer this person's), ``withdrawn`` (by a lead,
    or no longer wanted), ``gone`` (does not exist), ``changed`` (something newer was written in between), ``used``
    (somebody has worked on what came of it), or ``revealed`` (what was hidden has been shown since). ``count`` is how
    many pairs this concerns.
    """

    def __init__(self, reason: str, message: str, count: int = 1) -> None:
        self.reason = reason
        self.count = count
        super().__init__(message)


class FormerRevisionError(StoreError):
    """The database is one of an earlier quati-pool, and must be upgraded before it is read."""
