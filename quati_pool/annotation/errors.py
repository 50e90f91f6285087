"""The error for designs that are not possible as requested."""

from __future__ import annotations

from quati_pool.errors import TranslatableError


class DesignError(TranslatableError):
    """A sample or allocation that is not possible as requested."""
