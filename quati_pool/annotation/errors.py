"""The error for designs that are not possible as requested."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class DesignError(QuatiPoolError):
    """A sample or allocation that is not possible as requested. ``reason`` is a keyword from which a page can build a
    translated message, with ``values`` filled in; None where the message alone says what is wrong."""

    def __init__(self, message: str, reason: str | None = None, **values: object) -> None:
        self.reason = reason
        self.values = values
        super().__init__(message)
